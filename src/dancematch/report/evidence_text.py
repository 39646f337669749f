"""The sentences of an evidence report: the verdict, what it rests on, and what speaks against it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from dancematch.pipeline.wording import (
    SAME_TEMPO,
    accident_sentence,
    basis_sentence,
    capitalise,
    performance_sentence,
    ratio_cell,
    ratio_words,
)
from dancematch.search.confidence.cohort import FEWEST
from dancematch.search.explain import BESIDE_SECONDS
from dancematch.types import BONES_UNSEEN, Fingerprint, Match, Passage, Span

if TYPE_CHECKING:
    from dancematch.report.evidence import Evidence

MEANINGS: Mapping[str, str] = {
    "histogram": "Both perform the same movements equally often, in whatever order; rare ones count more.",
    "order": "The same movements follow one another in the same order, at the same place and an even tempo. "
    "0 is what unrelated dances reach, 1 is a copy.",
    "ngram": "Both share the same short runs of movements, one directly after the other.",
    "lcss": "The longest series of movements that both perform in the same order, with others in between.",
    "edr": "How few movements would have to be exchanged, added or left out to turn one into the other.",
    "erp": "The same, where exchanging a movement for a similar one costs less.",
    "twed": "The same, where a movement that comes early or late costs something too.",
    "dtw": "How alike the movements are if each may last longer or shorter than its counterpart.",
    "late": "How alike each movement of the clip is to the most similar movement of the dance.",
}
SHORT_SECONDS = 5.0  # a match below this is called short
HARDLY_MOVES = 12.0  # degrees between moments that do not belong together
LITTLE = 0.5  # of the matching stretch
LONG_SECONDS = 2.0  # a passage below this is no cut


def headline(found: "Evidence") -> str:
    """The verdict and what it rests on, in a few sentences."""
    match, clip = found.match, found.clip.name
    if match.verdict == "no match":
        verdict = f"No match: {clip} is not shown to be the dance {match.dance_id}."
    else:
        verdict = (
            f"{capitalise(match.verdict)}: seconds {seconds(match.query)} of {clip} are like seconds "
            f"{seconds(match.reference)} of the dance {match.dance_id}, {manner(match)}."
        )
    told = strength(found), accident_sentence(match.evalue), performance_sentence(match)
    sentences = (verdict, basis_sentence(match), *told, dependence(found))
    return " ".join(sentence for sentence in sentences if sentence)


def strength(found: "Evidence") -> str:
    """The likelihood ratio in a sentence."""
    if not found.likelihood.is_known:
        return "How strong the evidence is cannot be said."
    return ratio_words(found.likelihood.log_ratio)


def dependence(found: "Evidence") -> str:
    """That the verdict depends on how many dances the catalogue holds; nothing where it does not."""
    likelihood, alone = found.likelihood, found.likelihood.verdict_alone
    if alone == found.match.verdict:
        return ""
    return (
        f"The verdict depends on the size of the catalogue: of this dance alone it would be a {alone}, but "
        f"{likelihood.dances} dances were searched, and the more there are, the more are alike by accident."
    )


def manner(match: Match) -> str:
    """How the clip changes the dance."""
    return f"{'mirrored' if match.mirrored else 'not mirrored'}, {tempo(match.tempo or 1.0)}"


def tempo(value: float) -> str:
    """The clip's speed over the dance's."""
    if abs(value - 1) < SAME_TEMPO:
        return "at the same tempo"
    return f"at {value:.2f} times its tempo ({'faster' if value > 1 else 'slower'})"


def performance(match: Match) -> str:
    """Whether both files show one performance, and what that was judged by."""
    said = performance_sentence(match) or "That it is the very same one is not shown."
    if "timing_jitter" not in match.parts:
        return said
    jitter, correlation = 1000 * match.parts["timing_jitter"], match.parts["timing_correlation"]
    return (
        f"{said} Moments deviate by {jitter:.0f} ms, correlation {correlation:.2f} at the finest alignment."
    )


def evalue_text(value: float) -> str:
    """An E-value with two digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{float(f'{value:.2g}'):.10f}".rstrip("0").rstrip(".")


def seconds(span: Span) -> str:
    """A time range."""
    return f"{span.start:.1f} to {span.end:.1f}"


def overlap(one: Span, other: Span) -> float:
    """For how many seconds both last."""
    return max(0.0, min(one.end, other.end) - max(one.start, other.start))


