"""The sentences of an evidence report: what was found, how sure it is, and what speaks against it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dancematch.index.calibrate import FEWEST_DANCES
from dancematch.types import Match, Span

if TYPE_CHECKING:
    from dancematch.pipeline.report import Evidence

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
LEAST_TOLD = 1e-6  # an E-value below it is an extrapolation far beyond any crowd
SHORT_SECONDS = 5.0  # a match below this is called short
HARDLY_MOVES = 12.0  # degrees between moments that do not belong together
SAME_TEMPO = 0.03
LITTLE = 0.5  # of the matching stretch
LONG_SECONDS = 2.0  # a passage below this is no cut
_NAMED = 5  # takes of the same dance, at most


def verdict(found: "Evidence") -> str:
    """What was found, in a sentence or two."""
    match, clip = found.match, found.clip.name
    if not found.found:
        return (
            f"This is not evidence of a match. The dance {match.dance_id} is no more like {clip} than chance "
            f"explains: {odds(found.chance.evalue)}; for a match it must be "
            f"{number(found.chance.max_evalue)} at most."
        )
    return (
        f"Seconds {seconds(match.query)} of {clip} match seconds {seconds(match.reference)} of the dance "
        f"{match.dance_id}, {manner(match)}. {_capital(odds(found.chance.evalue))}."
    )


def manner(match: Match) -> str:
    """How the clip changes the dance."""
    return f"{'mirrored' if match.mirrored else 'not mirrored'}, {tempo(match.tempo or 1.0)}"


def tempo(value: float) -> str:
    """The clip's speed over the dance's."""
    if abs(value - 1) < SAME_TEMPO:
        return "at the same tempo"
    return f"at {value:.2f} times its tempo ({'faster' if value > 1 else 'slower'})"


def odds(evalue: float) -> str:
    """An E-value in words."""
    if evalue < LEAST_TOLD:
        return "an unrelated clip would be this alike in fewer than one of a million such searches"
    if evalue < 0.1:
        return (
            f"an unrelated clip would be this alike in about one of {_round_count(1 / evalue)} such searches"
        )
    return f"chance alone would give {number(evalue)} dances as alike in a search like this one"


def number(value: float) -> str:
    """A number with two digits that count, never in powers of ten down to a millionth."""
    if value == 0:
        return "0"
    if value < LEAST_TOLD:
        return "below 0.000001"
    if value >= 100:
        return f"{value:.0f}"
    return f"{float(f'{value:.2g}'):.8f}".rstrip("0").rstrip(".")


def _round_count(value: float) -> str:
    digits = max(0, len(f"{value:.0f}") - 2)
    return f"{round(value / 10**digits) * 10**digits:,}".replace(",", " ")


def seconds(span: Span) -> str:
    """A time range."""
    return f"{span.start:.1f} to {span.end:.1f}"


def overlap(one: Span, other: Span) -> float:
    """For how many seconds both last."""
    return max(0.0, min(one.end, other.end) - max(one.start, other.start))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


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


def _about_the_others(found: "Evidence") -> Iterator[str]:
    better = [one for one in found.others if one.score > found.match.score]
    if better:
        yield (
            f"The clip is more like {better[0].dance_id} (score {better[0].score:.2f}) than like this dance "
            f"({found.match.score:.2f})."
        )
    if found.found and found.rivals:
        named = ", ".join(f"{one.dance_id} (E-value {number(one.evalue or 0.0)})" for one in found.rivals)
        yield (
            f"Other dances of the catalogue pass the same limit: {named}. If they are recordings of the same "
            "choreography that is to be expected; if not, the clip is no evidence for this dance alone."
        )
    takes = found.chance.not_asked
    if takes:
        named = ", ".join(takes[:_NAMED]) + (" and others" if len(takes) > _NAMED else "")
        yield (
            f"Dances of the catalogue that seem to be recordings of the same choreography did not judge "
            f"chance: {named}."
        )
    others = len(set(found.chance.takes.values()))
    if others < FEWEST_DANCES:
        yield (
            f"The catalogue holds {others or 'no'} other dance{'s' if others != 1 else ''}, too few to judge "
            f"chance by. It is judged by the {len(found.chance.background)} background dances of the model "
            "instead, which may be less like the clip than unrelated dances of its own style are: the true "
            "E-value may be higher."
        )


def _about_the_stretch(found: "Evidence") -> Iterator[str]:
    unseen = [limb.name for limb in found.limbs if limb.agreement is None]
    if unseen:
        yield f"Not seen in both, and so without a say: {', '.join(unseen)}."
    if found.match.query.seconds < SHORT_SECONDS:
        yield (
            f"The matching stretch lasts {found.match.query.seconds:.1f} seconds only; short stretches are "
            "alike by chance more easily, and are placed less surely."
        )
    apart = [
        limb.unrelated for limb in found.limbs if limb.agreement is not None and limb.unrelated is not None
    ]
    if apart and sum(apart) / len(apart) < HARDLY_MOVES:
        yield (
            "There is little movement: even moments that do not belong together are only "
            f"{sum(apart) / len(apart):.0f} degrees apart. Stillness is alike more easily than the E-value "
            "tells."
        )
    if not found.passages:
        yield "No passage agrees movement by movement: the same movements occur, but not in one order."
    elsewhere = [one for one in found.passages if not overlap(one.reference, found.match.reference)]
    if any(one.query.seconds >= LONG_SECONDS for one in elsewhere):
        yield (
            "A part of the clip agrees with another place of the dance than the matching stretch, as when a "
            "clip is cut together: the table of passages says which."
        )
    if found.passages and found.covered < LITTLE:
        share = f"{100 * found.covered:.0f} %"
        yield f"The passages that agree movement by movement cover {share} of the matching stretch only."
