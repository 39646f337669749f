"""The worker that analyses clips on a node; a "video" is a text that says what is to be seen in it.

The number of a dance; "nobody"; or trouble: "deadly" ends the process, "endless" never
comes to an end, "hungry" wants ever more memory.
"""

import signal
import sys

from dance_samples import Puppet as PlainPuppet
from dancematch.pipeline.analysis import worker


class Puppet(PlainPuppet):
    """Stands in for a pose estimator."""

    def tracks(self, path, *, on_frame=None):
        """Whoever is to be seen."""
        told = path.read_text(encoding="utf-8")
        eaten = []
        while told == "hungry":
            eaten.append(bytearray(64 << 20))
        if told == "endless":
            signal.pause()
        return super().tracks(path, on_frame=on_frame)


if __name__ == "__main__":
    sys.exit(worker.main(sys.argv[1:], lambda _limits: Puppet()))
