"""What `dancematch extract` does with motion words: clips into words, and words back into motion."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.output import complain, emit_json, require_free, say, share_bar
from dancematch.errors import DanceMatchError, InputError
from dancematch.formats.web_address import refuse_web_address

if TYPE_CHECKING:
    from dancematch.model.tokeniser import Tokeniser
    from dancematch.types import Fingerprint


def write_words(
    clips: Sequence[Path], output: Path, *, model: str | None, force: bool, as_json: bool
) -> None:
    """Put every dancer of each clip into words: one clip into a file, several into a folder."""
    from dancematch.model.tokeniser import load_model
    from dancematch.pipeline.analysis.extract import choose_targets, create_folder

    for clip in clips:
        refuse_web_address(clip)
    tokeniser = load_model(model)
    if output.suffix.lower() == ".npz":
        if len(clips) > 1:
            raise click.UsageError(f"{output} is one file, but {len(clips)} clips are given: name a folder")
        require_free(output, force)
        _write_words(clips[0], output, tokeniser, force, as_json)
        return
    targets = choose_targets(clips, output)
    create_folder(output)
    for target in targets.values():
        require_free(target, force)
    failed = 0
    for clip, target in targets.items():
        try:
            _write_words(clip, target, tokeniser, force, as_json)
        except DanceMatchError as error:
            failed += 1
            complain(clip, error)
    if failed:
        say(f"{failed} of the clips gave nothing")
        sys.exit(ExitCode.FAILED)


def _write_words(clip: Path, target: Path, tokeniser: "Tokeniser", force: bool, as_json: bool) -> None:
    from dancematch.formats import fingerprint as files
    from dancematch.pipeline.tokenise import fingerprints_of

    with share_bar("analysing") as tell:
        made = fingerprints_of(clip, tokeniser, on_progress=tell)
    files.write(target, made, overwrite=force)
    if as_json:
        steps = [len(words) for words in made]
        emit_json({"clip": str(clip), "output": str(target), "model_id": tokeniser.model_id, "words": steps})
    else:
        say(f"{clip} -> {target}: {len(made)} dancer(s)")


def write_motion(
    fingerprints: "Sequence[Fingerprint]",
    output: Path,
    *,
    dancer: int | None,
    model: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write the motion that words describe, of all dancers or of one."""
    from dancematch import formats
    from dancematch.model.tokeniser import load_model
    from dancematch.pipeline.tokenise import decode

    if dancer is not None:
        if dancer > len(fingerprints):
            raise InputError(f"there is no dancer {dancer}, only {len(fingerprints)}")
        fingerprints = [fingerprints[dancer - 1]]
    tokeniser = load_model(model)
    motions = [decode(words, tokeniser) for words in fingerprints]
    formats.write(output, motions, overwrite=force)
    seconds = max(motion.seconds for motion in motions)
    if as_json:
        emit_json({"output": str(output), "dancers": len(motions), "seconds": round(seconds, 3)})
    else:
        say(f"{output}: {len(motions)} dancer(s), {seconds:.1f} s")


def read_dance(catalogue: str, dance: str, model: str | None) -> "list[Fingerprint]":
    """The words that a catalogue keeps of a dance's first recording, one per dancer."""
    from dancematch.pipeline.catalogue import open_catalogue

    with open_catalogue(catalogue, model=model, create=False) as known:
        first, *others = known.recordings(dance)
        found = [track.fingerprint for track in known.recording_tracks(first.recording_id)]
    if others:
        say(f"{dance} has {len(others) + 1} recordings; this is {first.file}")
    return found
