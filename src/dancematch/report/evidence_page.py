"""An evidence report as one HTML page that needs nothing beside it, on a screen or printed.

The page is `evidence.html`; what is put into it is text that was escaped here, or a drawing.
"""

import math
import re
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files
from pathlib import Path

from dancematch.formats.files import write_bytes
from dancematch.pipeline.wording import accident_sentence, ratio_cell, round_number
from dancematch.report import evidence_text as text
from dancematch.report.evidence import Evidence, Limb, MomentPair
from dancematch.report.svg import (
    AGREEMENT_AXIS,
    Axis,
    Mark,
    alignment_picture,
    curve_picture,
    histogram_picture,
    marked_picture,
    skeleton,
    stage_of,
)
from dancematch.search.confidence.verdict import POSSIBLE_EVALUE, shipped_calibration
from dancematch.search.stage2.word_alignment import TEMPI
from dancematch.types import Span

_TONES = {"match": "match", "possible match": "possible", "no match": "none"}  # classes of the page
_TICK = 2  # powers of ten between two ticks of ratios
_FEW = 3  # dances that are named where some are as alike
_ALONE = "There is no other dance in the catalogue to compare it with."


def write_evidence(path: str | Path, found: Evidence, *, overwrite: bool = False) -> None:
    """Write the page."""
    write_bytes(Path(path), render_evidence(found).encode(errors="replace"), overwrite=overwrite)


def render_evidence(found: Evidence) -> str:
    """The page itself."""
    page = (files("dancematch.report") / "evidence.html").read_text(encoding="utf-8")
    parts = dict(_texts(found)) | dict(_drawn(found))
    # All at once: what is put in may itself look like a place to put something in.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place.group(1)], page)


def _texts(found: Evidence) -> Iterator[tuple[str, str]]:
    """What the page says, by the names that it has in the template; safe to stand in HTML."""
    match, words = found.match, found.pictures.alignment.query
    plain = {
        "clip": found.clip.name,
        "dance": match.dance_id,
        "version": found.version,
        "made": found.made.replace("T", " ").replace("+00:00", " UTC"),
        "tone": _TONES[match.verdict],
        "headline": text.headline(found),
        "moments": str(len(found.moments)),
        "spaced": "the passages that agree" if found.passages else "the matching stretch",
        "columns": "1.5fr 1fr 1fr" if found.pictures.stills else "1fr 1fr",
        "shown": _shown(found),
        "sides": _sides(found),
        "checked": "; the frames above let a reader check this" if found.pictures.stills else "",
        "covered": f"{100 * found.covered:.0f} %",
        "synchrony": text.synchrony_text(found),
        "score": f"{match.score:.2f}",
        "tempo_step": f"{100 * (TEMPI[1] / TEMPI[0] - 1):.0f} %",
        "step": f"{words.seconds_per_word:.2f}",
        "vocabulary": str(words.vocabulary),
        "rarity": _rarity(found),
        "command": found.command,
        **_likelihood_texts(found),
    }
    yield from ((name, escape(value)) for name, value in plain.items())


def _likelihood_texts(found: Evidence) -> dict[str, str]:
    likelihood = found.likelihood
    return {
        "strength": text.strength(found),
        "accident": accident_sentence(likelihood.evalue),
        "dependence": text.dependence(found),
        "evalue": text.evalue_text(likelihood.evalue),
        "dances": f"{likelihood.dances:,}",
        "limits": _limits(found),
        "cohort": str(len(likelihood.cohort)),
        "stronger": _stronger(found),
    }


def _stronger(found: Evidence) -> str:
    """How many of the cohort the match beats, and that this alone is no evidence where it is none."""
    likelihood = found.likelihood
    weaker, count = sum(ratio < likelihood.log_ratio for ratio in likelihood.cohort), len(likelihood.cohort)
    told = f"The evidence for this dance is stronger than for {weaker} of the {count} unrelated ones."
    if found.found or weaker <= count / 2:
        return told
    return f"{told} That is not enough: of {likelihood.dances:,} dances, the nearest is nearer than most."


def _limits(found: Evidence) -> str:
    likelihood = found.likelihood
    limit = f"For a match it must be {text.evalue_text(likelihood.max_evalue)} at most"
    if likelihood.needed_if_possible is None:
        return f"{limit}."
    return f"{limit}, for a possible match below {text.evalue_text(POSSIBLE_EVALUE)}."


