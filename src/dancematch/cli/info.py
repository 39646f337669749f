"""dancematch info: what is this file?"""

from pathlib import Path
from typing import Any

import click

from dancematch.cli.output import emit_json, json_option


@click.command("info")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--fps", type=float, help="Frame rate, for formats that do not carry one.")
@json_option
def info_command(file: Path, fps: float | None, as_json: bool) -> None:
    """Explain FILE: a video, or motion in any format that is read.

    \b
    Example:
      dancematch info thriller.mp4
      dancematch info walk.bvh
    """
    from dancematch import formats

    facts = _motion_facts(file, fps) if formats.is_motion_file(file) else _video_facts(file)
    if as_json:
        emit_json(facts)
        return
    for name, value in facts.items():
        if name != "dancers":
            click.echo(f"{name}: {value}")
    for number, dancer in enumerate(facts.get("dancers", []), start=1):
        click.echo(f"dancer {number}: " + ", ".join(f"{name} {value}" for name, value in dancer.items()))


def _motion_facts(file: Path, fps: float | None) -> dict[str, Any]:
    from dancematch import formats

    found = formats.describe(file, fps=fps)
    return {
        "file": str(file),
        "format": found.format,
        "meaning": found.explanation,
        "skeleton": found.skeleton,
        "dancers": [
            {
                "start": round(motion.start, 3),
                "seconds": round(motion.seconds, 3),
                "fps": round(motion.fps, 3),
                "frames": len(motion.joints),
                "joints": len(motion.skeleton.joints),
                "seen": round(float((motion.visibility > 0).mean()), 3),
            }
            for motion in found.motions
        ],
    }


def _video_facts(file: Path) -> dict[str, Any]:
    import dataclasses

    from dancematch.pose.video import probe

    facts = dataclasses.asdict(probe(file))
    rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in facts.items()}
    return {"file": str(file), "format": "video", **rounded}
