"""dancematch search: which dance is this?"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.output import emit_json, emit_table, json_option, say, share_bar
from dancematch.index.calibrate import MAX_EVALUE
from dancematch.index.settings import LIMIT

if TYPE_CHECKING:
    from dancematch.types import Match

NO_MATCH = 3


@click.command("search")
@click.argument("catalogue")
@click.argument("clip", type=click.Path(path_type=Path))
@click.option("--limit", type=click.IntRange(1), default=LIMIT, show_default=True, help="Dances to show.")
@click.option(
    "--max-evalue", type=click.FloatRange(0), default=MAX_EVALUE, show_default=True,
    help="A match that chance gives more often than this is no match.",
)  # fmt: skip
@click.option("--model", help="A shipped model's name or a model's folder.")
@json_option
def search_command(
    catalogue: str, clip: Path, limit: int, max_evalue: float, model: str | None, as_json: bool
) -> None:
    """Say which dance of CATALOGUE the CLIP (a video or motion file) is.

    Exits with 0 if there is one and with 3 if the clip is none of them.

    \b
    Example:
      dancematch search dances.db phone.mp4
      dancematch search dances.db phone.mp4 --json | head -n 1
    """
    from dancematch.pipeline.catalogue import open_catalogue, sure_ones

    with open_catalogue(catalogue, model=model, create=False) as known, share_bar("looking") as tell:
        nearest = known.search(clip, limit=limit, max_evalue=None, on_progress=tell)
    found = sure_ones(nearest, max_evalue)
    if as_json:
        for match in found:
            emit_json(match)
    elif found:
        print_matches(found)
    else:
        say(
            f"no match: {clip} is none of the dances in {catalogue}" + ("" if nearest else ", which is empty")
        )
        if nearest:
            say("the nearest, none of them near enough:")
            for match in nearest[:3]:
                say(f"  {match.score:.2f}  {match.dance_id}  (E = {match.evalue:.2g})")
    if not found:
        sys.exit(NO_MATCH)


def print_matches(matches: "list[Match]") -> None:
    """Show matches as a table."""
    emit_table(
        ["score", "dance", "where in the dance", "tempo", "mirrored", "body", "dancer", "by chance"],
        [
            [
                f"{match.score:.2f}",
                match.dance_id,
                f"{match.reference.start:.1f} to {match.reference.end:.1f} s",
                f"x{match.tempo:.2f}",
                "yes" if match.mirrored else "no",
                _body(match),
                str(match.dancer),
                f"{match.evalue:.1g}",
            ]
            for match in matches
        ],
    )


def _body(match: "Match") -> str:
    """How much each region of the body agrees; one that the clip does not show is left out."""
    regions = [name for name in ("arms", "torso", "legs") if name in match.parts]
    return ", ".join(f"{name} {match.parts[name]:.2f}" for name in regions)
