"""What is asked: the suites, each as queries with their candidates and right answers.

The AIST++ suites ask for other clips; `excerpt` and `video` ask for the very clip that a changed
excerpt, or what a pose estimator saw of it, comes from.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch import formats
from dancematch.errors import InputError
from dancematch.evaluation.aist import Clip, Question, cross_dancer, genre
from dancematch.formats.aist_names import AistName, parse_name
from dancematch.motion import excerpt, perturb
from dancematch.types import Motion

SUITES = ("aist-genre", "aist-cross-dancer", "excerpt", "video")
EXCERPT_SECONDS = 5.0
EXCERPT_CHANGES = ("tilt", "noise", "drift", "tempo", "phase")
VIEW = "view_"  # view_<name>.npz is what a pose estimator saw of the sequence <name>


@dataclass(frozen=True)
class Task:
    """A suite's questions, and how to come by the motion of a query."""

    suite: str
    questions: Sequence[Question]
    genres: list[str]  # of the queries
    seed: int
    motion_of: Callable[[int], Motion] | None = None  # None: a query is a clip, by its place
    takes: Sequence[NDArray[np.bool_]] = ()  # of excerpts: a question's candidates that show the same dance

    @property
    def of_excerpts(self) -> bool:
        """Whether queries are parts of clips, so that long clips are to be entered in windows too."""
        return self.motion_of is not None

    def sample(self, count: int) -> "Task":
        """The same task with at most `count` of its questions, drawn by its seed."""
        if count < 1:
            raise InputError(f"a task needs one query or more, got {count}")
        order = np.random.default_rng(self.seed).permutation(len(self.questions))
        kept = sorted(order[:count].tolist())
        takes = [self.takes[place] for place in kept if self.takes]
        return replace(self, questions=[self.questions[place] for place in kept], takes=takes)


def make_task(
    suite: str,
    clips: Sequence[Clip],
    *,
    query_genres: Sequence[str] | None = None,
    seed: int = 0,
    views: Path | None = None,
) -> Task:
    """The questions of a suite about clips of some genres, or of all; `views` is a folder, for `video`."""
    genres = _known_genres(clips, query_genres)
    names = [clip.name for clip in clips]
    if suite == "aist-genre":
        task = Task(suite, list(genre(names, genres, seed)), genres, seed)
    elif suite == "aist-cross-dancer":
        task = Task(suite, list(cross_dancer(names, genres, seed)), genres, seed)
    elif suite == "excerpt":
        task = _excerpts(clips, genres, seed)
    elif suite == "video" and views is not None:
        task = _views(names, genres, views, seed)
    else:
        raise InputError(f"suites: {', '.join(SUITES)} (video with a folder of views); got {suite!r}")
    if not task.questions:
        raise InputError(f"{suite} has no query among the genres {', '.join(genres)}")
    return task


def _excerpts(clips: Sequence[Clip], genres: Sequence[str], seed: int) -> Task:
    """A changed excerpt of each clip of `genres`, to be found among all clips."""
    names = [clip.name for clip in clips]
    sources = [place for place, name in enumerate(names) if name.genre in genres]
    questions, takes = _find_sources(names, sources)

    def motion_of(query: int) -> Motion:
        return changed_excerpt(clips[sources[query]].motion, (seed, sources[query]))

    return Task("excerpt", questions, list(genres), seed, motion_of, takes)


def changed_excerpt(motion: Motion, seed: Sequence[int]) -> Motion:
    """Five seconds from anywhere in the motion, as another camera, estimator and tempo might show them."""
    rng = np.random.default_rng(seed)
    length = min(EXCERPT_SECONDS, motion.seconds)
    start = float(rng.uniform(0, motion.seconds - length))
    changed = excerpt(motion, start, min(start + length, motion.seconds))
    for name in EXCERPT_CHANGES:
        changed = perturb(changed, name, seed=int(rng.integers(1 << 31)))
    return changed


def _views(names: Sequence[AistName], genres: Sequence[str], folder: Path, seed: int) -> Task:
    """Each view of a clip of `genres`, its source to be found among all clips."""
    places = {name: place for place, name in enumerate(names) if name.genre in genres}
    found = list(_view_files(folder, places))
    if not found:
        raise InputError(
            f"there is no view_<sequence>.npz of a known clip of {', '.join(genres)} in {folder}"
        )
    questions, takes = _find_sources(names, [source for _, source in found])

    def motion_of(query: int) -> Motion:
        return formats.read(found[query][0])[0]

    return Task("video", questions, list(genres), seed, motion_of, takes)


def _view_files(folder: Path, places: dict[AistName, int]) -> Iterator[tuple[Path, int]]:
    for path in sorted(folder.glob(f"{VIEW}*.npz")):
        name = parse_name(path.stem.removeprefix(VIEW))
        if name in places:
            yield path, places[name]


def _find_sources(
    names: Sequence[AistName], sources: Sequence[int]
) -> tuple[list[Question], list[NDArray[np.bool_]]]:
    """Query i has the clip `sources[i]` as its one right answer; beside it, all takes of that dance."""
    # Only basic choreographies are danced twice: an advanced one has its number in common with others only.
    dances = np.array(
        ["/".join(name.choreography) if name.kind == "BM" else str(i) for i, name in enumerate(names)]
    )
    every = np.arange(len(names))
    questions = [(every, every == source, query) for query, source in enumerate(sources)]
    return questions, [dances == dances[source] for source in sources]


def _known_genres(clips: Sequence[Clip], wanted: Sequence[str] | None) -> list[str]:
    there = sorted({clip.name.genre for clip in clips})
    missing = sorted(set(wanted or there) - set(there))
    if missing:
        raise InputError(
            f"there is no clip of the genre(s) {', '.join(missing)}; there are {', '.join(there)}"
        )
    return sorted(set(wanted or there))
