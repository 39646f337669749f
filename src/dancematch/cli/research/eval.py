"""dancematch eval: how well dances are found."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dancematch.cli.options import option, option_group
from dancematch.cli.output import counted, emit_json, json_line, require_free, say
from dancematch.cli.research.audit import audit_command
from dancematch.cli.research.evaluate_real import choose_methods, evaluate_real
from dancematch.cli.research.evaluate_release import evaluate_release
from dancematch.cli.research.evaluate_tables import emit_tables
from dancematch.cli.research.weights import weights_command

if TYPE_CHECKING:
    from dancematch.evaluation.methods.word_comparison import WordMethod
    from dancematch.evaluation.suites.retrieval import Refit
    from dancematch.evaluation.suites.retrieval_tasks import TaskOptions
    from dancematch.model.patches import PatchTokeniser
    from dancematch.types import Motion

SUITES = [
    "aist-genre",
    "aist-choreography",
    "aist-cross-dancer",
    "scale",
    "excerpt",
    "video",
    "open-set",
    "benchmark",
    "real",
]
SEARCHES = ["histogram", "two-stage", "likelihood", "brute-force", "paper"]
WHOLE_CLIPS = ("stage1", "two-stage", "likelihood", "brute-force", "paper", "kmeans", "dtw")
USUAL_METHODS = {  # where none is asked for
    **dict.fromkeys(("aist-genre", "aist-choreography", "aist-cross-dancer"), WHOLE_CLIPS),
    **dict.fromkeys(("scale", "excerpt", "video"), WHOLE_CLIPS[:-1]),
    "open-set": ("likelihood",),
    "benchmark": ("stage1", "two-stage", "kmeans", "kmeans-two-stage", "dtw"),
}
UNKNOWN_DANCES = 9000  # number of the first made-up unknown dance: nothing was chosen on them
LEAST_UNKNOWN = 20  # made-up dances, if there is no folder of unknown ones


@dataclass(frozen=True)
class MethodOptions:
    """Which methods are measured."""

    methods: tuple[str, ...] = option(
        "--method", multiple=True,
        help="With the shipped network: stage1, two-stage, likelihood, brute-force, paper. Words without a "
        "network: kmeans, kmeans-two-stage, kmeans-cosine, kmeans-whole. Without words: dtw, "
        "late-interaction. May be given several times; default: the first five, kmeans and dtw, as far as "
        "they fit the suite. The suite real has methods of its own: words, synchrony, both, dtw-angles.",
    )  # fmt: skip
    models: tuple[str, ...] = option(
        "--model", multiple=True, help="A model's folder or name to run; may be given several times."
    )
    searches: tuple[str, ...] = option(
        "--search", type=click.Choice(SEARCHES), multiple=True,
        help="How the words of a --model or of kmeans are searched: histograms alone (the default); with the "
        "order of words; with synchrony too, as 'search' does; words without a shortlist; or as the paper "
        "prints it. May be given several times.",
    )  # fmt: skip
    phases: int = option(
        "--phases", type=click.IntRange(1), default=1, help="Starting frames to count a query's words at."
    )
    soft: bool = option(
        "--soft", is_flag=True, help="Count each moment of a query as its three nearest words."
    )
    refit: bool = option(
        "--refit", is_flag=True,
        help="Fit each kmeans method anew on the genres that are not queried; a --model stays as it is.",
    )  # fmt: skip


@dataclass(frozen=True)
class QueryOptions:
    """Which queries are asked."""

    query_genres: str | None = option("--query-genres", help="Only queries of these genres, such as PO,LH.")
    max_queries: int | None = option(
        "--max-queries", type=click.IntRange(1), help="Only so many queries, drawn by the seed."
    )
    leave_out: int = option(
        "--leave-out", type=click.IntRange(1), default=1, show_default=True, metavar="K",
        help="Clips of a query's class that its catalogue lacks, itself included (leave-K-out): aist-genre, "
        "aist-choreography.",
    )  # fmt: skip
    seconds: tuple[float, ...] = option(
        "--seconds", type=click.FloatRange(0.5), multiple=True,
        help="Of an excerpt (default 5); several: each.",
    )  # fmt: skip
    strength: tuple[float, ...] = option(
        "--strength", type=click.FloatRange(0), multiple=True,
        help="Of an excerpt's changes (default 1, a usual amount); several: each.",
    )  # fmt: skip
    seed: int = option("--seed", type=click.IntRange(0), default=0, show_default=True)

    @property
    def genres(self) -> list[str] | None:
        """The genres by name; None: all."""
        return self.query_genres.split(",") if self.query_genres else None


@dataclass(frozen=True)
class DataOptions:
    """What is read."""

    data: Path = option(
        "--data", required=True, type=click.Path(path_type=Path),
        help="Folder in the public AIST++ layout; for benchmark a release, for real clips with an index.csv.",
    )  # fmt: skip
    views: Path | None = option(
        "--views", type=click.Path(path_type=Path), help="Folder of view_*.npz: video, open-set."
    )
    unknown: Path | None = option(
        "--unknown", type=click.Path(path_type=Path, exists=True),
        help="Folder of motions that are not in the data, for open-set; as many made-up dances are added.",
    )  # fmt: skip
    distractors: Path | None = option(
        "--distractors", type=click.Path(path_type=Path, exists=True),
        help="Folder in the AIST++ layout, for real: its sequences are further recordings to search among.",
    )  # fmt: skip
    skeletons: Path | None = option(
        "--skeletons", type=click.Path(path_type=Path),
        help="Folder for the skeletons of the suite real; default: one in the user's cache.",
    )  # fmt: skip


@dataclass(frozen=True)
class ResultOptions:
    """Where results go."""

    output: Path | None = option(
        "-o", "--output", type=click.Path(path_type=Path), help="Keep the JSON lines in this file."
    )
    force: bool = option("--force", is_flag=True, help="Replace the output file if it is there.")
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object per line.")


class EvalCommand(click.Command):
    """`eval SUITE...`; suites that measure your own catalogue are commands with options of their own."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """As click does, for the suite's own command if it has one."""
        own = {"audit": audit_command, "weights": weights_command}.get(args[0]) if args else None
        if own is None:
            return super().make_context(info_name, args, parent, **extra)
        return own.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)


