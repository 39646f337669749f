"""The sentences about a match, for the command line, the report and the service alike.

Numbers are rounded so that they never say more than was measured: what accident gives upwards, how strong the
evidence is downwards. `server/static/elements/say.js` has the same for the page.
"""

import math
from collections.abc import Callable

from dancematch.catalogue.review_records import Decision, Recalibration, Review
from dancematch.search.confidence.verdict import POSSIBLE_EVALUE, shipped_calibration
from dancematch.search.rarity import name_rarity
from dancematch.types import Match, Span

SAME_TEMPO = 0.03
TEMPO_SECONDS = 6.0  # a shorter segment fits at several tempi; its own is kept as a number, not told
DECISION_WORDS: dict[Decision, str] = {
    "confirmed": "confirmed",
    "rejected": "rejected",
    "changed": "same dance, changed",
}
UNDECIDED = 2.0  # a likelihood ratio up to it, or down to its inverse, says nothing
_HALF = 0.5  # an E-value up to which searches are said in "1 in N"
_ROUNDING_SLACK = 1e-9  # a share: 10 ** log10(3) is a hair beside 3


def verdict_sentence(match: Match) -> str:
    """The verdict on one dance: which, where in it, how changed, and how easily by accident.

    "Possible match: Thriller (anna.mp4), 0:03-0:11, mirrored. 1 search in 9 gives this by accident."
    """
    found = f"{name_match(match)}, {describe_span(match.reference)}"
    changed = "".join(f", {change}" for change in list_changes(match))
    verdict = "No match; the nearest is" if match.verdict == "no match" else f"{capitalise(match.verdict)}:"
    details = accident_sentence(match.evalue), performance_sentence(match), basis_sentence(match)
    return " ".join(sentence for sentence in (f"{verdict} {found}{changed}.", *details) if sentence)


def likeliest_so_far(match: Match) -> str:
    """What is shown while a clip is still being read: "so far: Thriller, possible match"."""
    return f"so far: {'nothing' if match.verdict == 'no match' else f'{match.name}, {match.verdict}'}"


def name_match(match: Match) -> str:
    """The name of the dance, with its recording's file in brackets unless that is called the same."""
    if match.recording is None or match.recording.rpartition(".")[0] in ("", match.name):
        return match.name
    return f"{match.name} ({match.recording})"


def performance_sentence(match: Match) -> str:
    """That the clip shows the same performance as the recording; empty where that is not known."""
    return "Probably the very same performance." if match.same_performance else ""


def accident_sentence(evalue: float | None) -> str:
    """How often a search finds a dance as near by accident; empty without an E-value."""
    if evalue is None:
        return ""
    if evalue >= POSSIBLE_EVALUE:
        return f"Every search gives about {round_up(evalue)} as near by accident."
    if evalue > _HALF:
        return f"{capitalise(_count_in_ten(evalue))} of 10 such searches give one as near by accident."
    return f"1 search in {round_down(1 / evalue)} gives this by accident."


def accident_cell(evalue: float | None) -> str:
    """The same for a table."""
    if evalue is None:
        return ""
    if evalue >= POSSIBLE_EVALUE:
        return f"{round_up(evalue)} per search"
    return f"{_count_in_ten(evalue)} in 10" if evalue > _HALF else f"1 in {round_down(1 / evalue)}"


def _count_in_ten(evalue: float) -> str:
    """An E-value below 1 in tenths, never all ten: that would read as every search."""
    tenths = _ceil(10 * evalue)
    return str(tenths) if tenths < 10 else "more than 9"


def recalibration_sentence(by: Recalibration) -> str:
    """That verdicts are shifted, how far, and what that was fitted on."""
    return f"Verdicts are shifted by {by.offset:+.2g} decades, fitted on {by.reviews} of your reviews."


def describe_decision(review: Review) -> str:
    """What was decided of a possible match: "confirmed by Anna on 2026-11-17: seen it live"."""
    if review.decision is None:
        return "waiting"
    note = f": {review.note}" if review.note else ""
    when = (review.decided or "")[:10]
    return f"{DECISION_WORDS[review.decision]} by {review.decided_by} on {when}{note}"


def shortfall_sentence(match: Match, max_evalue: float) -> str:
    """Why a dance is no match, or only a possible one; empty if it is a match."""
    if match.verdict == "match" or match.evalue is None:
        return ""
    evalue = round_evalue(match.evalue)
    found = f"its E-value, the dances as near that one search gives by accident, is {evalue:g}"
    if match.verdict == "possible match":
        return f"This is not enough for a match: {found}; a match has {max_evalue:g} at most."
    return (
        f"This is not enough: {found}; a possible match has less than {POSSIBLE_EVALUE:g}, "
        f"a match {max_evalue:g} at most."
    )


