"""dancematch eval: how well dances are found."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dancematch.cli.output import counted, emit_json, json_option, require_free, say
from dancematch.cli.research.evaluate_real import choose_methods, evaluate_real
from dancematch.cli.research.evaluate_release import evaluate_release
from dancematch.cli.research.evaluate_tables import emit_tables

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
STRANGE_DANCES = 9000  # number of the first made-up dance that is a stranger: nothing was chosen on them
LEAST_STRANGE = 20  # made-up dances, if there is no folder of strangers


@dataclass(frozen=True)
class Words:
    """What the options ask of words."""

    models: tuple[str, ...]
    methods: tuple[str, ...]
    searches: tuple[str, ...]
    phases: int
    soft: bool


@dataclass(frozen=True)
class Asking:
    """What the options ask of the suites."""

    genres: list[str] | None
    seed: int
    max_queries: int | None
    seconds: tuple[float, ...]
    strength: tuple[float, ...]
    leave_out: int
    views: Path | None
    strangers: Path | None


@click.command("eval")
@click.argument("suites", metavar="SUITE...", nargs=-1, required=True, type=click.Choice(SUITES))
@click.option(
    "--data", required=True, type=click.Path(path_type=Path),
    help="Folder in the public AIST++ layout; for benchmark a release, for real clips with an index.csv.",
)  # fmt: skip
@click.option("--query-genres", help="Ask only for clips of these genres, such as PO,LH.")
@click.option(
    "--method", "methods", multiple=True,
    help="With the shipped network: stage1, two-stage, likelihood, brute-force, paper. Words without a "
    "network: kmeans, kmeans-two-stage, kmeans-cosine, kmeans-whole. Without words: dtw, late-interaction. "
    "May be given several times; default: the first five, kmeans and dtw, as far as they fit the suite. "
    "The suite real has methods of its own: words, synchrony, both, dtw-angles.",
)  # fmt: skip
@click.option(
    "--model", "models", multiple=True, help="A model's folder or name to run; may be given several times."
)
@click.option(
    "--search", "searches", type=click.Choice(SEARCHES), multiple=True,
    help="How the words of a --model or of kmeans are searched: histograms alone (the default); with the "
    "order of words; with synchrony too, as 'search' does; words without a shortlist; or as the paper prints "
    "it. May be given several times.",
)  # fmt: skip
@click.option(
    "--phases", type=click.IntRange(1), default=1, help="Starting frames to count a query's words at."
)
@click.option("--soft", is_flag=True, help="Count each moment of a query as its three nearest words.")
@click.option(
    "--refit",
    is_flag=True,
    help="Fit each kmeans method anew on the genres that are not asked for; a --model stays as it is.",
)
@click.option(
    "--leave-out", type=click.IntRange(1), default=1, show_default=True, metavar="K",
    help="Clips of a query's class that its catalogue lacks, itself included (leave-K-out): aist-genre, "
    "aist-choreography.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(0.5), multiple=True, help="Of an excerpt (default 5); several: each."
)
@click.option(
    "--strength", type=click.FloatRange(0), multiple=True,
    help="Of an excerpt's changes (default 1, a usual amount); several: each.",
)  # fmt: skip
@click.option("--views", type=click.Path(path_type=Path), help="Folder of view_*.npz: video, open-set.")
@click.option(
    "--strangers", type=click.Path(path_type=Path, exists=True),
    help="Folder of motions that are not in the data, for open-set; as many made-up dances are added.",
)  # fmt: skip
@click.option(
    "--distractors", type=click.Path(path_type=Path, exists=True),
    help="Folder in the AIST++ layout, for real: its sequences are further recordings to search among.",
)  # fmt: skip
@click.option(
    "--skeletons", type=click.Path(path_type=Path),
    help="Folder for the skeletons of the suite real; default: one in the user's cache.",
)  # fmt: skip
@click.option("--max-queries", type=click.IntRange(1), help="Ask only so many queries, drawn by the seed.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count(), help="Threads to use (default: all cores)."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Keep the JSON lines in this file.")
@click.option("--force", is_flag=True, help="Replace the output file if it is there.")
@json_option
def eval_command(  # as many parameters as options
    suites: tuple[str, ...],
    data: Path,
    query_genres: str | None,
    methods: tuple[str, ...],
    models: tuple[str, ...],
    searches: tuple[str, ...],
    phases: int,
    soft: bool,
    refit: bool,
    leave_out: int,
    seconds: tuple[float, ...],
    strength: tuple[float, ...],
    views: Path | None,
    strangers: Path | None,
    distractors: Path | None,
    skeletons: Path | None,
    max_queries: int | None,
    seed: int,
    jobs: int,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Run SUITEs and print what each method or model reaches, with 95 % intervals.

    \b
    aist-genre         the paper's protocol: twenty clips a genre, same genre among the first three
    aist-choreography  another take of the same basic choreography, by whomever
    aist-cross-dancer  the same by another dancer
    scale              a hundred dances, ten known performances each, forty others to be named
    excerpt            the clip that five changed seconds come from, and where in it they are
    video              the clip that a pose estimator saw
    open-set           verdicts on known dances, and on dances that the catalogue does not have
    benchmark          by itself: the label of each test clip of a release of bench-build (--data)
    real               by itself: each of a folder's clips among all recordings but its own performance

    \b
    Example:
      dancematch eval aist-genre aist-choreography aist-cross-dancer --data aistpp -o results.jsonl
      dancematch eval aist-cross-dancer --data aistpp --query-genres PO,LH --method kmeans --refit
      dancematch eval aist-cross-dancer --data aistpp --model my-model --search two-stage --json
      dancematch eval excerpt --data aistpp --seconds 2 --seconds 10 --method two-stage --max-queries 100
      dancematch eval open-set --data aistpp --strangers cmu
      dancematch eval benchmark --data bench --json
      dancematch eval real --data clips --distractors aistpp -o real.jsonl
    """
    _refuse_contradictions(
        set(suites),
        {
            "--views": (views, ("video", "open-set")),
            "--strangers": (strangers, ("open-set",)),
            "--seconds": (seconds, ("excerpt",)),
            "--strength": (strength, ("excerpt",)),
            "--leave-out": (leave_out > 1, ("aist-genre", "aist-choreography")),
            "--distractors": (distractors, ("real",)),
            "--skeletons": (skeletons, ("real",)),
        },
        {"--query-genres": query_genres, "--max-queries": max_queries, "--refit": refit},
    )
    if "real" in suites:
        if searches or phases > 1 or soft:
            raise click.UsageError("--search, --phases and --soft are not for the suite real")
        real = choose_methods(methods, models)
        with _told(output, force, as_json) as emit:
            for line in evaluate_real(
                data, real, distractors=distractors, skeletons=skeletons, seed=seed, jobs=jobs
            ):
                emit(line)
        return
    if refit and not query_genres:
        raise click.UsageError("--refit needs --query-genres: the other genres are what it is fitted on")
    if refit and models and not methods:
        raise click.UsageError("--refit fits the k-means of a --method; a --model stays as it is")
    words = Words(models, methods, searches, phases, soft)
    chosen = {suite: _methods(suite, words) for suite in suites}
    _check_words([method for some in chosen.values() for method, _ in some])
    with _told(output, force, as_json) as emit:
        if "benchmark" in suites:
            results: Iterable[Any] = evaluate_release(data, [method for method, _ in chosen["benchmark"]])
        else:
            genres = query_genres.split(",") if query_genres else None
            asking = Asking(genres, seed, max_queries, seconds, strength, leave_out, views, strangers)
            results = _results(data, chosen, asking, _refitted if refit else None, jobs)
        for result in results:
            emit(result)


