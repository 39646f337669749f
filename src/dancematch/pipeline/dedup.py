"""Which dances of a catalogue are one and the same: each is searched for among the others.

Words are taken as they are kept; the mirrored reading is made from the skeletons or, where they
were not kept, from what the words tell of. One search per dance: the cost grows with the dances.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dancematch.motion import mirror
from dancematch.search.confidence.verdict import MAX_EVALUE, shipped_calibration
from dancematch.types import Fingerprint, Match, Motion, Span

if TYPE_CHECKING:  # the command line takes a default from here, and must not wait for these
    from dancematch.model.tokeniser import Tokeniser
    from dancematch.pipeline.analysis import Progress
    from dancematch.pipeline.catalogue import Catalogue
    from dancematch.search.engine import Query

NEAREST = 10  # others of each dance that are looked at; larger groups hang together through their members


@dataclass(frozen=True)
class Pair:
    """Two dances that are one, and where."""

    one: str
    other: str
    score: float
    log_ratio: float  # log10 of the likelihood ratio that both are one dance
    evalue: float  # how many pairs of such a ratio the whole catalogue gives by accident
    mirrored: bool
    tempo: float | None  # of the one over the other's
    in_one: Span
    in_other: Span


@dataclass(frozen=True)
class Group:
    """Dances that hang together by pairs."""

    dances: tuple[str, ...]
    pairs: tuple[Pair, ...]  # best first


def find_duplicates(
    catalogue: "Catalogue",
    *,
    max_evalue: float = MAX_EVALUE,
    min_score: float = 0.0,
    label: str | None = None,
    collection: str | None = None,
    on_progress: "Progress | None" = None,
) -> list[Group]:
    """The groups of dances that are one dance, the largest first; nothing is changed.

    `max_evalue` is for the whole catalogue: so many wrong pairs may come by accident in all. A pair whose
    likelihood ratio is the largest that can be said is named in a catalogue of any size. `label` and
    `collection` say whose duplicates are looked for; they may be of any.
    """
    chosen = [dance.dance_id for dance in catalogue.dances(label=label, collection=collection)]
    said: dict[str, list[Fingerprint]] = {}
    for name, words in catalogue.fingerprints():
        said.setdefault(name, []).append(words)
    pairs: dict[tuple[str, str], Pair] = {}
    for done, name in enumerate(chosen, start=1):
        queries = list(_queries(said.get(name, []), catalogue.motions(name), catalogue.tokeniser))
        for match in catalogue.engine().search(queries, limit=NEAREST + 1):
            pair = _pair(name, match, trials=len(said))
            known = pairs.get((pair.one, pair.other))
            if match.dance_id != name and (known is None or pair.evalue < known.evalue):
                pairs[pair.one, pair.other] = pair
        if on_progress is not None:
            on_progress(done / len(chosen))
    return _groups([pair for pair in pairs.values() if _is_one(pair, max_evalue) and pair.score >= min_score])


def _is_one(pair: Pair, max_evalue: float) -> bool:
    """Whether a pair is to be named."""
    # The ratio is bounded, the number of pairs is not: among thousands of dances even copies would not do.
    return pair.evalue <= max_evalue or pair.log_ratio >= shipped_calibration().most


def _queries(
    said: Sequence[Fingerprint], motions: Sequence[Motion], tokeniser: "Tokeniser"
) -> "Iterator[Query]":
    """Each dancer of a dance, as kept and mirrored."""
    from dancematch.pipeline.query import hide_unseen, query_of_words
    from dancematch.search.engine import Query

    if len(motions) != len(said):  # of some dancer no skeletons were kept
        for performance in query_of_words(said, tokeniser).dancers:
            yield from performance.queries()
        return
    for dancer, (words, motion) in enumerate(zip(said, motions, strict=True), start=1):
        yield Query(words, False, dancer)
        yield Query(hide_unseen(tokeniser.fingerprint(mirror(motion)), words), True, dancer)


def _pair(name: str, match: Match, trials: int) -> Pair:
    """A match as a pair, in order of name."""
    # Every dance is searched for: what accident gives so often in one search, it gives more often in all.
    evalue = float("inf") if match.evalue is None else match.evalue * trials
    strength = match.score, match.log_ratio or 0.0, evalue
    if name <= match.dance_id:
        return Pair(
            name, match.dance_id, *strength, match.mirrored, match.tempo,
            match.query, match.reference,
        )  # fmt: skip
    tempo = None if match.tempo is None else 1 / match.tempo
    return Pair(match.dance_id, name, *strength, match.mirrored, tempo, match.reference, match.query)


def _groups(pairs: Sequence[Pair]) -> list[Group]:
    """Connected components, the largest first, then by name."""
    group_of: dict[str, str] = {}
    for pair in pairs:
        one, other = _first(group_of, pair.one), _first(group_of, pair.other)
        group_of[max(one, other)] = min(one, other)
    members: dict[str, set[str]] = {}
    for pair in pairs:
        members.setdefault(_first(group_of, pair.one), set()).update((pair.one, pair.other))
    best_first = sorted(pairs, key=lambda pair: (-pair.log_ratio, -pair.score, pair.one, pair.other))
    found = [
        Group(tuple(sorted(names)), tuple(pair for pair in best_first if pair.one in names))
        for names in members.values()
    ]
    return sorted(found, key=lambda group: (-len(group.dances), group.dances))


def _first(group_of: Mapping[str, str], name: str) -> str:
    """The dance that a group goes by."""
    while group_of.get(name, name) != name:
        name = group_of[name]
    return name
