"""AIST++ as questions: same genre (the paper's protocol) and same choreography by another dancer.

A question is a query, the clips it may be compared with, and which of those are right answers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch import formats
from dancematch.errors import InputError
from dancematch.formats.aist_names import AistName, parse_name, sequences
from dancematch.types import Motion

GENRE_CLIPS = 20  # clips a genre and draw
GENRE_DRAWS = 20


@dataclass(frozen=True)
class Clip:
    """A sequence and what its name says."""

    name: AistName
    motion: Motion


Question = tuple[NDArray[np.intp], NDArray[np.bool_], int]  # candidates, which are right, query


def load_clips(folder: str | Path) -> list[Clip]:
    """Every sequence of a folder in the public AIST++ layout that is not on the ignore list."""
    paths = list(sequences(Path(folder)))
    if not paths:
        raise InputError(f"there is no AIST++ sequence (g??_s??_cAll_d??_m???_ch??.pkl) below {folder}")
    named = [(parse_name(path.stem), path) for path in paths]
    return [Clip(name, formats.read(path)[0]) for name, path in named if name]


def cross_dancer(names: Sequence[AistName], genres: Sequence[str], _seed: int) -> Iterator[Question]:
    """Each basic clip of `genres` against the basic clips of all other dancers: same choreography?"""
    basic = np.array([name.kind == "BM" for name in names])
    dancers = np.array([(name.genre + name.dancer) for name in names])
    dances = np.array(["/".join(name.choreography) for name in names])
    for query in np.flatnonzero(basic & np.isin([name.genre for name in names], genres)):
        candidates = np.flatnonzero(basic & (dancers != dancers[query]))
        right = dances[candidates] == dances[query]
        if right.any():
            yield candidates, right, int(query)


def genre(names: Sequence[AistName], genres: Sequence[str], seed: int) -> Iterator[Question]:
    """The paper's protocol: twenty clips a genre drawn at random, each against all others: same genre?"""
    every = np.array([name.genre for name in names])
    rng = np.random.default_rng(seed)
    for _ in range(GENRE_DRAWS):
        drawn = np.concatenate([_draw(np.flatnonzero(every == one), rng) for one in np.unique(every)])
        for query in drawn[np.isin(every[drawn], genres)]:
            candidates = drawn[drawn != query]
            right = every[candidates] == every[query]
            if right.any():
                yield candidates, right, int(query)


def _draw(places: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    return rng.choice(places, min(GENRE_CLIPS, len(places)), replace=False)


def chance_rank1(questions: Sequence[Question]) -> float:
    """How often the first of a random order is right."""
    return float(np.mean([right.mean() for _, right, _ in questions]))