def _drawn(found: Evidence) -> Iterator[tuple[str, str]]:
    """Drawings and tables, by the same names."""
    yield "cautions", _cautions(found)
    yield "compared", "".join(_compared(found))
    yield "brief", "".join(_brief(found))
    stage = stage_of(found.pictures.query, found.pictures.reference)
    yield "pairs", "".join(_pair(found, number, stage) for number in range(len(found.moments)))
    yield (
        "alignment",
        alignment_picture(found.pictures.alignment, [(one.query, one.reference) for one in found.moments]),
    )
    yield "passages", "".join(_passages(found)) or _row("none", "", "", "")
    yield "limbs", "".join(map(_limb, found.limbs))
    yield "parts", "".join(_parts(found))
    yield "lags", _lags(found)
    yield "nearest", _nearest_key(found)
    yield "ratios", _ratios(found)
    yield "commonness", _commonness(found)
    yield "others", "".join(_others(found)) or _row("none: the catalogue holds no other dance", "", "", "")
    yield "provenance", "".join(_provenance(found))


def _ratios(found: Evidence) -> str:
    """Ratios of unrelated and of the next best dances, with this match and what a match needs."""
    likelihood, bounds = found.likelihood, shipped_calibration()
    marks = [Mark(likelihood.log_ratio, "match", "this dance")]
    if likelihood.needed is not None:
        marks.append(Mark(likelihood.needed, "limit", "limit of a match"))
    if likelihood.needed_if_possible is not None:
        marks.append(Mark(likelihood.needed_if_possible, "possible", "limit of a possible match"))
    low = math.floor(min(bounds.least, *(mark.value for mark in marks)))
    high = math.ceil(max(bounds.most, *(mark.value for mark in marks)))
    ticks = [(power, _tick(power)) for power in range(low + low % _TICK, high + 1, _TICK)]
    groups = [likelihood.cohort, list(likelihood.others.values())]
    return histogram_picture(groups, Axis(low, high, ticks), marks, "Likelihood ratios of other dances")


def _nearest_key(found: Evidence) -> str:
    """The key of the next best dances in the picture of ratios, if there are any."""
    count = len(found.likelihood.others)
    if not count:
        return ""
    named = "the next best dance" if count == 1 else f"the {count} next best dances"
    return f'<span class="key" style="background:#6f8fb8"></span>{named} of this catalogue'


def _tick(power: int) -> str:
    if power == 0:
        return "as\nlikely"
    return f"{round_number(10.0 ** abs(power))} times\n{'more' if power > 0 else 'less'} likely"


def _lags(found: Evidence) -> str:
    """The correlation over time lag, if there is one."""
    pictures, peak = found.pictures, found.synchrony
    if peak is None or not len(pictures.lags):
        return ""
    marks = [Mark(peak.lag, "match", "best lag")]
    drawing = curve_picture(pictures.lags, pictures.correlations, marks, "Correlation over time lag")
    return (
        f"<figure>{drawing}<figcaption>Upwards: the correlation of both dancers’ movements. To the right: "
        "the second of the dance at which the clip’s dancer is taken to begin. One peak that stands out "
        "means that both do the same at the same moments; a dance that repeats itself has several."
        "</figcaption></figure>"
    )


def _commonness(found: Evidence) -> str:
    """How far the other dances agree with the passage, if there are any."""
    rare = found.commonness
    if not rare.others:
        return ""
    own = Mark(rare.agreement, "match", "this dance")
    agreements = [(), list(rare.others.values())]  # of the cohort, none
    drawing = histogram_picture(agreements, AGREEMENT_AXIS, [own], "Agreement of other dances")
    return (
        f"<figure>{drawing}<figcaption>How far each of the {len(rare.others)} other dances that were looked "
        f"at agrees with seconds {text.seconds(rare.passage)} of the clip, at the best place and tempo that "
        "it offers: 1 is movement by movement the same, 0 is unrelated.</figcaption></figure>"
    )


def _others(found: Evidence) -> Iterator[str]:
    for one in found.others:
        yield _row(one.dance_id, one.verdict, ratio_cell(one.log_ratio or 0.0), f"{one.score:.2f}", figures=1)


