"""The sentences of an evidence report: the verdict, what it rests on, and what speaks against it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from dancematch.pipeline.lineage import CELL_SECONDS
from dancematch.pipeline.wording import (
    SAME_TEMPO,
    accident_sentence,
    basis_sentence,
    capitalise,
    describe_decision,
    few_others,
    name_match,
    performance_sentence,
    ratio_cell,
    ratio_words,
    recalibration_sentence,
    round_evalue,
    synchrony_reason,
)
from dancematch.report.evidence import Evidence, overlap
from dancematch.search.confidence.cohort import FEWEST
from dancematch.search.confidence.verdict import POSSIBLE_EVALUE
from dancematch.search.explain import BESIDE_SECONDS
from dancematch.search.rarity import FEWEST_OTHERS
from dancematch.types import Match, Passage, Span

SHORT_SECONDS = 5.0  # a match below this is called short
HARDLY_MOVES = 12.0  # degrees between moments that do not belong together
LITTLE_COVERED = 0.5  # of the matching segment
FULLY_COVERED = 0.9  # of it, from which on no other length is told beside its own
LONG_SECONDS = 2.0  # a passage below this is no cut
_FEW = 3  # dances that are named where some are as alike
_ALONE = "There is no other dance in the catalogue to compare it with."


def describe_evidence(found: Evidence) -> dict[str, Any]:
    """All that a report says but its pictures, as JSON has it."""
    said = {
        "verdict": found.match.verdict,
        "headline": headline(found),
        "cautions": cautions(found),
        "decisions": decisions(found),
        "shows_reference": found.shows_reference,
    }
    parts = {one.name: getattr(found, one.name) for one in fields(found) if one.name != "pictures"}
    return said | {name: _plain(value) for name, value in parts.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def headline(found: Evidence) -> str:
    """The verdict and what it rests on, in a few sentences."""
    match, clip = found.match, found.clip.name
    if match.verdict == "no match":
        verdict = f"No match: {clip} is not shown to be the dance {match.name}."
    else:
        verdict = (
            f"{capitalise(match.verdict)}: seconds {seconds(match.query)} of {clip} are like seconds "
            f"{seconds(match.reference)} of the dance {name_match(match)}, {manner(match)}."
        )
    sentences = (
        verdict, agreeing_part(found), basis_sentence(match), strength(found),
        accident_sentence(match.evalue), performance_sentence(match), dependence(found), recalibration(found),
    )  # fmt: skip
    return " ".join(sentence for sentence in sentences if sentence)


def agreeing_part(found: Evidence) -> str:
    """How much of the matching segment agrees movement by movement; nothing where all of it or none does."""
    parts = agreeing_spans(found)
    if not found.found or not parts or found.covered >= FULLY_COVERED:
        return ""
    total = sum(one.seconds for one in parts)
    when = f"seconds {seconds(parts[0])}" if len(parts) == 1 else f"in {len(parts)} passages"
    best = "" if len(parts) == 1 else "at best "
    return (
        f"Of these {found.match.query.seconds:.1f} seconds, {total:.1f} agree movement by movement, {best}by "
        f"{found.commonness.agreement:.2f} of 1: {when}."
    )


def agreeing_spans(found: Evidence) -> list[Span]:
    """The parts of the clip's matching segment that agree movement by movement."""
    whole = found.match.query
    within = ((max(one.query.start, whole.start), min(one.query.end, whole.end)) for one in found.passages)
    return [Span(start, end) for start, end in within if start < end]


def lengths(found: Evidence) -> str:
    """What the lengths in a report are of: they differ, and each is right."""
    said = (
        "The matching segment is the part of the clip that is laid along the dance at one tempo, whether or "
        "not all of it agrees. Movement by movement is the part of it in which the same movements follow one "
        "another; rarity is that of its best passage or, where nothing agrees so, of the matching segment."
    )
    if found.lineage is None:
        return said
    return (
        f"{said} What the dance shares with other dances was found without the clip: its times are those of "
        f"the dance, by windows and in steps of {CELL_SECONDS:.0f} seconds."
    )


def strength(found: Evidence) -> str:
    """The likelihood ratio in a sentence."""
    if not found.likelihood.is_known:
        return "How strong the evidence is cannot be said."
    return ratio_words(found.likelihood.log_ratio)


def dependence(found: Evidence) -> str:
    """That the verdict depends on how many dances the catalogue holds; nothing where it does not."""
    likelihood, alone = found.likelihood, found.likelihood.verdict_alone
    if alone == found.match.verdict:
        return ""
    return (
        f"The verdict depends on the size of the catalogue: of this dance alone it would be a {alone}, but "
        f"{likelihood.dances} dances were searched, and the more there are, the more are alike by accident."
    )


def recalibration(found: Evidence) -> str:
    """That verdicts are shifted by what was fitted on reviews; nothing where they are not."""
    return "" if found.recalibrated is None else recalibration_sentence(found.recalibrated)


def decisions(found: Evidence) -> list[str]:
    """What was decided about this clip and dance, a sentence each."""
    return [f"Reviewed: {describe_decision(one)}" for one in found.reviews]