def synchrony_text(found: "Evidence") -> str:
    """Whether both move at the same moments, in a few sentences."""
    peak = found.synchrony
    if peak is None:
        return f"This was not measured: {_unseen(found)}. The verdict rests on motion words alone."
    if not agrees_in_place(found):
        return (
            "Not clearly. The limbs of both turn alike at the same moments with a correlation of "
            f"{peak.correlation:.2f} at best, where 1 is the same movement and 0 an unrelated one, over "
            f"{peak.seconds:.1f} seconds, and at another place of the dance than the matching stretch. That "
            "is too weak to say where the clip lies: the matching stretch is by the motion words."
        )
    beside = (
        f"At this time lag it is {peak.ratio:.1f} times what it usually is at other lags."
        if peak.ratio
        else "There are too few other lags to compare it with."
    )
    return (
        "The limbs of both turn alike at the same moments with a correlation of "
        f"{peak.correlation:.2f}, where 1 is the same movement and 0 an unrelated one, over "
        f"{peak.seconds:.1f} seconds, if the clip’s dancer begins at second {peak.lag:.1f} of the "
        f"dance, as in the matching stretch. {beside}"
    )


def agrees_in_place(found: "Evidence") -> bool:
    """Whether synchrony lays the clip where the match lays it, at both ends of the matching stretch."""
    peak, alignment, query = found.synchrony, found.pictures.alignment, found.match.query
    if peak is None:
        return False
    ends = np.array([query.start, query.end])
    apart = peak.lag + peak.tempo * (ends - alignment.query.start) - alignment.place(ends)
    return bool((np.abs(apart) <= BESIDE_SECONDS).all())


def _unseen(found: "Evidence") -> str:
    """Why there is no synchrony."""
    alignment = found.pictures.alignment
    if not shows_bones(alignment.reference):
        return "the dance is known by its motion words alone, without skeletons"
    if not shows_bones(alignment.query):
        return "the clip is known by its motion words alone, without skeletons"
    return "too little of the body is seen in both for long enough"


def shows_bones(fingerprint: Fingerprint) -> bool:
    """Whether it says how any bone points at any moment."""
    return fingerprint.bones is not None and bool((fingerprint.bones != BONES_UNSEEN).any())


def _is_covered(passage: Passage, found: "Evidence") -> bool:
    """Whether most of a passage of the clip agrees along the matching stretch too."""
    covered = sum(overlap(passage.query, one.query) for one in found.passages)
    return covered > passage.query.seconds / 2


def cautions(found: "Evidence") -> list[str]:
    """What weakens this very report, each in a sentence or two; the method's own limits are not repeated."""
    return [*_about_the_files(found), *_about_the_others(found), *_about_the_stretch(found)]


def _about_the_files(found: "Evidence") -> Iterator[str]:
    if found.clip.sha256 == found.reference.content_hash:
        yield "The clip is, byte for byte, the file that the dance was learnt from: a match says nothing."
    if found.clip.kind == "motion words":
        yield "The clip was handed in as motion words: its skeletons are drawn from them and are approximate."
    if not found.has_skeletons:
        yield "The catalogue keeps no skeletons of the dance: those shown are drawn from its motion words."
    if found.synchrony is None:
        yield f"The verdict rests on motion words alone: {_unseen(found)}."


def _about_the_others(found: "Evidence") -> Iterator[str]:
    better = [one for one in found.others if (one.log_ratio or 0.0) > found.likelihood.log_ratio]
    if better:
        yield (
            f"The evidence for {better[0].dance_id} is stronger ({ratio_cell(better[0].log_ratio or 0.0)}) "
            f"than for this dance ({ratio_cell(found.likelihood.log_ratio)})."
        )
    if found.found and found.rivals:
        named = ", ".join(f"{one.dance_id} ({one.verdict})" for one in found.rivals)
        yield (
            f"It may be another dance of the catalogue as well: {named}. If they are recordings of the same "
            "choreography that is to be expected; if not, the clip is no evidence for this dance alone."
        )
    if not found.likelihood.is_known:
        yield (
            f"The model brings along {len(found.likelihood.cohort)} unrelated dances to compare with; "
            f"{FEWEST} are needed to say how strong the evidence is."
        )


def _about_the_stretch(found: "Evidence") -> Iterator[str]:
    unseen = [limb.name for limb in found.limbs if limb.agreement is None]
    if unseen:
        yield f"Not seen in both, and so without a say: {', '.join(unseen)}."
    if found.match.query.seconds < SHORT_SECONDS:
        yield (
            f"The matching stretch lasts {found.match.query.seconds:.1f} seconds only; short stretches are "
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
            "No passage along the matching stretch agrees movement by movement: the same movements occur, "
            "but not in one order."
        )
    if any(one.query.seconds >= LONG_SECONDS and not _is_covered(one, found) for one in found.also_alike):
        yield (
            "A part of the clip agrees with another place of the dance than the matching stretch, as when a "
            "clip is cut together or a dance repeats itself: the table of passages says which."
        )
    if found.passages and found.covered < LITTLE:
        share = f"{100 * found.covered:.0f} %"
        yield f"The passages that agree movement by movement cover {share} of the matching stretch only."
