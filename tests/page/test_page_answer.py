"""The answer on the page plays, says why and can be corrected; every view at three widths, by axe-core."""

import json
from contextlib import contextmanager
from functools import partial

import pytest

from dance_samples import dance
from dancematch import formats
from page_samples import answer_with, drawn, until, violations, visit

WIDTHS = (1440, 820, 390)
# What the service says of counts, with the beats of the dance at 120 per minute.
LESSON = {
    "counts": {"bpm": 120.0, "first": 0.0, "end": 8.7, "source": "movement"},
    "diff": [
        {"kind": "changed", "text": "Bar 1 changed: left arm.", "query": {"start": 0.5, "end": 2.5}},
        {"kind": "left out", "text": "Bar 2 is left out.", "query": None},
    ],
    "practice": ["Raise the left arm earlier in bar 1."],
}


@pytest.fixture(scope="module")
def search_id(studio, folder):
    """A search for the sarabande as another dancer dances it."""
    clip = folder / "asked.npz"
    formats.write(clip, [dance(9, dancer=5)])
    asked = studio.client.post("/search", content=clip.read_bytes(), params={"filename": clip.name}).json()
    assert "sarabande" == asked["dancers"][0]["candidates"][0]["dance"]
    return asked["search_id"]


@contextmanager
def visit_answer(browser, url, search_id):
    """A page on which the sarabande is a match and counted, whatever the calibration of the day."""
    seen = visit(browser, url)
    seen.page.route(f"**/searches/{search_id}", partial(answer_with, [("match", 0.0004)]))
    seen.page.route("**/differences?*", tell_differences)
    yield seen
    seen.context.close()


@pytest.fixture(scope="module")
def answering(browser, studio, search_id):
    """The page that most tests look at."""
    with visit_answer(browser, studio.url, search_id) as seen:
        yield seen


@pytest.fixture
def visiting(browser, studio, search_id):
    """A page of a test's own: nothing that another test left or was refused is told on it."""
    with visit_answer(browser, studio.url, search_id) as seen:
        yield seen


def tell_differences(route) -> None:
    """The service's differences, with a lesson."""
    route.fulfill(json=route.fetch().json() | {"same": True, "lesson": LESSON})


@pytest.fixture
def answer(answering, search_id):
    """The answer, at its first moment and still."""
    answering.page.emulate_media(reduced_motion="reduce")
    answering.go(f"search/{search_id}", ".stages")
    answering.page.locator(".differences h2").wait_for()
    return answering


def moment(page) -> float:
    return float(page.get_by_label("Moment of your clip").input_value())


def test_the_answer_plays_beside_the_match_at_once(answering, search_id):
    """Both figures move without a click; reasons and differences stand open, details closed."""
    answering.page.emulate_media(reduced_motion="no-preference")
    answering.go(f"search/{search_id}", ".stages")
    answering.page.get_by_role("button", name="Pause").wait_for()
    before = moment(answering.page)
    until(answering.page, f"document.querySelector('input[type=range]').value != {before}")
    answering.page.get_by_role("button", name="Pause").click()
    answering.page.get_by_role("heading", name="Where they differ").wait_for()

    assert [True, True] == [drawn(figure) for figure in answering.page.locator("canvas.figure").all()]
    assert "Both move closely in step" in answering.page.inner_text(".reasons.pro")
    assert not answering.page.locator("canvas.matrix").is_visible()
    answering.page.get_by_text("Details: words").click()
    answering.page.locator("canvas.matrix").wait_for()
    assert [] == answering.complaints


WEAK = """async () => {
  const { reasons } = await import("/compare/reasons.js");
  const next = { dance_id: "b", dance: "tango", log_ratio: 0.1 };
  const match = { dancer: 1, dance_id: "a", log_ratio: 0.5, likelihood_ratio: 3, bounded: false,
    mirrored: true, tempo: 1.2, verdict: "possible match", query: { start: 0, end: 3 },
    parts: { synchrony: 0.3, synchrony_seconds: 3 }, synchrony_reason: null };
  const path = { agreement: { torso: [0.9, 0.7], left_arm: [0.1, null], right_arm: [0.3, 0.3] } };
  const clip = { unseen: [new Set([1]), new Set()], start: 0, fps: 30, skeleton: { joints: ["a", "b"] } };
  return reasons({ answer: { dancers: [{ dancer: 1, candidates: [match, next] }] }, dance_id: "a", clip,
    why: { match, path }, path: { holds: () => true }, clock: { whole: { start: 0, end: 10 } } });
}"""


