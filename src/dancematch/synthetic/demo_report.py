"""The demo's report: one HTML page that needs nothing beside it."""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from dancematch.motion import mirror
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.pipeline.wording import accident_sentence, capitalise, ratio_cell, ratio_words
from dancematch.report.svg import frames_at, skeletons_at
from dancematch.synthetic.demo import Demo, DemoAnswer
from dancematch.synthetic.word_timeline import timeline
from dancematch.types import Match

_MOMENTS = 4  # pictures per match

_STYLE = """
:root { color-scheme: light dark; --paper: #fbfaf8; --ink: #1c1b1a; --faint: #6b6863; --line: #dcd8d1;
  --card: #fff; --good: #1c7c4a; --bad: #b3261e; --left: #d9622b; --right: #2b6cd9; }
@media (prefers-color-scheme: dark) { :root { --paper: #171615; --ink: #f0eeea; --faint: #a5a19a;
  --line: #3a3733; --card: #211f1d; --good: #5cc98e; --bad: #ff8a80; --left: #ff9a66; --right: #7fb0ff; } }
body { font: 16px/1.5 system-ui, sans-serif; background: var(--paper); color: var(--ink); margin: 0; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 0; }
.faint, figcaption, small { color: var(--faint); }
.notice { border-left: 4px solid var(--left); padding: .3rem 1rem; }
article { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem;
  margin: 1.2rem 0; }
.verdict { font-weight: 600; } .right-answer { color: var(--good); } .wrong-answer { color: var(--bad); }
.pairs { display: grid; grid-template-columns: repeat(4, 1fr); gap: .5rem; margin: .8rem 0; }
.pairs figure { margin: 0; } .pairs img { width: 100%; border-radius: .3rem; display: block; }
.skeleton { width: 100%; height: 8rem; } .skeleton line { stroke-width: .035; stroke-linecap: round; }
.skeleton circle { fill: none; stroke-width: .03; }
.left { stroke: var(--left); } .right { stroke: var(--right); } .middle { stroke: var(--ink); }
.timeline { width: 100%; max-height: 9rem; }
.timeline text { font-size: 8px; fill: var(--faint); text-anchor: end; }
.timeline .tick { text-anchor: middle; }
.timeline .matched { fill: none; stroke: var(--ink); stroke-width: 1.5; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .2rem .6rem .2rem 0; }
.bars { display: grid; grid-template-columns: max-content 1fr 3rem; gap: .1rem .6rem; align-items: center;
  font-size: .85rem; }
.bar { background: var(--line); height: .6rem; border-radius: .3rem; overflow: hidden; }
.bar i { display: block; height: 100%; background: var(--right); }
@media (max-width: 40rem) { .pairs { grid-template-columns: 1fr 1fr; } }
"""