def ratio_words(
    log_ratio: float, one: str = "the clip shows this dance", other: str = "it shows another"
) -> str:
    """How much likelier the evidence is under one hypothesis than under the other, in forensic words."""
    ratio = likelihood_ratio(abs(log_ratio))
    if ratio < UNDECIDED:
        return f"The evidence is about as likely if {one} as if {other}."
    about, more = "more than" if is_bounded(log_ratio) else "about", "more" if log_ratio > 0 else "less"
    return f"The evidence is {about} {round_down(ratio)} times {more} likely if {one} than if {other}."


def ratio_cell(log_ratio: float) -> str:
    """The same for a table."""
    ratio = likelihood_ratio(abs(log_ratio))
    if ratio < UNDECIDED:
        return "as likely"
    bound = "more than " if is_bounded(log_ratio) else ""
    return f"{bound}{round_down(ratio)} times {'more' if log_ratio > 0 else 'less'} likely"


def rarity_cell(holding: int, others: int) -> str:
    """How rare a passage is that some of the other dances hold, for a table: "shared, in 2 of 31 others"."""
    rarity = name_rarity(holding, others)
    if rarity == "not known":
        return f"not known: {few_others(others)}"
    name = "common property" if rarity == "common" else rarity
    return f"{name}, in {holding or 'none'} of {others} {'other' if others == 1 else 'others'}"


def few_others(others: int) -> str:
    """Why rarity is not known: "only 7 other dances to compare with"."""
    if not others:
        return "no other dance to compare with"
    return f"only {others} other {'dance' if others == 1 else 'dances'} to compare with"


def basis_sentence(match: Match) -> str:
    """That words alone decided, and why; empty if synchrony was measured too."""
    reason = synchrony_reason(match)
    return f"Judged by words alone: {reason}." if reason else ""


def synchrony_reason(match: Match) -> str | None:
    """Why synchrony was not measured; None if it was."""
    parts = match.parts
    if not parts.get("reference_bones", 0.0):
        return "the known dance has no skeletons"
    if not parts.get("query_bones", 0.0):
        return "the clip has no skeletons"
    if not parts.get("synchrony_seconds", 0.0):
        return "too little of the body is seen in both"
    return None


def list_changes(match: Match) -> list[str]:
    """How the clip changes the dance: mirrored, and of a match that is long enough, faster or slower."""
    changes = ["mirrored"] if match.mirrored else []
    if match.verdict != "match" or match.query.seconds < TEMPO_SECONDS:
        return changes
    percent = round(100 * abs((match.tempo or 1.0) - 1))
    if percent > 100 * SAME_TEMPO:
        changes.append(f"{percent} % {'faster' if (match.tempo or 1.0) > 1 else 'slower'}")
    return changes


def describe_span(span: Span) -> str:
    """A time range in minutes and seconds: "0:03-0:11"."""
    return "-".join(f"{second // 60}:{second % 60:02}" for second in (round(span.start), round(span.end)))


def describe_moment(seconds: float) -> str:
    """A moment of a long video: "0:42", "12:05" or "1:02:05"."""
    whole = round(seconds)
    hours = f"{whole // 3600}:{whole // 60 % 60:02}" if whole >= 3600 else f"{whole // 60}"
    return f"{hours}:{whole % 60:02}"


def likelihood_ratio(log_ratio: float) -> float:
    """The likelihood ratio with one significant digit, the data support no more; rounded towards 1."""
    ratio = 10.0**log_ratio
    return _round_digits(ratio, 1, _floor if log_ratio > 0 else _ceil)


def is_bounded(log_ratio: float) -> bool:
    """Whether a ratio is the largest or smallest that the calibration supports."""
    calibration = shipped_calibration()
    return not calibration.least < log_ratio < calibration.most


def round_evalue(evalue: float) -> float:
    """An E-value with two significant digits, rounded up: what is not enough never reads as if it were."""
    return _round_digits(evalue, 2, _ceil)


def round_down(value: float) -> str:
    """A count of 1 or more with one significant digit, two from 10 to 99: 3, 45, 700, 2,000 or 4 million."""
    return _spell(_round_digits(value, _count_digits(value), _floor))


def round_up(value: float) -> str:
    """The same, the next one upwards."""
    return _spell(_round_digits(value, _count_digits(value), _ceil))


def _count_digits(value: float) -> int:
    return 2 if 10 <= value < 100 else 1


def _spell(value: float) -> str:
    return f"{value / 1e6:,.0f} million" if value >= 1e6 else f"{value:,.0f}"


def _round_digits(value: float, digits: int, rounding: Callable[[float], int]) -> float:
    """A number above 0 with so many significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    return float(f"{rounding(value / unit) * unit:.6g}")


def _floor(value: float) -> int:
    return math.floor(value * (1 + _ROUNDING_SLACK))


def _ceil(value: float) -> int:
    return math.ceil(value * (1 - _ROUNDING_SLACK))


def capitalise(text: str) -> str:
    """The same with a capital first letter, the rest as it is."""
    return text[:1].upper() + text[1:]