def _refuse_contradictions(
    suites: set[str], options: dict[str, tuple[Any, Sequence[str]]], for_aist: dict[str, Any]
) -> None:
    """Refuse what would be asked for in vain: options of suites that are not run."""
    for option, (given, homes) in options.items():
        if given and not suites & set(homes):
            suite = "the suites" if len(homes) > 1 else "the suite"
            raise click.UsageError(f"{option} belongs to {suite} {' and '.join(homes)}")
    if "video" in suites and not options["--views"][0]:
        raise click.UsageError("the suite video needs --views")
    if "open-set" in suites and for_aist["--refit"]:
        raise click.UsageError("--refit leaves a model without a background, which open-set needs")
    for suite in sorted(suites & {"benchmark", "real"}):
        if len(suites) > 1 or any(for_aist.values()):
            raise click.UsageError(f"{suite} has data of its own and asks all of it: run it by itself")


def _results(
    data: Path,
    chosen: "dict[str, list[tuple[str | WordMethod, bool]]]",
    asking: Asking,
    refit: "Refit | None",
    jobs: int,
) -> Iterator[Any]:
    """What each suite's methods reach on AIST++, one after the other."""
    from dancematch.evaluation.suites.aist import load_clips
    from dancematch.evaluation.suites.open_set import QUERIES, OpenSetSuite
    from dancematch.evaluation.suites.retrieval import EvaluationCache, Evaluator
    from dancematch.evaluation.suites.retrieval_tasks import TaskOptions, make_task

    say(f"reading {data}")
    clips, memory = load_clips(data), EvaluationCache()
    for suite, methods in chosen.items():
        if suite == "open-set":
            strange, most = _strange(asking.strangers), asking.max_queries or QUERIES
            known_or_not = OpenSetSuite(clips, strange, asking.views, asking.genres, most, asking.seed)
            for method, _ in methods:
                yield from known_or_not.evaluate(method, memory, counted)
            continue
        plan = TaskOptions(asking.leave_out, views=asking.views)
        for one in _plans(suite, plan, asking.seconds, asking.strength):
            task = make_task(suite, clips, query_genres=asking.genres, seed=asking.seed, plan=one)
            task = task if asking.max_queries is None else task.sample(asking.max_queries)
            for method, fitted_here in methods:
                judge = Evaluator(memory, refit if fitted_here else None, counted, jobs)
                yield judge.evaluate(task, method)


