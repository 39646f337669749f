"""Counters, times and states for Prometheus."""

from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from dancematch.types import Verdict

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # upper bounds of the buckets


@dataclass(frozen=True)
class ServiceState:
    """What the service is like now."""

    ready: bool
    dances: int
    jobs: Mapping[str, int]  # by state
    held_searches: int


class Metrics:
    """What happened since the start, and the state now; one registry per application."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # process-wide; half of all series
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "dancematch_requests", "Answers given.", ["method", "route", "status"], registry=registry
        )
        self._times = Histogram(
            "dancematch_request_seconds", "Time to the end of an answer.", ["route"],
            registry=registry, buckets=SECONDS,
        )  # fmt: skip
        self._searches = Counter(
            "dancematch_searches", "Searches by verdict.", ["verdict"], registry=registry
        )
        self._upload_bytes = Counter("dancematch_upload_bytes", "Bytes received.", registry=registry)
        self._ready = Gauge("dancematch_ready", "Whether searches are answered.", registry=registry)
        self._dances = Gauge("dancematch_dances", "Dances in the catalogue.", registry=registry)
        self._jobs = Gauge("dancematch_jobs", "Jobs by state.", ["state"], registry=registry)
        self._held = Gauge("dancematch_searches_held", "Searches held for questions.", registry=registry)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer."""
        self._requests.labels(method, route, str(status)).inc()
        self._times.labels(route).observe(seconds)

    def count_search(self, verdict: Verdict) -> None:
        """Count one search."""
        self._searches.labels(verdict).inc()

    def count_upload(self, size: int) -> None:
        """Count the bytes of one upload."""
        self._upload_bytes.inc(size)

    def text(self, state: ServiceState) -> bytes:
        """All of it in Prometheus' text format."""
        self._ready.set(state.ready)
        self._dances.set(state.dances)
        self._held.set(state.held_searches)
        for name, count in state.jobs.items():
            self._jobs.labels(name).set(count)
        return generate_latest(self._registry)
