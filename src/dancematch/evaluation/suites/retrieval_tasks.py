"""What is asked: the suites, each as queries with their candidates and right answers.

The AIST++ suites ask for other clips; `excerpt` and `video` ask for the very clip that a changed
excerpt, or what a pose estimator saw of it, comes from; `scale` for another performance of the dance.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch import formats
from dancematch.errors import InputError
from dancematch.evaluation.suites.aist import AistClip, Question, choreography, cross_dancer, dance_of, genre
from dancematch.evaluation.suites.changed_excerpts import EXCERPT_SECONDS, changed_excerpt, excerpt_span
from dancematch.evaluation.suites.scale import cast
from dancematch.formats.motion_capture.aist_names import AistName, parse_name
from dancematch.types import Motion, Span

SUITES = ("aist-genre", "aist-choreography", "aist-cross-dancer", "scale", "excerpt", "video")
VIEW = "view_"  # view_<name>.npz is what a pose estimator saw of the sequence <name>
KINDS = {"BM": "basic", "FM": "advanced"}


@dataclass(frozen=True)
class TaskOptions:
    """How a suite asks, where it may be asked in several ways."""

    leave_out: int = 1  # clips of a query's class, itself included: aist-genre, aist-choreography
    seconds: float = EXCERPT_SECONDS  # of an excerpt
    strength: float = 1.0  # of an excerpt's changes
    views: Path | None = None  # folder of what a pose estimator saw, for video


USUAL = TaskOptions()


class QueryFacts(NamedTuple):
    """What is known of a query beside its question."""

    genre: str
    dance: str  # queries of one dance go wrong together
    part: str = ""  # of a suite whose queries are of several kinds
    place: Span | None = None  # where in the right answer an excerpt lies


@dataclass(frozen=True, eq=False)
class Task:
    """A suite's questions, and how to come by the motion of a query."""

    suite: str
    known: Sequence[AistClip]  # what candidates are places of
    questions: Sequence[Question]
    about: Sequence[QueryFacts]  # the questions, one by one
    genres: list[str]  # of the queries
    seed: int
    motion_of: Callable[[int], Motion] | None = None  # None: a query is a known clip, by its place
    takes: Sequence[NDArray[np.bool_]] = ()  # of excerpts: a question's candidates that show the same dance
    facts: Mapping[str, int | float] = field(default_factory=dict)  # what else says how it was asked

    @property
    def of_excerpts(self) -> bool:
        """Whether queries are parts of clips, so that long clips are to be entered in windows too."""
        return bool(self.takes)

    def sample(self, count: int) -> "Task":
        """The same task with at most `count` of its questions, drawn by its seed."""
        if count < 1:
            raise InputError(f"a task needs one query or more, got {count}")
        order = np.random.default_rng(self.seed).permutation(len(self.questions))
        kept = sorted(order[:count].tolist())
        return replace(
            self,
            questions=[self.questions[place] for place in kept],
            about=[self.about[place] for place in kept],
            takes=[self.takes[place] for place in kept if self.takes],
        )


def make_task(
    suite: str,
    clips: Sequence[AistClip],
    *,
    query_genres: Sequence[str] | None = None,
    seed: int = 0,
    plan: TaskOptions = USUAL,
) -> Task:
    """The questions of a suite about clips of some genres, or of all."""
    genres = known_genres(clips, query_genres)
    names = [clip.name for clip in clips]
    left_out = {"leave_out": plan.leave_out}
    if suite == "aist-genre":
        asked = list(genre(names, genres, seed, plan.leave_out))
        task = Task(suite, clips, asked, _about_clips(names, asked), genres, seed, facts=left_out)
    elif suite == "aist-choreography":
        asked = list(choreography(names, genres, seed, plan.leave_out))
        task = Task(suite, clips, asked, _about_clips(names, asked), genres, seed, facts=left_out)
    elif suite == "aist-cross-dancer":
        asked = list(cross_dancer(names, genres))
        task = Task(suite, clips, asked, _about_clips(names, asked), genres, seed)
    elif suite == "scale":
        task = _scale(clips, genres, seed)
    elif suite == "excerpt":
        task = _excerpts(clips, genres, seed, plan)
    elif suite == "video" and plan.views is not None:
        task = _views(clips, genres, plan.views, seed)
    else:
        raise InputError(f"suites: {', '.join(SUITES)} (video with a folder of views); got {suite!r}")
    if not task.questions:
        raise InputError(f"{suite} has no query among the genres {', '.join(genres)}")
    return task


