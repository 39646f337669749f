"""The retrieval suites, each as queries with their candidates and right answers.

The AIST++ suites ask for other clips; `excerpt` and `video` for the clip that a changed excerpt, or a pose
estimator's view, comes from; `scale` for another performance of the dance.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch import formats
from dancematch.errors import InputError
from dancematch.evaluation.suites.aist import (
    AistClip,
    RetrievalQuestion,
    ask_choreography,
    ask_cross_dancer,
    ask_genre,
    dance_of,
)
from dancematch.evaluation.suites.changed_excerpts import EXCERPT_SECONDS, changed_excerpt, excerpt_span
from dancematch.evaluation.suites.scale import split_performances
from dancematch.formats.motion_capture.aist_names import AistName, parse_name
from dancematch.types import Motion, Span

VIEW = "view_"  # view_<name>.npz is a pose estimator's view of the sequence <name>
KINDS = {"BM": "basic", "FM": "advanced"}


@dataclass(frozen=True)
class TaskOptions:
    """What a suite lets choose."""

    leave_out: int = 1  # clips of a query's class, itself included: aist-genre, aist-choreography
    seconds: float = EXCERPT_SECONDS  # of an excerpt
    strength: float = 1.0  # of an excerpt's changes
    views: Path | None = None  # folder of a pose estimator's views, for video


class QueryFacts(NamedTuple):
    """What is known of a query beside its question."""

    genre: str
    dance: str  # the cluster of the bootstrap: queries of one dance fail together
    part: str = ""  # of a suite whose queries are of several kinds
    span: Span | None = None  # where in the right answer an excerpt lies


@dataclass(frozen=True, eq=False)
class RetrievalTask:
    """A suite's questions, and how to get the motion of a query."""

    suite: str
    clips: Sequence[AistClip]  # candidates are indices of these
    questions: Sequence[RetrievalQuestion]
    about: Sequence[QueryFacts]  # [questions]
    genres: list[str]  # of the queries
    seed: int
    motion_of: Callable[[int], Motion] | None = None  # None: a query is the index of a clip
    same_dance: Sequence[NDArray[np.bool_]] = ()  # of excerpts: [questions][candidates], the same dance
    facts: Mapping[str, int | float] = field(default_factory=dict)  # other options, for the result

    @property
    def of_excerpts(self) -> bool:
        """Whether queries are parts of clips, so that long clips are entered as windows too."""
        return bool(self.same_dance)

    def sample(self, count: int) -> "RetrievalTask":
        """The same task with at most `count` of its questions, drawn by its seed."""
        if count < 1:
            raise InputError(f"a task needs at least one query, got {count}")
        order = np.random.default_rng(self.seed).permutation(len(self.questions))
        chosen = sorted(order[:count].tolist())
        return replace(
            self,
            questions=[self.questions[number] for number in chosen],
            about=[self.about[number] for number in chosen],
            same_dance=[self.same_dance[number] for number in chosen if self.same_dance],
        )


def make_task(
    suite: str,
    clips: Sequence[AistClip],
    *,
    query_genres: Sequence[str] | None = None,
    seed: int = 0,
    options: TaskOptions = TaskOptions(),
) -> RetrievalTask:
    """The questions of a suite about clips of some genres, or of all."""
    if suite not in _MAKERS:
        raise InputError(f"suites: {', '.join(_MAKERS)}; got {suite!r}")
    genres = require_genres(clips, query_genres)
    task = _MAKERS[suite](suite, clips, genres, seed, options)
    if not task.questions:
        raise InputError(f"{suite} has no query among the genres {', '.join(genres)}")
    return task


def _ask_aist(
    suite: str, clips: Sequence[AistClip], genres: list[str], seed: int, options: TaskOptions
) -> RetrievalTask:
    """Clips of `genres` among other clips."""
    names = [clip.name for clip in clips]
    if suite == "aist-cross-dancer":
        questions, facts = list(ask_cross_dancer(names, genres)), {}
    else:
        ask = ask_genre if suite == "aist-genre" else ask_choreography
        questions = list(ask(names, genres, seed, options.leave_out))
        facts = {"leave_out": options.leave_out}
    about = [_query_facts(names[one.query]) for one in questions]
    return RetrievalTask(suite, clips, questions, about, genres, seed, facts=facts)


