"""How well a catalogue's own dances are found when they are changed, and how often unknown ones are accepted.

Dances are drawn from the catalogue, changed as cameras, estimators and dancers change them, and searched
for twice: in the whole catalogue, and in the catalogue without them. The second search is what a dance
that was never added would meet: every dance that it accepts is a false accept. Each dance is asked for by
its most prominent dancer. To accept is to say "match": an E-value within a limit.
"""

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dancematch.catalogue.records import Dance
from dancematch.errors import InputError, NoDancerError
from dancematch.evaluation.measures.accept_rates import (
    AcceptCurve,
    accept_curve,
    false_accepts,
    limit_at,
    true_accepts,
)
from dancematch.evaluation.measures.bootstrap import Interval, bootstrap_interval, mean_interval
from dancematch.evaluation.measures.temporal_overlap import ENOUGH, temporal_iou
from dancematch.motion import excerpt, mirror, perturb
from dancematch.search.confidence.verdict import POSSIBLE_EVALUE, evalue_of, shipped_calibration, verdict_of
from dancematch.search.settings import DanceFilter
from dancematch.skeletons import BODY15
from dancematch.types import Match, Motion, Span

if TYPE_CHECKING:  # the command line takes defaults from here, and must not wait for these
    from dancematch.pipeline.analysis.file_analysis import Progress
    from dancematch.pipeline.catalogue import Catalogue

MAX_DANCES = 100
SECONDS = 5.0  # of an excerpt
FALSE_ACCEPTS = 0.01  # of dances that the catalogue does not have
_LEGS = [BODY15.index(f"{side}_{joint}") for side in ("left", "right") for joint in ("knee", "ankle")]
_ESTIMATOR = ("tilt", "noise", "drift", "dropout", "phase")


class ChangedMotion(NamedTuple):
    """A changed dance, and where in the dance it lies."""

    motion: Motion
    span: Span


Change = Callable[[Motion, float, np.random.Generator], ChangedMotion]


def _perturbed(*names: str) -> Change:
    def change(motion: Motion, _seconds: float, rng: np.random.Generator) -> ChangedMotion:
        changed = motion
        for name in names:
            changed = perturb(changed, name, seed=int(rng.integers(1 << 31)))
        return ChangedMotion(changed, motion.span)

    return change


def _mirrored(motion: Motion, _seconds: float, _rng: np.random.Generator) -> ChangedMotion:
    return ChangedMotion(mirror(motion), motion.span)


def _excerpt(motion: Motion, seconds: float, rng: np.random.Generator) -> ChangedMotion:
    length = min(seconds, motion.seconds)
    start = float(rng.uniform(0, motion.seconds - length))
    part = excerpt(motion, start, min(start + length, motion.seconds))
    return ChangedMotion(part, Span(motion.start + start, motion.start + start + length))


def _upper_body(motion: Motion, _seconds: float, _rng: np.random.Generator) -> ChangedMotion:
    joints = motion.joints.copy()
    joints[:, _LEGS] = np.nan
    return ChangedMotion(
        Motion(joints, motion.fps, motion.skeleton, motion.visibility, motion.start), motion.span
    )


def _phone(motion: Motion, seconds: float, rng: np.random.Generator) -> ChangedMotion:
    part, span = _excerpt(motion, seconds, rng)
    part = mirror(part) if rng.random() < 0.5 else part
    return ChangedMotion(_perturbed(*_ESTIMATOR, "tempo")(part, seconds, rng).motion, span)


