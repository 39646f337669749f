"""AIST++ as questions: same genre (the paper's protocol), same choreography, and that by another dancer.

Every clip is a query and stays out of its own catalogue (leave one out). With `leave_out` K, K - 1 other
clips of its class, drawn by the seed, stay out as well (leave K out).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch import formats
from dancematch.errors import InputError
from dancematch.formats.motion_capture.aist_names import AistName, list_sequences, parse_name
from dancematch.types import Motion

GENRE_CLIPS = 20  # per genre and draw
GENRE_DRAWS = 20


@dataclass(frozen=True)
class AistClip:
    """A sequence and what its name says."""

    name: AistName
    motion: Motion


Places = NDArray[np.intp]


class RetrievalQuestion(NamedTuple):
    """A query, the clips it is compared with, and which of them are right answers."""

    candidates: Places
    right: NDArray[np.bool_]  # [candidates]
    query: int


def load_clips(folder: str | Path) -> list[AistClip]:
    """Every sequence of a folder in the public AIST++ layout that is not on the ignore list."""
    if not Path(folder).is_dir():
        raise InputError(f"there is no folder {folder}; one in the public AIST++ layout was expected")
    paths = list(list_sequences(Path(folder)))
    if not paths:
        raise InputError(f"there is no AIST++ sequence (g??_s??_cAll_d??_m???_ch??.pkl) below {folder}")
    named = [(parse_name(path.stem), path) for path in paths]
    return [AistClip(name, formats.read(path)[0]) for name, path in named if name]


def dance_of(name: AistName) -> str:
    """The dance id: the same for all recordings of one choreography.

    Only basic choreographies have several recordings: the number of an advanced one is not unique.
    """
    only = () if name.kind == "BM" else (name.dancer, name.music)
    return "/".join((*name.choreography, *only))


def ask_cross_dancer(names: Sequence[AistName], genres: Sequence[str]) -> Iterator[RetrievalQuestion]:
    """Each basic clip of `genres` against the basic clips of all other dancers: same choreography?"""
    basic = np.array([name.kind == "BM" for name in names])
    dancers = np.array([(name.genre + name.dancer) for name in names])
    dances = np.array(["/".join(name.choreography) for name in names])
    for query in np.flatnonzero(basic & np.isin([name.genre for name in names], genres)):
        candidates = np.flatnonzero(basic & (dancers != dancers[query]))
        right = dances[candidates] == dances[query]
        if right.any():
            yield RetrievalQuestion(candidates, right, int(query))


def ask_choreography(
    names: Sequence[AistName], genres: Sequence[str], seed: int, leave_out: int = 1
) -> Iterator[RetrievalQuestion]:
    """Each basic clip of `genres` against all other basic clips: another recording of it, by any dancer?"""
    basic = np.flatnonzero([name.kind == "BM" for name in names])
    dances = np.array(["/".join(name.choreography) for name in names])
    asked = basic[np.isin(np.array([name.genre for name in names])[basic], genres)]
    return _leave_out(basic, dances, asked, leave_out, np.random.default_rng(seed))


def ask_genre(
    names: Sequence[AistName], genres: Sequence[str], seed: int, leave_out: int = 1
) -> Iterator[RetrievalQuestion]:
    """The paper's protocol: twenty clips per genre drawn at random, each against all others: same genre?"""
    every = np.array([name.genre for name in names])
    rng, leaving = np.random.default_rng(seed), np.random.default_rng([seed, leave_out])
    for _ in range(GENRE_DRAWS):
        drawn = np.concatenate([_draw(np.flatnonzero(every == one), rng) for one in np.unique(every)])
        yield from _leave_out(drawn, every, drawn[np.isin(every[drawn], genres)], leave_out, leaving)


def _leave_out(
    known: Places, classes: NDArray[np.str_], queries: Places, leave_out: int, rng: np.random.Generator
) -> Iterator[RetrievalQuestion]:
    """Each query against the known clips without itself and `leave_out` - 1 others of its class."""
    if leave_out < 1:
        raise InputError(f"at least one clip must be left out, got {leave_out}")
    for query in queries:
        own = known[(classes[known] == classes[query]) & (known != query)]
        removed = rng.choice(own, min(leave_out - 1, len(own)), replace=False) if leave_out > 1 else own[:0]
        candidates = known[(known != query) & ~np.isin(known, removed)]
        right = classes[candidates] == classes[query]
        if right.any():
            yield RetrievalQuestion(candidates, right, int(query))


def _draw(places: Places, rng: np.random.Generator) -> Places:
    return rng.choice(places, min(GENRE_CLIPS, len(places)), replace=False)


def chance_rank1(questions: Sequence[RetrievalQuestion]) -> float:
    """The share of right answers at rank 1 of a random order."""
    return float(np.mean([one.right.mean() for one in questions]))
