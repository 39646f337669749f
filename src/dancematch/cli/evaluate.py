"""dancematch eval: how well dances are found."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.output import counted, emit_json, emit_table, json_option, say

if TYPE_CHECKING:
    from dancematch.model.patches import PatchTokeniser
    from dancematch.types import Motion


@click.command("eval")
@click.argument("suite", type=click.Choice(["aist-genre", "aist-cross-dancer"]))
@click.option(
    "--data", required=True, type=click.Path(path_type=Path), help="Folder in the public AIST++ layout."
)
@click.option("--query-genres", help="Ask only for clips of these genres, such as PO,LH.")
@click.option(
    "--method", "methods", multiple=True, help="Method to run; may be given several times (default: all)."
)
@click.option("--refit", is_flag=True, help="Fit the tokeniser anew on the genres that are not asked for.")
@click.option("--seed", type=int, default=0, show_default=True)
@json_option
def eval_command(
    suite: str,
    data: Path,
    query_genres: str | None,
    methods: tuple[str, ...],
    refit: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Run SUITE on AIST++ and print what each method reaches.

    aist-genre is the paper's protocol (twenty clips a genre, same genre among the first
    three); aist-cross-dancer asks for the same choreography by another dancer.

    \b
    Example:
      dancematch eval aist-cross-dancer --data aistpp --method kmeans --json
      dancematch eval aist-cross-dancer --data aistpp --query-genres PO,LH --refit
    """
    from dancematch.evaluation.aist import METHODS, evaluate, load_clips

    if refit and not query_genres:
        raise click.UsageError("--refit needs --query-genres: the other genres are what it is fitted on")
    for method in methods:
        if method not in METHODS:
            raise click.UsageError(f"there is no method {method!r}; there are {', '.join(METHODS)}")
    say(f"reading {data}")
    clips = load_clips(data)
    genres = query_genres.split(",") if query_genres else None
    results = []
    for method in methods or tuple(METHODS):
        say(f"{suite}: {method} on {len(clips)} clips")
        result = evaluate(
            suite, clips, method, query_genres=genres, refit=_refitted if refit else None, seed=seed,
            track=lambda questions: counted(questions, "asking", total=len(questions)),
        )  # fmt: skip
        results.append(result)
        if as_json:
            emit_json(result)
    if not as_json:
        emit_table(
            ["method", "mean score", "match in 3", "rank 1", "chance", "queries", "seconds"],
            [
                [
                    r.method, f"{r.mean_score:.3f}", f"{r.match_rate:.1%}", f"{r.rank1:.1%}",
                    f"{r.chance:.1%}", str(r.queries), f"{r.seconds:.1f}",
                ]
                for r in results
            ],
        )  # fmt: skip


def _refitted(motions: "Sequence[Motion]", like: "PatchTokeniser") -> "PatchTokeniser":
    from dancematch.training.kmeans import fit_kmeans

    return fit_kmeans(motions, layout=like.layout, vocabulary=like.vocabulary)