def _row(head: str, *cells: str, figures: int = 0) -> str:
    """A row of text; the last `figures` cells are numbers."""
    first = len(cells) - figures
    shown = "".join(
        f"<td>{escape(cell)}</td>" if place < first else f'<td class="figure">{escape(cell)}</td>'
        for place, cell in enumerate(cells)
    )
    return f"<tr><th>{escape(head)}</th>{shown}</tr>"


def _cautions(found: Evidence) -> str:
    told = text.cautions(found)
    if not told:
        return ""
    return f'<div class="cautions"><b>To be considered</b><ul>{_items(told)}</ul></div>'


def _items(sentences: Iterable[str]) -> str:
    return "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)


def _compared(found: Evidence) -> Iterator[str]:
    clip, known, match = found.clip, found.reference, found.match
    dancers = "only dancer" if clip.dancers == 1 else f"of {clip.dancers}, 1 being the most prominent"
    named = " · ".join(part for part in (known.label, known.collection) if part)
    yield _row("matching stretch", f"{_span(match.query)}", f"{_span(match.reference)}")
    yield _row("whole length", f"{clip.seconds:.1f} s", f"{known.seconds:.1f} s")
    yield _row("dancer", f"{match.dancer} ({dancers})", f"{found.reference_dancer} (of {known.dancers})")
    yield _row("file", f"{clip.name} ({clip.kind})", known.source)
    yield _row("known as", "", f"{known.dance_id}{f' ({named})' if named else ''}, added {known.added[:10]}")
    yield _row("SHA-256 of the file", clip.sha256, known.content_hash)


def _span(span: Span) -> str:
    return f"{span.start:.1f} to {span.end:.1f} s ({span.seconds:.1f} s)"


def _brief(found: Evidence) -> Iterator[str]:
    """The findings, each on a line; the sections say how each came about."""
    match = found.match
    yield _row("verdict", match.verdict)
    yield _row("tempo", f"The clip is danced {text.tempo(match.tempo or 1.0)}.")
    yield _row("mirrored", "Yes: left and right are exchanged." if match.mirrored else "No.")
    yield _row("evidence", text.strength(found))
    yield _row("by accident", accident_sentence(match.evalue))
    yield _row("same moments", _timing(found))
    yield _row("same performance", text.performance(match))
    yield _row("rarity", _rarity_in_brief(found))
    seen = [limb for limb in found.limbs if limb.agreement is not None]
    yield _row("body", ", ".join(f"{limb.name} {limb.agreement:.2f}" for limb in seen) + " (1 = the same)")
    yield _row("score", f"{match.score:.2f} of 1")


def _timing(found: Evidence) -> str:
    peak = found.synchrony
    if peak is None:
        return "not measured"
    told = f"correlation {peak.correlation:.2f} over {peak.seconds:.1f} seconds"
    return told if text.agrees_in_place(found) else f"not clearly: {told} at best, and at another place"


def _rarity_in_brief(found: Evidence) -> str:
    alike, looked = len(found.commonness.as_alike), len(found.commonness.others)
    if not looked:
        return _ALONE
    dances = f"{looked} other {'dance' if looked == 1 else 'dances'} in the catalogue"
    return f"{alike or 'None'} of {dances} {'holds' if alike <= 1 else 'hold'} a passage as alike."


def _shown(found: Evidence) -> str:
    frame = (
        "Each shows a frame of the clip, cut to the dancer and otherwise unchanged, with the skeleton that "
        "was seen in it; "
        if found.pictures.stills
        else "Each shows "
    )
    mirrored = "mirrored and " if found.match.mirrored else ""
    return (
        f"{frame}the skeleton of the clip’s dancer, {mirrored}turned to face forward on a standard body; and "
        "that of the dance, in the same way."
    )


def _sides(found: Evidence) -> str:
    if not found.match.mirrored:
        return "Orange is the dancer’s left side, blue the right."
    frames = "In the frames it is as filmed. " if found.pictures.stills else ""
    return f"In the skeletons, orange is the left side and blue the right, after mirroring. {frames}".strip()