@click.command("eval", cls=EvalCommand)
@click.argument("suites", metavar="SUITE...", nargs=-1, required=True, type=click.Choice(SUITES))
@option_group("place", DataOptions)
@option_group("asked", QueryOptions)
@option_group("chosen", MethodOptions)
@click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count(), help="Threads to use (default: all cores)."
)
@option_group("results", ResultOptions)
def eval_command(
    suites: tuple[str, ...],
    place: DataOptions,
    asked: QueryOptions,
    chosen: MethodOptions,
    jobs: int,
    results: ResultOptions,
) -> None:
    """Run SUITEs and print what each method or model reaches, with 95 % intervals.

    \b
    aist-genre         the paper's protocol: twenty clips per genre, same genre among the first three
    aist-choreography  another recording of the same basic choreography, by any dancer
    aist-cross-dancer  the same by another dancer
    scale              a hundred dances, ten known performances each, forty others to be named
    excerpt            the clip that five changed seconds come from, and where in it they are
    video              the clip that a pose estimator saw
    open-set           verdicts on known dances, and on dances that the catalogue does not have
    benchmark          by itself: the label of each test clip of a release of 'dancematch benchmark' (--data)
    real               by itself: each of a folder's clips among all recordings but its own performance
    audit CATALOGUE    how well changed dances of your own catalogue are found ('eval audit --help')
    weights CATALOGUE  how much each metric counts, learnt from its labels ('eval weights --help')

    \b
    Example:
      dancematch eval aist-genre aist-choreography aist-cross-dancer --data aistpp -o results.jsonl
      dancematch eval aist-cross-dancer --data aistpp --query-genres PO,LH --method kmeans --refit
      dancematch eval aist-cross-dancer --data aistpp --model my-model --search two-stage --json
      dancematch eval excerpt --data aistpp --seconds 2 --seconds 10 --method two-stage --max-queries 100
      dancematch eval open-set --data aistpp --unknown cmu
      dancematch eval benchmark --data bench --json
      dancematch eval real --data clips --distractors aistpp -o real.jsonl
      dancematch eval audit dances.db
    """
    _refuse_contradictions(set(suites), place, asked, chosen)
    lines = _real_results(place, asked, chosen, jobs) if "real" in suites else None
    if lines is None:
        methods = {suite: _methods(suite, chosen) for suite in suites}
        _check_words([method for some in methods.values() for method, _ in some])
        if "benchmark" in suites:
            lines = evaluate_release(place.data, [method for method, _ in methods["benchmark"]])
        else:
            lines = _results(place, methods, asked, _refitted if chosen.refit else None, jobs)
    with _emitter(results) as emit:
        for line in lines:
            emit(line)


