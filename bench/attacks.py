"""What hostile files and slow clients cost those who use the service meanwhile.

    python bench/attacks.py [--entries 1000] [--count 16] [--attacks NAME ...] [--seconds 30]

Dances of shuffled_dances.py in a SQLite file, served by a real `dancematch serve` on this machine, which
the clients share. Per attack, one JSON object: `count` senders at once of a file of tests/hostile_files.py
(`all`: of all of them in turn), or as many connections as its name says that send next to nothing. Meanwhile
one client asks for /health every 20 ms and another searches for a motion file of 8 s, one search after the
other; `quiet` is the same without an attack. `memory_mb` is the most that the server and its workers had
together (proportional set size); `normal_again_s` is how long after the last answer to the attack, or after
`--seconds`, /health and searches take as long as before again.
"""

import argparse
import contextlib
import http.client
import json
import re
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from opening import fill
from serve import ask, server
from shuffled_dances import load_shuffled_dances

from dancematch import formats
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from hostile_files import HOSTILE_FILES

ANSWER_SECONDS = 60.0  # that an ordinary client, or an attacker, waits
SLOW = {
    "unfinished headers": (1010, b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "),
    "slow bodies": (200, b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n["),
}


class Asking(threading.Thread):
    """An ordinary client, until it is told to stop."""

    def __init__(self, address: str, method: str, place: str, body: bytes | None, pause: float) -> None:
        super().__init__(daemon=True)
        self.times: list[tuple[float, float]] = []  # when asked, seconds
        self.refused: Counter[str] = Counter()
        self.stop = threading.Event()
        self._address, self._request, self._pause = address, (method, place, body), pause

    def run(self) -> None:
        """Ask."""
        while not self.stop.is_set():
            began, result = time.perf_counter(), ""
            connection = http.client.HTTPConnection(self._address, timeout=ANSWER_SECONDS)
            with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
                result = str(ask(connection, *self._request)[0])
            self.times.append((began, time.perf_counter() - began))
            if result != "200":
                self.refused[result or "no answer"] += 1
            self.stop.wait(self._pause)

    def milliseconds(self, since: float, until: float = np.inf) -> np.ndarray:
        """How long the answers took to questions asked within a time."""
        return 1000 * np.array([seconds for began, seconds in self.times if since <= began <= until] or [0.0])


@contextlib.contextmanager
def ordinary_clients(address: str, query: bytes) -> Iterator[tuple[Asking, Asking]]:
    clients = Asking(address, "GET", "/health", None, 0.02), Asking(address, "POST", "/search", query, 0.1)
    for client in clients:
        client.start()
    yield clients
    for client in clients:
        client.stop.set()
    for client in clients:
        client.join()


class Memory(threading.Thread):
    """The most memory that a process and its children have."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.most = 0.0
        self._process = process

    def run(self) -> None:
        """Look again and again."""
        while True:
            self.most = max(self.most, sum(map(proportional_megabytes, family(self._process))))
            time.sleep(0.2)


def family(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task").glob("*/children")
    with contextlib.suppress(OSError):
        named = [int(child) for file in children for child in file.read_text().split()]
        return [process, *(one for child in named for one in family(child))]
    return []


def proportional_megabytes(process: int) -> float:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
        return int(re.search(r"Pss:\s+(\d+)", text).group(1)) / 1024
    return 0.0


def send_files(address: str, names: list[str], count: int) -> Counter[str]:
    """Send hostile files at once, and wait for all answers."""
    contents = {name: HOSTILE_FILES[name][0]() for name in names}
    answers: Counter[str] = Counter()

    def send(name: str) -> None:
        connection = http.client.HTTPConnection(address, timeout=ANSWER_SECONDS)
        result = "no answer"
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
            status, body = ask(connection, "POST", "/search", contents[name])
            result = str(status) if status != 202 else finished(connection, json.loads(body)["job_id"])
        answers[result] += 1

    senders = [threading.Thread(target=send, args=(names[n % len(names)],)) for n in range(count)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    return answers


def finished(connection: http.client.HTTPConnection, job: str) -> str:
    """How a job ended, within the time that an attacker waits."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < deadline:
        state = json.loads(ask(connection, "GET", f"/jobs/{job}")[1])["state"]
        if state in ("done", "failed"):
            return f"job {state}"
        time.sleep(0.5)
    return "job runs on"


def hold_connections(address: str, count: int, beginning: bytes, seconds: float) -> Counter[str]:
    """Open connections that send a byte every two seconds, and count how they were answered."""
    host, port = address.split(":")
    answers: Counter[str] = Counter()
    sockets = []
    for _ in range(count):
        try:
            one = socket.create_connection((host, int(port)), timeout=5)
            one.sendall(beginning)
            one.setblocking(False)
            sockets.append(one)
        except OSError:
            answers["not connected"] += 1
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and sockets:
        time.sleep(2)
        for one in list(sockets):
            with contextlib.suppress(BlockingIOError):
                try:
                    answers[_status(one.recv(200))] += 1
                except BlockingIOError:
                    one.send(b"0")
                    continue
                except OSError:
                    answers["closed"] += 1
                sockets.remove(one)
    answers["held"] = len(sockets)
    for one in sockets:
        one.close()
    return answers


def _status(answer: bytes) -> str:
    return answer.split(b" ")[1].decode() if answer.startswith(b"HTTP") else "closed"


def watch(address: str, process: int, query: bytes, attack: Callable[[], Counter[str]], quiet: dict) -> dict:
    """How ordinary clients fare during an attack and after it."""
    memory = Memory(process)
    memory.start()
    with ordinary_clients(address, query) as (health, search):
        time.sleep(0.5)
        began = time.perf_counter()
        answers = attack()
        ended = time.perf_counter()
        normal = wait_until_normal(health, search, quiet) if quiet else 0.0
    asked = began - 0.3, ended  # a question just before the attack waits too
    health_ms, search_ms = health.milliseconds(*asked), search.milliseconds(*asked)
    return {
        "answers": dict(answers),
        "seconds": round(ended - began, 2),
        "health_p99_ms": round(float(np.quantile(health_ms, 0.99)), 1),
        "health_max_ms": round(float(health_ms.max()), 1),
        "search_p50_ms": round(float(np.median(search_ms)), 1),
        "search_max_ms": round(float(search_ms.max()), 1),
        "refused": dict(health.refused + search.refused),
        "memory_mb": round(memory.most),
        "normal_again_s": round(normal, 1),
    }


def wait_until_normal(health: Asking, search: Asking, quiet: dict) -> float:
    """Seconds until both took no longer than usual, three times in a row."""
    began = time.perf_counter()
    while time.perf_counter() - began < ANSWER_SECONDS:
        time.sleep(0.2)
        last = health.milliseconds(began)[-3:], search.milliseconds(began)[-3:]
        usual = quiet["health_max_ms"], quiet["search_max_ms"]
        if all(len(some) == 3 and some.max() <= 1.5 * most for some, most in zip(last, usual, strict=True)):
            return search.times[-3][0] + search.times[-3][1] - began
    return ANSWER_SECONDS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=1000)
    parser.add_argument("--count", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=30.0, help="of slow clients")
    parser.add_argument("--attacks", nargs="+", default=[*HOSTILE_FILES, "all", *SLOW])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, made = Path(name), load_shuffled_dances("parts")
        fill(folder / "dances.db", made, options.entries).close()
        formats.write(folder / "query.npz", [perform(compose_dance(options.seed), Dancer.random(0))])
        query = (folder / "query.npz").read_bytes()
        quiet: dict = {}
        for attack in ("quiet", *options.attacks):
            shutil.rmtree(folder / "dances.db.service", ignore_errors=True)
            with server(folder / "dances.db") as (address, process):
                measure_attack(attack, address, process, query, quiet, options)


def measure_attack(
    attack: str, address: str, process: int, query: bytes, quiet: dict, options: argparse.Namespace
) -> None:
    for _ in range(5):  # whatever is made at the first call is not counted
        ask(http.client.HTTPConnection(address), "POST", "/search", query)
    count = options.count
    if attack == "quiet":
        count, work = 0, lambda: time.sleep(10) or Counter()
    elif attack in SLOW:
        count, beginning = SLOW[attack]
        work = lambda: hold_connections(address, count, beginning, options.seconds)  # noqa: E731
    else:
        names = list(HOSTILE_FILES) if attack == "all" else [attack]
        work = lambda: send_files(address, names, count)  # noqa: E731
    figures = watch(address, process, query, work, quiet)
    if attack == "quiet":
        quiet |= figures
    shown = {"bench": "attacks", "attack": attack, "count": count, "entries": options.entries}
    print(json.dumps(shown | figures), flush=True)


if __name__ == "__main__":
    main()
