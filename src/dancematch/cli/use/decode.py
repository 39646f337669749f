"""dancematch decode: motion words back into motion."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.output import emit_json, json_option, require_free, say
from dancematch.errors import InputError, UnknownDanceError

if TYPE_CHECKING:
    from dancematch.types import Fingerprint


@click.command("decode")
@click.argument("fingerprint", required=False, type=click.Path(path_type=Path))
@click.option("--catalogue", help="Take the words from this catalogue; --dance says whose.")
@click.option("--dance", "dance_id", help="The dance of the catalogue to decode.")
@click.option("--dancer", type=click.IntRange(1), help="Only this dancer, 1 = the most prominent.")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path),
    help="A .bvh file (one dancer, for animation software) or an .npz file (any number).",
)  # fmt: skip
@click.option("--model", help="A shipped model's name or a model's folder.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@json_option
def decode_command(
    fingerprint: Path | None,
    catalogue: str | None,
    dance_id: str | None,
    dancer: int | None,
    output: Path,
    model: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Show what motion words say: turn FINGERPRINT, or a dance of a catalogue, back into motion.

    FINGERPRINT is a file that 'dancematch fingerprint' wrote. What words do not tell (the
    dancer's build, the height above the floor) is made up.

    \b
    Example:
      dancematch fingerprint phone.mp4 -o phone-words.npz
      dancematch decode phone-words.npz -o phone.bvh
      dancematch decode --catalogue dances.db --dance thriller -o thriller.bvh
    """
    from dancematch import formats
    from dancematch.model.tokeniser import load_model
    from dancematch.pipeline.tokenise import decode

    named = catalogue is not None and dance_id is not None
    if named == (fingerprint is not None) or (catalogue is None) != (dance_id is None):
        raise click.UsageError("give either a FINGERPRINT file, or --catalogue and --dance")
    require_free(output, force)
    if fingerprint is not None:
        said = _from_file(fingerprint)
    else:
        said = _from_catalogue(str(catalogue), str(dance_id), model)
    if dancer is not None:
        if dancer > len(said):
            raise InputError(f"there is no dancer {dancer}, only {len(said)}")
        said = [said[dancer - 1]]
    tokeniser = load_model(model)
    motions = [decode(words, tokeniser) for words in said]
    formats.write(output, motions, overwrite=force)
    seconds = max(motion.seconds for motion in motions)
    if as_json:
        emit_json({"output": str(output), "dancers": len(motions), "seconds": round(seconds, 3)})
    else:
        say(f"{output}: {len(motions)} dancer(s), {seconds:.1f} s")


def _from_file(path: Path) -> "list[Fingerprint]":
    from dancematch.formats import fingerprint

    return fingerprint.read(path)


def _from_catalogue(catalogue: str, dance_id: str, model: str | None) -> "list[Fingerprint]":
    from dancematch.pipeline.catalogue import open_catalogue

    with open_catalogue(catalogue, model=model, create=False) as known:
        said = [words for name, words in known.fingerprints() if name == dance_id]
    if not said:
        raise UnknownDanceError(f"{catalogue} has no dance named {dance_id!r}; 'dancematch list' names them")
    return said
