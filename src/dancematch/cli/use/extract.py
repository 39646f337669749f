"""dancematch extract: videos into skeletons or motion words, and words back into motion."""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import JOBS_SETTINGS, MODEL_HELP, json_option, option, option_group
from dancematch.cli.output import complain, emit_json, ignored_line, require_free, say, share_bar
from dancematch.cli.use.motion_words import read_dance, write_motion, write_words
from dancematch.pose.estimators import ESTIMATORS, make_estimator
from dancematch.pose.sampling import POSE_FPS

if TYPE_CHECKING:
    from dancematch.pipeline.analysis.file_analysis import Analysis

_FILE_SUFFIXES = (".npz", ".bvh", ".glb")  # of an output that is no folder


@dataclass(frozen=True)
class PoseOptions:
    """How skeletons are found in videos."""

    jobs: int = option("--jobs", **JOBS_SETTINGS)
    weights: Path | None = option(
        "--weights", type=click.Path(path_type=Path), help="Folder with the pose networks, if you have them."
    )
    estimator: str = option(
        "--estimator", type=click.Choice([entry.name for entry in ESTIMATORS]), default=ESTIMATORS[0].name,
        show_default=True, help="; ".join(f"{entry.name} {entry.explanation}" for entry in ESTIMATORS) + ".",
    )  # fmt: skip
    every_frame: bool = option(
        "--every-frame", is_flag=True,
        help=f"Estimate poses in every frame, for animation, not {POSE_FPS:g} times per second.",
    )  # fmt: skip


@dataclass(frozen=True)
class WordOptions:
    """What is done with motion words."""

    words: bool = option("--words", is_flag=True, help="Write motion words, not skeletons.")
    dance: str | None = option(
        "--dance", help="SOURCE is a catalogue: write the motion of this dance's first recording."
    )
    dancer: int | None = option(
        "--dancer", type=click.IntRange(1),
        help="From words: only this dancer's motion, 1 = the most prominent.",
    )  # fmt: skip
    model: str | None = option("--model", help=f"For words: {MODEL_HELP[0].lower()}{MODEL_HELP[1:]}")
    force: bool = option("--force", is_flag=True, help="Replace a file that is there.")


@click.command("extract")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path),
    help="A folder for an .npz file per video; of one clip, a file for its skeletons (.npz, .bvh, .glb) or "
    "words (.npz); a file for the motion of words.",
)  # fmt: skip
@option_group("pose", PoseOptions)
@option_group("word", WordOptions)
@json_option
def extract_command(
    sources: tuple[str, ...], output: Path, pose: PoseOptions, word: WordOptions, as_json: bool
) -> None:
    """Write the skeletons of every dancer in SOURCEs (videos or motion files) to OUTPUT, one .npz per source.

    What is there already is not done again: after Ctrl-C, run the same command. Of one SOURCE, OUTPUT may
    be a file: .glb (figures that move in Blender, in browsers and other 3D viewers), .bvh (one dancer, for
    animation software) or .npz.

    With --words, the motion words that a search compares are written instead: 'dancematch search' takes
    them like the clip. A SOURCE that holds words, or a dance of a catalogue, is turned back into motion:
    OUTPUT is such a file. What words do not tell (the dancer's build, the height above the floor) is made up.

    \b
    Example:
      dancematch extract clips/*.mp4 -o skeletons
      dancematch extract phone.mp4 -o phone.glb
      dancematch extract phone.mp4 --words -o phone-words.npz
      dancematch extract phone-words.npz -o phone.bvh
      dancematch extract dances.db --dance thriller -o thriller.bvh
    """
    from dancematch.formats import fingerprint as words_files
    from dancematch.pipeline.query import holds_words

    from_words = word.dance is not None or (len(sources) == 1 and holds_words(Path(sources[0])))
    _refuse_contradictions(sources, pose, word, from_words)
    paths = [Path(source) for source in sources]
    if word.words:
        write_words(paths, output, model=word.model, force=word.force, as_json=as_json)
    elif from_words:
        require_free(output, word.force)
        if word.dance is None:
            found = words_files.read(paths[0])
        else:
            found = read_dance(sources[0], word.dance, word.model)
        write_motion(found, output, dancer=word.dancer, model=word.model, force=word.force, as_json=as_json)
    elif output.suffix.lower() in _FILE_SUFFIXES and not output.is_dir():
        _write_file(paths, output, pose, word.force, as_json)
    else:
        _write_skeletons(paths, output, pose, as_json)


def _refuse_contradictions(
    sources: tuple[str, ...], pose: PoseOptions, word: WordOptions, from_words: bool
) -> None:
    if word.dance is not None and len(sources) > 1:
        raise click.UsageError(f"--dance names a dance of one catalogue, but {len(sources)} are given")
    if word.words and from_words:
        raise click.UsageError(f"{sources[0]} holds words already; leave out --words to get their motion")
    chosen = pose.weights is not None or pose.estimator != ESTIMATORS[0].name or pose.every_frame
    if word.words and chosen:
        raise click.UsageError(
            "--weights, --estimator and --every-frame are for skeletons; extract these first, then put them "
            "into words"
        )
    if word.dancer is not None and not from_words:
        raise click.UsageError("--dancer chooses among those of a file of words, or of --dance")


def _write_file(places: list[Path], output: Path, pose: PoseOptions, force: bool, as_json: bool) -> None:
    """Write the skeletons of one clip to a file."""
    from dancematch import formats
    from dancematch.pipeline.analysis.analyse_files import analyse_files
    from dancematch.pipeline.analysis.clip_files import find_clips

    clips = find_clips(places)
    if len(clips) != 1:
        raise click.UsageError(f"{output} is one file, but {len(clips)} clips are given: name a folder")
    require_free(output, force)
    make = partial(make_estimator, pose.estimator, pose.weights, every_frame=pose.every_frame)
    with share_bar("extracting") as tell:
        (found,) = analyse_files(clips, make_estimator=make, on_progress=tell)
    if found.error is not None:
        raise found.error
    formats.write(output, found.motions, overwrite=force)
    _show_extracted(found, output, as_json)


def _write_skeletons(videos: list[Path], output: Path, pose: PoseOptions, as_json: bool) -> None:
    from dancematch.pipeline.analysis.extract import extract

    make = partial(make_estimator, pose.estimator, pose.weights, every_frame=pose.every_frame)
    failed = 0
    with share_bar("extracting") as tell:
        for outcome, target in extract(
            videos, output, jobs=pose.jobs, make_estimator=make, on_progress=tell,
            every_frame=pose.every_frame,
        ):  # fmt: skip
            if target is None:
                failed += 1
                complain(outcome.path, outcome.error)
            else:
                _show_extracted(outcome, target, as_json)
    if failed:
        say(f"{failed} of the videos gave nothing")
        sys.exit(ExitCode.FAILED)


def _show_extracted(outcome: "Analysis", target: Path, as_json: bool) -> None:
    from dancematch.pipeline.analysis.file_analysis import describe_ignored

    if as_json:
        emit_json(
            {
                "video": str(outcome.path),
                "output": str(target),
                "dancers": len(outcome.motions),
                "seconds": max(motion.span.end for motion in outcome.motions),
                "ignored": [describe_ignored(one) for one in outcome.ignored],
            }
        )
        return
    say(f"{outcome.path} -> {target}: {len(outcome.motions)} dancer(s)")
    for one in outcome.ignored:
        say(f"  {ignored_line(one)}")
