"""Dances of a catalogue that look like one: each recording is searched for among the other dances.

Likeness is a hint and changes nothing: whether two dances are one, a person says by merging them.

Words are taken as they are stored; the mirrored variant is tokenised from the skeletons or, without any,
from what the words decode to. One search per recording.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dancematch.motion import mirror
from dancematch.search.confidence.verdict import MAX_EVALUE, shipped_calibration
from dancematch.search.settings import DanceFilter
from dancematch.types import Match, Span

if TYPE_CHECKING:  # the command line takes a default from here, and must not wait for these
    from dancematch.pipeline.analysis.file_analysis import Progress
    from dancematch.pipeline.searchable_dances import SearchableDances
    from dancematch.search.query import Query

NEAREST = 10  # candidates per dance; larger groups are connected through their members


@dataclass(frozen=True)
class DuplicatePair:
    """Two dances that are one, and where."""

    one: str  # names
    other: str
    score: float
    log_ratio: float  # log10 of the likelihood ratio that both are one dance
    evalue: float  # how many pairs of such a ratio the whole catalogue gives by accident
    mirrored: bool
    tempo: float | None  # of the one over the other's
    in_one: Span
    in_other: Span


@dataclass(frozen=True)
class DuplicateGroup:
    """Dances that are connected by pairs."""

    dances: tuple[str, ...]
    pairs: tuple[DuplicatePair, ...]  # best first


def find_duplicates(
    catalogue: "SearchableDances",
    *,
    max_evalue: float = MAX_EVALUE,
    min_score: float = 0.0,
    label: str | None = None,
    collection: str | None = None,
    on_progress: "Progress | None" = None,
) -> list[DuplicateGroup]:
    """The groups of dances that are one dance, the largest first; nothing is changed.

    `max_evalue` is for the whole catalogue: so many wrong pairs may come by accident in all. A pair with the
    largest likelihood ratio that the calibration supports is named in a catalogue of any size. `label` and
    `collection` choose the dances whose duplicates are searched for, among all dances.
    """
    names = catalogue.names()
    chosen = catalogue.recordings(label=label, collection=collection)
    pairs: dict[tuple[str, str], DuplicatePair] = {}
    for done, recording in enumerate(chosen, start=1):
        others = DanceFilter(but=frozenset({recording.dance_id}))
        queries = list(make_queries(catalogue, recording.recording_id))
        for match in catalogue.engine().search(queries, limit=NEAREST, only=others):
            named = replace(match, dance=names.get(match.dance_id))
            pair = _make_pair(recording.dance, named, trials=len(chosen))
            known = pairs.get((pair.one, pair.other))
            if known is None or pair.evalue < known.evalue:
                pairs[pair.one, pair.other] = pair
        if on_progress is not None:
            on_progress(done / len(chosen))
    return _group_pairs(
        [pair for pair in pairs.values() if _is_duplicate(pair, max_evalue) and pair.score >= min_score]
    )


def _is_duplicate(pair: DuplicatePair, max_evalue: float) -> bool:
    """Whether the two are one dance."""
    # The ratio is bounded, the number of pairs is not: among thousands of dances even copies would not do.
    return pair.evalue <= max_evalue or pair.log_ratio >= shipped_calibration().most


def make_queries(catalogue: "SearchableDances", recording_id: str) -> "Iterator[Query]":
    """Both variants of each dancer of a recording."""
    from dancematch.pipeline.query import hide_unseen, query_of_words
    from dancematch.search.query import Query

    stored = [track.fingerprint for track in catalogue.recording_tracks(recording_id)]
    motions = [motion for motion in catalogue.dancers(recording_id).values() if motion is not None]
    tokeniser = catalogue.tokeniser
    if len(motions) != len(stored):  # of some dancer there are no skeletons
        for dancer in query_of_words(stored, tokeniser).dancers:
            yield from dancer.queries()
        return
    for number, (words, motion) in enumerate(zip(stored, motions, strict=True), start=1):
        yield Query(words, False, number)
        yield Query(hide_unseen(tokeniser.fingerprint(mirror(motion)), words), True, number)


def _make_pair(name: str, match: Match, trials: int) -> DuplicatePair:
    """A match as a pair, in order of name."""
    # Every recording is searched for: accidents of one search come as often again in each of the others.
    evalue = float("inf") if match.evalue is None else match.evalue * trials
    strength = match.score, match.log_ratio or 0.0, evalue
    if name <= match.name:
        return DuplicatePair(
            name, match.name, *strength, match.mirrored, match.tempo,
            match.query, match.reference,
        )  # fmt: skip
    tempo = None if match.tempo is None else 1 / match.tempo
    return DuplicatePair(match.name, name, *strength, match.mirrored, tempo, match.reference, match.query)


def _group_pairs(pairs: Sequence[DuplicatePair]) -> list[DuplicateGroup]:
    """Connected components, the largest first, then by name."""
    group_of: dict[str, str] = {}
    for pair in pairs:
        one, other = _representative(group_of, pair.one), _representative(group_of, pair.other)
        group_of[max(one, other)] = min(one, other)
    members: dict[str, set[str]] = {}
    for pair in pairs:
        members.setdefault(_representative(group_of, pair.one), set()).update((pair.one, pair.other))
    best_first = sorted(pairs, key=lambda pair: (-pair.log_ratio, -pair.score, pair.one, pair.other))
    found = [
        DuplicateGroup(tuple(sorted(names)), tuple(pair for pair in best_first if pair.one in names))
        for names in members.values()
    ]
    return sorted(found, key=lambda group: (-len(group.dances), group.dances))


def _representative(group_of: Mapping[str, str], name: str) -> str:
    """The first dance, by name, of the group that a dance is in."""
    while group_of.get(name, name) != name:
        name = group_of[name]
    return name
