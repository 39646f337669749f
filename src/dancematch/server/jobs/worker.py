"""The service's worker process: the pipeline's, which can cut stills out of a video too.

A request `{"task": "stills", "source": ..., "target": FILE, "moments": [...], "marks": [...]}` writes the
stills at these moments, around a dancer's joints where they are known (`report.footage.cut_stills`).
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dancematch.pipeline.analysis import worker
from dancematch.pipeline.analysis.limits import WorkLimits
from dancematch.pose.stills import Still

if TYPE_CHECKING:
    from dancematch.pose import PoseEstimator


def main(
    arguments: Sequence[str], make_estimator: "Callable[[WorkLimits | None], PoseEstimator] | None" = None
) -> int:
    """Answer requests until stdin ends."""
    return worker.main(arguments, make_estimator, {"stills": _write_stills})


def _write_stills(request: Mapping[str, Any]) -> None:
    from dancematch.report.footage import cut_stills

    marks = [None if mark is None else np.array(mark, dtype=np.float32) for mark in request["marks"]]
    arrays: dict[str, Any] = {}
    for number, still in enumerate(cut_stills(Path(request["source"]), request["moments"], marks)):
        arrays[f"jpeg_{number}"] = np.frombuffer(still.jpeg, np.uint8)
        arrays[f"place_{number}"] = [still.seconds, still.width, still.height, *still.box]
    with Path(request["target"]).open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_stills(path: Path) -> list[Still]:
    """The stills that a worker wrote."""
    stills = []
    with np.load(path, allow_pickle=False) as arrays:
        for number in range(len(arrays.files) // 2):
            seconds, width, height, left, top, right, bottom = arrays[f"place_{number}"].tolist()
            jpeg = arrays[f"jpeg_{number}"].tobytes()
            stills.append(Still(seconds, jpeg, int(width), int(height), (left, top, right, bottom)))
    return stills


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
