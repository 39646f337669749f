"""An audit: a catalogue's own dances, changed and searched for with and without their own entry.

The search without its entry is what a dance that was never added would meet: every dance that it accepts is
a false accept. The most prominent dancer of each dance is the query.
"""

import zlib
from collections.abc import Iterator, Sequence

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
    drawn = dict(_draw_dances(catalogue, known, max_dances, seed))
    if not drawn:
        raise _nothing_to_change(known)
    right_answers = _find_right_answers(known, by_label)
    total, answers = len(drawn) * len(changes), []
    for place, (name, motion) in enumerate(drawn.items()):
        for number, change in enumerate(changes, start=1):
            rng = np.random.default_rng([seed, zlib.crc32(name.encode()), zlib.crc32(change.encode())])
            changed = CHANGES[change].apply(motion, seconds, rng)
            answer = _search(catalogue, name, change, changed, right_answers[name])
            answers += [answer] if answer else []
            if on_progress is not None:
                on_progress((place * len(changes) + number) / total)
    return Audit(tuple(answers), len(known), len(drawn), catalogue.tokeniser.model_id, seed)


def _draw_dances(
    catalogue: Catalogue, known: Sequence[Dance], most: int, seed: int
) -> Iterator[tuple[str, Motion]]:
    """Dances in an order drawn by the seed, if their skeletons are stored and no segment is excluded."""
    if most < 1:
        raise InputError(f"one dance or more must be asked for, got {most}")
    if not catalogue.stats().with_skeletons:
        return
    # An excerpt from an excluded segment must not match.
    excluded = {segment.dance_id for segment in catalogue.exclusions()}
    names = sorted(dance.dance_id for dance in known)
    found = 0
    for place in np.random.default_rng(seed).permutation(len(names)).tolist():
        motions = catalogue.motions(names[place]) if names[place] not in excluded else []
        if motions:
            yield names[place], motions[0]
            found += 1
        if found == most:
            return


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
        members.setdefault(dance.label or "", set()).add(dance.dance_id)
    return {
        dance.dance_id: frozenset(members[dance.label] if by_label and dance.label else {dance.dance_id})
        for dance in known
    }


def _search(
    catalogue: Catalogue, name: str, change: str, changed: ChangedMotion, right_answers: frozenset[str]
) -> AuditAnswer | None:
    """The matches with and without the right answers; None if too little is seen to give a word."""
    try:
        dancers = query_of_motions([changed.motion], catalogue.tokeniser, name).dancers
    except NoDancerError:
        return None
    queries, engine = [query for dancer in dancers for query in dancer.queries()], catalogue.engine()
    found = engine.search(queries, limit=1)
    unknown = engine.search(queries, limit=1, only=DanceFilter(but=right_answers))
    right = bool(found) and found[0].dance_id in right_answers
    return AuditAnswer(
        name, change, right,
        evalue=_first_evalue(found),
        overlap=_measure_overlap(found[0], name, changed.span) if right else 0.0,
        taken_for=unknown[0].dance_id if unknown else None,
        unknown_evalue=_first_evalue(unknown),
    )  # fmt: skip


def _first_evalue(found: Sequence[Match]) -> float:
    return float("inf") if not found or found[0].evalue is None else found[0].evalue


def _measure_overlap(match: Match, name: str, true: Span) -> float | None:
    """The temporal IoU with the true segment; in a dance that repeats itself, of the best passage."""
    if match.dance_id != name:
        return None  # where another recording has the same moment is not known
    segments = [match.reference, *(passage.reference for passage in match.passages)]
    return max(temporal_iou(segment, true) for segment in segments)
