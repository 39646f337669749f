"""The suites: names, default methods and options; the one table that the command line and the runs read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from dancematch.errors import InputError

WHOLE_CLIPS = ("stage1", "two-stage", "likelihood", "brute-force", "paper", "kmeans", "dtw")
REAL_METHODS = ("words", "synchrony", "both", "dtw-angles")
PROGRAMME_KINDS = ("motions", "skeletons", "videos")


class SuiteOptionsError(InputError):
    """Options that contradict each other or the suites."""


class Suite(NamedTuple):
    """One suite."""

    summary: str
    methods: tuple[str, ...] = ()  # unless others are chosen
    options: frozenset[str] = frozenset()  # beside those of every suite
    alone: bool = False  # has data of its own, and all of it is asked


_METHODS = frozenset({"methods", "models", "searches", "phases", "soft"})
_RETRIEVAL = _METHODS | {"refit", "query_genres", "max_queries"}

SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "aist-genre": Suite(
            "the paper's protocol: twenty clips per genre, same genre among the first three",
            WHOLE_CLIPS, _RETRIEVAL | {"leave_out"},
        ),
        "aist-choreography": Suite(
            "another recording of the same basic choreography, by any dancer",
            WHOLE_CLIPS, _RETRIEVAL | {"leave_out"},
        ),
        "aist-cross-dancer": Suite("the same by another dancer", WHOLE_CLIPS, _RETRIEVAL),
        "scale": Suite(
            "a hundred dances, ten known performances each, forty others to be named",
            WHOLE_CLIPS[:-1], _RETRIEVAL,
        ),
        "excerpt": Suite(
            "the clip that five changed seconds come from, and where in it they are",
            WHOLE_CLIPS[:-1], _RETRIEVAL | {"seconds", "strength"},
        ),
        "video": Suite("the clip that a pose estimator saw", WHOLE_CLIPS[:-1], _RETRIEVAL | {"views"}),
        "open-set": Suite(
            "verdicts on known dances, and on dances that the catalogue does not have",
            ("likelihood",), _RETRIEVAL | {"views", "unknown"},
        ),
        "benchmark": Suite(
            "the label of each test clip of a release of 'dancematch benchmark'",
            ("stage1", "two-stage", "kmeans", "kmeans-two-stage", "dtw"), _METHODS, alone=True,
        ),
        "real": Suite(
            "each clip of a folder among all recordings but its own performance",
            REAL_METHODS, frozenset({"methods", "models", "distractors", "skeletons"}), alone=True,
        ),
        "medley": Suite(
            "which dance when in programmes of ten minutes, of excerpts one after the other",
            (), frozenset({"models", "unknown", "clips", "skeletons", "kinds", "programmes", "videos"}),
            alone=True,
        ),
    }
)  # fmt: skip


@dataclass(frozen=True)
class SuiteOptions:
    """What the suites let choose; each has those that the table names, and data, seed and jobs."""

    data: Path  # folder of AIST++ in the public layout, of a release, or of clips with an index.csv
    seed: int = 0
    jobs: int = 1
    # Methods
    methods: Sequence[str] = ()
    models: Sequence[str] = ()
    searches: Sequence[str] = ()
    phases: int = 1
    soft: bool = False
    refit: bool = False
    # Queries
    query_genres: Sequence[str] = ()
    max_queries: int | None = None
    leave_out: int = 1
    seconds: Sequence[float] = ()
    strength: Sequence[float] = ()
    views: Path | None = None
    unknown: Path | None = None
    distractors: Path | None = None
    skeletons: Path | None = None
    # Programmes
    clips: Path | None = None
    kinds: Sequence[str] = ()
    programmes: int | None = None
    videos: Path | None = None

    def given(self) -> list[str]:
        """The names of the options that differ from their defaults."""
        return [one.name for one in fields(self) if getattr(self, one.name) != one.default]


_EVERY_SUITE = {"data", "seed", "jobs"}
_SINGULAR = {"methods": "method", "models": "model", "searches": "search", "kinds": "kind"}


def require_consistent(suites: Sequence[str], options: SuiteOptions) -> None:
    """Raise if an option has no effect on the chosen suites, or one that they need is missing."""
    for option in options.given():
        homes = [name for name, suite in SUITES.items() if option in suite.options]
        if option not in _EVERY_SUITE and not set(homes) & set(suites):
            if len(homes) > 2:
                raise SuiteOptionsError(f"{_flag(option)} is not for the suite {' and '.join(suites)}")
            suite = "the suites" if len(homes) > 1 else "the suite"
            raise SuiteOptionsError(f"{_flag(option)} belongs to {suite} {' and '.join(homes)}")
    for suite in suites:
        if SUITES[suite].alone and len(set(suites)) > 1:
            raise SuiteOptionsError(f"{suite} has data of its own and asks all of it: run it by itself")
    if "video" in suites and not options.views:
        raise SuiteOptionsError("the suite video needs --views")
    if "medley" in suites:
        _require_programmes(options)
    if "open-set" in suites and options.refit:
        raise SuiteOptionsError("--refit leaves a model without a background, which open-set needs")
    if options.refit and not options.query_genres:
        raise SuiteOptionsError("--refit needs --query-genres: the other genres are what it is fitted on")
    if options.refit and options.models and not options.methods:
        raise SuiteOptionsError("--refit fits the k-means of a --method; a --model stays as it is")


def choose_kinds(options: SuiteOptions) -> list[str]:
    """The kinds of programme of the suite medley: those chosen, or those whose data is given."""
    clips: tuple[str, ...] = ("skeletons",) if options.clips else ()
    videos: tuple[str, ...] = ("videos",) if options.clips and options.videos else ()
    return list(dict.fromkeys(options.kinds or ("motions", *clips, *videos)))


def _require_programmes(options: SuiteOptions) -> None:
    kinds = choose_kinds(options)
    if not options.clips and set(kinds) & {"skeletons", "videos"}:
        raise SuiteOptionsError("programmes of skeletons and videos need --clips")
    if "videos" in kinds and not options.videos:
        raise SuiteOptionsError("programmes of videos need --videos, a folder to keep them in")
    if len(options.models) > 1:
        raise SuiteOptionsError("the suite medley runs one --model at a time")


def _flag(option: str) -> str:
    """An option as the command line spells it."""
    return f"--{_SINGULAR.get(option, option).replace('_', '-')}"
