"""dancematch eval weights: learn how much each metric counts."""

from pathlib import Path

import click

from dancematch.cli.options import force_option, json_option, model_option
from dancematch.cli.output import emit_json, emit_table, require_free, say, share_bar


@click.command("weights")
@click.argument("catalogue")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The file to write.",
)
@click.option("--metrics", help="Metrics to choose from, by commas (default: all).")
@click.option("--seed", default=0, show_default=True, help="Decides which dances are held out together.")
@model_option
@force_option("Replace the file if it is there.")
@json_option
def weights_command(
    catalogue: str,
    output: Path,
    metrics: str | None,
    seed: int,
    model: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Learn from the recordings of CATALOGUE how much each metric of the search counts.

    Each recording of a dance that has several is searched for among all others.
    'dancematch search --weights FILE' uses what was learnt.

    \b
    Example:
      dancematch add dances.db thriller-recordings/ --dance thriller
      dancematch add dances.db macarena-recordings/ --dance macarena
      dancematch eval weights dances.db -o weights.json
    """
    from dancematch.pipeline.catalogue import open_catalogue
    from dancematch.pipeline.fitting import LEARNABLE, learn_weights
    from dancematch.search.metrics.weights import write_weights

    require_free(output, force)
    named = LEARNABLE if metrics is None else [name.strip() for name in metrics.split(",")]
    chosen = list(dict.fromkeys(name for name in named if name))
    with open_catalogue(catalogue, model=model, create=False) as known, share_bar("comparing") as tell:
        fitted = learn_weights(known, chosen, seed=seed, on_progress=tell)
    write_weights(output, fitted.weights, replace=force)
    if as_json:
        emit_json(fitted)
    else:
        ordered = sorted(fitted.weights.items(), key=lambda one: -one[1])
        emit_table(["metric", "weight"], [[name, f"{weight:.3f}"] for name, weight in ordered])
    say(
        f"with weights learnt from other dances, {fitted.rank1:.1%} of {fitted.questions} questions were "
        f"answered rightly at rank 1, with the default weights {fitted.default_rank1:.1%}; {output}: written"
    )
    if not fitted.gained:
        say("nothing was gained: 'dancematch search' answers as well or better without these weights")
