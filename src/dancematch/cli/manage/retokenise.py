"""dancematch retokenise: a catalogue into another model's words."""

import dataclasses

import click

from dancematch.cli.options import json_option
from dancematch.cli.output import emit_json, say, share_bar


@click.command("retokenise")
@click.argument("catalogue")
@click.option("--model", help="The model that is to be: a shipped one's name or a model's folder.")
@click.option("--to", "target", help="Another catalogue, file or URL, for the new words; the old ones stay.")
@click.option(
    "--drop-missing", is_flag=True, help="Forget recordings that keep no skeletons to make words from."
)
@json_option
def retokenise_command(
    catalogue: str, model: str | None, target: str | None, drop_missing: bool, as_json: bool
) -> None:
    """Make the words of every recording in CATALOGUE anew, with another model, from its stored skeletons.

    Either all words are replaced or none; until then all programs go on with the old ones. With --to,
    CATALOGUE stays as it is, and a run that is repeated adds what has come since, or what a killed run left
    out.

    \b
    Example:
      dancematch retokenise dances.db
      dancematch retokenise dances.db --model my-model --to new.db
    """
    from dancematch.catalogue.sql.connection import shown_address
    from dancematch.model.tokeniser import DEFAULT_MODEL, load_model
    from dancematch.pipeline.retokenise import retokenise, retokenise_into

    tokeniser = load_model(model)
    with share_bar("putting into words") as tell:
        if target is None:
            done = retokenise(catalogue, tokeniser, drop_missing=drop_missing, on_progress=tell)
        else:
            done = retokenise_into(catalogue, target, tokeniser, drop_missing=drop_missing, on_progress=tell)
    catalogue, name = shown_address(catalogue), model or DEFAULT_MODEL
    for recording in done.dropped:
        say(f"{recording}: dropped, it keeps no skeletons to make words from")
    if as_json:
        emit_json(dataclasses.asdict(done) | {"changed": done.changed})
    elif target is not None:
        say(f"{shown_address(target)}: has the {done.recordings} recording(s) in words of {name}")
    elif done.changed:
        say(f"{catalogue}: {done.recordings} recording(s) are in words of {name} now")
    else:
        say(f"{catalogue} holds words of {name} already; nothing to do")
