"""Lineage of a dance: which other dances share passages with it, earlier and later, and what in it is rare.

Windows of six seconds of each recording, and of fifteen, are searched for among all other dances. What they
find is followed along its line as far as both move together: a shared passage. A likeness does not say who
took what from whom: dates are those of the recordings that the catalogue holds.

One search per window: the cost grows with the length of the dance, and with the catalogue as a search's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from dancematch.catalogue.records import Recording
from dancematch.pipeline.counts.counts import Counts, units_of
from dancematch.pipeline.dedup import make_queries
from dancematch.pipeline.scan.boundaries import agreement_along, bound_end, bound_start
from dancematch.search.confidence.verdict import MAX_EVALUE, verdict_of
from dancematch.search.query import Query
from dancematch.search.rarity import Rarity, name_rarity
from dancematch.search.settings import DanceFilter
from dancematch.types import Fingerprint, Match, Span, Verdict

if TYPE_CHECKING:
    from dancematch.pipeline.analysis.file_analysis import Progress
    from dancematch.pipeline.searchable_dances import SearchableDances

WINDOW_SECONDS = 6.0  # the least that a search is sure of
LONG_SECONDS = 15.0  # a second look: another person is recognised more surely than after six
CELL_SECONDS = 3.0  # in which it is said how rare a dance is
NEAREST = 20  # dances per window
_SAME_LINE_SECONDS = 1.0  # by which two windows of one passage may lie beside one line

Order = Literal["earlier", "later", "same time", "undated"]


@dataclass(frozen=True)
class LineageNode:
    """A dance that shares passages with the one that is asked about, or that dance itself."""

    dance_id: str
    name: str
    date: str | None  # of its earliest recording that has one
    order: Order | None  # against the dance that is asked about; None: it is that dance
    shared_seconds: float  # of the dance that is asked about, that it shares


@dataclass(frozen=True)
class SharedPassage:
    """An edge: a passage of the dance that another dance holds too."""

    dance_id: str  # the other
    name: str
    recording_id: str | None  # of the other
    recording: str | None
    date: str | None
    own_recording_id: str
    own_recording: str
    own_date: str | None
    order: Order  # of the other's recording against the own
    own: Span  # where in the own recording
    other: Span  # where in the other's
    mirrored: bool
    tempo: float | None  # own over the other's
    score: float
    log_ratio: float  # log10 of the likelihood ratio
    evalue: float  # how many as alike all the windows together find by accident
    verdict: Verdict
    counts: str | None  # where in the own recording, in counts: "bars 1-2"; None without counts


@dataclass(frozen=True)
class PassageRarity:
    """How many other dances hold a passage of the dance."""

    recording_id: str
    recording: str
    span: Span
    dances: int  # others that hold it
    others: int  # that were searched
    names: tuple[str, ...]  # of those that hold it
    rarity: Rarity
    counts: str | None  # the span in counts; None without counts


@dataclass(frozen=True)
class Lineage:
    """Which dances share passages with a dance."""

    dance_id: str
    name: str
    date: str | None
    nodes: tuple[LineageNode, ...]  # the dance itself first, then by date
    edges: tuple[SharedPassage, ...]  # by place in the dance
    passages: tuple[PassageRarity, ...]  # all of the dance, in order
    searches: int  # windows that were searched for


def trace_lineage(
    catalogue: "SearchableDances",
    dance: str,
    *,
    max_evalue: float = MAX_EVALUE,
    recordings: Sequence[str] | None = None,
    on_progress: "Progress | None" = None,
) -> Lineage:
    """The lineage of a dance by name or id; of some of its recordings, if their ids are given.

    `max_evalue` is for all windows together, as are the E-values and verdicts.
    """
    facts = catalogue.dance(dance)
    every = catalogue.recordings(facts.dance_id)
    chosen = [one for one in every if recordings is None or one.recording_id in recordings]
    others = max(0, len(catalogue.names()) - 1)
    tracks = [_Tracks(one, tuple(make_queries(catalogue, one.recording_id))) for one in chosen]
    windows = [(one, window) for one in tracks for window in _cut_windows(one)]
    hits: list[_WindowHit] = []
    for done, (one, window) in enumerate(windows, start=1):
        found = _search_window(catalogue, one, window, len(windows)) if others else ()
        hits += [hit for hit in found if verdict_of(hit.evalue, max_evalue) != "no match"]
        if on_progress is not None:
            on_progress(done / len(windows))
    counts = {one.recording_id: catalogue.counts(one.recording_id).counts for one in chosen}
    edges = list(_make_edges(catalogue, hits, max_evalue, counts))
    edges.sort(key=lambda one: (one.own_recording, one.own.start, one.name))
    itself = LineageNode(facts.dance_id, facts.name, _earliest(every), None, 0.0)
    rarities = [rarity for one in tracks for rarity in _measure_rarities(one, edges, others)]
    return Lineage(
        facts.dance_id, facts.name, itself.date, tuple(_make_nodes(catalogue, itself, edges)), tuple(edges),
        tuple(_name_counts(rarities, counts)), len(windows),
    )  # fmt: skip


def _name_counts(
    rarities: Sequence[PassageRarity], counts: Mapping[str, Counts | None]
) -> Iterator[PassageRarity]:
    for one in rarities:
        grid = counts[one.recording_id]
        yield replace(one, counts=None if grid is None else grid.describe(one.span))


@dataclass(frozen=True)
class _WindowHit:
    """A window of a recording that another dance holds."""

    tracks: "_Tracks"
    match: Match
    evalue: float  # among all windows


def count_windows(seconds: float) -> int:
    """How many searches a recording of this length takes, per dancer."""
    return sum(len(_list_starts(seconds, length)) for length in (WINDOW_SECONDS, LONG_SECONDS))


def _list_starts(seconds: float, length: float) -> list[float]:
    """When windows of a length begin: every half of it, the last at the end; long ones if there is room."""
    if seconds <= length:
        return [0.0] if length == WINDOW_SECONDS or seconds > 1.5 * WINDOW_SECONDS else []
    starts = [step * length / 2 for step in range(int((seconds - length) / (length / 2)) + 1)]
    return [*starts, seconds - length] if seconds - length - starts[-1] > 0.5 else starts


# ---- windows


class _Tracks(NamedTuple):
    """A recording with all variants of its dancers."""

    recording: Recording
    queries: tuple[Query, ...]

    def words(self, match: Match) -> Fingerprint:
        """The words of the variant that a match is of."""
        asked = match.dancer, match.mirrored, match.turned
        return next(
            one.fingerprint for one in self.queries if (one.dancer, one.mirrored, one.turned) == asked
        )


def _cut_windows(tracks: _Tracks) -> Iterator[list[Query]]:
    """Both variants of each dancer in every window of a recording."""
    if not tracks.queries:
        return
    step = tracks.queries[0].fingerprint.seconds_per_word
    longest = max(len(query.fingerprint) for query in tracks.queries)
    for length in (WINDOW_SECONDS, LONG_SECONDS):
        for start in _list_starts(longest * step, length):
            first, last = round(start / step), round((start + length) / step) - 1
            cut = [_cut(query, first, last) for query in tracks.queries]
            window = [query for query in cut if query is not None]
            if window:
                yield window


def _cut(query: Query, first: int, last: int) -> Query | None:
    words = query.fingerprint
    if first >= len(words):
        return None
    return replace(query, fingerprint=words.segment(first, min(last, len(words) - 1)))


def _search_window(
    catalogue: "SearchableDances", tracks: _Tracks, window: Sequence[Query], trials: int
) -> Iterator[_WindowHit]:
    """What other dances hold of a window."""
    only = DanceFilter(but=frozenset({tracks.recording.dance_id}))
    for match in catalogue.searcher.search(window, limit=NEAREST, only=only):
        # Every window is searched for: accidents of one come as often again in each of the others.
        evalue = float("inf") if match.evalue is None else match.evalue * trials
        yield _WindowHit(tracks, match, evalue)


# ---- edges


def _join_hits(hits: Sequence[_WindowHit], references: Mapping[int, Fingerprint]) -> Iterator[_WindowHit]:
    """Hits as passages, best first: what windows along the line of a better one find is the same passage."""
    left = sorted(hits, key=lambda hit: (hit.evalue, -hit.match.score, hit.match.query.start))
    while left:
        best = left[0]
        whole = _bound(best, references)
        yield whole
        left = [hit for hit in left[1:] if not _is_part(hit, whole)]


def _bound(hit: _WindowHit, references: Mapping[int, Fingerprint]) -> _WindowHit:
    """The hit from where to where both move together along its line, beyond its window too."""
    match, reference = hit.match, references.get(hit.match.track or -1)
    words = hit.tracks.words(match)
    if reference is None or reference.bones is None or words.bones is None:
        return hit
    agreement = agreement_along(match, words, reference)
    middle = (match.query.start + match.query.end) / 2
    start, end = bound_start(words, agreement, middle), bound_end(words, agreement, middle)
    tempo, last = match.tempo or 1.0, reference.span(0, len(reference) - 1)
    there = [match.reference.start + tempo * (time - match.query.start) for time in (start, end)]
    begin = min(max(there[0], last.start), last.end - reference.seconds_per_word)
    finish = max(min(there[1], last.end), begin + reference.seconds_per_word)
    return replace(hit, match=replace(match, query=Span(start, end), reference=Span(begin, finish)))


def _is_part(hit: _WindowHit, whole: _WindowHit) -> bool:
    """Whether a window found a passage again, along the same line."""
    one, other = hit.match, whole.match
    if (hit.tracks, one.track, one.mirrored, one.dancer) != (
        whole.tracks, other.track, other.mirrored, other.dancer,
    ):  # fmt: skip
        return False
    expected = other.reference.start + (other.tempo or 1.0) * (one.query.start - other.query.start)
    shared = min(one.query.end, other.query.end) - max(one.query.start, other.query.start)
    return shared > 0 and abs(one.reference.start - expected) <= _SAME_LINE_SECONDS


def _make_edges(
    catalogue: "SearchableDances",
    hits: Sequence[_WindowHit],
    max_evalue: float,
    counts: Mapping[str, Counts | None],
) -> Iterator[SharedPassage]:
    """The hits as passages with names and dates; of what was removed meanwhile there is none."""
    names = catalogue.name_tracks([hit.match.track for hit in hits if hit.match.track is not None])
    others = {one.recording_id: catalogue.recording(one.recording_id) for one in names.values()}
    known = [track for one in others for track in catalogue.recording_tracks(one)]
    for hit in _join_hits(hits, {track.key: track.fingerprint for track in known}):
        match, own = hit.match, hit.tracks.recording
        named = None if match.track is None else names.get(match.track)
        if named is None:
            continue
        other, grid = others[named.recording_id], counts[own.recording_id]
        yield SharedPassage(
            match.dance_id, named.dance, other.recording_id, other.file, other.date,
            own.recording_id, own.file, own.date, order_dates(other.date, own.date),
            match.query, match.reference, match.mirrored, match.tempo, match.score, match.log_ratio or 0.0,
            hit.evalue, verdict_of(hit.evalue, max_evalue),
            None if grid is None else grid.describe(match.query),
        )  # fmt: skip


def order_dates(other: str | None, own: str | None) -> Order:
    """Whether a date lies before another; dates may be a year, a month or a day."""
    if other is None or own is None:
        return "undated"
    length = min(len(other), len(own))
    if other[:length] == own[:length]:
        return "same time"
    return "earlier" if other[:length] < own[:length] else "later"


# ---- nodes and rarity


def _make_nodes(
    catalogue: "SearchableDances", itself: LineageNode, edges: Sequence[SharedPassage]
) -> Iterator[LineageNode]:
    """The dance itself, then those that share passages with it, by date; those without one last."""
    yield itself
    made = []
    for dance_id in dict.fromkeys(edge.dance_id for edge in edges):
        shared = [edge for edge in edges if edge.dance_id == dance_id]
        date = _earliest(catalogue.recordings(dance_id))
        made.append(
            LineageNode(
                dance_id, shared[0].name, date, order_dates(date, itself.date), _shared_seconds(shared)
            )
        )
    yield from sorted(made, key=lambda node: (node.date is None, node.date or "", node.name))


def _earliest(recordings: Sequence[Recording]) -> str | None:
    return min((one.date for one in recordings if one.date), default=None)


def _shared_seconds(edges: Sequence[SharedPassage]) -> float:
    """How much of the dance the edges cover, in the recording of which they cover most."""
    most = 0.0
    for recording_id in {edge.own_recording_id for edge in edges}:
        covered, end = 0.0, 0.0
        spans = [edge.own for edge in edges if edge.own_recording_id == recording_id]
        for span in sorted(spans, key=lambda one: one.start):
            covered += max(0.0, span.end - max(span.start, end))
            end = max(end, span.end)
        most = max(most, covered)
    return round(most, 2)


def _measure_rarities(
    tracks: _Tracks, edges: Sequence[SharedPassage], others: int
) -> Iterator[PassageRarity]:
    """How many dances hold each part of a recording; neighbours that the same dances hold are one."""
    recording = tracks.recording
    spans = [one.fingerprint.span(0, len(one.fingerprint) - 1) for one in tracks.queries]
    if not spans:
        return
    start, end = min(span.start for span in spans), max(span.end for span in spans)
    last: PassageRarity | None = None
    for cell in units_of(None, Span(start, end), 0, CELL_SECONDS):
        names = tuple(sorted({edge.name for edge in edges if _holds(edge, recording, cell)}))
        if last is not None and last.names == names:
            last = replace(last, span=Span(last.span.start, cell.end))
            continue
        if last is not None:
            yield last
        rarity = name_rarity(len(names), others)
        last = PassageRarity(
            recording.recording_id, recording.file, cell, len(names), others, names, rarity, None
        )
    if last is not None:
        yield last


def _holds(edge: SharedPassage, recording: Recording, span: Span) -> bool:
    """Whether an edge covers most of a span."""
    shared = min(edge.own.end, span.end) - max(edge.own.start, span.start)
    return edge.own_recording_id == recording.recording_id and shared > span.seconds / 2
