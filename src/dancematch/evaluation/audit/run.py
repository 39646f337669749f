"""An audit: a catalogue's own dances, changed and searched for with and without their own entry.

The search without its entry is what a dance that was never added would meet: every dance that it accepts is
a false accept. The most prominent dancer of each dance is the query.
"""

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from dancematch.catalogue.records import Dance
from dancematch.errors import InputError, NoDancerError
from dancematch.evaluation.audit.changes import CHANGES, ChangedMotion
from dancematch.evaluation.audit.result import MAX_DANCES, Audit, AuditAnswer
from dancematch.evaluation.measures.temporal_overlap import temporal_iou
from dancematch.evaluation.suites.changed_excerpts import EXCERPT_SECONDS
from dancematch.pipeline.analysis.file_analysis import Progress
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.query import query_of_motions
from dancematch.search.settings import DanceFilter
from dancematch.types import Match, Motion, Span


def audit(
    catalogue: Catalogue,
    *,
    changes: Sequence[str] = tuple(CHANGES),
    seconds: float = EXCERPT_SECONDS,
    max_dances: int = MAX_DANCES,
    seed: int = 0,
    by_label: bool = False,
    on_progress: Progress | None = None,
) -> Audit:
    """The answers to changed dances of the catalogue, in which nothing is changed.

    Each of at most `max_dances` dances, drawn by `seed`, is one query per change. With `by_label`, dances
    of one label are recordings of one dance: each is a right answer, and all are left out together.
    """
    missing = next((name for name in changes if name not in CHANGES), None)
    if missing is not None or not changes:
        raise InputError(f"there is no change {missing!r}; there are {', '.join(CHANGES)}")
    if not 0 < seconds < float("inf"):
        raise InputError(f"an excerpt needs more than 0 seconds, got {seconds}")
    known = catalogue.dances()
    names = {dance.dance_id: dance.name for dance in known}
    drawn = {one.dance: one for one in _draw_dances(catalogue, known, max_dances, seed)}
    if not drawn:
        raise _nothing_to_change(known)
    right_answers = _find_right_answers(known, by_label)
    total, answers = len(drawn) * len(changes), []
    for place, (name, own) in enumerate(drawn.items()):
        for number, change in enumerate(changes, start=1):
            rng = np.random.default_rng([seed, zlib.crc32(name.encode()), zlib.crc32(change.encode())])
            changed = CHANGES[change].apply(own.motion, seconds, rng)
            answer = _search(catalogue, own, change, changed, right_answers[name], names)
            answers += [answer] if answer else []
            if on_progress is not None:
                on_progress((place * len(changes) + number) / total)
    return Audit(tuple(answers), len(known), len(drawn), catalogue.tokeniser.model_id, seed)


class _DrawnDance(NamedTuple):
    """A dance that is to be changed, by one recording."""

    dance: str  # its name
    motion: Motion
    tracks: frozenset[int]  # keys of that recording's tracks


def _draw_dances(catalogue: Catalogue, known: Sequence[Dance], most: int, seed: int) -> Iterator[_DrawnDance]:
    """Dances in an order drawn by the seed, each by its first recording that can be changed.

    Of that the skeletons are stored, and no segment is excluded.
    """
    if most < 1:
        raise InputError(f"one dance or more must be asked for, got {most}")
    if not catalogue.stats().with_skeletons:
        return
    # An excerpt from an excluded segment must not match.
    excluded = {segment.recording_id for segment in catalogue.exclusions()}
    names = sorted(dance.name for dance in known)
    order = np.random.default_rng(seed).permutation(len(names)).tolist()
    drawn = (_choose_recording(catalogue, names[place], excluded) for place in order)
    yield from islice((one for one in drawn if one is not None), most)


def _choose_recording(catalogue: Catalogue, dance: str, excluded: Collection[str]) -> _DrawnDance | None:
    for one in catalogue.recordings(dance):
        motion = None if one.recording_id in excluded else catalogue.dancers(one.recording_id).get(1)
        if motion is not None:
            tracks = catalogue.recording_tracks(one.recording_id)
            return _DrawnDance(dance, motion, frozenset(track.key for track in tracks))
    return None


def _nothing_to_change(known: Sequence[Dance]) -> InputError:
    if not known:
        return InputError("the catalogue is empty: there is nothing to audit; 'dancematch add' learns dances")
    return InputError(
        f"none of the {len(known)} dances can be changed: their skeletons were not kept, or segments of them"
        " are excluded; add them again from their videos or motion files"
    )


def _find_right_answers(known: Sequence[Dance], by_label: bool) -> dict[str, frozenset[str]]:
    """For each dance, the dances that are right answers."""
    members: dict[str, set[str]] = {}
    for dance in known:
        for label in dance.labels:
            members.setdefault(label, set()).add(dance.dance_id)
    return {
        dance.name: frozenset({dance.dance_id}.union(*(members[one] for one in dance.labels if by_label)))
        for dance in known
    }


def _search(
    catalogue: Catalogue,
    own: _DrawnDance,
    change: str,
    changed: ChangedMotion,
    right_answers: frozenset[str],
    names: Mapping[str, str],
) -> AuditAnswer | None:
    """The matches with and without the right answers; None if too little is seen to give a word."""
    try:
        dancers = query_of_motions([changed.motion], catalogue.tokeniser, own.dance).dancers
    except NoDancerError:
        return None
    queries, engine = [query for dancer in dancers for query in dancer.queries()], catalogue.engine()
    found = engine.search(queries, limit=1)
    unknown = engine.search(queries, limit=1, only=DanceFilter(but=right_answers))
    right = bool(found) and found[0].dance_id in right_answers
    return AuditAnswer(
        own.dance, change, right,
        evalue=_first_evalue(found),
        overlap=_measure_overlap(found[0], own.tracks, changed.span) if right else 0.0,
        taken_for=names.get(unknown[0].dance_id) if unknown else None,
        unknown_evalue=_first_evalue(unknown),
    )  # fmt: skip


def _first_evalue(found: Sequence[Match]) -> float:
    return float("inf") if not found or found[0].evalue is None else found[0].evalue


def _measure_overlap(match: Match, tracks: frozenset[int], true: Span) -> float | None:
    """The temporal IoU with the true segment; in a dance that repeats itself, of the best passage."""
    if match.track not in tracks:
        return None  # where another recording has the same moment is not known
    segments = [match.reference, *(passage.reference for passage in match.passages)]
    return max(temporal_iou(segment, true) for segment in segments)
