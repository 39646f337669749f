"""A real Ray cluster on this machine's loopback: a head and any number of nodes, each with its processes."""

import contextlib
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
    # A dead node refuses connections at once and is lost after three refusals, a second apart; a living one
    # on a busy machine answers late and may do so for three times a minute.
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_health_check_timeout_ms": "60000",
    # What is given up on while a busy machine starts a node or a worker.
    "RAY_gcs_rpc_server_connect_timeout_s": "120",
    "RAY_gcs_server_request_timeout_seconds": "120",
    "RAY_py_gcs_connect_timeout_s": "120",
    "RAY_NUM_REDIS_GET_RETRIES": "120",  # of the head's address, a second apart
    "RAY_agent_register_timeout_ms": "300000",
    "RAY_worker_register_timeout_seconds": "300",
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
}
RAY = Path(sys.executable).with_name("ray")
MEMORY = 80 << 20  # of a node's object store: the least that Ray takes
START_SECONDS = 180
STARTS = 4
"""How often a node is started before it is given up: Ray itself gives one thirty seconds, come what may."""


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


class Nodes:
    """The nodes by number; the first is the head."""

    def __init__(self) -> None:
        # Sockets have short names: not in pytest's own folders.
        self._folder = tempfile.TemporaryDirectory(prefix="dm-ray-", dir="/tmp", ignore_cleanup_errors=True)
        self.address = ""
        self._nodes: list[subprocess.Popen] = []
        self._starts = 0
        self.add(head=True)

    def add(self, head: bool = False) -> int:
        """Start a node of one processor, again if it ends while it starts; its number."""
        for attempt in range(STARTS):
            self._starts += 1
            log = Path(self._folder.name) / f"start-{self._starts}.log"
            with log.open("wb") as out:
                node = subprocess.Popen(
                    self._command(head),
                    stdout=out, stderr=subprocess.STDOUT, env=ENVIRONMENT, start_new_session=True,
                )  # fmt: skip
            if _has_started(node, log):
                self._nodes.append(node)
                return len(self._nodes) - 1
            _kill_family(node)
            time.sleep(attempt)
        raise RuntimeError(f"a Ray node did not start: {log.read_text(errors='replace')}")

    def _command(self, head: bool) -> list[str]:
        """What starts a node; a head that is started again has another port."""
        place = [f"--address={self.address}"]
        if head:
            port = free_port()
            self.address = f"127.0.0.1:{port}"
            place = [
                "--head",
                f"--port={port}",
                f"--temp-dir={self._folder.name}",
                "--include-dashboard=false",
            ]
            place += ["--no-monitor"]
        own = [f"--node-ip-address=127.0.0.{1 if head else self._starts + 1}", "--num-cpus=1", "--block"]
        spare = [f"--object-store-memory={MEMORY}", "--include-log-monitor=false", "--disable-usage-stats"]
        return [str(RAY), "start", *place, *own, *spare]

    def second(self) -> int:
        """The number of the one node beside the head; a new one if it was lost."""
        living = [number for number in range(1, len(self._nodes)) if self._nodes[number].poll() is None]
        return living[0] if living else self.add()

    def kill(self, number: int) -> None:
        """End a node as a power cut would: all its processes at once."""
        _kill_family(self._nodes[number])

    def close(self) -> None:
        """End everything that was started here."""
        for number in reversed(range(len(self._nodes))):
            self.kill(number)
        self._folder.cleanup()


def _has_started(node: subprocess.Popen, log: Path) -> bool:
    """Whether the node is there, as soon as that is known."""
    deadline = time.monotonic() + START_SECONDS
    while node.poll() is None and time.monotonic() < deadline:
        if "Ray runtime started" in log.read_text(errors="replace"):
            return True
        time.sleep(0.1)
    return False


def _kill_family(node: subprocess.Popen) -> None:
    """End a node's processes, and what one that has ended left behind."""
    for pid in _family(node.pid):
        if pid != node.pid or node.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    node.wait()


def _family(pid: int) -> list[int]:
    """A process and all that it started, directly or not, or that is of its session."""
    family, parents = [pid], {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "stat").read_text(errors="replace")
        except OSError:
            continue
        found = re.match(r"(\d+) \(.*\) \S (\d+) \d+ (\d+)", told, re.DOTALL)
        if found:
            one, parent, session = map(int, found.groups())
            parents[one] = parent
            family += [one] if session == pid != one else []
    for one in family:
        family += [child for child, parent in parents.items() if parent == one and child not in family]
    return family