def test_what_speaks_for_a_match_and_against_it_is_said(answering):
    """From a short, mirrored match that is one limb's alone, with another dance close behind."""
    answering.go()
    found = answering.page.evaluate(WEAK)

    assert [
        "The evidence is about 3 times more likely if the clip shows this dance than if it shows another.",
        "The same movements: torso.",
    ] == found["pro"]
    assert [
        "Both move loosely in step, compared over 3.0 s.",
        "Little in common: left arm.",
        "Only 3.0 s of 10.0 s fit.",
        "3.0 s are little to go by.",
        "tango comes nearly as near.",
        "Not danced as it is known: mirrored.",
        "25 % of the body is not seen in your clip.",
    ] == found["con"]


def test_a_section_is_looped_by_the_keyboard_alone(answer):
    """A and B mark it, play stays within, X lets it go; Space plays and pauses."""
    keys = answer.page.keyboard
    answer.page.locator("main").focus()
    for key in ("Shift+ArrowRight", "a", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "b"):
        keys.press(key)
    marks = [one.inner_text() for one in answer.page.locator(".mark").all()]
    start = round(moment(answer.page) - 0.4, 1)
    assert [f"A 0:{start:04.1f}", f"B 0:{start + 0.4:04.1f}"] == marks
    keys.press("Space")
    times = []
    for _ in range(12):
        answer.page.wait_for_timeout(60)
        times.append(moment(answer.page))
    keys.press("Space")
    keys.press("x")

    assert start - 0.02 <= min(times) < max(times) <= start + 0.42
    assert ["A", "B"] == [one.inner_text() for one in answer.page.locator(".mark").all()]


def test_both_figures_are_laid_over_each_other(answer):
    """The dance's goes behind the clip's, and what is drawn changes with it."""
    figure = answer.page.locator("canvas.figure").first
    answer.page.get_by_role("button", name="Overlay").click()
    together = figure.evaluate(
        "async (c) => { await new Promise((go) => setTimeout(go, 300)); return c.toDataURL(); }"
    )

    assert 1 == answer.page.locator("canvas.figure:visible").count()
    assert "the dance in green" in answer.page.inner_text(".overlay-key")
    answer.page.get_by_role("button", name="Figures").click()
    until(answer.page, "document.querySelectorAll('canvas.figure')[1].checkVisibility()")
    assert together != figure.evaluate(
        "async (c) => { await new Promise((go) => setTimeout(go, 300)); return c.toDataURL(); }"
    )


def test_counts_are_a_ruler_and_differences_are_told_in_them(answer):
    """A click on a bar loops it; what to practise is said, what was changed can be looped."""
    bar = answer.page.get_by_role("button", name="Loop bar 1,")
    bar.click()

    assert "true" == bar.get_attribute("aria-pressed")
    assert "12345678" == "".join(bar.text_content().split())
    panel = answer.page.locator(".differences")
    assert "Raise the left arm earlier in bar 1." in panel.inner_text()
    panel.get_by_role("button", name="Bar 1 changed: left arm.").click()
    assert pytest.approx(0.5, abs=0.02) == moment(answer.page)


def test_the_name_is_corrected_where_it_stands(answer, studio):
    """In the answer as on the dance's page; the notice takes it back."""
    answer.page.locator("h1 button").click()
    answer.page.get_by_role("combobox", name="name of the dance").fill("slow sarabande")
    answer.page.keyboard.press("Enter")
    answer.page.get_by_text("sarabande is now called slow sarabande.").wait_for()
    until(answer.page, "document.querySelector('h1').textContent.startsWith('This is slow sarabande')")
    assert "slow sarabande" == studio.client.get("/dances/slow sarabande").json()["name"]
    answer.page.get_by_role("button", name="Undo").click()

    until(answer.page, "document.querySelector('h1').textContent.startsWith('This is sarabande')")


def test_a_recording_goes_to_another_dance_by_its_name(visiting, studio):
    """A name that there is not is offered as a new dance."""
    visiting.go("dance/galop", ".recording")
    visiting.page.get_by_title("Change the dance of the recording").click()
    visiting.page.get_by_role("combobox", name="dance of the recording").fill("ballet")
    visiting.page.keyboard.press("Enter")
    visiting.page.get_by_role("button", name="Make ballet a new dance").click()
    visiting.page.get_by_text("galop.npz").first.wait_for()

    until(visiting.page, "!document.querySelector('h1')?.textContent.startsWith('galop')")
    assert ["galop.npz"] == [one["file"] for one in studio.client.get("/dances/ballet").json()["recordings"]]
    assert 200 == studio.client.post("/edits/undo").status_code  # other tests look at the dance as it was
    assert 200 == studio.client.get("/dances/galop").status_code


