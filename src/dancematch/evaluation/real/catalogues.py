"""The catalogues that a query of the suite `real` is searched in: never with its own performance."""

from collections.abc import Sequence

import numpy as np

from dancematch.evaluation.real.clip_index import IndexedClip

SIZES = (1, 3, 12, 40)  # dances of small catalogues
DRAWS = 5  # of a small catalogue per query


def copies_of(query: IndexedClip, clips: Sequence[IndexedClip]) -> frozenset[str]:
    """The clips of the query's own performance, itself included: what its catalogue must not have."""
    return frozenset(clip.file for clip in clips if clip.is_copy_of(query))


def count_dances(clips: Sequence[IndexedClip]) -> int:
    """The number of dances in the largest small catalogue: all but the query's own can be drawn."""
    return len({clip.dance for clip in clips}) - 1


def draw_catalogue(
    query: IndexedClip, clips: Sequence[IndexedClip], dances: int, seed: Sequence[int]
) -> list[IndexedClip]:
    """All recordings of `dances` dances: the query's own, if it has one, and others drawn by the seed.

    Clips without dance are drawn only where there are too few dances.
    """
    own = [clip for clip in clips if clip.dance == query.dance and not clip.is_copy_of(query)]
    own = own if query.kind == "dance" else []
    names = {clip.dance: clip.kind == "no-dance" for clip in clips if clip.dance != query.dance}
    rng = np.random.default_rng(seed)
    drawn = [list(names)[place] for place in rng.permutation(len(names)).tolist()]
    drawn.sort(key=lambda name: names[name])  # stable: dances first, each kind in the order drawn
    chosen = set(drawn[: dances - bool(own)])
    return [*own, *(clip for clip in clips if clip.dance in chosen)]
