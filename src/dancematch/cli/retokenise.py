"""dancematch retokenise: a catalogue into another model's words."""

import dataclasses

import click

from dancematch.cli.output import emit_json, json_option, say, share_bar


@click.command("retokenise")
@click.argument("catalogue")
@click.option("--model", help="The model that is to be: a shipped one's name or a model's folder.")
@click.option("--drop-missing", is_flag=True, help="Forget dances that keep no skeletons to make words from.")
@json_option
def retokenise_command(catalogue: str, model: str | None, drop_missing: bool, as_json: bool) -> None:
    """Make the words of every dance in CATALOGUE anew, with another model, from its stored skeletons.

    Either all words are replaced or none; until then everybody goes on with the old ones.

    \b
    Example:
      dancematch retokenise dances.db
      dancematch retokenise dances.db --model my-model
    """
    from dancematch.model.tokeniser import load_model
    from dancematch.pipeline.retokenise import retokenise

    tokeniser = load_model(model)
    with share_bar("putting into words") as tell:
        done = retokenise(catalogue, tokeniser, drop_missing=drop_missing, on_progress=tell)
    for name in done.dropped:
        say(f"{name}: dropped, it keeps no skeletons to make words from")
    if as_json:
        emit_json(dataclasses.asdict(done) | {"changed": done.changed})
    elif done.changed:
        say(f"{catalogue}: {done.dances} dance(s) from {done.old_model} to {done.new_model}")
    else:
        say(f"{catalogue} holds words of {done.new_model} already; nothing to do")