def write_report(demo: Demo) -> Path:
    """Write the page into the demo's folder and say where."""
    right = sum(answer.correct for answer in demo.answers)
    with open_catalogue(demo.catalogue, create=False) as catalogue:
        cards = [card for answer in demo.answers for card in _card(answer, demo, catalogue)]
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>DanceMatch: demo</title><style>{_STYLE}</style></head><body><main>
<h1>DanceMatch recognised {right} of {len(demo.answers)} clips</h1>
<p class="faint">It had learnt {len(demo.known)} dances, each from one video:
{escape(", ".join(scene.name for scene in demo.known))}.</p>
<p class="notice"><b>Everything here is rendered.</b> The videos show computer-drawn mannequins that perform
invented choreographies; no person was filmed. From the video files on, nothing is special: pose estimation,
motion words and search are what your own clips go through.</p>
{"".join(cards)}
</main></body></html>
"""
    target = demo.folder / "report.html"
    unfinished = target.with_suffix(".part")
    unfinished.write_text(page, encoding="utf-8")
    unfinished.replace(target)
    return target


def _card(answer: DemoAnswer, demo: Demo, catalogue: Catalogue) -> Iterator[str]:
    tone, mark = ("right-answer", "right") if answer.correct else ("wrong-answer", "wrong")
    said = escape(answer.answer) if answer.answer else "“I don’t know this one”"
    expected = escape(answer.expected) if answer.expected else "a dance that was never learnt"
    yield f"<article><h2>{escape(answer.query)} <small>— {escape(answer.story)}</small></h2>"
    verdict = f"{escape(capitalise(answer.verdict))}: {said}"
    yield f'<p><span class="verdict {tone}">{verdict}</span> — {mark}; it is {expected}.</p>'
    if answer.match is not None:
        yield from _evidence(answer.query, answer.match, demo, catalogue)
    else:
        yield "<p>Nearest, and none of them near enough:</p>" + _nearest(answer.nearest[:3])
    yield "</article>"


def _evidence(name: str, match: Match, demo: Demo, catalogue: Catalogue) -> Iterator[str]:
    tempo = match.tempo or 1.0
    yield (
        f"<p>Seconds {match.query.start:.1f} to {match.query.end:.1f} of the clip are seconds "
        f"{match.reference.start:.1f} to {match.reference.end:.1f} of the dance, "
        f"{'mirrored' if match.mirrored else 'not mirrored'}, at {tempo:.2f} times its tempo. "
        f"{ratio_words(match.log_ratio or 0.0)} {accident_sentence(match.evalue)}</p>"
    )
    seen = demo.motions[name]
    known = catalogue.motions(match.dance_id)[0]
    shares = [(i + 0.5) / _MOMENTS for i in range(_MOMENTS)]
    asked = [match.query.start + share * match.query.seconds for share in shares]
    there = [match.reference.start + share * match.reference.seconds for share in shares]
    yield _pairs(
        (frames_at(demo.folder / f"{name}.mp4", asked), skeletons_at(seen, asked), asked),
        (frames_at(demo.folder / f"{match.dance_id}.mp4", there), skeletons_at(known, there), there),
    )
    tokeniser = catalogue.tokeniser
    read = tokeniser.fingerprint(mirror(seen) if match.mirrored else seen)
    manner = ", mirrored" if match.mirrored else ""
    yield f"<p>The clip in motion words{manner}; the frame marks what matches.</p>"
    yield timeline(read, tokeniser.codebook, match.query)
    yield f"<p>{escape(match.dance_id)} in motion words.</p>"
    yield timeline(tokeniser.fingerprint(known), tokeniser.codebook, match.reference)
    yield "<p>What the score is made of.</p>" + _bars(match)


_Strip = tuple[list[str], list[str], list[float]]  # frames, skeletons, seconds


def _pairs(query: _Strip, reference: _Strip) -> str:
    cells = [
        f'<figure><img src="{frames[i]}" alt="{who} at {moments[i]:.1f} seconds">'
        f"{skeletons[i]}<figcaption>{who}, {moments[i]:.1f} s</figcaption></figure>"
        for who, (frames, skeletons, moments) in (("clip", query), ("dance", reference))
        for i in range(_MOMENTS)
    ]
    return f'<div class="pairs">{"".join(cells)}</div>'


def _bars(match: Match) -> str:
    rows = [
        f"<span>{escape(name.replace('_', ' '))}</span>"
        f'<span class="bar"><i style="width:{_percent(value)}%"></i></span>'
        f"<span>{value:.2f}</span>"
        for name, value in match.parts.items()
    ]
    return f'<div class="bars">{"".join(rows)}</div>'


def _percent(value: float) -> int:
    return round(100 * min(max(value, 0.0), 1.0))


def _nearest(matches: tuple[Match, ...]) -> str:
    rows = "".join(
        f"<tr><td>{escape(m.dance_id)}</td><td>{m.score:.2f}</td>"
        f"<td>{ratio_cell(m.log_ratio or 0.0)}</td></tr>"
        for m in matches
    )
    heads = "<tr><th>dance</th><th>score</th><th>the evidence is, if the clip shows it</th></tr>"
    return f"<table>{heads}{rows}</table>"