def _refuse_contradictions(
    suites: set[str], place: DataOptions, asked: QueryOptions, chosen: MethodOptions
) -> None:
    """Refuse options of suites that are not run, and suites that lack what they need."""
    for name, given, homes in (
        ("--views", place.views, ("video", "open-set")),
        ("--unknown", place.unknown, ("open-set",)),
        ("--seconds", asked.seconds, ("excerpt",)),
        ("--strength", asked.strength, ("excerpt",)),
        ("--leave-out", asked.leave_out > 1, ("aist-genre", "aist-choreography")),
        ("--distractors", place.distractors, ("real",)),
        ("--skeletons", place.skeletons, ("real",)),
    ):
        if given and not suites & set(homes):
            suite = "the suites" if len(homes) > 1 else "the suite"
            raise click.UsageError(f"{name} belongs to {suite} {' and '.join(homes)}")
    if "video" in suites and not place.views:
        raise click.UsageError("the suite video needs --views")
    if "open-set" in suites and chosen.refit:
        raise click.UsageError("--refit leaves a model without a background, which open-set needs")
    for suite in sorted(suites & {"benchmark", "real"}):
        if len(suites) > 1 or asked.query_genres or asked.max_queries or chosen.refit:
            raise click.UsageError(f"{suite} has data of its own and asks all of it: run it by itself")
    if chosen.refit and not asked.query_genres:
        raise click.UsageError("--refit needs --query-genres: the other genres are what it is fitted on")
    if chosen.refit and chosen.models and not chosen.methods:
        raise click.UsageError("--refit fits the k-means of a --method; a --model stays as it is")


def _real_results(place: DataOptions, asked: QueryOptions, chosen: MethodOptions, jobs: int) -> Iterable[Any]:
    if chosen.searches or chosen.phases > 1 or chosen.soft:
        raise click.UsageError("--search, --phases and --soft are not for the suite real")
    return evaluate_real(
        place.data, choose_methods(chosen.methods, chosen.models), distractors=place.distractors,
        skeletons=place.skeletons, seed=asked.seed, jobs=jobs,
    )  # fmt: skip


def _results(
    place: DataOptions,
    chosen: "dict[str, list[tuple[str | WordMethod, bool]]]",
    asked: QueryOptions,
    refit: "Refit | None",
    jobs: int,
) -> Iterator[Any]:
    """What each suite's methods reach on AIST++, one after the other."""
    from dancematch.evaluation.suites.aist import load_clips
    from dancematch.evaluation.suites.open_set import QUERIES, OpenSetSuite
    from dancematch.evaluation.suites.retrieval import EvaluationCache, Evaluator
    from dancematch.evaluation.suites.retrieval_tasks import TaskOptions, make_task

    say(f"reading {place.data}")
    clips, memory = load_clips(place.data), EvaluationCache()
    for suite, methods in chosen.items():
        if suite == "open-set":
            unknown, most = _unknown_motions(place.unknown), asked.max_queries or QUERIES
            open_set = OpenSetSuite(clips, unknown, place.views, asked.genres, most, asked.seed)
            for method, _ in methods:
                yield from open_set.evaluate(method, memory, counted)
            continue
        plan = TaskOptions(asked.leave_out, views=place.views)
        for one in _plans(suite, plan, asked.seconds, asked.strength):
            task = make_task(suite, clips, query_genres=asked.genres, seed=asked.seed, plan=one)
            task = task if asked.max_queries is None else task.sample(asked.max_queries)
            for method, fitted_here in methods:
                evaluator = Evaluator(memory, refit if fitted_here else None, counted, jobs)
                yield evaluator.evaluate(task, method)


def _plans(
    suite: str, plan: "TaskOptions", seconds: Sequence[float], strength: Sequence[float]
) -> "list[TaskOptions]":
    """The ways to ask a suite: every length of an excerpt with every strength of change."""
    if suite != "excerpt":
        return [plan]
    pairs = product(seconds or [plan.seconds], strength or [plan.strength])
    return [replace(plan, seconds=length, strength=much) for length, much in pairs]


