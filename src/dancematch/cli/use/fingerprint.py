"""dancematch fingerprint: a clip into motion words."""

from pathlib import Path

import click

from dancematch.cli.output import emit_json, json_option, require_free, say, share_bar


@click.command("fingerprint")
@click.argument("clip", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The .npz file for the words."
)
@click.option("--model", help="A shipped model's name or a model's folder.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@json_option
def fingerprint_command(clip: Path, output: Path, model: str | None, force: bool, as_json: bool) -> None:
    """Put every dancer in CLIP (a video or motion file) into motion words and keep them in a file.

    \b
    Example:
      dancematch fingerprint phone.mp4 -o phone-words.npz
      dancematch decode phone-words.npz -o phone.bvh
    """
    from dancematch.formats import fingerprint as files
    from dancematch.model.tokeniser import load_model
    from dancematch.pipeline.tokenise import fingerprints_of

    require_free(output, force)
    tokeniser = load_model(model)
    with share_bar("looking") as tell:
        made = fingerprints_of(clip, tokeniser, on_progress=tell)
    files.write(output, made, overwrite=force)
    steps = [len(words) for words in made]
    if as_json:
        emit_json({"clip": str(clip), "output": str(output), "model_id": tokeniser.model_id, "words": steps})
    else:
        say(f"{clip} -> {output}: {len(made)} dancer(s), {', '.join(map(str, steps))} word(s) a channel")