def _pair(found: Evidence, place: int, stage: str) -> str:
    moment, pictures = found.moments[place], found.pictures
    own, theirs = f"{moment.query:.2f} s", f"{moment.reference:.2f} s"
    cells = []
    if pictures.stills:
        cells.append((marked_picture(pictures.stills[place], f"The clip at {own}"), f"clip, {own}"))
    cells += [
        (skeleton(pictures.query[place], f"The clip’s dancer at {own}", stage), _whose(found, own)),
        (skeleton(pictures.reference[place], f"The dance at {theirs}", stage), f"dance, {theirs}"),
    ]
    shown = "".join(f"<div>{drawing}{escape(caption)}</div>" for drawing, caption in cells)
    apart = f'<span class="faint">{escape(_apart(moment))}</span>'
    return f'<figure class="moment-card"><h3>{place + 1} {apart}</h3><div class="row">{shown}</div></figure>'


def _whose(found: Evidence, when: str) -> str:
    return f"clip{', mirrored' if found.match.mirrored else ''}, {when}"


def _apart(moment: MomentPair) -> str:
    return "no limb is seen in both" if moment.degrees is None else f"{moment.degrees:.0f}° apart on average"


def _passages(found: Evidence) -> Iterator[str]:
    """Those along the matching stretch, then those at other places: without tempi, the match has one."""
    for where, passages in (("", found.passages), ("also alike, at another place", found.also_alike)):
        for one in passages:
            yield _row_of_cells(
                f"{text.seconds(one.query)} s", f"{text.seconds(one.reference)} s",
                f"{one.query.seconds:.1f} s", where,
            )  # fmt: skip


def _row_of_cells(*cells: str) -> str:
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _limb(limb: Limb) -> str:
    if limb.agreement is None:
        return f'<tr><th>{escape(limb.name)}</th><td colspan="4" class="faint">not seen in both</td></tr>'
    share = round(100 * min(max(limb.agreement, 0.0), 1.0))
    angles = ["" if value is None else f"{value:.0f}°" for value in (limb.degrees, limb.unrelated)]
    return (
        f'<tr><th>{escape(limb.name)}</th><td><span class="bar"><i style="width:{share}%"></i></span></td>'
        f'<td class="figure">{limb.agreement:.2f}</td>'
        + "".join(f'<td class="figure">{angle}</td>' for angle in angles)
        + "</tr>"
    )


def _parts(found: Evidence) -> Iterator[str]:
    """The metrics that count and, in small print, the others that have a meaning for people."""
    names = [name for name in text.MEANINGS if name in found.metrics]
    names += [name for name, one in found.metrics.items() if one.weight and name not in names]
    for name in sorted(names, key=lambda name: -found.metrics[name].weight):
        one = found.metrics[name]
        value = "–" if one.overall is None else f"{one.overall:.2f}"
        row, weight = ("", f"{100 * one.weight:.0f} %") if one.weight else (' class="small"', "–")
        yield (
            f'<tr{row}><th>{escape(name)}</th><td class="figure">{value}</td><td class="figure">{weight}</td>'
            f"<td>{escape(text.MEANINGS.get(name, ''))}</td></tr>"
        )


def _rarity(found: Evidence) -> str:
    rare = found.commonness
    looked, alike = len(rare.others), rare.as_alike
    own = (
        f"The best passage, seconds {text.seconds(rare.passage)} of the clip, agrees with "
        f"{found.match.dance_id} by {rare.agreement:.2f} of 1."
    )
    if not looked:
        return f"{own} {_ALONE}"
    nearest, value = next(iter(rare.others.items()))
    most = f"The nearest of them, {nearest}, agrees by {value:.2f}."
    if not alike:
        return f"{own} None of {looked} other dances of the catalogue holds a passage as alike. {most}"
    named = ", ".join(alike[:_FEW]) + (f" and {len(alike) - _FEW} more" if len(alike) > _FEW else "")
    return f"{own} {len(alike)} of {looked} other dances hold a passage at least as alike: {named}. {most}"


def _provenance(found: Evidence) -> Iterator[str]:
    state = found.catalogue
    yield _row("files", "Those whose SHA-256 is in “What was compared”; any change to a file changes it.")
    yield _row(
        "catalogue",
        f"{state.name}, identity {state.identity}, state {state.generation}, {state.dances} dances",
    )
    yield _row("model", found.model_id)
    yield _row("program", f"dancematch {found.version}")
    yield _row("made", found.made)