def _ask_scale(
    suite: str, clips: Sequence[AistClip], genres: list[str], seed: int, _options: TaskOptions
) -> RetrievalTask:
    """Performances of `genres`, each to find a known performance of its dance."""
    split = split_performances([clip.name for clip in clips], seed)
    known = [
        AistClip(clips[one.clip].name, one.perform(clips[one.clip].motion, seed)) for one in split.references
    ]
    dances = np.array([one.dance for one in split.references])
    every = np.arange(len(known))
    chosen = [number for number, one in enumerate(split.queries) if clips[one.clip].name.genre in genres]
    questions = [RetrievalQuestion(every, dances == split.queries[number].dance, number) for number in chosen]
    about = [
        _query_facts(clips[split.queries[number].clip].name, split.relations[number]) for number in chosen
    ]

    def motion_of(query: int) -> Motion:
        one = split.queries[query]
        return one.perform(clips[one.clip].motion, seed)

    facts = {"dances": len(set(dances.tolist())), "references": len(known)}
    return RetrievalTask(suite, known, questions, about, genres, seed, motion_of, facts=facts)


def _ask_excerpts(
    suite: str, clips: Sequence[AistClip], genres: list[str], seed: int, options: TaskOptions
) -> RetrievalTask:
    """A changed excerpt of each clip of `genres`, to be found among all clips."""
    sources = [number for number, clip in enumerate(clips) if clip.name.genre in genres]
    longest = max((clips[source].motion.seconds for source in sources), default=0.0)
    if options.seconds > longest:
        raise InputError(
            f"no clip lasts {options.seconds:g} s, the longest {longest:.1f} s: ask for shorter excerpts"
        )
    questions, same_dance = _ask_sources([clip.name for clip in clips], sources)
    about = [
        _query_facts(
            clips[source].name,
            KINDS.get(clips[source].name.kind, clips[source].name.kind),
            excerpt_span(clips[source].motion, (seed, source), seconds=options.seconds),
        )
        for source in sources
    ]

    def motion_of(query: int) -> Motion:
        source = sources[query]
        return changed_excerpt(
            clips[source].motion, (seed, source), seconds=options.seconds, strength=options.strength
        )

    facts = {"excerpt_seconds": options.seconds, "strength": options.strength}
    return RetrievalTask(suite, clips, questions, about, genres, seed, motion_of, same_dance, facts)


def _ask_views(
    suite: str, clips: Sequence[AistClip], genres: list[str], seed: int, options: TaskOptions
) -> RetrievalTask:
    """Each view of a clip of `genres`, its source to be found among all clips."""
    if options.views is None:
        raise InputError(f"the suite {suite} needs a folder of views")
    names = [clip.name for clip in clips]
    found = list(
        find_views(options.views, {name: number for number, name in enumerate(names) if name.genre in genres})
    )
    if not found:
        raise InputError(
            f"there is no view_<sequence>.npz of a known clip of {', '.join(genres)} in {options.views}"
        )
    questions, same_dance = _ask_sources(names, [source for _, source in found])
    about = [_query_facts(names[source]) for _, source in found]

    def motion_of(query: int) -> Motion:
        return formats.read(found[query][0])[0]

    return RetrievalTask(suite, clips, questions, about, genres, seed, motion_of, same_dance)


_MAKERS: Mapping[str, Callable[[str, Sequence[AistClip], list[str], int, TaskOptions], RetrievalTask]] = {
    "aist-genre": _ask_aist,
    "aist-choreography": _ask_aist,
    "aist-cross-dancer": _ask_aist,
    "scale": _ask_scale,
    "excerpt": _ask_excerpts,
    "video": _ask_views,
}


def find_views(folder: Path, clips: Mapping[AistName, int]) -> Iterator[tuple[Path, int]]:
    """The files of a pose estimator's views, each with the number of the clip it shows."""
    for path in sorted(folder.glob(f"{VIEW}*.npz")):
        name = parse_name(path.stem.removeprefix(VIEW))
        if name is not None and name in clips:
            yield path, clips[name]


def _ask_sources(
    names: Sequence[AistName], sources: Sequence[int]
) -> tuple[list[RetrievalQuestion], list[NDArray[np.bool_]]]:
    """Query i has the clip `sources[i]` as its one right answer; and which clips are of the same dance."""
    dances = np.array([dance_of(name) for name in names])
    every = np.arange(len(names))
    questions = [RetrievalQuestion(every, every == source, query) for query, source in enumerate(sources)]
    return questions, [dances == dances[source] for source in sources]


def _query_facts(name: AistName, part: str = "", span: Span | None = None) -> QueryFacts:
    return QueryFacts(name.genre, dance_of(name), part, span)


def require_genres(clips: Sequence[AistClip], wanted: Sequence[str] | None) -> list[str]:
    """The wanted genres, or all, in order; each must be there."""
    there = sorted({clip.name.genre for clip in clips})
    missing = sorted(set(wanted or there) - set(there))
    if missing:
        raise InputError(
            f"there is no clip of the genre(s) {', '.join(missing)}; there are {', '.join(there)}"
        )
    return sorted(set(wanted or there))
