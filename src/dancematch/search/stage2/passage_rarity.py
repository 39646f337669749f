"""Which known dances hold a passage like this one: how rare it is among them."""

from collections.abc import Iterable, Sequence

import numpy as np

from dancematch.search.engine import Engine, Query
from dancematch.search.stage2.variant import Variant

MOST = 2000  # dances that are all looked at; of more, those that a search looks at closely


def holders(engine: Engine, passage: Sequence[Query], certain: Iterable[str] = ()) -> dict[str, float]:
    """How well each known dance agrees with a passage at its best place and tempo, by name.

    1 is word for word the same, 0 is what unrelated words do. `passage` are the ways to read it; each
    dance is asked for the one that fits best. `certain` are dances that are looked at in any case.
    """
    library, rarity, codebook = engine.insight()
    entries, shelf = library.entries, library.shelf
    tracks = entries.tracks
    if entries.dances > MOST:
        likely = {*certain, *(name for query in passage for name in engine.judged(query)[0])}
        tracks = tracks[np.isin(entries.dances_of(tracks), entries.dances_named(likely))]
    stretches = shelf.stretches(shelf.wholes(tracks))
    best = np.max(
        [
            Variant(query.fingerprint, codebook, rarity).lines(stretches).agreements.clip(0, 1)
            for query in passage
        ],
        axis=0,
    )
    found: dict[str, float] = {}
    for dance, agreement in zip(entries.dances_of(tracks).tolist(), best.tolist(), strict=True):
        name = entries.names[dance]
        found[name] = max(agreement, found.get(name, 0.0))
    return found
