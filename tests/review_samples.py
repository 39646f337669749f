"""Possible matches, and decisions about them, for the tests of reviews."""

from dataclasses import replace

from dance_samples import MODEL, digest, random_words, recorded
from dancematch.catalogue.records import StoredTrack
from dancematch.catalogue.review_records import NewReview
from dancematch.catalogue.reviews import ReviewStore
from dancematch.catalogue.store import Store
from dancematch.types import Span

RECORDINGS = {name: digest(f"content of {name}") for name in ("waltz", "tango", "salsa")}


def possible(clip: str, dance: str = "waltz", *, dancer: int = 1, evalue: float = 0.3, **more) -> NewReview:
    """A possible match of a clip, by its name, with a dance of `fill_store`."""
    said = {"query_file": f"{clip}.mp4", "verdict": "possible match", "log_ratio": 1.5}
    spans = {"query": Span(0.0, 8.0), "reference": Span(3.0, 11.0)}
    return NewReview(
        query_id=digest(clip),
        dancer=dancer,
        recording_id=RECORDINGS[dance],
        evalue=evalue,
        **said | spans | more,
    )


def fill_store(address: str, model: str = MODEL) -> Store:
    """A catalogue with three dances of one recording each."""
    store = Store(address, model)
    for number, (name, content) in enumerate(RECORDINGS.items()):
        store.add(recorded(name, f"{name}.mp4", content, 5.0), [StoredTrack(random_words(4, number))])
    return store


def decide_many(reviews: ReviewStore, same: int, different: int, evalue: float = 0.3, **more) -> None:
    """Put so many clips on the list and decide on them: the same dance, or another."""
    named = [f"clip {number}" for number in range(same + different)]
    reviews.add([replace(possible(clip, evalue=evalue), **more) for clip in named])
    waiting = {one.query_file: one.review_id for one in reviews.read("waiting")}
    for number, clip in enumerate(named):
        reviews.decide(waiting[f"{clip}.mp4"], "confirmed" if number < same else "rejected", "Anna")