CHANGES: Mapping[str, Change] = MappingProxyType(
    {
        "none": _perturbed(),
        "tilt": _perturbed("tilt"),
        "noise": _perturbed("noise"),
        "drift": _perturbed("drift"),
        "dropout": _perturbed("dropout"),
        "tempo": _perturbed("tempo"),
        "phase": _perturbed("phase"),
        "mirror": _mirrored,
        "upper-body": _upper_body,
        "excerpt": _excerpt,
        "estimator": _perturbed(*_ESTIMATOR),
        "phone": _phone,
    }
)
EXPLAINED: Mapping[str, str] = MappingProxyType(
    {
        "none": "as it was added",
        "tilt": "the camera up to 10 degrees off level",
        "noise": "every joint trembles by 1.5 cm",
        "drift": "every joint wanders by 3 cm",
        "dropout": "each joint unseen a tenth of the time",
        "tempo": "a fifth faster or slower",
        "phase": "begun up to a tenth of a second later",
        "mirror": "left and right exchanged",
        "upper-body": "legs never seen",
        "excerpt": "some seconds from anywhere in it",
        "estimator": "tilt, noise, drift, dropout and phase at once",
        "phone": "an excerpt, every second one mirrored, by an estimator, at another tempo",
    }
)


@dataclass(frozen=True)
class AuditAnswer:
    """What became of one changed dance, searched for with and without its own entry."""

    dance_id: str
    change: str
    right: bool  # the first match is the dance
    evalue: float  # of the first match
    overlap: (
        float | None
    )  # of the time in the segment found or the true one, the share in both; None: another recording
    taken_for: str | None  # with its own entry left out, the first match
    unknown_evalue: float  # of that match


@dataclass(frozen=True)
class ChangeFigures:
    """How well one kind of change is survived, as shares of the queries."""

    change: str
    queries: int
    rank1: float
    accepted: float  # first, and within the limit
    accepted_interval: Interval  # 95 %
    possible: float  # first, and a match or a possible match
    place: float | None  # first, and half of the time in its true segment or the one found is in both;
    # not known where the first is another recording: None if that is so of all
    false_accepts: float | None  # without its own entry, another dance within the limit; None: no other


@dataclass(frozen=True)
class LimitSuggestion:
    """The limit of the E-value at which unknown dances are accepted no more often than wanted."""

    wanted: float  # share of unknown dances accepted
    evalue: float | None  # None: too few dances to tell, or too many that are there twice
    interval: Interval | None  # 95 %, dances drawn anew
    dances_needed: int  # for the least that can be said about such a share
    accepted: float | None  # of all changed dances, named and within this limit


@dataclass(frozen=True)
class Audit:
    """All answers, and what they say at a limit."""

    answers: tuple[AuditAnswer, ...]
    dances: int  # of the catalogue
    asked: int  # of them, changed and searched for
    model_id: str

    @property
    def left_out(self) -> int:
        """How many dances were searched for without their own entry, among at least one other."""
        return len({one.dance_id for one in self._unknown})

    @property
    def _unknown(self) -> list[AuditAnswer]:
        return [one for one in self.answers if one.taken_for is not None]

    def survivals(self, limit: float) -> list[ChangeFigures]:
        """How each change is survived where a match counts within this E-value."""
        kinds = dict.fromkeys(one.change for one in self.answers)
        return [_survival([one for one in self.answers if one.change == kind], limit) for kind in kinds]

    def false_accepts(self, limit: float) -> tuple[float, Interval] | None:
        """The share of unknown dances within this E-value, with its interval; None if there are none."""
        unknown = self._unknown
        if not unknown:
            return None
        accepted = np.array([one.unknown_evalue <= limit for one in unknown])
        low, high = mean_interval(accepted, [one.dance_id for one in unknown])
        # None accepted has an interval without width; of so many dances, three may still be unseen.
        return float(accepted.mean()), (low, max(high, min(1.0, 3 / self.left_out)))

    def accepts(self) -> AcceptCurve | None:
        """The shares of known and unknown dances accepted at every limit; None if none is unknown."""
        unknown = [one.unknown_evalue for one in self._unknown]
        known, right = [one.evalue for one in self.answers], [one.right for one in self.answers]
        return accept_curve(known, right, unknown) if unknown else None

    def suggest(self, wanted: float = FALSE_ACCEPTS) -> LimitSuggestion:
        """The widest limit that accepts no more unknown dances than wanted.

        A share of one in a hundred cannot be told from fewer than a hundred dances: then none is suggested,
        nor where more dances than that share are in the catalogue under two names.
        """
        if not 0 < wanted < 1:
            raise InputError(f"a share of false accepts lies between 0 and 1, got {wanted}")
        needed = int(np.ceil(1 / wanted))
        if self.left_out < needed:
            return LimitSuggestion(wanted, None, None, needed, None)
        unknown = self._unknown
        doubts = np.array([one.unknown_evalue for one in unknown])
        limit = min(rounded_down(limit_at(doubts, wanted)), POSSIBLE_EVALUE)  # no search takes a wider one
        # Below the E-value of the largest ratio nothing is accepted: dances are there under two names.
        if limit < evalue_of(shipped_calibration().most, self.dances):
            return LimitSuggestion(wanted, None, None, needed, None)
        interval = bootstrap_interval(
            lambda places: min(limit_at(doubts[places], wanted), POSSIBLE_EVALUE),
            [one.dance_id for one in unknown],
        )
        known, right = [one.evalue for one in self.answers], [one.right for one in self.answers]
        return LimitSuggestion(wanted, limit, interval, needed, true_accepts(known, right, limit))

    def most_alike(self, count: int) -> list[AuditAnswer]:
        """The unknown dances most likely to be another, one per pair of dances."""
        pairs: dict[frozenset[str], AuditAnswer] = {}
        for one in sorted(self._unknown, key=lambda one: (one.unknown_evalue, one.dance_id)):
            pairs.setdefault(frozenset((one.dance_id, str(one.taken_for))), one)
        return list(pairs.values())[:count]

    def taken_for_own_label(self, limit: float, labels: Mapping[str, str | None]) -> int:
        """How many unknown dances within this E-value were taken for a dance of their own label."""
        own = [one for one in self._unknown if labels.get(one.dance_id) is not None]
        return sum(
            one.unknown_evalue <= limit and labels[one.dance_id] == labels.get(str(one.taken_for))
            for one in own
        )


