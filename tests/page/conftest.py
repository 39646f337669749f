"""The server that the tests of changes share: each has dances of its own among those it knows."""

from contextlib import closing

import pytest

from dance_samples import digest, save_small_model, write_dance
from dancematch.catalogue.review_records import NewReview
from dancematch.catalogue.reviews import ReviewStore
from dancematch.catalogue.store import Store
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.types import Span
from page_samples import REVIEWED
from server_samples import serving

SINGLE = ("march", "polka", "reel", "jig", "galop", "minuet", "gavotte", "bourree", "known", "sarabande")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Where the files of the tests are."""
    return tmp_path_factory.mktemp("studio")


@pytest.fixture(scope="session")
def studio(folder):
    """A server without tokens: dances of one recording, one of three, and one with clips to review."""
    model = save_small_model(folder / "small")
    with open_catalogue(folder / "dances.db", model=str(folder / "small")) as known:
        for seed, name in enumerate(SINGLE):
            known.add(write_dance(folder / f"{name}.npz", seed), labels=("old",))
        for seed, performer in enumerate(("anna", "berta", "clara"), start=30):
            known.add(write_dance(folder / f"{performer}.npz", seed), dance="round", performer=performer)
        known.add(write_dance(folder / "yves.npz", 40), dance="Loona")
        (reviewed,) = known.recordings("Loona")
    found = {"recording_id": reviewed.recording_id, "verdict": "possible match", "log_ratio": 1.5}
    spans = {"query": Span(0.0, 8.0), "reference": Span(3.0, 8.5), "dancer": 1, "evalue": 0.3}
    with closing(Store(str(folder / "dances.db"), model.model_id)) as store:
        ReviewStore(store).add(
            [NewReview(query_file=clip, query_id=digest(clip), **found, **spans) for clip in REVIEWED]
        )
    with serving(folder / "dances.db", "--model", folder / "small") as running:
        yield running
