"""AIST++ as questions: same genre (the paper's protocol), same choreography, and that by another dancer.

A question is a query, the clips it may be compared with, and which of those are right answers.
Every clip is asked and stays out of its own catalogue (leave one out). With `leave_out` K, K - 1 other
clips of its class, drawn by the seed, stay out as well (leave K out), so that K = 1 is the former.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch import formats
from dancematch.errors import InputError
from dancematch.formats.motion_capture.aist_names import AistName, list_sequences, parse_name
from dancematch.types import Motion

GENRE_CLIPS = 20  # clips a genre and draw
GENRE_DRAWS = 20


@dataclass(frozen=True)
class AistClip:
    """A sequence and what its name says."""

    name: AistName
    motion: Motion


Places = NDArray[np.intp]
Question = tuple[Places, NDArray[np.bool_], int]  # candidates, which are right, query


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
    """The same for all takes of one choreography.

    Only basic ones are danced several times: the number of an advanced one is not its own.
    """
    only = () if name.kind == "BM" else (name.dancer, name.music)
    return "/".join((*name.choreography, *only))


def cross_dancer(names: Sequence[AistName], genres: Sequence[str]) -> Iterator[Question]:
    """Each basic clip of `genres` against the basic clips of all other dancers: same choreography?"""
    basic = np.array([name.kind == "BM" for name in names])
    dancers = np.array([(name.genre + name.dancer) for name in names])
    dances = np.array(["/".join(name.choreography) for name in names])
    for query in np.flatnonzero(basic & np.isin([name.genre for name in names], genres)):
        candidates = np.flatnonzero(basic & (dancers != dancers[query]))
        right = dances[candidates] == dances[query]
        if right.any():
            yield candidates, right, int(query)


def choreography(
    names: Sequence[AistName], genres: Sequence[str], seed: int, leave_out: int = 1
) -> Iterator[Question]:
    """Each basic clip of `genres` against all other basic clips: another take of it, by whomever?"""
    basic = np.flatnonzero([name.kind == "BM" for name in names])
    dances = np.array(["/".join(name.choreography) for name in names])
    asked = basic[np.isin(np.array([name.genre for name in names])[basic], genres)]
    return _leave_out(basic, dances, asked, leave_out, np.random.default_rng(seed))


def genre(
    names: Sequence[AistName], genres: Sequence[str], seed: int, leave_out: int = 1
) -> Iterator[Question]:
    """The paper's protocol: twenty clips a genre drawn at random, each against all others: same genre?"""
    every = np.array([name.genre for name in names])
    rng, leaving = np.random.default_rng(seed), np.random.default_rng([seed, leave_out])
    for _ in range(GENRE_DRAWS):
        drawn = np.concatenate([_draw(np.flatnonzero(every == one), rng) for one in np.unique(every)])
        yield from _leave_out(drawn, every, drawn[np.isin(every[drawn], genres)], leave_out, leaving)


def _leave_out(
    known: Places, classes: NDArray[np.str_], queries: Places, leave_out: int, rng: np.random.Generator
) -> Iterator[Question]:
    """Each query against the known without itself and `leave_out` - 1 others of its class."""
    if leave_out < 1:
        raise InputError(f"one clip or more is left out, got {leave_out}")
    for query in queries:
        own = known[(classes[known] == classes[query]) & (known != query)]
        gone = rng.choice(own, min(leave_out - 1, len(own)), replace=False) if leave_out > 1 else own[:0]
        candidates = known[(known != query) & ~np.isin(known, gone)]
        right = classes[candidates] == classes[query]
        if right.any():
            yield candidates, right, int(query)


def _draw(places: Places, rng: np.random.Generator) -> Places:
    return rng.choice(places, min(GENRE_CLIPS, len(places)), replace=False)


def chance_rank1(questions: Sequence[Question]) -> float:
    """How often the first of a random order is right."""
    return float(np.mean([right.mean() for _, right, _ in questions]))
