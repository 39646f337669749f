"""The process that looks at clips, one after the other, within limits; it may die of one.

    python -m dancematch.cluster.child '{"model": ..., "model_id": ..., "limits": {...}}'

It is asked on stdin, a JSON object a line: `{"source": PATH, "target": FOLDER}`; and answers on stdout with
`{"done": true}` or `{"error": "VideoError", "message": "..."}`. Skeletons, words and ignored tracks are
then in the folder.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dancematch import formats
from dancematch.errors import DanceMatchError, ModelMismatchError
from dancematch.formats import fingerprint as words_files
from dancematch.formats import npz
from dancematch.model.names import called
from dancematch.model.tokeniser import Tokeniser, load_model
from dancematch.pipeline.extract import end_with_parent, observe, write_ignored
from dancematch.pipeline.limits import WorkLimits, limit_self
from dancematch.pipeline.tokenise import words_in
from dancematch.pose.selection import select_motions

if TYPE_CHECKING:
    from dancematch.pose import PoseEstimator

MOTIONS, WORDS, IGNORED = "motions.npz", "words.npz", "ignored.json"
COMMAND = (sys.executable, "-m", "dancematch.cluster.child")

MakeEstimator = Callable[[WorkLimits], "PoseEstimator"]


def main(arguments: Sequence[str], make_estimator: MakeEstimator | None = None) -> int:
    """Look at what is asked for until nobody asks any more."""
    told = json.loads(arguments[0])
    limits = WorkLimits(**told["limits"])
    answers = _answers()
    limit_self(limits, files=None)
    end_with_parent()
    looker = _Looker(told, limits, make_estimator or _blazepose)
    for line in sys.stdin:
        asked = json.loads(line)
        answer: dict[str, Any] = {"done": True}
        try:
            looker.look(Path(asked["source"]), Path(asked["target"]))
        except DanceMatchError as error:
            answer = {"error": type(error).__name__, "message": str(error)}
        except MemoryError:
            return 1  # what is left of this process is not to be trusted
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


def _answers() -> IO[str]:
    """Where answers go: what libraries print themselves goes elsewhere."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own


class _Looker:
    """Makes model and estimator when they are first needed."""

    def __init__(self, told: dict[str, Any], limits: WorkLimits, make_estimator: MakeEstimator) -> None:
        self._told, self._limits, self._make_estimator = told, limits, make_estimator
        self._tokeniser: Tokeniser | None = None
        self._estimator: PoseEstimator | None = None

    def look(self, source: Path, target: Path) -> None:
        """Write what a clip shows: those dancers who give a word."""
        tokeniser = self._model()
        if self._estimator is None and not formats.is_motion_file(source):
            self._estimator = self._make_estimator(self._limits)
        seen = observe(source, estimator=self._estimator)
        made = words_in(tokeniser, seen.motions, source)
        npz.write(target / MOTIONS, [seen.motions[dancer - 1] for dancer in made], overwrite=True)
        write_ignored(target / IGNORED, seen.ignored + select_motions(seen.motions)[1])
        words_files.write(target / WORDS, list(made.values()), overwrite=True)

    def _model(self) -> Tokeniser:
        if self._tokeniser is None:
            self._tokeniser = load_model(self._told["model"])
            if self._tokeniser.model_id != self._told["model_id"]:
                raise ModelMismatchError(
                    f"this node's model is {called(self._tokeniser.model_id)}, "
                    f"expected {called(self._told['model_id'])}; "
                    f"install the same dancematch and model on all nodes"
                )
        return self._tokeniser


def _blazepose(limits: WorkLimits) -> "PoseEstimator":
    from dancematch.pose.blazepose import BlazePose
    from dancematch.pose.video import VideoLimits

    return BlazePose(limits=VideoLimits(limits.video_pixels, limits.video_seconds, limits.seconds))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
