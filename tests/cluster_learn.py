"""Adds clips on a cluster whose nodes take texts for videos (cluster_puppet.py); one JSON object each."""

import json
import sys
from pathlib import Path
from unittest import mock

from cluster_puppet import __file__ as puppet
from dancematch.cluster.ingest import ClusterAnalyser
from dancematch.cluster.node_analysis import NodeClip
from dancematch.pipeline.analysis.limits import WorkLimits
from dancematch.pipeline.analysis.quarantine import Quarantine, quarantine_path
from dancematch.pipeline.analysis.worker_process import WorkerSetup
from dancematch.pipeline.catalogue import open_catalogue


def far_away(path: str, size: int) -> NodeClip:
    """A clip as the nodes are told of it; one that is called so, at a path that none of them sees."""
    return NodeClip(path.replace("/far", "/nowhere/far"), size)


def main(where: str, model: str, address: str, *places: str) -> None:
    """Tell of a clip when it is in the catalogue, and not before."""
    with open_catalogue(where, model=model) as known:
        limits = WorkLimits(seconds=60, memory_bytes=1 << 30)
        setup = WorkerSetup(limits, model, known.tokeniser.model_id, command=(sys.executable, puppet))
        analyser = ClusterAnalyser(setup, Quarantine(quarantine_path(known)), address)
        for added in known.add_many([Path(place) for place in places], analyser=analyser):
            told = {"dance": added.dance, "skipped": added.skipped, "error": str(added.error or "")}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    with mock.patch("dancematch.cluster.ingest.NodeClip", far_away):
        main(*sys.argv[1:])