@contextmanager
def _emitter(wanted: ResultOptions) -> Iterator[Callable[[Any], None]]:
    """Prints each result as it comes, or all in a table at the end; the file appears when all are there."""
    output = wanted.output
    if output is not None:
        require_free(output, wanted.force)
    results: list[Any] = []
    part = output.with_name(f"{output.name}.part") if output else None
    if part:
        part.write_text("", encoding="utf-8")

    def emit(result: Any) -> None:
        if getattr(result, "chance", 0) >= 1 and result.suite not in {one.suite for one in results}:
            say(
                f"{result.suite}: every answer is right here; add clips that would be wrong answers,"
                " or the figures say nothing"
            )
        results.append(result)
        if part:
            with part.open("a", encoding="utf-8") as file:
                file.write(json_line(result) + "\n")
        if wanted.as_json:
            emit_json(result)

    yield emit
    if part and output:
        part.replace(output)
    if not wanted.as_json:
        emit_tables(results)


def _unknown_motions(folder: Path | None) -> "list[Motion]":
    """Motions that no catalogue of AIST++ has: those of the folder, and made-up dances."""
    from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
    from dancematch.training.data.files import find_motion_files, read_motions

    read = [motions for _, motions in read_motions(find_motion_files([folder]))] if folder else []
    given = [motions[0] for motions in read if isinstance(motions, list)]
    made_up = [
        perform(
            compose_dance(UNKNOWN_DANCES + number, eight_counts=3), Dancer.random(UNKNOWN_DANCES + number)
        )
        for number in range(max(len(given), LEAST_UNKNOWN))
    ]
    return [*given, *made_up]


def _methods(suite: str, chosen: MethodOptions) -> "list[tuple[str | WordMethod, bool]]":
    """Models and named methods, each as the options ask and with whether it may be fitted."""
    from dancematch.evaluation.methods.feature_comparison import REFERENCES
    from dancematch.evaluation.methods.word_comparison import METHODS, WordMethod

    for method in chosen.methods:
        if method not in METHODS and method not in REFERENCES:
            known = ", ".join((*METHODS, *REFERENCES))
            raise click.UsageError(f"there is no method {method!r}; there are {known}")
    wordless = [method for method in chosen.methods if method in REFERENCES]
    if wordless and (chosen.soft or chosen.phases > 1):
        raise click.UsageError(f"--phases and --soft are about words; {wordless[0]} has none")
    names = chosen.methods or (() if chosen.models else USUAL_METHODS[suite])
    fixed = [name for name in names if name in METHODS and not name.startswith("kmeans")]
    if fixed and (chosen.searches or chosen.soft or chosen.phases > 1):
        raise click.UsageError(
            f"--search, --phases and --soft are for --model and kmeans; {fixed[0]} is always the same"
        )
    usual = ("two-stage",) if suite == "open-set" else ("histogram",)
    asked: list[tuple[str | WordMethod, bool]] = [
        (_as_asked(WordMethod(model), search, chosen), False)
        for model in chosen.models
        for search in chosen.searches or usual
    ]
    for name in names:
        if not name.startswith("kmeans"):
            asked.append((name, False))
        elif not chosen.searches and chosen.phases == 1 and not chosen.soft:
            asked.append((name, True))
        else:
            asked += [
                (_as_asked(METHODS[name], one, chosen), True) for one in chosen.searches or ("histogram",)
            ]
    return list(dict.fromkeys(asked))


def _as_asked(method: "WordMethod", search: str, chosen: MethodOptions) -> "WordMethod":
    from dancematch.evaluation.methods.word_comparison import SEARCHES

    settings = SEARCHES[search] or method.settings
    weighting = settings.weighting if settings else method.weighting
    return replace(method, settings=settings, weighting=weighting, phases=chosen.phases, soft=chosen.soft)


def _check_words(methods: "Sequence[str | WordMethod]") -> None:
    """Say before the clips are read that a model is missing or its patches are too short."""
    from dancematch.model.tokeniser import load_model

    for method in methods:
        if not isinstance(method, str):
            load_model(method.model).require_phases(method.phases)


def _refitted(motions: "Sequence[Motion]", like: "PatchTokeniser") -> "PatchTokeniser":
    from dancematch.training.kmeans import fit_kmeans

    return fit_kmeans(motions, layout=like.layout, vocabulary=like.vocabulary)
