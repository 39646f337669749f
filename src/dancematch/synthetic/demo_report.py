"""The demo's report: one HTML page that needs nothing beside it."""

from pathlib import Path
from typing import Any

from dancematch.motion import mirror
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.pipeline.wording import accident_sentence, capitalise, ratio_cell, ratio_words
from dancematch.report import svg
from dancematch.report.evidence_text import seconds
from dancematch.report.page import render_page, write_page
from dancematch.synthetic.demo import Demo, DemoAnswer
from dancematch.types import Match, Motion, Span

_MOMENTS = 4  # pictures per match
_NEAREST = 3  # dances that are named where none is a match


def write_report(demo: Demo) -> Path:
    """Write the page into the demo's folder and say where."""
    with open_catalogue(demo.catalogue, create=False) as catalogue:
        cards = [_card(answer, demo, catalogue) for answer in demo.answers]
    page = render_page(
        "demo.html",
        correct=sum(answer.correct for answer in demo.answers),
        known=[scene.name for scene in demo.known],
        cards=cards,
        stage=svg.STAGE,
    )
    target = demo.folder / "report.html"
    write_page(target, page, overwrite=True)
    return target


def _card(answer: DemoAnswer, demo: Demo, catalogue: Catalogue) -> dict[str, Any]:
    match = answer.match
    return {
        "answer": answer,
        "verdict": capitalise(answer.verdict),
        "evidence": None if match is None else _evidence(answer.query, match, demo, catalogue),
        "nearest": [
            (one.name, f"{one.score:.2f}", ratio_cell(one.log_ratio or 0.0))
            for one in answer.nearest[:_NEAREST]
        ],
    }


def _evidence(name: str, match: Match, demo: Demo, catalogue: Catalogue) -> dict[str, Any]:
    """What a match shows: moments of both, their words, and the parts of the score."""
    own, known = demo.motions[name], catalogue.motions(match.name)[0]
    tokeniser = catalogue.tokeniser
    query = tokeniser.fingerprint(mirror(own) if match.mirrored else own)
    reference = tokeniser.fingerprint(known)
    return {
        "query_seconds": seconds(match.query),
        "reference_seconds": seconds(match.reference),
        "tempo": f"{match.tempo or 1.0:.2f}",
        "strength": ratio_words(match.log_ratio or 0.0),
        "accident": accident_sentence(match.evalue),
        "frames": [
            *_frames("clip", demo.folder / f"{name}.mp4", own, match.query),
            *_frames("dance", demo.folder / f"{match.name}.mp4", known, match.reference),
        ],
        "query_words": svg.timeline(query, tokeniser.codebook, match.query),
        "reference_words": svg.timeline(reference, tokeniser.codebook, match.reference),
        "parts": [
            (part.replace("_", " "), round(100 * min(max(value, 0.0), 1.0)), f"{value:.2f}")
            for part, value in match.parts.items()
        ],
    }


def _frames(of: str, video: Path, motion: Motion, span: Span) -> list[dict[str, Any]]:
    """Frames of a video and the skeletons seen in them, evenly spaced over a span."""
    moments = [span.start + (number + 0.5) / _MOMENTS * span.seconds for number in range(_MOMENTS)]
    frames, skeletons = svg.frames_at(video, moments), svg.skeletons_at(motion, moments)
    return [
        {"of": of, "seconds": f"{moment:.1f}", "address": frame, "skeleton": skeleton}
        for moment, frame, skeleton in zip(moments, frames, skeletons, strict=True)
    ]
