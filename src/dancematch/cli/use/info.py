"""dancematch info: what is this file, and who dances in it?"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dancematch.cli.options import json_option
from dancematch.cli.output import emit, emit_json, ignored_line, share_bar
from dancematch.formats.registry import FORMATS
from dancematch.formats.web_address import refuse_web_address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dancematch.types import IgnoredTrack, Motion

Facts = dict[str, Any]

_FORMATS = "Motion formats: " + ", ".join(f"{one.name} ({one.suffix})" for one in FORMATS) + "."


@click.command("info", epilog=_FORMATS)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--fps", type=float, help="Frame rate, for formats that do not carry one.")
@click.option(
    "--quick", is_flag=True, help="Do not search a video for dancers: that takes as long as a search."
)
@json_option
def info_command(file: Path, fps: float | None, quick: bool, as_json: bool) -> None:
    """Explain FILE: a video, or motion in any format that is read.

    Lists the dancers and the tracks that are no dancer, with the reason, and the tempo of the dance.

    \b
    Example:
      dancematch info thriller.mp4
      dancematch info walk.bvh
    """
    from dancematch import formats
    from dancematch.pipeline.analysis.file_analysis import describe_ignored

    refuse_web_address(file)
    is_motion = formats.is_motion_file(file)
    facts, motions, ignored = _read_motion_file(file, fps) if is_motion else _read_video(file, quick=quick)
    dancers = None if motions is None else [_describe_dancer(*one) for one in motions.items()]
    if motions:
        facts |= _count(None if is_motion else file, next(iter(motions.values())))
    if as_json:
        emit_json(facts | {"dancers": dancers, "ignored": [describe_ignored(one) for one in ignored]})
        return
    for name, value in facts.items():
        emit(f"{name}: {value}")
    for dancer in dancers or ():
        number = dancer.pop("dancer")
        emit(f"dancer {number}: " + ", ".join(f"{name} {value}" for name, value in dancer.items()))
    if dancers == []:
        emit("dancers: none")
    for one in ignored:
        emit(ignored_line(one))


def _count(video: Path | None, motion: "Motion") -> Facts:
    """The tempo and the first beat, of the sound track or of the first dancer, or why there are no counts."""
    from dancematch.pipeline.counts.movement import count_dance
    from dancematch.pipeline.counts.music import count_music

    counted = count_dance(motion, None if video is None else count_music(video))
    counts = counted.counts
    if counts is None:
        return {"counts": f"none: {counted.reason}"}
    return {
        "counts": f"by the {counts.source}",
        "beats_per_minute": round(counts.bpm, 1),
        "first_beat": round(counts.first, 2),
    }


def _describe_dancer(number: int, motion: "Motion") -> Facts:
    return {
        "dancer": number,
        "start": round(motion.start, 3),
        "seconds": round(motion.seconds, 3),
        "fps": round(motion.fps, 3),
        "frames": len(motion.joints),
        "joints": len(motion.skeleton.joints),
        "seen": round(float((motion.visibility > 0).mean()), 3),
    }


def _read_motion_file(
    file: Path, fps: float | None
) -> "tuple[Facts, Mapping[int, Motion] | None, Sequence[IgnoredTrack]]":
    from dancematch import formats
    from dancematch.pose.selection import select_motions

    found = formats.describe(file, fps=fps)
    facts = {"format": found.format, "meaning": found.explanation, "skeleton": found.skeleton}
    dancing, ignored = select_motions(found.motions)
    return {"file": str(file), **facts}, dancing, ignored


def _read_video(
    file: Path, *, quick: bool
) -> "tuple[Facts, Mapping[int, Motion] | None, Sequence[IgnoredTrack]]":
    """What the container says and, unless `quick`, who is in the pictures; dancers are None if not asked."""
    import dataclasses

    from dancematch.pose import default_estimator
    from dancematch.pose.selection import select_dancers
    from dancematch.pose.video import probe

    facts = dataclasses.asdict(probe(file))
    rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in facts.items()}
    facts = {"file": str(file), "format": "video", **rounded}
    if quick:
        return facts, None, ()
    with share_bar("analysing") as tell:
        found = select_dancers(default_estimator().tracks(file, on_frame=tell))
    return facts, {track.dancer: track.motion() for track in found.dancers}, found.ignored