def test_recent_searches_are_kept_and_deleted(answer):
    """With the dance that was found; deleting one forgets the clip on the service too."""
    answer.go("", ".recent li")
    row = answer.page.locator(".recent li").first
    assert "sarabande" in row.inner_text()
    assert "asked.npz" in row.inner_text()
    deleted = []
    answer.page.route(
        "**/searches/*", lambda route: deleted.append(route.request.method) or route.fulfill(status=204)
    )
    row.get_by_role("button", name="Delete the search for asked.npz").click()
    until(answer.page, "document.querySelector('.recent').hidden")
    answer.page.unroute("**/searches/*")

    assert ["DELETE"] == deleted
    answer.page.reload()
    answer.page.get_by_role("heading", name="Which dance is this?").wait_for()
    assert not answer.page.locator(".recent").is_visible()


def test_the_sample_adds_its_dances_and_searches(answering, studio):
    """They are called rendered; with a motion file for the clip, which takes no time to read."""
    listed = studio.client.get("/samples").json()
    quick = listed | {"clip": {"name": "clip", "file": listed["dances"][0]["file"]}}
    answering.page.route("**/samples", lambda route: route.fulfill(body=json.dumps(quick)))
    answering.go()
    answering.page.get_by_role("button", name="Try with a sample").click()
    answering.page.get_by_text(f"{quick['clip']['file']}, compared with").wait_for()
    answering.page.unroute("**/samples")

    known = studio.client.get("/dances", params={"label": "rendered"}).json()["dances"]
    assert sorted(one["name"] for one in listed["dances"]) == sorted(one["name"] for one in known)


def test_the_map_shows_the_query(answering, search_id):
    answering.go(f"map/{search_id}", "canvas.map")

    assert "your clip" in answering.page.inner_text(".legend")
    assert drawn(answering.page.locator("canvas.map"))


LINEAGE = {
    "dance_id": "known", "name": "known", "date": "2020", "searches": 3,
    "nodes": [
        {"dance_id": "known", "name": "known", "date": "2020", "order": None, "shared_seconds": 0.0},
        {"dance_id": "jig", "name": "jig", "date": "2018", "order": "earlier", "shared_seconds": 6.0},
        {"dance_id": "reel", "name": "reel", "date": None, "order": "undated", "shared_seconds": 3.0},
    ],
    "edges": [
        {"dance_id": "jig", "own": {"start": 0, "end": 6}, "verdict": "match", "mirrored": False,
         "counts": "bar 1"},
        {"dance_id": "reel", "own": {"start": 3, "end": 6}, "verdict": "possible match", "mirrored": True,
         "counts": None},
    ],
    "passages": [
        {"span": {"start": 0, "end": 6}, "dances": 2, "others": 9, "rarity": "shared", "counts": None},
        {"span": {"start": 6, "end": 9}, "dances": 0, "others": 9, "rarity": "not known", "counts": None},
    ],
}  # fmt: skip


def test_the_lineage_is_a_graph_and_a_list(answering):
    """Earlier dances to the left of this one; a click leads to a dance."""
    answering.page.route("**/lineage", lambda route: route.fulfill(json=LINEAGE))
    answering.go("dance/known")
    answering.page.get_by_role("button", name="Trace its lineage").click()
    graph = answering.page.locator(".lineage-graph")
    own, jig = graph.locator(".own rect"), graph.locator("a rect").first
    assert jig.bounding_box()["x"] < own.bounding_box()["x"]
    rows = answering.page.locator(".lineage-list li").all_inner_texts()

    assert [
        "jig 2018, earlier: shares 6.0 s: bar 1 (match)",
        "reel without a date: shares 3.0 s: 0:03.0 – 0:06.0 (possible match, mirrored)",
    ] == rows
    assert [
        "Not known: only 9 other dances to compare with\n0:06.0 – 0:09.0",
        "Shared\n0:00.0 – 0:06.0, in 2 other dances",
    ] == answering.page.locator(".rarity > div").all_inner_texts()
    assert [] == violations(answering.page)
    graph.locator("a").first.click()
    until(answering.page, "document.querySelector('h1').textContent.startsWith('jig')")


@pytest.mark.parametrize("route", ["search/{search_id}", "", "dances", "dance/round", "map", "words", "scan"])
def test_every_view_fits_and_is_accessible(visiting, search_id, route):
    """At three widths nothing sticks out and axe-core finds nothing, in the light and in the dark."""
    page = visiting.page
    visiting.go(route.format(search_id=search_id))
    for width, scheme in zip(WIDTHS, ("light", "dark", "dark"), strict=True):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")

        assert width == page.evaluate("document.documentElement.scrollWidth")
        assert [] == violations(page)
    assert [] == visiting.complaints
