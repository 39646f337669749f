"""An evidence report as one HTML page that needs nothing beside it, on a screen or printed."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dancematch.pipeline.wording import accident_sentence, ratio_cell, round_down
from dancematch.report import evidence_text as text
from dancematch.report import svg
from dancematch.report.evidence import Evidence, Limb, MomentPair
from dancematch.report.lineage_text import (
    EDGE_HEADINGS,
    RARITY_HEADINGS,
    edge_rows,
    rarity_rows,
    summarise_lineage,
)
from dancematch.report.page import render_page, write_page
from dancematch.search.confidence.verdict import shipped_calibration
from dancematch.search.metrics.registry import MEANINGS
from dancematch.search.stage2.word_alignment import TEMPI
from dancematch.types import Span

_TONES = {"match": "match", "possible match": "possible", "no match": "none"}  # classes of the page
_TICK = 2  # powers of ten between two ticks of ratios


def write_evidence(path: str | Path, found: Evidence, *, overwrite: bool = False) -> None:
    """Write the page."""
    write_page(path, render_evidence(found), overwrite=overwrite)


def render_evidence(found: Evidence) -> str:
    """The page itself."""
    words = found.pictures.alignment.query
    return render_page(
        "evidence.html",
        found=found,
        match=found.match,
        likelihood=found.likelihood,
        words=words,
        stills=found.pictures.stills,
        reference_stills=found.pictures.reference_stills,
        tone=_TONES[found.match.verdict],
        made=found.made.replace("T", " ").replace("+00:00", " UTC"),
        covered=f"{100 * found.covered:.0f} %",
        score=f"{found.match.score:.2f}",
        step=f"{words.seconds_per_word:.2f}",
        tempo_step=f"{100 * (TEMPI[1] / TEMPI[0] - 1):.0f} %",
        dances=f"{found.likelihood.dances:,}",
        best_passage=text.seconds(found.commonness.passage),
        **_sentences(found),
        **_tables(found),
        **_drawings(found),
    )


def _sentences(found: Evidence) -> dict[str, Any]:
    return {
        "headline": text.headline(found),
        "cautions": text.cautions(found),
        "lengths": text.lengths(found),
        "compared_part": "the passages that agree" if found.passages else "the matching segment",
        "synchrony": text.synchrony_text(found),
        "strength": text.strength(found),
        "accident": accident_sentence(found.likelihood.evalue),
        "dependence": text.dependence(found),
        "recalibration": text.recalibration(found),
        "evalue": text.evalue_text(found.likelihood.evalue),
        "limits": text.limits(found),
        "stronger": text.rank_in_cohort(found),
        "rarity": text.rarity(found),
        "lineage": None if found.lineage is None else summarise_lineage(found.lineage),
    }


# ---- tables: rows of texts


def _tables(found: Evidence) -> dict[str, Any]:
    return {
        "compared": list(_compared(found)),
        "brief": list(_brief(found)),
        "passages": list(_passages(found)),
        "limbs": [_limb(limb) for limb in found.limbs],
        "metrics": list(_metrics(found)),
        "others": [
            (one.name, one.verdict, ratio_cell(one.log_ratio or 0.0), f"{one.score:.2f}")
            for one in found.others
        ],
        "shared": [] if found.lineage is None else list(edge_rows(found.lineage)),
        "shared_headings": EDGE_HEADINGS,
        "rarities": [] if found.lineage is None else list(rarity_rows(found.lineage)),
        "rarity_headings": RARITY_HEADINGS,
        "provenance": list(_provenance(found)),
    }


def _compared(found: Evidence) -> Iterator[tuple[str, str, str]]:
    clip, known, match, dance = found.clip, found.reference, found.match, found.dance
    dancers = "only dancer" if clip.dancers == 1 else f"of {clip.dancers}, 1 being the most prominent"
    named = " · ".join(part for part in (*dance.labels, dance.collection) if part)
    yield "matching segment", _span(match.query), _span(match.reference)
    theirs = [one.reference for one in found.passages]
    yield "of it, movement by movement", _join(text.agreeing_spans(found)), _join(theirs)
    yield "whole length", f"{clip.seconds:.1f} s", f"{known.seconds:.1f} s"
    yield "dancer", f"{match.dancer} ({dancers})", f"{match.reference_dancer} (of {known.dancers})"
    yield "file", f"{clip.name} ({clip.kind})", known.file
    yield "known as", "", f"{dance.name}{f' ({named})' if named else ''}, added {known.added[:10]}"
    source = " · ".join(part for part in (known.performer, known.date, known.url) if part)
    if source:
        yield "by", "", source
    if dance.notes:
        yield "notes", "", dance.notes
    yield "SHA-256 of the file", clip.sha256, known.recording_id


def _span(span: Span) -> str:
    return f"{text.seconds(span)} s ({_shown_seconds(span):.1f} s)"


def _shown_seconds(span: Span) -> float:
    """The length by the ends as they are shown, so that readers can check the sum."""
    return round(span.end, 1) - round(span.start, 1)


def _join(spans: Sequence[Span]) -> str:
    """Time ranges, and how long they are together."""
    total = sum(map(_shown_seconds, spans))
    return f"{', '.join(map(text.seconds, spans))} s ({total:.1f} s)" if spans else "none"


def _brief(found: Evidence) -> Iterator[tuple[str, str]]:
    """The findings, each on a line; the sections say how each came about."""
    match = found.match
    yield "verdict", match.verdict
    yield from (("reviewed", sentence) for sentence in text.decisions(found))
    yield "tempo", f"The clip is danced {text.tempo(match.tempo or 1.0)}."
    yield "mirrored", "Yes: left and right are exchanged." if match.mirrored else "No."
    yield "evidence", text.strength(found)
    yield "by accident", accident_sentence(match.evalue)
    yield "same moments", text.synchrony_in_brief(found)
    yield "same performance", text.performance(match)
    yield "rarity", text.rarity_in_brief(found)
    seen = [limb for limb in found.limbs if limb.agreement is not None]
    yield "body", ", ".join(f"{limb.name} {limb.agreement:.2f}" for limb in seen) + " (1 = the same)"
    yield "score", f"{match.score:.2f} of 1"


def _passages(found: Evidence) -> Iterator[tuple[str, str, str]]:
    """Those along the matching segment, then those at other places: without tempi, the match has one."""
    for where, passages in (("", found.passages), ("also alike, at another place", found.also_alike)):
        for one in passages:
            counts = "" if found.counts is None else f", {found.counts.describe(one.reference)}"
            yield _span(one.query), _span(one.reference) + counts, where


def _limb(limb: Limb) -> dict[str, Any]:
    if limb.agreement is None:
        return {"name": limb.name, "agreement": None}
    return {
        "name": limb.name,
        "agreement": f"{limb.agreement:.2f}",
        "percent": round(100 * min(max(limb.agreement, 0.0), 1.0)),
        "degrees": "" if limb.degrees is None else f"{limb.degrees:.0f}°",
        "unrelated": "" if limb.unrelated is None else f"{limb.unrelated:.0f}°",
    }


def _metrics(found: Evidence) -> Iterator[tuple[str, str, str, str]]:
    """The metrics that count and, without a weight, the others that have a meaning for people."""
    names = [name for name in MEANINGS if name in found.metrics]
    names += [name for name, one in found.metrics.items() if one.weight and name not in names]
    for name in sorted(names, key=lambda name: -found.metrics[name].weight):
        one = found.metrics[name]
        value = "–" if one.overall is None else f"{one.overall:.2f}"
        yield name, value, f"{100 * one.weight:.0f} %" if one.weight else "–", MEANINGS.get(name, "")


def _provenance(found: Evidence) -> Iterator[tuple[str, str]]:
    state = found.catalogue
    yield "files", "Those whose SHA-256 is in “What was compared”; any change to a file changes it."
    yield (
        "catalogue",
        f"{state.name}, identity {state.identity}, state {state.generation}, {state.dances} dances",
    )
    yield "model", found.model_id
    yield "program", f"dancematch {found.version}"
    yield "made", found.made


# ---- drawings


def _drawings(found: Evidence) -> dict[str, Any]:
    pictures = found.pictures
    return {
        "stage": svg.fit_stage(pictures.query, pictures.reference),
        "poster": svg.poster(pictures.poster) if pictures.poster and not found.shows_reference else None,
        "cards": _cards(found),
        "alignment": svg.alignment(pictures.alignment, [(one.query, one.reference) for one in found.moments]),
        "lags": _lags(found),
        "ratios": _ratios(found),
        "commonness": _agreements(found),
    }


def _lags(found: Evidence) -> svg.Drawing | None:
    """The correlation over time lag, if there is one."""
    pictures, peak = found.pictures, found.synchrony
    if peak is None or not len(pictures.lags):
        return None
    return svg.curve(pictures.lags, pictures.correlations, [svg.Mark(peak.lag, "match", "best lag")])


def _agreements(found: Evidence) -> svg.Drawing | None:
    """How far the other dances agree with the best passage, if there are any."""
    common = found.commonness
    if not common.others:
        return None
    groups = [(), list(common.others.values())]  # the first shade is the cohort's
    return svg.histogram(groups, svg.AGREEMENT_AXIS, [svg.Mark(common.agreement, "match", "this dance")])


def _cards(found: Evidence) -> list[dict[str, Any]]:
    """Each moment of both, side by side; None for a still of a side without footage."""
    pictures, none = found.pictures, [None] * len(found.moments)
    columns = {
        "query": svg.skeletons(pictures.query),
        "reference": svg.skeletons(pictures.reference),
        "still": map(svg.still, pictures.stills) if pictures.stills else none,
        "reference_still": map(svg.still, pictures.reference_stills) if found.shows_reference else none,
    }
    drawn = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [_times(moment) | one for moment, one in zip(found.moments, drawn, strict=True)]


def _times(moment: MomentPair) -> dict[str, Any]:
    degrees = moment.degrees
    return {
        "apart": "no limb is seen in both" if degrees is None else f"{degrees:.0f}° apart on average",
        "query_time": f"{moment.query:.2f} s",
        "reference_time": f"{moment.reference:.2f} s",
    }


def _ratios(found: Evidence) -> svg.Drawing:
    """Ratios of unrelated and of the next best dances, with this match and what a match needs."""
    likelihood, bounds = found.likelihood, shipped_calibration()
    marks = [svg.Mark(likelihood.log_ratio, "match", "this dance")]
    if likelihood.needed is not None:
        marks.append(svg.Mark(likelihood.needed, "limit", "limit of a match"))
    if likelihood.needed_if_possible is not None:
        marks.append(svg.Mark(likelihood.needed_if_possible, "possible", "limit of a possible match"))
    low = math.floor(min(bounds.least, *(mark.value for mark in marks)))
    high = math.ceil(max(bounds.most, *(mark.value for mark in marks)))
    ticks = [(power, _ratio_tick(power)) for power in range(low + low % _TICK, high + 1, _TICK)]
    groups = [likelihood.cohort, list(likelihood.others.values())]
    return svg.histogram(groups, svg.Axis(low, high, ticks), marks)


def _ratio_tick(power: int) -> str:
    if power == 0:
        return "as\nlikely"
    return f"{round_down(10.0 ** abs(power))}\ntimes {'more' if power > 0 else 'less'}"
