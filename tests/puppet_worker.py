"""A worker of the service for which a "video" is a text that says what it shows.

The number of a dance; "empty", without a dancer; or trouble: "deadly" kills the process, "endless" never
ends, "hungry" allocates ever more memory. A "motion file" makes the same trouble as `["deadly"]` and so on.
"""

import os
import signal
import sys
import time

import numpy as np

from dancematch.pipeline.analysis.file_analysis import read_motion_upload
from dancematch.pose.track import Track
from dancematch.server.jobs import worker
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform


class Puppet:
    """Stands in for a pose estimator."""

    name = "puppet"

    def tracks(self, path, *, on_frame):
        """The dancers that the text names, in space and in the picture."""
        script = path.read_text(encoding="utf-8", errors="replace")
        make_trouble(script, on_frame)
        on_frame(0.5)
        if script == "empty":
            return []
        motion = perform(compose_dance(int(script), eight_counts=2), Dancer())
        times = np.arange(len(motion.joints)) / motion.fps
        image = np.array([0.5, 0.25]) + 0.2 * (motion.joints - motion.joints[:, :1])[..., :2] * [1, -1]
        image = image.astype(np.float32)
        late = times[-1] + np.arange(1, 31) / motion.fps
        passer_by = Track(0, late, motion.joints[:30], image[:30], motion.visibility[:30], motion.skeleton)
        return [passer_by, Track(1, times, motion.joints, image, motion.visibility, motion.skeleton)]


def make_trouble(script, on_frame):
    """Do what the text says, if it is trouble."""
    if script == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    blocks = []
    while script == "hungry":
        blocks.append(bytearray(64 << 20))
    while script == "endless":
        time.sleep(0.01)
        on_frame(0.1)


def read_troublesome(path, suffix):
    """A motion file, unless it is the name of some trouble in brackets."""
    make_trouble(path.read_text(encoding="utf-8", errors="replace")[2:-2], lambda _share: None)
    return read_motion_upload(path, suffix)


if __name__ == "__main__":
    worker.read_motion_upload = read_troublesome
    sys.exit(worker.main(sys.argv[1:], lambda _limits: Puppet()))