def audit(
    catalogue: "Catalogue",
    *,
    changes: Sequence[str] = tuple(CHANGES),
    seconds: float = SECONDS,
    max_dances: int = MAX_DANCES,
    seed: int = 0,
    by_label: bool = False,
    on_progress: "Progress | None" = None,
) -> Audit:
    """Change dances of the catalogue and search for them; nothing in it is changed.

    Each of at most `max_dances` dances, drawn by `seed`, is asked for once per change. With `by_label`,
    dances of one label are recordings of one dance: each is a right answer, and all are left out together.
    """
    unknown = next((name for name in changes if name not in CHANGES), None)
    if unknown is not None or not changes:
        raise InputError(f"there is no change {unknown!r}; there are {', '.join(CHANGES)}")
    if not 0 < seconds < float("inf"):
        raise InputError(f"an excerpt needs more than 0 seconds, got {seconds}")
    known = catalogue.dances()
    drawn = dict(_drawn(catalogue, known, max_dances, seed))
    if not drawn:
        raise _nothing_to_change(known)
    families = _families(known, by_label)
    total, answers = len(drawn) * len(changes), []
    for place, (name, motion) in enumerate(drawn.items()):
        for number, change in enumerate(changes, start=1):
            rng = np.random.default_rng([seed, zlib.crc32(name.encode()), zlib.crc32(change.encode())])
            changed = CHANGES[change](motion, seconds, rng)
            answer = _ask(catalogue, name, change, changed, families[name])
            answers += [answer] if answer else []
            if on_progress is not None:
                on_progress((place * len(changes) + number) / total)
    return Audit(tuple(answers), len(known), len(drawn), catalogue.tokeniser.model_id)


def _drawn(
    catalogue: "Catalogue", known: Sequence[Dance], most: int, seed: int
) -> Iterator[tuple[str, Motion]]:
    """Dances in an order that the seed gives, as far as their skeletons are kept and nothing is excluded."""
    if most < 1:
        raise InputError(f"one dance or more must be asked for, got {most}")
    if not catalogue.stats().with_skeletons:
        return
    # An excerpt from a stretch that is never to match says nothing about a search.
    hidden = {stretch.dance_id for stretch in catalogue.exclusions()}
    names = sorted(dance.dance_id for dance in known)
    found = 0
    for place in np.random.default_rng(seed).permutation(len(names)).tolist():
        motions = catalogue.motions(names[place]) if names[place] not in hidden else []
        if motions:
            yield names[place], motions[0]
            found += 1
        if found == most:
            return


