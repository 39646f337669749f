"""Learns clips on a cluster whose nodes take texts for videos (cluster_puppet.py); a JSON object a clip."""

import json
import sys
from pathlib import Path
from unittest import mock

from cluster_puppet import __file__ as puppet
from dancematch.cluster.ingest import Ingest
from dancematch.cluster.looking import Clip, Way
from dancematch.cluster.quarantine import Quarantine, quarantine_path
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pipeline.limits import WorkLimits


def far_away(path: str, size: int) -> Clip:
    """A clip as the nodes are told of it; one that is called so, at a path that none of them sees."""
    return Clip(path.replace("/far", "/nowhere/far"), size)


def main(where: str, model: str, address: str, *places: str) -> None:
    """Tell of a clip when it is in the catalogue, and not before."""
    with open_catalogue(where, model=model) as known:
        limits = WorkLimits(seconds=60, memory_bytes=1 << 30)
        way = Way(model, known.tokeniser.model_id, limits, (sys.executable, puppet))
        look = Ingest(way, Quarantine(quarantine_path(known)), address)
        for added in known.add_many([Path(place) for place in places], look=look):
            told = {"dance_id": added.dance_id, "skipped": added.skipped, "error": str(added.error or "")}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    with mock.patch("dancematch.cluster.ingest.Clip", far_away):
        main(*sys.argv[1:])
