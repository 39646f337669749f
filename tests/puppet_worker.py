"""A worker of the service for which a "video" is a text that says what is to be seen in it.

The number of a dance; "nobody"; or trouble: "deadly" ends the process, "endless" never comes to an
end, "hungry" wants ever more memory.
"""

import os
import signal
import sys
import time

import numpy as np

from dancematch.pose.track import Track
from dancematch.server.jobs import worker
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform


class Puppet:
    """Stands in for a pose estimator."""

    name = "puppet"

    def tracks(self, path, *, on_frame):
        """Whoever is to be seen, in the air and in the picture."""
        told = path.read_text(encoding="utf-8", errors="replace")
        if told == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        eaten = []
        while told == "hungry":
            eaten.append(bytearray(64 << 20))
        while told == "endless":
            time.sleep(0.01)
            on_frame(0.1)
        on_frame(0.5)
        if told == "nobody":
            return []
        seen = perform(compose_dance(int(told), eight_counts=2), Dancer())
        times = np.arange(len(seen.joints)) / seen.fps
        image = np.array([0.5, 0.25]) + 0.2 * (seen.joints - seen.joints[:, :1])[..., :2] * [1, -1]
        image = image.astype(np.float32)
        late = times[-1] + np.arange(1, 31) / seen.fps
        passer_by = Track(0, late, seen.joints[:30], image[:30], seen.visibility[:30], seen.skeleton)
        return [passer_by, Track(1, times, seen.joints, image, seen.visibility, seen.skeleton)]


if __name__ == "__main__":
    sys.exit(worker.main(sys.argv[1:], lambda _limits: Puppet()))
