"""Which known dances hold a passage like this one: how rare it is among them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dancematch.search.engine import Engine, Query
from dancematch.search.rarity import Rarity, name_rarity
from dancematch.search.stage2.variant import Variant

MOST_RECORDINGS = 2000  # up to which all are compared; of more, those of dances on the shortlist


@dataclass(frozen=True)
class PassageHolders:
    """How rare a passage is: how many other dances hold one as alike."""

    agreement: float  # with the dance of the match, 0..1
    as_alike: int  # other dances that agree at least as much
    others: int  # dances that were compared
    nearest: float | None  # agreement of the one that agrees most; None without others
    rarity: Rarity


def count_holders(engine: Engine, passage: Query, dance_id: str) -> PassageHolders:
    """How many dances but this one hold a passage as alike as it does."""
    found = holders(engine, [passage], [dance_id])
    own = found.pop(dance_id, 0.0)
    as_alike = sum(agreement >= own for agreement in found.values())
    nearest = max(found.values(), default=None)
    return PassageHolders(own, as_alike, len(found), nearest, name_rarity(as_alike, len(found)))


def holders(engine: Engine, passage: Sequence[Query], certain: Iterable[str] = ()) -> dict[str, float]:
    """Return how well each known dance agrees with a passage at its best place and tempo, by its id.

    1 is word for word the same, 0 is what unrelated words give. `passage` holds its variants; the best one
    counts for each dance. The dances in `certain` are compared in any case.
    """
    state = engine.search_state()
    entries, word_store = state.index.entries, state.index.word_store
    tracks = entries.tracks
    if entries.recordings > MOST_RECORDINGS:
        likely = {*certain, *(name for query in passage for name in engine.score_shortlist(query)[0])}
        tracks = tracks[np.isin(entries.dances_of(tracks), entries.dances_named(likely))]
    segments = word_store.read_segments(word_store.whole_tracks(tracks))
    variants = [Variant(query.fingerprint, state.codebook, state.statistics) for query in passage]
    best = np.max([variant.best_lines(segments).agreements.clip(0, 1) for variant in variants], axis=0)
    found: dict[str, float] = {}
    for dance, agreement in zip(entries.dances_of(tracks).tolist(), best.tolist(), strict=True):
        name = entries.names[dance]
        found[name] = max(agreement, found.get(name, 0.0))
    return found