def limits(found: Evidence) -> str:
    """Which E-values a match and a possible match have."""
    likelihood = found.likelihood
    limit = f"For a match it must be {evalue_text(likelihood.max_evalue)} at most"
    if likelihood.needed_if_possible is None:
        return f"{limit}."
    return f"{limit}, for a possible match below {evalue_text(POSSIBLE_EVALUE)}."


def rank_in_cohort(found: Evidence) -> str:
    """How many unrelated dances the match exceeds, and that this alone is no evidence where it is none."""
    likelihood = found.likelihood
    weaker, count = sum(ratio < likelihood.log_ratio for ratio in likelihood.cohort), len(likelihood.cohort)
    rank = f"The evidence for this dance is stronger than for {weaker} of the {count} unrelated ones."
    if found.found or weaker <= count / 2:
        return rank
    return f"{rank} That is not enough: of {likelihood.dances:,} dances, the nearest is nearer than most."


def rarity(found: Evidence) -> str:
    """How many other dances hold a passage as alike, and which, in a few sentences."""
    common = found.commonness
    count, alike = len(common.others), common.as_alike
    own = (
        f"{_compared_passage(found)}, seconds {seconds(common.passage)} of the clip, agrees with "
        f"{found.match.name} by {common.agreement:.2f} of 1."
    )
    if not count:
        return f"{own} {_ALONE}"
    nearest, value = next(iter(common.others.items()))
    most = f"The nearest of them, {nearest}, agrees by {value:.2f}."
    if not alike:
        none = f"{own} None of {count} other {_dances(count)} of the catalogue holds a passage as alike."
        return " ".join(sentence for sentence in (none, _unknown_rarity(found), most) if sentence)
    named = ", ".join(alike[:_FEW]) + (f" and {len(alike) - _FEW} more" if len(alike) > _FEW else "")
    return f"{own} {len(alike)} of {count} other dances hold a passage at least as alike: {named}. {most}"


def _compared_passage(found: Evidence) -> str:
    """What was looked for in other dances: a passage or, if none agrees, the whole matching segment."""
    if not found.passages:
        return "The matching segment"
    only = len(found.passages) == 1
    return f"The {'passage' if only else 'best of the passages'} that agree{'s' * only} movement by movement"


def rarity_in_brief(found: Evidence) -> str:
    """The same in one sentence."""
    alike, count = len(found.commonness.as_alike), len(found.commonness.others)
    if not count:
        return _ALONE
    dances = f"{count} other {_dances(count)} in the catalogue"
    held = f"{alike or 'None'} of {dances} {'holds' if alike <= 1 else 'hold'} a passage as alike."
    return f"{held} {_unknown_rarity(found)}".strip()


def _unknown_rarity(found: Evidence) -> str:
    """That too few dances were compared to call a passage rare; nothing where they are enough."""
    common = found.commonness
    if common.rarity != "not known":
        return ""
    return f"Whether it is rare is not known: {few_others(len(common.others))}; {FEWEST_OTHERS} are needed."


def _dances(count: int) -> str:
    return "dance" if count == 1 else "dances"


def manner(match: Match) -> str:
    """How the clip changes the dance."""
    return f"{'mirrored' if match.mirrored else 'not mirrored'}, {tempo(match.tempo or 1.0)}"


def tempo(value: float) -> str:
    """The clip's speed over the dance's."""
    if abs(value - 1) < SAME_TEMPO:
        return "at the same tempo"
    return f"at {value:.2f} times its tempo ({'faster' if value > 1 else 'slower'})"


def performance(match: Match) -> str:
    """Whether both files show one performance, and what shows it."""
    verdict = performance_sentence(match) or "That it is the very same one is not shown."
    if "timing_jitter" not in match.parts:
        return verdict
    jitter, correlation = 1000 * match.parts["timing_jitter"], match.parts["timing_correlation"]
    deviation = f"Moments deviate by {jitter:.0f} ms, correlation {correlation:.2f} at the finest alignment."
    return f"{verdict} {deviation}"


def evalue_text(value: float) -> str:
    """An E-value with two digits that count, rounded up."""
    return f"{math.ceil(value):,}" if value >= 100 else f"{round_evalue(value):.10f}".rstrip("0").rstrip(".")


def seconds(span: Span) -> str:
    """A time range."""
    return f"{span.start:.1f} to {span.end:.1f}"


def synchrony_text(found: Evidence) -> str:
    """Whether both move at the same moments, in a few sentences."""
    peak = found.synchrony
    if peak is None:
        reason = synchrony_reason(found.match)
        return f"This was not measured: {reason}. The verdict rests on motion words alone."
    if not agrees_in_place(found):
        return (
            "Not clearly. The limbs of both turn alike at the same moments with a correlation of "
            f"{peak.correlation:.2f} at best, where 1 is the same movement and 0 an unrelated one, over "
            f"{_counted_seconds(peak.seconds)}, at another place of the dance than the matching segment. "
            "That is too weak to say where the clip lies: the matching segment is by the motion words."
        )
    beside = (
        f"At this time lag it is {peak.ratio:.1f} times what it usually is at other lags."
        if peak.ratio
        else "There are too few other lags to compare it with."
    )
    return (
        "The limbs of both turn alike at the same moments with a correlation of "
        f"{peak.correlation:.2f}, where 1 is the same movement and 0 an unrelated one, over "
        f"{_counted_seconds(peak.seconds)}, if the clip’s dancer begins at second {peak.lag:.1f} of the "
        f"dance, as in the matching segment. {beside}"
    )


