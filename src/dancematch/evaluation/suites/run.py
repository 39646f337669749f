"""Suites by name: what each method reaches, one result after the other."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple, cast, get_args

from dancematch.benchmark.release import read_release
from dancematch.errors import InputError
from dancematch.evaluation.medley.makers import (
    MotionMaker,
    ProgrammeMaker,
    SkeletonMaker,
    VideoMaker,
    load_unknown_motions,
)
from dancematch.evaluation.medley.scanning import CatalogueWriter, scan_apart, scan_here
from dancematch.evaluation.medley.suite import PROGRAMMES, MedleyResult, MedleySuite, ProgrammeLine
from dancematch.evaluation.methods.angle_warping import AngleMethod
from dancematch.evaluation.methods.feature_comparison import WORDLESS_METHODS
from dancematch.evaluation.methods.recogniser import MotionRecording, RecognitionMethod
from dancematch.evaluation.methods.search_recogniser import SearchMethod
from dancematch.evaluation.methods.word_methods import WORD_METHODS, WordMethod
from dancematch.evaluation.real.clip_index import IndexedClip, read_index
from dancematch.evaluation.real.clip_skeletons import load_distractors, load_recordings
from dancematch.evaluation.real.suite import QueryLine, RealResult, RealSuite
from dancematch.evaluation.suites.aist import load_clips
from dancematch.evaluation.suites.benchmark import BenchmarkSuite, read_clips
from dancematch.evaluation.suites.open_set import QUERIES, OpenSetResult, OpenSetSuite, load_unknown_dances
from dancematch.evaluation.suites.registry import (
    REAL_METHODS,
    SUITES,
    SuiteOptions,
    SuiteOptionsError,
    choose_kinds,
    require_consistent,
)
from dancematch.evaluation.suites.retrieval import (
    EvaluationCache,
    Evaluator,
    RetrievalResult,
    TrackProgress,
    track_silently,
)
from dancematch.evaluation.suites.retrieval_tasks import TaskOptions, make_task
from dancematch.model.patches import PatchTokeniser
from dancematch.model.tokeniser import load_background, load_model
from dancematch.search.confidence.verdict import Basis
from dancematch.training.kmeans import fit_kmeans
from dancematch.types import Motion

KMEANS = "kmeans"  # begins the names of the words without a network, which can be fitted anew

SuiteResult = RetrievalResult | OpenSetResult | QueryLine | RealResult | ProgrammeLine | MedleyResult


def _say_nothing(_message: str) -> None:
    """No messages."""


def _show_nothing(_what: str) -> AbstractContextManager[Callable[[float], None]]:
    return nullcontext(lambda _share: None)


@dataclass(frozen=True)
class Reporter:
    """How a run reports on its way: messages, counted items, and the share done. Silent by default."""

    say: Callable[[str], None] = _say_nothing
    track: TrackProgress = track_silently
    share: Callable[[str], AbstractContextManager[Callable[[float], None]]] = _show_nothing


def run_suites(
    suites: Sequence[str],
    options: SuiteOptions,
    reporter: Reporter = Reporter(),
) -> Iterator[SuiteResult]:
    """The results of the suites, each a dataclass that JSON can hold.

    Options are checked, and models loaded, before any data is read.
    """
    require_consistent(suites, options)
    if "real" in suites:
        return run_real(choose_real_methods(options.methods, options.models), options, reporter)
    if "medley" in suites:
        return run_medley(options, reporter)
    chosen = {suite: choose_methods(suite, options) for suite in suites}
    for one in (one for methods in chosen.values() for one in methods):
        if not isinstance(one.method, str):
            load_model(one.method.model).require_phases(one.method.phases)
    if "benchmark" in suites:
        return run_benchmark(chosen["benchmark"], options, reporter)
    return run_retrieval(chosen, options, reporter)


class ChosenMethod(NamedTuple):
    """A method to run, and whether `--refit` fits it anew."""

    method: str | WordMethod
    refittable: bool = False


def run_retrieval(
    chosen: Mapping[str, Sequence[ChosenMethod]], options: SuiteOptions, reporter: Reporter
) -> Iterator[RetrievalResult | OpenSetResult]:
    """The results of suites on AIST++, which share clips, words and comparisons."""
    reporter.say(f"reading {options.data}")
    clips, cache = load_clips(options.data), EvaluationCache()
    genres = list(options.query_genres) or None
    for suite, methods in chosen.items():
        if suite == "open-set":
            unknown, most = load_unknown_dances(options.unknown), options.max_queries or QUERIES
            open_set = OpenSetSuite(clips, unknown, options.views, genres, most, options.seed)
            for one in methods:
                yield from open_set.evaluate(one.method, cache, reporter.track)
            continue
        for task_options in _task_options(suite, options):
            task = make_task(suite, clips, query_genres=genres, seed=options.seed, options=task_options)
            task = task if options.max_queries is None else task.sample(options.max_queries)
            for one in methods:
                refit = _fit_kmeans_like if options.refit and one.refittable else None
                yield Evaluator(cache, refit, reporter.track, options.jobs).evaluate(task, one.method)


def _fit_kmeans_like(motions: Sequence[Motion], model: PatchTokeniser) -> PatchTokeniser:
    """Words without a network, fitted on these motions, with a model's layout and vocabulary."""
    return fit_kmeans(motions, layout=model.layout, vocabulary=model.vocabulary)


