"""How many searches per second the service answers, how soon, and how soon while it learns dances.

    python bench/serve.py [--entries 100000] [--seconds 20] [--clients 1 4 32]

Dances of shuffled_dances.py in a SQLite file, served by a real `dancematch serve` on this machine, which the
clients share. A query is 8.8 s of one of the dances as a file of words (.npz), more words replaced; each
client sends the next one as soon as it has the answer to the last. `ingest`: meanwhile one client adds
motion files one after the other and a worker process analyses a rendered video again and again.
Wall-clock time at the client. One JSON object per figure.
"""

import argparse
import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from opening import fill
from shuffled_dances import STEPS, ShuffledDances, load_shuffled_dances

from dancematch import formats
from dancematch.formats import fingerprint as words_files
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.synthetic.demo import Scene

QUERIES = 64  # files, asked for in turn
PATIENCE_SECONDS = 600


@contextlib.contextmanager
def server(catalogue: Path) -> Iterator[tuple[str, int]]:
    """A server on a free port, ready: its host and port, and its process."""
    command = [str(Path(sys.executable).with_name("dancematch")), "serve", str(catalogue), "--port", "0"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        address = re.search(r"http://(\S+)", process.stderr.readline()).group(1)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while ask(http.client.HTTPConnection(address), "GET", "/health")[0] != 200:
            if time.monotonic() > deadline:
                raise SystemExit("the server was not ready in time")
            time.sleep(0.2)
        yield address, process.pid
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def ask(connection: http.client.HTTPConnection, method: str, place: str, body=None) -> tuple[int, bytes]:
    connection.request(method, place, body)
    answer = connection.getresponse()
    return answer.status, answer.read()


def query_files(made: ShuffledDances, entries: int, folder: Path, seed: int) -> list[bytes]:
    numbers = np.random.default_rng(seed).integers(entries, size=QUERIES)
    files = []
    for number in numbers.tolist():
        path = folder / f"query-{number}.npz"
        words_files.write(path, [made.query(number, STEPS)[0].fingerprint], overwrite=True)
        files.append(path.read_bytes())
    return files


class Client(threading.Thread):
    """Asks until it is told to stop."""

    def __init__(self, address: str, files: list[bytes], offset: int, stop: threading.Event) -> None:
        super().__init__()
        self.times: list[float] = []
        self.errors = 0
        self._connection = http.client.HTTPConnection(address, timeout=PATIENCE_SECONDS)
        self._files, self._at, self._stop_wanted = files, offset, stop

    def run(self) -> None:
        """Ask."""
        while not self._stop_wanted.is_set():
            began = time.perf_counter()
            status, body = ask(self._connection, "POST", "/search", self._files[self._at % len(self._files)])
            self.times.append(time.perf_counter() - began)
            self.errors += status != 200 or not json.loads(body)["dancers"]
            self._at += 1


class Ingest(threading.Thread):
    """Adds motion files, and has a video looked at, until it is told to stop."""

    def __init__(self, address: str, video: bytes, folder: Path, stop: threading.Event) -> None:
        super().__init__()
        self.motions = self.videos = self.errors = 0
        self._connection = http.client.HTTPConnection(address, timeout=PATIENCE_SECONDS)
        self._video, self._folder, self._stop_wanted = video, folder, stop

    def run(self) -> None:
        """Add."""
        run, job = time.time_ns(), None
        while not self._stop_wanted.is_set():
            name = f"{run}-{self.motions}"
            path = self._folder / f"{name}.npz"
            formats.write(path, [perform(compose_dance(10_000 + self.motions), Dancer.random(self.motions))])
            # A note at the end makes the content new, as every real upload's is.
            status, _ = ask(self._connection, "PUT", f"/dances/{name}", path.read_bytes() + name.encode())
            path.unlink()
            self.motions += 1
            self.errors += status not in (200, 201)
            if job is None or self._is_over(job):
                note = (8 + len(name)).to_bytes(4, "big") + b"free" + name.encode()  # a box without meaning
                body = self._video + note
                status, answer = ask(self._connection, "PUT", f"/dances/{name}-video", body)
                job = json.loads(answer).get("job_id")
                self.videos += 1
                self.errors += status != 202

    def _is_over(self, job: str) -> bool:
        state = json.loads(ask(self._connection, "GET", f"/jobs/{job}")[1])["state"]
        self.errors += state == "failed"
        return state in ("done", "failed")


def measure(address: str, files: list[bytes], clients: int, seconds: float, ingest: Ingest | None) -> dict:
    stop = threading.Event()
    asking = [Client(address, files, 7 * number, stop) for number in range(clients)]
    before = (ingest.motions, ingest.videos, ingest.errors) if ingest else (0, 0, 0)
    began = time.perf_counter()
    for client in asking:
        client.start()
    time.sleep(seconds)
    stop.set()
    for client in asking:
        client.join()
    passed = time.perf_counter() - began  # the last answers come after the end
    times = 1000 * np.concatenate([client.times for client in asking])
    figures = {
        "clients": clients,
        "ingest": ingest is not None,
        "searches": len(times),
        "a_second": round(len(times) / passed, 1),
        "p50_ms": round(float(np.median(times)), 1),
        "p99_ms": round(float(np.quantile(times, 0.99)), 1),
        "errors": sum(client.errors for client in asking),
    }
    if ingest is not None:
        after = (ingest.motions, ingest.videos, ingest.errors)
        names = ("motions_added", "videos_begun", "ingest_errors")
        figures |= {name: b - a for name, a, b in zip(names, before, after, strict=True)}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 32])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, made = Path(name), load_shuffled_dances("parts")
        fill(folder / "dances.db", made, options.entries).close()
        files = query_files(made, options.entries, folder, options.seed)
        video = Scene("clip", dance=2, dancer=21, seconds=(0.0, 4.0)).render_to(folder).read_bytes()
        with server(folder / "dances.db") as (address, _):
            measure(address, files, 2, 2.0, None)  # whatever is made at the first call is not counted
            stop = threading.Event()
            for ingest in (None, Ingest(address, video, folder, stop)):
                if ingest is not None:
                    ingest.start()
                for clients in options.clients:
                    figures = measure(address, files, clients, options.seconds, ingest)
                    shown = {"bench": "serve", "entries": options.entries, "seed": options.seed, **figures}
                    print(json.dumps(shown), flush=True)
            stop.set()
            ingest.join()


if __name__ == "__main__":
    main()
