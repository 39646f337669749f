"""A real server process, with a client for it."""

import contextlib
import json
import re
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import numpy as np

from dancematch.server.options import Options, WorkLimits
from server_starter import ForkedServer

DANCEMATCH = (str(Path(sys.executable).with_name("dancematch")), "serve")
PUPPETS = (sys.executable, __file__)
PUPPET_WORKER = (sys.executable, str(Path(__file__).with_name("puppet_worker.py")))
FILM_WORKER = (sys.executable, str(Path(__file__).with_name("film_samples.py")))
GATED_WORKER = (*FILM_WORKER, "gated")
LONG_WORKER = (*FILM_WORKER, "long")
PATIENCE_SECONDS = 180.0


@dataclass
class Serving:
    """A server that runs."""

    process: ForkedServer
    client: httpx.Client

    @property
    def url(self) -> str:
        """Where it listens."""
        return str(self.client.base_url).rstrip("/")

    def finished(self, job_id: str) -> dict:
        """The job, once it is finished."""
        return wait_for(lambda: self._if_finished(job_id))

    def _if_finished(self, job_id: str) -> dict | None:
        job = self.client.get(f"/jobs/{job_id}").json()
        return job if job["state"] in ("done", "failed", "cancelled") else None

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the process and wait for it."""
        self.process.send_signal(how)
        return self.process.wait(PATIENCE_SECONDS)


def wait_for(look, patience: float = PATIENCE_SECONDS):
    """What `look` finds, as soon as it finds something."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


def small_jpeg() -> bytes:
    """A picture such as is kept of a recording."""
    import cv2

    return cv2.imencode(".jpg", np.full((32, 48, 3), 90, np.uint8))[1].tobytes()


def run_async(function, *arguments):
    """The result of an asynchronous function, in a thread: the browser's driver has a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, function, *arguments).result()


@contextlib.contextmanager
def serving(
    catalogue: Path, *options: object, command: tuple[str, ...] = DANCEMATCH, ready: bool = True, **client
) -> Iterator[Serving]:
    """A server of the catalogue on a free port; ended afterwards if it is not yet."""
    process = ForkedServer([str(part) for part in (*command, catalogue, "--port", "0", *options)])
    try:
        url = _address(process)
        with httpx.Client(base_url=url, timeout=PATIENCE_SECONDS, **client) as http:
            running = Serving(process, http)
            if ready:
                wait_for(lambda: http.get("/health").status_code == 200)
            yield running
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def _address(process: ForkedServer) -> str:
    printed = ""
    while line := process.stderr.readline():
        printed += line
        if found := re.search(r"http://\S+", line):
            return found.group().replace("0.0.0.0", "127.0.0.1")  # noqa: S104  (where it listens; we ask here)
    raise AssertionError(f"the server ended before it listened: {printed}")


def _serve_puppets(arguments: list[str]) -> None:
    """The server with a worker that sees puppets: `CATALOGUE --port 0 [NAME=VALUE ...]`.

    A name in capitals is one of the fixed limits.
    """
    from dancematch.server import app, limits

    catalogue, _, port, *rest = arguments
    given = {name: json.loads(value) for name, value in (one.split("=") for one in rest)}
    for name in [name for name in given if name.isupper()]:
        assert hasattr(limits, name)
        setattr(limits, name, given.pop(name))
    work = WorkLimits(**{name: given.pop(name) for name in ("seconds", "memory_bytes") if name in given})
    worker = tuple(given.pop("worker", PUPPET_WORKER))
    options = Options(catalogue, port=int(port), workers=1, work=work, worker=worker, **given)
    app.run(options, on_start=lambda address: print(address, file=sys.stderr, flush=True))


if __name__ == "__main__":
    _serve_puppets(sys.argv[1:])
