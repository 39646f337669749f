"""Counters, times and states for Prometheus."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from dancematch.types import Verdict

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # upper bounds of the buckets


@dataclass(frozen=True)
class ServiceState:
    """What the service is like now."""

    ready: bool
    dances: int
    jobs: Mapping[str, int]  # by state
    held_searches: int


class StateCollector(Collector):
    """Gauges that are read when they are asked for."""

    def __init__(self, read_state: Callable[[], ServiceState]) -> None:
        self._read_state = read_state

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One family per state."""
        state = self._read_state()
        yield GaugeMetricFamily("dancematch_ready", "Whether searches are answered.", state.ready)
        yield GaugeMetricFamily("dancematch_dances", "Dances in the catalogue.", state.dances)
        jobs = GaugeMetricFamily("dancematch_jobs", "Jobs by state.", labels=["state"])
        for name, count in state.jobs.items():
            jobs.add_metric([name], count)
        yield jobs
        yield GaugeMetricFamily(
            "dancematch_searches_held", "Searches held for questions.", state.held_searches
        )


class Metrics:
    """What happened since the start, and the state now; one registry per application."""

    def __init__(self, read_state: Callable[[], ServiceState]) -> None:
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
        registry.register(StateCollector(read_state))

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

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)