def _nothing_to_change(known: Sequence[Dance]) -> InputError:
    if not known:
        return InputError("the catalogue is empty: there is nothing to audit; 'dancematch add' learns dances")
    return InputError(
        f"none of the {len(known)} dances can be changed: their skeletons were not kept, or stretches of them"
        " are excluded; add them again from their videos or motion files"
    )


def _families(known: Sequence[Dance], by_label: bool) -> dict[str, frozenset[str]]:
    """For each dance, the names that are right answers."""
    if not by_label:
        return {dance.dance_id: frozenset({dance.dance_id}) for dance in known}
    members: dict[str, set[str]] = {}
    for dance in known:
        members.setdefault(dance.label or "", set()).add(dance.dance_id)
    return {
        dance.dance_id: frozenset(members[dance.label] if dance.label else {dance.dance_id})
        for dance in known
    }


def _ask(
    catalogue: "Catalogue", name: str, change: str, changed: ChangedMotion, family: frozenset[str]
) -> AuditAnswer | None:
    """Search with and without the dance; None if so little of it is left that it gives no word."""
    from dancematch.pipeline.query import query_of_motions

    try:
        read = query_of_motions([changed.motion], catalogue.tokeniser, name).dancers
    except NoDancerError:
        return None
    queries, engine = [query for one in read for query in one.queries()], catalogue.engine()
    found = engine.search(queries, limit=1)
    unknown = engine.search(queries, limit=1, only=DanceFilter(but=family))
    right = bool(found) and found[0].dance_id in family
    return AuditAnswer(
        name, change, right,
        evalue=_evalue(found),
        overlap=_overlap(found, name, changed.span, right),
        taken_for=unknown[0].dance_id if unknown else None,
        unknown_evalue=_evalue(unknown),
    )  # fmt: skip


def _evalue(found: Sequence[Match]) -> float:
    return float("inf") if not found or found[0].evalue is None else found[0].evalue


def _overlap(found: Sequence[Match], name: str, true: Span, right: bool) -> float | None:
    """How well the first match tells the place; in a dance that repeats itself, any passage may."""
    if not right:
        return 0.0
    if found[0].dance_id != name:
        return None  # where another recording has the same moment is not known
    places = [found[0].reference, *(passage.reference for passage in found[0].passages)]
    return max(temporal_iou(place, true) for place in places)


def rounded_down(evalue: float) -> float:
    """To two digits, so that it can be typed; never wider."""
    return float(Context(prec=2, rounding=ROUND_FLOOR).create_decimal(Decimal(evalue)))


def share_interval(count: int, total: int) -> Interval:
    """Where a share lies, 95 %, that was seen `count` times in `total` that do not depend on one another.

    Wilson's interval (1927): it has width where all or none were seen, which drawing anew has not.
    """
    share, square = count / total, 1.96**2 / total
    middle = share + square / 2
    reach = 1.96 * math.sqrt(share * (1 - share) / total + square / (4 * total))
    low, high = (middle - reach) / (1 + square), (middle + reach) / (1 + square)
    return (low if count else 0.0), (high if count < total else 1.0)


def _survival(answers: Sequence[AuditAnswer], limit: float) -> ChangeFigures:
    accepted = np.array([one.right and one.evalue <= limit for one in answers])
    possible = [one.right and verdict_of(one.evalue, limit) != "no match" for one in answers]
    unknown = [one.unknown_evalue for one in answers if one.taken_for is not None]
    overlaps = [one.overlap for one in answers if one.overlap is not None]
    return ChangeFigures(
        change=answers[0].change,
        queries=len(answers),
        rank1=float(np.mean([one.right for one in answers])),
        accepted=float(accepted.mean()),
        accepted_interval=share_interval(int(accepted.sum()), len(accepted)),
        possible=float(np.mean(possible)),
        place=float(np.mean(np.array(overlaps) >= ENOUGH)) if overlaps else None,
        false_accepts=false_accepts(unknown, limit) if unknown else None,
    )
