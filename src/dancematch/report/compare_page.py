"""A comparison as one HTML page that needs nothing beside it: two figures that move together.

The comparison goes into the page as JSON, which its script draws.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from dancematch.pipeline.counts.counts import place_beat
from dancematch.pipeline.wording import capitalise, ratio_words
from dancematch.report.compare import BONES, MATCHED_SHARE, Comparison, MomentDifference
from dancematch.report.lesson import Lesson
from dancematch.report.page import render_page, write_page
from dancematch.report.poses import FADED_OPACITY, Poses, fade_dashes
from dancematch.skeletons import BODY15
from dancematch.types import FloatArray

_HEAD_RADIUS = 9.0  # of the figures, centimetres
_FPS = 15.0  # of the figures: enough for the eye, at half the size of the page


def write_comparison(
    path: str | Path, lesson: Lesson, *, clip: str, reference: str, overwrite: bool = False
) -> None:
    """Write the page; `clip` and `reference` are the names of the two on it."""
    page = render_page(
        "compare.html",
        clip=clip,
        reference=reference,
        same=lesson.comparison.same,
        counted=lesson.counted_by,
        diff=_describe_diff(lesson),
        practice=lesson.practice,
        data=_page_data(lesson),
    )
    write_page(path, page, overwrite=overwrite)


def summarise(comparison: Comparison) -> str:
    """The comparison as a whole in a few sentences."""
    match, mean = comparison.match, comparison.mean
    manner = "mirrored, " if match.mirrored else ""
    seen = mean[np.isfinite(mean)]
    off = f"{seen.mean():.0f} degrees apart on average" if len(seen) else "no bone is seen in both"
    needed = ""
    if comparison.verdict != match.verdict:  # too little of the time matches
        needed = (
            f": the words match for {100 * comparison.matched:.0f} % of the time, less than the "
            f"{100 * MATCHED_SHARE:.0f} % that a possible match needs"
        )
    return (
        f"Seconds {comparison.query[0]:.1f} to {comparison.query[-1]:.1f} of the clip, {manner}beside "
        f"{comparison.reference[0]:.1f} to {comparison.reference[-1]:.1f} of the reference, at "
        f"{comparison.tempo:.2f} times its tempo: {off}. "
        f"{capitalise(comparison.verdict)}{needed}. "
        + ratio_words(match.log_ratio or 0.0, "both show one dance", "they show two")
    )


def _name_count(lesson: Lesson, reference: float) -> str:
    """Bar and count of a moment for the ruler: "3.5"; empty without counts."""
    counts = lesson.counted.counts
    return "" if counts is None else "{}.{}".format(*place_beat(counts.beat_before(reference)))


def describe_moment(moment: MomentDifference, count: str = "") -> str:
    """When the moment is, which bones differ by how many degrees, and lateness."""
    bones = ", ".join(
        f"{bone.bone} {bone.mean:.0f}" + (f" (too {bone.tendency})" if bone.tendency else "")
        for bone in moment.bones
    )
    return (
        f"{moment.query:.1f} s, reference {moment.reference:.1f} s{f', {count}' if count else ''}: "
        f"{bones}{describe_lateness(moment.late)}"
    )


def describe_lateness(seconds: float) -> str:
    """By how much a moment is late or early; empty where that cannot be seen."""
    return "" if abs(seconds) < 0.1 else f"; {abs(seconds):.1f} s {'late' if seconds > 0 else 'early'}"


def _describe_diff(lesson: Lesson) -> list[dict[str, Any]]:
    """The passages of the diff: their sentence, class, share of the strip and moment to go to."""
    times = lesson.comparison.reference
    lengths = [(line.passage.reference or line.passage.query) for line in lesson.diff]
    total = sum(span.seconds for span in lengths if span) or 1.0
    return [
        {
            "text": line.text,
            "kind": line.passage.kind.replace(" ", "-"),
            "percent": round(100 * span.seconds / total, 2) if span else 0,
            "seconds": line.passage.reference.start
            if line.passage.reference and times[0] <= line.passage.reference.start <= times[-1]
            else None,
        }
        for line, span in zip(lesson.diff, lengths, strict=True)
    ]


def _page_data(lesson: Lesson) -> dict[str, Any]:
    comparison = lesson.comparison
    times = comparison.reference
    step = float(np.median(np.diff(times))) if len(times) > 1 else 1 / 30
    every = max(1, round(1 / (_FPS * step)))
    kept = np.arange(0, len(comparison.query), every)
    bones = [
        {
            "name": name,
            "ends": [BODY15.index(joint) for joint in ends],
            "degrees": round_values(comparison.degrees[kept, number], 0),
        }
        for number, (name, ends) in enumerate(BONES.items())
        if np.isfinite(comparison.degrees[:, number]).any()
    ]
    worst = [
        {
            "text": describe_moment(moment, lesson.where(moment.reference)),
            "frame": int(np.abs(comparison.reference[kept] - moment.reference).argmin()),
        }
        for moment in comparison.worst
    ]
    return {
        "facts": summarise(comparison),
        "fps": 1 / (every * step),
        "joints": BODY15.joints,
        "parents": BODY15.parents,
        "query_seconds": round_values(comparison.query[kept], 2),
        "reference_seconds": round_values(comparison.reference[kept], 2),
        "late": round_values(comparison.late[kept], 2),
        "mean": round_values(comparison.mean[kept], 1),
        "bones": bones,
        "worst": worst,
        "counts": [_name_count(lesson, time) for time in comparison.reference[kept].tolist()],
        **_describe_poses("query", comparison.query_poses[kept]),
        **_describe_poses("reference", comparison.reference_poses[kept]),
        "faded": {"opacity": FADED_OPACITY, "dashes": fade_dashes(_HEAD_RADIUS)},
    }


def _describe_poses(of: str, poses: Poses) -> dict[str, Any]:
    """The joints of each frame, and the numbers of those that were not seen in it."""
    return {
        f"{of}_joints": [_centimetres(pose) for pose in poses.joints],
        f"{of}_unseen": [np.flatnonzero(~seen).tolist() for seen in poses.seen],
    }


def round_values(values: Iterable[Any], digits: int) -> list[float | int | None]:
    """Rounded numbers for JSON; None where a value is not finite."""
    return [
        None if not np.isfinite(value) else int(value) if digits == 0 else round(float(value), digits)
        for value in np.round(np.asarray(values), digits)
    ]


def _centimetres(pose: FloatArray) -> list[float | int | None]:
    return round_values(100 * pose.ravel(), 0)