def _about_clips(names: Sequence[AistName], questions: Sequence[Question]) -> list[QueryFacts]:
    return [_about(names[query]) for _, _, query in questions]


def _about(name: AistName, part: str = "", place: Span | None = None) -> QueryFacts:
    return QueryFacts(name.genre, dance_of(name), part, place)


def _scale(clips: Sequence[AistClip], genres: list[str], seed: int) -> Task:
    """Performances of `genres`, each to find a known performance of its dance."""
    whole = cast([clip.name for clip in clips], seed)
    known = [
        AistClip(clips[one.take].name, one.show(clips[one.take].motion, seed)) for one in whole.references
    ]
    dances = np.array([one.dance for one in whole.references])
    every = np.arange(len(known))
    chosen = [place for place, one in enumerate(whole.queries) if clips[one.take].name.genre in genres]
    questions = [(every, dances == whole.queries[place].dance, place) for place in chosen]
    about = [_about(clips[whole.queries[place].take].name, whole.related[place]) for place in chosen]

    def motion_of(query: int) -> Motion:
        one = whole.queries[query]
        return one.show(clips[one.take].motion, seed)

    facts = {"dances": len(set(dances.tolist())), "references": len(known)}
    return Task("scale", known, questions, about, genres, seed, motion_of, facts=facts)


def _excerpts(clips: Sequence[AistClip], genres: list[str], seed: int, plan: TaskOptions) -> Task:
    """A changed excerpt of each clip of `genres`, to be found among all clips."""
    sources = [place for place, clip in enumerate(clips) if clip.name.genre in genres]
    longest = max((clips[source].motion.seconds for source in sources), default=0.0)
    if plan.seconds > longest:
        raise InputError(
            f"no clip lasts {plan.seconds:g} s, the longest {longest:.1f} s: ask for shorter excerpts"
        )
    questions, takes = _find_sources([clip.name for clip in clips], sources)
    about = [
        _about(
            clips[source].name,
            KINDS.get(clips[source].name.kind, clips[source].name.kind),
            excerpt_span(clips[source].motion, (seed, source), seconds=plan.seconds),
        )
        for source in sources
    ]

    def motion_of(query: int) -> Motion:
        source = sources[query]
        return changed_excerpt(
            clips[source].motion, (seed, source), seconds=plan.seconds, strength=plan.strength
        )

    facts = {"excerpt_seconds": plan.seconds, "strength": plan.strength}
    return Task("excerpt", clips, questions, about, genres, seed, motion_of, takes, facts)


def _views(clips: Sequence[AistClip], genres: list[str], folder: Path, seed: int) -> Task:
    """Each view of a clip of `genres`, its source to be found among all clips."""
    names = [clip.name for clip in clips]
    found = list(
        view_files(folder, {name: place for place, name in enumerate(names) if name.genre in genres})
    )
    if not found:
        raise InputError(
            f"there is no view_<sequence>.npz of a known clip of {', '.join(genres)} in {folder}"
        )
    questions, takes = _find_sources(names, [source for _, source in found])
    about = [_about(names[source]) for _, source in found]

    def motion_of(query: int) -> Motion:
        return formats.read(found[query][0])[0]

    return Task("video", clips, questions, about, genres, seed, motion_of, takes)


def view_files(folder: Path, places: Mapping[AistName, int]) -> Iterator[tuple[Path, int]]:
    """What a pose estimator saw of clips, with each one's place."""
    for path in sorted(folder.glob(f"{VIEW}*.npz")):
        name = parse_name(path.stem.removeprefix(VIEW))
        if name is not None and name in places:
            yield path, places[name]


def _find_sources(
    names: Sequence[AistName], sources: Sequence[int]
) -> tuple[list[Question], list[NDArray[np.bool_]]]:
    """Query i has the clip `sources[i]` as its one right answer; beside it, all takes of that dance."""
    dances = np.array([dance_of(name) for name in names])
    every = np.arange(len(names))
    questions = [(every, every == source, query) for query, source in enumerate(sources)]
    return questions, [dances == dances[source] for source in sources]


def known_genres(clips: Sequence[AistClip], wanted: Sequence[str] | None) -> list[str]:
    """The genres asked for, or all, in order; refused if one of them is not there."""
    there = sorted({clip.name.genre for clip in clips})
    missing = sorted(set(wanted or there) - set(there))
    if missing:
        raise InputError(
            f"there is no clip of the genre(s) {', '.join(missing)}; there are {', '.join(there)}"
        )
    return sorted(set(wanted or there))