def _task_options(suite: str, options: SuiteOptions) -> list[TaskOptions]:
    """The ways to ask a suite: every length of an excerpt with every strength of change."""
    task_options = TaskOptions(options.leave_out, views=options.views)
    if suite != "excerpt":
        return [task_options]
    lengths = options.seconds or [task_options.seconds]
    strengths = options.strength or [task_options.strength]
    return [replace(task_options, seconds=one, strength=much) for one, much in product(lengths, strengths)]


def run_benchmark(
    methods: Sequence[ChosenMethod], options: SuiteOptions, reporter: Reporter
) -> Iterator[RetrievalResult]:
    """The results on a release of a benchmark; every file is checked against its checksum first."""
    if not options.data.is_dir():
        raise InputError(
            f"there is no folder {options.data}; one that 'dancematch benchmark' wrote was expected"
        )
    reporter.say(f"reading {options.data}")
    suite = BenchmarkSuite(read_clips(read_release(options.data), reporter.track))
    if suite.unanswerable:
        reporter.say(f"{suite.unanswerable} clips are no queries: no other performer dances what they show")
    for one in methods:
        yield suite.evaluate(one.method, track=reporter.track)


def run_real(
    methods: Sequence[RecognitionMethod], options: SuiteOptions, reporter: Reporter
) -> Iterator[QueryLine | RealResult]:
    """The results on a folder of clips with an index.csv; their skeletons are estimated once and stored."""
    clips, recordings = _read_clips(options.data, options, reporter)
    empty = [one.recording_id for one in recordings if not one.motions]
    if empty:
        reporter.say(f"no dancer is seen in {', '.join(empty)}")
    others = load_distractors(options.distractors) if options.distractors else []
    suite = RealSuite(clips, recordings, others, seed=options.seed)
    for method in methods:
        yield from suite.evaluate(method, reporter.track)


def run_medley(options: SuiteOptions, reporter: Reporter) -> Iterator[ProgrammeLine | MedleyResult]:
    """The results on programmes of the chosen kinds; skeletons of clips are estimated once and stored."""
    model = options.models[0] if options.models else None
    writer = CatalogueWriter(model)
    makers = [_programme_maker(kind, options, reporter, writer) for kind in choose_kinds(options)]
    suite = MedleySuite(makers, options.programmes or PROGRAMMES, options.seed)
    yield from suite.evaluate(writer, reporter.track)


