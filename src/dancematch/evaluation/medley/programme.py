"""Programmes: what is danced when, drawn by a seed from recordings.

A programme is plain data, its truth included. `motion_programmes.py`, `skeleton_programmes.py` and
`video_programmes.py` make of it what is scanned. Its items follow one another without overlap, on a clock of
thirty frames per second.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from dancematch.errors import InputError
from dancematch.evaluation.measures.segments import DanceSegment
from dancematch.motion import FPS
from dancematch.types import Span

ItemKind = Literal["changed", "another person", "unknown dance", "not dancing", "gap"]
Part = Literal["changed", "another person"]

PROGRAMME_SECONDS = 600.0
ITEM_SECONDS = (6.0, 20.0)  # a recording that is a little shorter is shown as a whole
SHORTEST_SECONDS = 4.0
GAP_SECONDS = (1.0, 6.0)
# How often each comes, in items; what a programme has no recordings of comes as often as the others say.
SHARES: Mapping[ItemKind, float] = MappingProxyType(
    {"changed": 0.55, "another person": 0.55, "unknown dance": 0.2, "not dancing": 0.15, "gap": 0.1}
)
MOST_TEMPO_CHANGE = 1.25  # of a recording at another tempo, faster or slower
LEAST_TEMPO_CHANGE = 1.08  # less is hardly a change
AS_IT_IS, MIRRORED, TEMPO, NOISY, ALL = "as it is", "mirrored", "another tempo", "noisy", "all at once"
AT_ANOTHER_TEMPO = (TEMPO, ALL)


@dataclass(frozen=True)
class ProgrammeSource:
    """A recording that items are cut from."""

    recording: str
    kind: ItemKind
    span: Span  # of the recording, that may be shown
    dance: str | None = None  # None: not in the catalogue


@dataclass(frozen=True)
class ProgrammeItem:
    """What is shown from one moment to another."""

    kind: ItemKind
    span: Span  # of the programme
    dance: str | None = None  # None: not in the catalogue
    recording: str | None = None  # None: nothing is shown
    start: float = 0.0  # in the recording, seconds
    change: str = AS_IT_IS
    tempo: float = 1.0  # over the recording's own
    fades: bool = False  # begins with a cross-fade, not a cut
    seed: int = 0  # of the change

    @property
    def excerpt(self) -> Span:
        """The segment of the recording that is shown."""
        return Span(self.start, self.start + self.span.seconds * self.tempo)

    @property
    def frames(self) -> int:
        """Length in frames."""
        return round(self.span.end * FPS) - round(self.span.start * FPS)


@dataclass(frozen=True)
class Programme:
    """Items one after the other."""

    items: tuple[ProgrammeItem, ...]

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return self.items[-1].span.end

    @property
    def frames(self) -> int:
        """Length in frames."""
        return round(self.seconds * FPS)

    @property
    def dances(self) -> list[ProgrammeItem]:
        """The items that show a dance of the catalogue."""
        return [item for item in self.items if item.dance is not None]

    @property
    def truth(self) -> list[DanceSegment]:
        """The segments to find."""
        return [DanceSegment(item.span, item.dance) for item in self.items if item.dance is not None]


def compose_programme(
    sources: Sequence[ProgrammeSource],
    seed: Sequence[int],
    *,
    changes: Sequence[str] = (AS_IT_IS,),
    seconds: float = PROGRAMME_SECONDS,
) -> Programme:
    """A programme of exactly `seconds`, the same for the same sources and seed.

    The dance, then one of its sources, then the excerpt are drawn. No dance follows itself: where one ends
    and the other begins would not be defined.
    """
    composer = _Composer(sources, changes, np.random.default_rng(seed))
    items: list[ProgrammeItem] = []
    frame, last = 0, round(seconds * FPS)
    while frame < last:
        item = composer.draw(items[-1] if items else None, frame, last - frame)
        items.append(item)
        frame += item.frames
    return Programme(tuple(items))


class _Composer:
    """Draws items."""

    def __init__(
        self, sources: Sequence[ProgrammeSource], changes: Sequence[str], rng: np.random.Generator
    ) -> None:
        self._changes, self._rng = changes, rng
        self._deck: list[str] = []  # changes that come before any comes again
        self._pools: dict[ItemKind, dict[str, list[ProgrammeSource]]] = {}  # by kind and dance
        for one in sources:
            if one.span.seconds >= SHORTEST_SECONDS:
                self._pools.setdefault(one.kind, {}).setdefault(one.dance or one.recording, []).append(one)
        if not self._pools:
            raise InputError(f"a programme needs a recording of {SHORTEST_SECONDS:g} s or more")

    def draw(self, before: ProgrammeItem | None, frame: int, room: int) -> ProgrammeItem:
        """The next item, which begins at `frame` and has at most `room` frames."""
        kind = self._draw_kind(before)
        if kind == "gap" or room < ITEM_SECONDS[0] * FPS:
            length = round(self._rng.uniform(*GAP_SECONDS) * FPS)
            is_last = room - length < ITEM_SECONDS[0] * FPS  # too little is left for an excerpt
            return ProgrammeItem("gap", _span(frame, room if is_last else length))
        source = self._draw_source(kind, before)
        change = self._draw_change() if kind == "changed" else AS_IT_IS
        tempo = self._draw_tempo() if change in AT_ANOTHER_TEMPO else 1.0
        wanted = self._rng.uniform(*ITEM_SECONDS) * FPS
        length = int(min(wanted, room, np.floor(source.span.seconds / tempo * FPS)))
        if 0 < room - length < GAP_SECONDS[0] * FPS:
            length -= round(GAP_SECONDS[0] * FPS)  # what is left is long enough for a gap
        latest = source.span.end - length * tempo / FPS
        return ProgrammeItem(
            kind,
            _span(frame, length),
            source.dance,
            source.recording,
            start=float(self._rng.uniform(source.span.start, max(latest, source.span.start))),
            change=change,
            tempo=tempo,
            fades=bool(before and before.kind != "gap" and self._rng.random() < 0.5),
            seed=int(self._rng.integers(1 << 31)),
        )

    def _draw_kind(self, before: ProgrammeItem | None) -> ItemKind:
        gap: tuple[ItemKind, ...] = () if before is None or before.kind == "gap" else ("gap",)
        kinds = [*self._pools, *gap]
        weights = np.array([SHARES[kind] for kind in kinds])
        return kinds[int(self._rng.choice(len(kinds), p=weights / weights.sum()))]

    def _draw_source(self, kind: ItemKind, before: ProgrammeItem | None) -> ProgrammeSource:
        pool = self._pools[kind]
        latest = before and (before.dance or before.recording)
        names = [name for name in pool if name != latest] or list(pool)
        own = pool[names[int(self._rng.integers(len(names)))]]
        return own[int(self._rng.integers(len(own)))]

    def _draw_change(self) -> str:
        self._deck = self._deck or [str(one) for one in self._rng.permutation(self._changes)]
        return self._deck.pop()

    def _draw_tempo(self) -> float:
        tempo = float(np.exp(self._rng.uniform(np.log(LEAST_TEMPO_CHANGE), np.log(MOST_TEMPO_CHANGE))))
        return tempo if self._rng.random() < 0.5 else 1 / tempo


def _span(frame: int, length: int) -> Span:
    return Span(frame / FPS, (frame + length) / FPS)
