"""The options of `dancematch scan`, in groups, and what they rule out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from dancematch.cli.options import file_path, max_evalue_settings, option

STDIN = Path("-")


@dataclass(frozen=True)
class SourceOptions:
    """What is scanned besides files."""

    camera: str | None = option(
        "--camera", is_flag=False, flag_value="", metavar="[DEVICE]",
        help="Film with this computer's camera, or with a device such as /dev/video1, until Ctrl-C.",
    )  # fmt: skip
    follow: bool = option(
        "--follow", is_flag=True,
        help="Wait for more at the end of a file that another program goes on writing.",
    )  # fmt: skip


@dataclass(frozen=True)
class ScanOutputOptions:
    """What is written of a scan."""

    csv: Path | None = option(
        "--csv", type=file_path(), metavar="FILE", help="Write a table, one row per segment of all videos."
    )
    srt: Path | None = option(
        "--srt", type=click.Path(path_type=Path), metavar="FILE|DIR",
        help="Write subtitles (SubRip) for video players; of several videos a folder of them.",
    )  # fmt: skip
    vtt: Path | None = option(
        "--vtt", type=click.Path(path_type=Path), metavar="FILE|DIR", help="The same for web pages (WebVTT)."
    )
    eaf: Path | None = option(
        "--eaf", type=click.Path(path_type=Path), metavar="FILE|DIR",
        help="Write annotations for ELAN, one tier per dancer.",
    )  # fmt: skip
    edl: Path | None = option(
        "--edl", type=click.Path(path_type=Path), metavar="FILE|DIR",
        help="Write an edit decision list (CMX 3600) for editors.",
    )  # fmt: skip
    plot: Path | None = option(
        "--plot", type=click.Path(path_type=Path), metavar="FILE|DIR",
        help="Draw the timeline: a .png, .svg or .pdf file; of several videos a folder of .png files.",
    )  # fmt: skip
    matches_only: bool = option("--matches-only", is_flag=True, help="Leave possible matches out.")
    max_evalue: float = option(
        "--max-evalue",
        **max_evalue_settings(
            "A dance that a search gives by accident more often than this is only a possible match."
        ),
    )
    resume: bool = option(
        "--resume", is_flag=True,
        help="With --csv FILE: go on with a run that was interrupted, within a video too.",
    )  # fmt: skip
    force: bool = option("--force", is_flag=True, help="Replace files that are there.")

    def paths(self) -> dict[str, Path]:
        """The files that are written per video, by suffix without the point."""
        named = {"srt": self.srt, "vtt": self.vtt, "eaf": self.eaf, "edl": self.edl, "png": self.plot}
        return {name: path for name, path in named.items() if path is not None}

    def target(self, kind: str, video: str, count: int) -> Path:
        """Where the file of one kind goes for one video of so many."""
        path = self.paths()[kind]
        return path if count == 1 and not path.is_dir() else path / f"{Path(video).stem}.{kind}"


def refuse_scan_contradictions(
    places: Sequence[Path], source: SourceOptions, output: ScanOutputOptions
) -> None:
    """Refuse, before the work, what cannot be scanned together, and a resumption of nothing."""
    live = source.camera is not None or STDIN in places
    if source.camera is not None and places:
        raise click.UsageError("--camera films; leave out the VIDEOS, or scan them apart")
    if source.camera is None and not places:
        raise click.UsageError("name VIDEOS, or say --camera")
    if live and len(places) > 1:
        raise click.UsageError("- is a stream of its own; scan the other VIDEOS apart")
    if live and source.follow:
        raise click.UsageError("--follow is about a file that grows; leave it out")
    if output.resume and (output.csv is None or live or source.follow):
        raise click.UsageError("--resume goes on with what --csv FILE keeps of VIDEOS; give both")