def _programme_maker(
    kind: str, options: SuiteOptions, reporter: Reporter, writer: CatalogueWriter
) -> ProgrammeMaker:
    if kind == "motions":
        reporter.say(f"reading {options.data}")
        unknown = []
        if options.unknown:
            background = load_background(writer.tokeniser, writer.model)
            unknown = load_unknown_motions(options.unknown, writer.tokeniser, background)
        return MotionMaker(load_clips(options.data), unknown, partial(scan_here, model=writer.model))
    distractors, folder = load_distractors(options.data), options.clips
    if kind == "skeletons":
        clips, recordings = _read_clips(cast(Path, folder), options, reporter)
        return SkeletonMaker(clips, recordings, distractors, partial(scan_here, model=writer.model))
    from dancematch.evaluation.medley.video_programmes import render_clips  # which loads av

    videos = cast(Path, options.videos)
    render_clips(videos / "rendered")
    folders = [cast(Path, folder), videos / "rendered"]
    read = [_read_clips(one, options, reporter) for one in folders]
    files = [one / clip.file for one, (clips, _) in zip(folders, read, strict=True) for clip in clips]
    return VideoMaker(
        [clip for clips, _ in read for clip in clips], [one for _, own in read for one in own],
        files, videos, distractors, partial(scan_apart, model=writer.model),
    )  # fmt: skip


def _read_clips(
    folder: Path, options: SuiteOptions, reporter: Reporter
) -> tuple[list[IndexedClip], list[MotionRecording]]:
    """The clips of a folder with an index.csv, and their skeletons."""
    clips = read_index(folder)
    reporter.say(f"reading {folder}: {len(clips)} clips")
    with reporter.share("estimating skeletons") as show:
        return clips, load_recordings(folder, clips, options.skeletons, jobs=options.jobs, on_progress=show)


def choose_methods(suite: str, options: SuiteOptions) -> list[ChosenMethod]:
    """Models and named methods, each searched as the options say."""
    _require_methods(suite, options)
    names = options.methods or (() if options.models else SUITES[suite].methods)
    default_search = "two-stage" if suite == "open-set" else "histogram"
    chosen = [
        ChosenMethod(WordMethod(model).searched(search, options.phases, options.soft))
        for model in options.models
        for search in options.searches or (default_search,)
    ]
    for name in names:
        if not name.startswith(KMEANS) or not _changes_words(options):
            chosen.append(ChosenMethod(name, refittable=name.startswith(KMEANS)))
            continue
        for search in options.searches or ("histogram",):
            method = WORD_METHODS[name].searched(search, options.phases, options.soft)
            chosen.append(ChosenMethod(method, refittable=True))
    return list(dict.fromkeys(chosen))


def _require_methods(suite: str, options: SuiteOptions) -> None:
    """Raise if a method does not exist, or does not take the options for words."""
    for method in options.methods:
        if method not in WORD_METHODS and method not in WORDLESS_METHODS:
            known = ", ".join((*WORD_METHODS, *WORDLESS_METHODS))
            raise SuiteOptionsError(f"there is no method {method!r}; there are {known}")
    wordless = [method for method in options.methods if method in WORDLESS_METHODS]
    if wordless and (options.soft or options.phases > 1):
        raise SuiteOptionsError(f"--phases and --soft are about words; {wordless[0]} has none")
    names = options.methods or (() if options.models else SUITES[suite].methods)
    fixed = [name for name in names if name in WORD_METHODS and not name.startswith(KMEANS)]
    if fixed and _changes_words(options):
        raise SuiteOptionsError(
            f"--search, --phases and --soft are for --model and kmeans; {fixed[0]} is always the same"
        )


def _changes_words(options: SuiteOptions) -> bool:
    return bool(options.searches) or options.phases > 1 or options.soft


def choose_real_methods(names: Sequence[str], models: Sequence[str]) -> list[RecognitionMethod]:
    """The methods of the suite real, all if none is named; those with words once per model."""
    unknown = [name for name in names if name not in REAL_METHODS]
    if unknown:
        raise SuiteOptionsError(
            f"the suite real has no method {unknown[0]!r}; it has {', '.join(REAL_METHODS)}"
        )
    if models and set(names) == {"dtw-angles"}:
        raise SuiteOptionsError("--model is for words, synchrony and both; dtw-angles has none")
    chosen: list[RecognitionMethod] = []
    for name in dict.fromkeys(names or REAL_METHODS):
        if name in get_args(Basis):
            chosen += [SearchMethod(cast(Basis, name), model) for model in models or (None,)]
        else:
            chosen.append(AngleMethod())
    return chosen
