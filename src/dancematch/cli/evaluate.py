"""dancematch eval: how well dances are found."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.output import counted, emit_json, emit_table, json_option, say

if TYPE_CHECKING:
    from dancematch.evaluation.judge import Result
    from dancematch.evaluation.words import Method
    from dancematch.model.patches import PatchTokeniser
    from dancematch.types import Motion


@click.command("eval")
@click.argument("suite", type=click.Choice(["aist-genre", "aist-cross-dancer", "excerpt", "video"]))
@click.option(
    "--data", required=True, type=click.Path(path_type=Path), help="Folder in the public AIST++ layout."
)
@click.option("--query-genres", help="Ask only for clips of these genres, such as PO,LH.")
@click.option(
    "--method", "methods", multiple=True,
    help="kmeans, kmeans-two-stage, kmeans-cosine, kmeans-whole (default: these), or without words "
    "dtw, late-interaction; may be given several times.",
)  # fmt: skip
@click.option(
    "--model", "models", multiple=True, help="A model's folder or name to run; may be given several times."
)
@click.option(
    "--search", type=click.Choice(["histogram", "two-stage", "brute-force", "paper"]), default="histogram",
    show_default=True, help="Histograms alone; with the order of words, as 'search' does; that without a "
    "shortlist; or as the paper prints it.",
)  # fmt: skip
@click.option(
    "--phases", type=click.IntRange(1), default=1, help="Starting frames to count a query's words at."
)
@click.option("--soft", is_flag=True, help="Count each moment of a query as its three nearest words.")
@click.option(
    "--refit",
    is_flag=True,
    help="Fit each --method anew on the genres that are not asked for; a --model stays as it is.",
)
@click.option("--views", type=click.Path(path_type=Path), help="Folder of view_*.npz, for video.")
@click.option("--max-queries", type=click.IntRange(1), help="Ask only so many queries, drawn by the seed.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@json_option
def eval_command(  # as many parameters as options
    suite: str,
    data: Path,
    query_genres: str | None,
    methods: tuple[str, ...],
    models: tuple[str, ...],
    search: str,
    phases: int,
    soft: bool,
    refit: bool,
    views: Path | None,
    max_queries: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Run SUITE on AIST++ and print what each method or model reaches.

    aist-genre is the paper's protocol (twenty clips a genre, same genre among the first
    three); aist-cross-dancer asks for the same choreography by another dancer; excerpt asks for
    the clip that five changed seconds come from; video for the clip that a pose estimator saw.

    \b
    Example:
      dancematch eval aist-cross-dancer --data aistpp --method kmeans --json
      dancematch eval aist-cross-dancer --data aistpp --query-genres PO,LH --refit
      dancematch eval aist-cross-dancer --data aistpp --model my-model --search two-stage
      dancematch eval aist-cross-dancer --data aistpp --query-genres LH --model my-model --method dtw
      dancematch eval excerpt --data aistpp --model my-model --max-queries 100
    """
    from dancematch.evaluation.aist import load_clips
    from dancematch.evaluation.judge import evaluate
    from dancematch.evaluation.tasks import make_task

    if refit and not query_genres:
        raise click.UsageError("--refit needs --query-genres: the other genres are what it is fitted on")
    if refit and models and not methods:
        raise click.UsageError("--refit fits the k-means of a --method; a --model stays as it is")
    if (suite == "video") != (views is not None):
        raise click.UsageError("--views belongs to the suite video, which needs it")
    chosen = _methods(methods, models, search=search, phases=phases, soft=soft)
    _check_words([method for method, _ in chosen])
    say(f"reading {data}")
    clips = load_clips(data)
    genres = query_genres.split(",") if query_genres else None
    task = make_task(suite, clips, query_genres=genres, seed=seed, views=views)
    if max_queries is not None:
        task = task.sample(max_queries)
    results = []
    for method, fitted_here in chosen:
        say(f"{suite}: {method if isinstance(method, str) else method.model} on {len(clips)} clips")
        result = evaluate(
            task, clips, method, refit=_refitted if refit and fitted_here else None,
            track=lambda questions: counted(questions, "asking", total=len(questions)),
        )  # fmt: skip
        results.append(result)
        if as_json:
            emit_json(result)
    if not as_json:
        _emit(results)


def _methods(
    methods: Sequence[str], models: Sequence[str], *, search: str, phases: int, soft: bool
) -> "list[tuple[str | Method, bool]]":
    """Models and named methods, each with what the options ask of its words and whether it may be fitted."""
    from dancematch.evaluation.continuous import REFERENCES
    from dancematch.evaluation.words import METHODS, Method

    wordless = [method for method in methods if method in REFERENCES]
    for method in methods:
        if method not in METHODS and method not in REFERENCES:
            known = ", ".join((*METHODS, *REFERENCES))
            raise click.UsageError(f"there is no method {method!r}; there are {known}")
    if wordless and (search != "histogram" or soft or phases > 1):
        raise click.UsageError(f"--search, --phases and --soft are about words; {wordless[0]} has none")
    named = [method for method in methods if method in METHODS] if methods or models else list(METHODS)
    words = [*((Method(model), False) for model in models), *((METHODS[method], True) for method in named)]
    asked = [(_as_asked(method, search, phases, soft), fitted_here) for method, fitted_here in words]
    return [*dict.fromkeys(asked), *((method, False) for method in wordless)]


def _check_words(methods: "Sequence[str | Method]") -> None:
    """Say before the clips are read that a model is missing or its patches are too short."""
    from dancematch.model.tokeniser import load_model

    for method in methods:
        if not isinstance(method, str):
            load_model(method.model).require_phases(method.phases)


def _as_asked(method: "Method", search: str, phases: int, soft: bool) -> "Method":
    from dancematch.evaluation.words import SEARCHES

    settings = SEARCHES[search] or method.settings
    weighting = settings.weighting if settings else method.weighting
    return replace(method, settings=settings, weighting=weighting, phases=phases, soft=soft)


def _emit(results: "Sequence[Result]") -> None:
    emit_table(
        ["method", "mean score", "match in 3", "rank 1", "dance", "chance", "queries", "seconds"],
        [
            [
                r.method, f"{r.mean_score:.3f}", f"{r.match_rate:.1%}", f"{r.rank1:.1%}",
                "-" if r.rank1_dance is None else f"{r.rank1_dance:.1%}",
                f"{r.chance:.1%}", str(r.queries), f"{r.seconds:.1f}",
            ]
            for r in results
        ],
    )  # fmt: skip


def _refitted(motions: "Sequence[Motion]", like: "PatchTokeniser") -> "PatchTokeniser":
    from dancematch.training.kmeans import fit_kmeans

    return fit_kmeans(motions, layout=like.layout, vocabulary=like.vocabulary)