def _counted_seconds(seconds: float) -> str:
    """How long both were compared: less than they last where bones are not seen in both."""
    return f"{seconds:.1f} seconds, in which each moment counts by the share of its bones that both show"


def synchrony_in_brief(found: Evidence) -> str:
    """The same in a few words."""
    peak = found.synchrony
    if peak is None:
        return "not measured"
    length = f"over {peak.seconds:.1f} seconds, by the bones that both show"
    if agrees_in_place(found):
        return f"correlation {peak.correlation:.2f} {length}"
    return f"not clearly: correlation {peak.correlation:.2f} at best, {length} at another place"


def agrees_in_place(found: Evidence) -> bool:
    """Whether synchrony lays the clip where the match lays it, at both ends of the matching segment."""
    peak, alignment, query = found.synchrony, found.pictures.alignment, found.match.query
    if peak is None:
        return False
    ends = np.array([query.start, query.end])
    apart = peak.lag + peak.tempo * (ends - alignment.query.start) - alignment.place(ends)
    return bool((np.abs(apart) <= BESIDE_SECONDS).all())


def _is_covered(passage: Passage, found: Evidence) -> bool:
    """Whether most of a passage of the clip agrees along the matching segment too."""
    covered = sum(overlap(passage.query, one.query) for one in found.passages)
    return covered > passage.query.seconds / 2


def cautions(found: Evidence) -> list[str]:
    """What weakens this very report, each in a sentence or two; the method's own limits are not repeated."""
    return [*_about_the_files(found), *_about_the_others(found), *_about_the_segment(found)]


def _about_the_files(found: Evidence) -> Iterator[str]:
    if found.clip.sha256 == found.reference.recording_id:
        yield "The clip is, byte for byte, the file that the dance was learnt from: a match says nothing."
    if found.clip.kind == "motion words":
        yield "The clip was handed in as motion words: its skeletons are drawn from them and are approximate."
    if not found.has_skeletons:
        yield "The catalogue keeps no skeletons of the dance: those shown are drawn from its motion words."
    if found.synchrony is None:
        yield f"The verdict rests on motion words alone: {synchrony_reason(found.match)}."


def _about_the_others(found: Evidence) -> Iterator[str]:
    better = [one for one in found.others if (one.log_ratio or 0.0) > found.likelihood.log_ratio]
    if better:
        yield (
            f"The evidence for {better[0].name} is stronger ({ratio_cell(better[0].log_ratio or 0.0)}) "
            f"than for this dance ({ratio_cell(found.likelihood.log_ratio)})."
        )
    if found.found and found.rivals:
        named = ", ".join(f"{one.name} ({one.verdict})" for one in found.rivals)
        yield (
            f"It may be another dance of the catalogue as well: {named}. If they are recordings of the same "
            "choreography that is to be expected; if not, the clip is no evidence for this dance alone."
        )
    if not found.likelihood.is_known:
        yield (
            f"The model brings along {len(found.likelihood.cohort)} unrelated dances to compare with; "
            f"{FEWEST} are needed to say how strong the evidence is."
        )


def _about_the_segment(found: Evidence) -> Iterator[str]:
    unseen = [limb.name for limb in found.limbs if limb.agreement is None]
    if unseen:
        yield f"Not seen in both, and so without a say: {', '.join(unseen)}."
    if found.match.query.seconds < SHORT_SECONDS:
        yield (
            f"The matching segment lasts {found.match.query.seconds:.1f} seconds only; short segments are "
            "alike by accident more easily, and are placed less surely."
        )
    apart = [
        limb.unrelated for limb in found.limbs if limb.agreement is not None and limb.unrelated is not None
    ]
    if apart and sum(apart) / len(apart) < HARDLY_MOVES:
        yield (
            "There is little movement: even moments that do not belong together are only "
            f"{sum(apart) / len(apart):.0f} degrees apart. Stillness is alike more easily than the "
            "likelihood ratio tells."
        )
    if not found.passages:
        yield (
            "No passage along the matching segment agrees movement by movement: the same movements occur, "
            "but not in one order."
        )
    if any(one.query.seconds >= LONG_SECONDS and not _is_covered(one, found) for one in found.also_alike):
        yield (
            "A part of the clip agrees with another place of the dance than the matching segment, as when a "
            "clip is cut together or a dance repeats itself: the table of passages says which."
        )
    if found.passages and found.covered < LITTLE_COVERED:
        share = f"{100 * found.covered:.0f} %"
        yield f"The passages that agree movement by movement cover {share} of the matching segment only."
