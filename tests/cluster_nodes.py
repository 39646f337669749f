"""A real Ray cluster on this machine's loopback: a head and any number of nodes, each with its processes."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENVIRONMENT = os.environ | {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_health_check_period_ms": "1000",  # of nodes; three such failures in a row are a lost node
    "RAY_health_check_failure_threshold": "3",
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
}
RAY = Path(sys.executable).with_name("ray")
MEMORY = 80 << 20  # of a node's object store: the least that Ray takes
START_SECONDS = 90


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


class Nodes:
    """The nodes by number; the first is the head."""

    def __init__(self) -> None:
        # Sockets have short names: not in pytest's own folders.
        self._folder = tempfile.TemporaryDirectory(prefix="dm-ray-", dir="/tmp", ignore_cleanup_errors=True)
        self.address = f"127.0.0.1:{free_port()}"
        self._nodes: list[subprocess.Popen] = []
        port = self.address.rpartition(":")[2]
        self.add("--head", f"--port={port}", f"--temp-dir={self._folder.name}", "--include-dashboard=false")

    def add(self, *arguments: str) -> int:
        """Start a node of one processor; its number."""
        chosen = arguments or (f"--address={self.address}",)
        number = len(self._nodes)
        command = [
            RAY,
            "start",
            *chosen,
            f"--node-ip-address=127.0.0.{number + 1}",
            "--num-cpus=1",
            "--block",
        ]
        command += [f"--object-store-memory={MEMORY}", "--disable-usage-stats"]
        log = Path(self._folder.name) / f"node-{number}.log"
        with log.open("wb") as out:
            started = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, env=ENVIRONMENT, start_new_session=True
            )
        self._nodes.append(started)
        deadline = time.monotonic() + START_SECONDS
        while "Ray runtime started" not in log.read_text(errors="replace"):
            if started.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"a Ray node did not start: {log.read_text(errors='replace')}")
            time.sleep(0.1)
        return number

    def second(self) -> int:
        """The number of the one node beside the head; a new one if it was lost."""
        living = [number for number in range(1, len(self._nodes)) if self._nodes[number].poll() is None]
        return living[0] if living else self.add()

    def kill(self, number: int) -> None:
        """End a node as a power cut would: all its processes at once."""
        every = _descendants(self._nodes[number].pid)
        for pid in every:
            _kill(pid)
        self._nodes[number].wait()

    def close(self) -> None:
        """End everything that was started here."""
        for number in reversed(range(len(self._nodes))):
            if self._nodes[number].poll() is None:
                self.kill(number)
        self._folder.cleanup()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _descendants(pid: int) -> list[int]:
    """A process and all that it started, directly or not."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "stat").read_text(errors="replace")
        except OSError:
            continue
        found = re.match(r"(\d+) \(.*\) \S (\d+)", told, re.DOTALL)
        if found:
            parents[int(found[1])] = int(found[2])
    family = [pid]
    for one in family:
        family += [child for child, parent in parents.items() if parent == one]
    return family
