"""Which known dances hold a passage like this one: how rare it is among them."""

from collections.abc import Iterable, Sequence

import numpy as np

from dancematch.search.engine import Engine, Query
from dancematch.search.stage2.variant import Variant

MOST_RECORDINGS = 2000  # up to which all are compared; of more, those of dances on the shortlist


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