def _plans(
    suite: str, plan: "TaskOptions", seconds: Sequence[float], strength: Sequence[float]
) -> "list[TaskOptions]":
    """The ways to ask a suite: every length of an excerpt with every strength of change."""
    if suite != "excerpt":
        return [plan]
    pairs = product(seconds or [plan.seconds], strength or [plan.strength])
    return [replace(plan, seconds=length, strength=much) for length, much in pairs]


@contextmanager
def _told(output: Path | None, force: bool, as_json: bool) -> Iterator[Callable[[Any], None]]:
    """Tells each result as it comes, or all in a table at the end; the file is there when all are."""
    if output is not None:
        require_free(output, force)
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
                file.write(json.dumps(asdict(result), ensure_ascii=False, allow_nan=False) + "\n")
        if as_json:
            emit_json(result)

    yield emit
    if part and output:
        part.replace(output)
    if not as_json:
        emit_tables(results)


def _strange(folder: Path | None) -> "list[Motion]":
    """Motions that no catalogue of AIST++ has: those of the folder, and made-up dances."""
    from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
    from dancematch.training.data.files import find_motion_files, read_motions

    read = [motions for _, motions in read_motions(find_motion_files([folder]))] if folder else []
    given = [motions[0] for motions in read if isinstance(motions, list)]
    made_up = [
        perform(
            compose_dance(STRANGE_DANCES + number, eight_counts=3), Dancer.random(STRANGE_DANCES + number)
        )
        for number in range(max(len(given), LEAST_STRANGE))
    ]
    return [*given, *made_up]


def _methods(suite: str, words: Words) -> "list[tuple[str | WordMethod, bool]]":
    """Models and named methods, each with what the options ask of its words and whether it may be fitted."""
    from dancematch.evaluation.methods.feature_comparison import REFERENCES
    from dancematch.evaluation.methods.word_comparison import METHODS, WordMethod

    for method in words.methods:
        if method not in METHODS and method not in REFERENCES:
            known = ", ".join((*METHODS, *REFERENCES))
            raise click.UsageError(f"there is no method {method!r}; there are {known}")
    wordless = [method for method in words.methods if method in REFERENCES]
    if wordless and (words.soft or words.phases > 1):
        raise click.UsageError(f"--phases and --soft are about words; {wordless[0]} has none")
    names = words.methods or (() if words.models else USUAL_METHODS[suite])
    fixed = [name for name in names if name in METHODS and not name.startswith("kmeans")]
    if fixed and (words.searches or words.soft or words.phases > 1):
        raise click.UsageError(
            f"--search, --phases and --soft are for --model and kmeans; {fixed[0]} is always the same"
        )
    usual = ("two-stage",) if suite == "open-set" else ("histogram",)
    asked: list[tuple[str | WordMethod, bool]] = [
        (_as_asked(WordMethod(model), search, words), False)
        for model in words.models
        for search in words.searches or usual
    ]
    for name in names:
        if not name.startswith("kmeans"):
            asked.append((name, False))
        elif not words.searches and words.phases == 1 and not words.soft:
            asked.append((name, True))
        else:
            asked += [
                (_as_asked(METHODS[name], one, words), True) for one in words.searches or ("histogram",)
            ]
    return list(dict.fromkeys(asked))


def _as_asked(method: "WordMethod", search: str, words: Words) -> "WordMethod":
    from dancematch.evaluation.methods.word_comparison import SEARCHES

    settings = SEARCHES[search] or method.settings
    weighting = settings.weighting if settings else method.weighting
    return replace(method, settings=settings, weighting=weighting, phases=words.phases, soft=words.soft)


def _check_words(methods: "Sequence[str | WordMethod]") -> None:
    """Say before the clips are read that a model is missing or its patches are too short."""
    from dancematch.model.tokeniser import load_model

    for method in methods:
        if not isinstance(method, str):
            load_model(method.model).require_phases(method.phases)


def _refitted(motions: "Sequence[Motion]", like: "PatchTokeniser") -> "PatchTokeniser":
    from dancematch.training.kmeans import fit_kmeans

    return fit_kmeans(motions, layout=like.layout, vocabulary=like.vocabulary)
