"""Catalogues for programmes, and scans of programmes with what they cost."""

import hashlib
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dancematch.catalogue.records import Dance, NewRecording, Recording
from dancematch.errors import NoDancerError
from dancematch.evaluation.methods.recogniser import MotionRecording
from dancematch.model.tokeniser import load_model
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.pipeline.tokenise import words_in
from dancematch.types import Fingerprint, Match, Motion, Span, Verdict

ScanSource = Path | Motion | Sequence[Motion]


@dataclass(frozen=True)
class FoundDance:
    """A period in which a scan names a dance."""

    span: Span
    dance: str
    verdict: Verdict
    dancer: int


@dataclass(frozen=True)
class ScanCost:
    """What a scan took."""

    seconds: float
    cpu_seconds: float
    search_seconds: float  # within searches, of `seconds`
    peak_bytes: int | None = None  # of the process; None: it did other work too


@dataclass(frozen=True)
class ScanOutcome:
    """What a scan found, and what it took."""

    found: tuple[FoundDance, ...]
    cost: ScanCost


Scan = Callable[[Path, ScanSource], ScanOutcome]  # of a catalogue's file


class CatalogueWriter:
    """Writes catalogues of recordings; the words of each are made once, and distractors stored once."""

    def __init__(self, model: str | None = None) -> None:
        self.model = model  # folder or name
        self.tokeniser = load_model(model)
        self._words: dict[str, list[Fingerprint]] = {}
        self._files: dict[tuple[str, ...], bytes] = {}  # of catalogues of distractors, by their ids

    def write(
        self, where: Path, recordings: Sequence[MotionRecording], distractors: Sequence[MotionRecording] = ()
    ) -> None:
        """Make a catalogue; recordings without a dancer are left out."""
        if distractors:
            ids = tuple(one.recording_id for one in distractors)
            if ids not in self._files:
                self._add(where, distractors)
                self._files[ids] = where.read_bytes()
            where.write_bytes(self._files[ids])
        self._add(where, recordings)

    def _add(self, where: Path, recordings: Sequence[MotionRecording]) -> None:
        with open_catalogue(where, model=self.model) as catalogue:
            for one in recordings:
                if words := self._words_of(one):
                    digest = hashlib.sha256(one.recording_id.encode()).hexdigest()
                    recording = Recording(digest, one.recording_id.replace("/", "-"))
                    catalogue.learn_words(NewRecording(Dance(one.dance_id), recording), words, join=True)

    def _words_of(self, recording: MotionRecording) -> list[Fingerprint]:
        key = recording.recording_id
        if key not in self._words:
            with suppress(NoDancerError):
                self._words[key] = list(words_in(self.tokeniser, recording.motions, key).values())
        return self._words.setdefault(key, [])


def scan_here(where: Path, source: ScanSource, model: str | None = None) -> ScanOutcome:
    """Scan in this process."""
    with open_catalogue(where, model=model, create=False) as catalogue:
        catalogue.engine()  # opening is not scanning
        clock = _time_searches(catalogue)
        began, cpu = time.perf_counter(), time.process_time()
        segments = list(catalogue.scan(source))
        cost = ScanCost(time.perf_counter() - began, time.process_time() - cpu, clock.seconds)
    named = [(one.dancer, one.span, one.match) for one in segments if one.match is not None]
    return ScanOutcome(tuple(_found(*one) for one in named), cost)


def scan_apart(where: Path, source: ScanSource, model: str | None = None) -> ScanOutcome:
    """Scan in a new process, whose memory is the scan's alone."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_scan_and_weigh, where, source, model).result()


def _scan_and_weigh(where: Path, source: ScanSource, model: str | None) -> ScanOutcome:
    import resource  # Unix alone has it

    outcome = scan_here(where, source, model)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    cost = outcome.cost
    return ScanOutcome(
        outcome.found, ScanCost(cost.seconds, cost.cpu_seconds, cost.search_seconds, peak_bytes=peak)
    )


def _found(dancer: int, span: Span, match: Match) -> FoundDance:
    return FoundDance(span, match.name, match.verdict, dancer)


class _SearchClock:
    """Adds up the time of searches."""

    seconds = 0.0

    def timed(self, search: Callable[..., list[Match]]) -> Callable[..., list[Match]]:
        """The same search, timed."""

        def run(*arguments: Any, **options: Any) -> list[Match]:
            began = time.perf_counter()
            try:
                return search(*arguments, **options)
            finally:
                self.seconds += time.perf_counter() - began

        return run


def _time_searches(catalogue: Catalogue) -> _SearchClock:
    """A clock that runs while the catalogue's searcher searches."""
    clock, searcher = _SearchClock(), catalogue.searcher
    searcher.search = clock.timed(searcher.search)  # type: ignore[method-assign]
    return clock
