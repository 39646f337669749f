"""Numbers for Prometheus: counters and times, in its plain text format."""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

from dancematch.types import Verdict

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What has happened since the start."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._requests: Counter[Labels] = Counter()
        self._times: dict[Labels, list[int]] = {}
        self._spent: dict[Labels, float] = {}
        self._searches: Counter[Labels] = Counter()
        self._uploaded = 0

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer."""
        with self._turn:
            self._requests[("method", method), ("route", route), ("status", str(status))] += 1
            times = self._times.setdefault((("route", route),), [0] * (len(BOUNDS) + 1))
            times[bisect_left(BOUNDS, seconds)] += 1
            self._spent[(("route", route),)] = self._spent.get((("route", route),), 0.0) + seconds

    def search(self, verdict: Verdict) -> None:
        """Count one search by its verdict."""
        with self._turn:
            self._searches[(("verdict", verdict),)] += 1

    def upload(self, size: int) -> None:
        """Count what came in."""
        with self._turn:
            self._uploaded += size

    def text(self, gauges: Mapping[str, tuple[str, float | Mapping[str, int]]]) -> str:
        """All of it; `gauges` are states of now, a help text and a value or values by state each."""
        with self._turn:
            lines = [
                *_counter("dancematch_requests_total", "Answers given.", self._requests),
                *self._histogram(),
                *_counter("dancematch_searches_total", "Searches by verdict.", self._searches),
                *_counter("dancematch_upload_bytes_total", "Bytes taken in.", {(): self._uploaded}),
            ]
        for name, (meaning, value) in gauges.items():
            values = value if isinstance(value, Mapping) else {"": value}
            labelled = {((("state", state),) if state else ()): number for state, number in values.items()}
            lines += _described(f"dancematch_{name}", meaning, "gauge", labelled.items())
        return "\n".join(lines) + "\n"

    def _histogram(self) -> Iterable[str]:
        name = "dancematch_request_seconds"
        yield f"# HELP {name} Time to the end of an answer."
        yield f"# TYPE {name} histogram"
        for labels, times in self._times.items():
            below = 0
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), times, strict=True):
                below += count
                yield f"{name}_bucket{_shown((*labels, ('le', bound)))} {below}"
            yield f"{name}_sum{_shown(labels)} {self._spent[labels]:.6f}"
            yield f"{name}_count{_shown(labels)} {below}"


def _counter(name: str, meaning: str, values: Mapping[Labels, int]) -> Iterable[str]:
    return _described(name, meaning, "counter", values.items())


def _described(name: str, meaning: str, kind: str, values: Iterable[tuple[Labels, float]]) -> Iterable[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        yield f"{name}{_shown(labels)} {value}"


def _shown(labels: Labels) -> str:
    if not labels:
        return ""
    escaped = (
        (name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")) for name, value in labels
    )
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"
