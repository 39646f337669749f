"""The views of the page in a real browser, before a real server."""

import json
import math
from functools import partial
from pathlib import Path

import pytest

from dance_samples import dance, digest, recorded, save_small_model, write_dance
from dancematch import formats
from dancematch.pipeline import wording
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pose.video import VIDEO_SUFFIXES
from page_samples import NAMELESS, NARROW, POOR_CONTRAST, answer_with, drawn, visit
from server_samples import serving, wait_for

READ, WRITE = "a-secret-for-reading", "a-secret-for-writing"
NAUGHTY = "<img src=x onerror=alert(1)>/../&?#"
SPOKEN = "known by words alone"
VIEWS = (
    "", "dances", "dance/dance-1", "dance/duet", "map", "words",
    "search/{search}", "compare/{search}/{dance-1}",
    "search/{possible}", "search/{two}", "compare/{two}/{dance-2}/2",
    "search/{spoken}", f"compare/{{spoken}}/{{{SPOKEN}}}", f"dance/{SPOKEN}",
    "search/{twice}", "reviews", "scan", "live",
)  # fmt: skip
# What the verdicts on the dancers of some searches are to be, and how often they come about by accident:
# the page shows what it receives, whatever the calibration of the day.
VERDICTS = {
    "search": [("match", 0.0004)],
    "possible": [("possible match", 0.11)],
    "two": [("match", 7e-7), ("no match", 3.2)],
    "twice": [("match", 0.002)],
}
IGNORED = [{"start": 3.0, "end": 5.2, "reason": "2.2 s, head and shoulders only"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def server(folder):
    """A server that wants a token and knows some dances.

    One has two recordings, one a name that must not be taken for HTML, of one there is nothing to see.
    The model is small: a vocabulary is described in a moment.
    """
    model = save_small_model(folder / "small")
    tokens = folder / "tokens.txt"
    tokens.write_text(f"read {READ}\nwrite {WRITE}\n", encoding="utf-8")
    tokens.chmod(0o600)
    with open_catalogue(folder / "dances.db", model=str(folder / "small")) as known:
        for seed in range(4):
            path = write_dance(folder / f"dance-{seed}.npz", seed)
            known.add(path, labels=(f"song {seed % 2}", "studio"), collection="studio")
        known.add(write_dance(folder / "other.npz", 7), dance=NAUGHTY)
        for performer in ("anna", "berta"):
            path = write_dance(folder / f"{performer}.npz", 8, dancer=len(performer))
            known.add(path, dance="duet", performer=performer, url="https://example.org/duet", date="2020-12")
        known.learn_words(recorded(SPOKEN, "words.npz", digest("0"), 0.0), [model.fingerprint(dance(20))])
    options = ("--model", folder / "small", "--token-file", tokens)
    with serving(folder / "dances.db", *options, headers={"Authorization": f"Bearer {WRITE}"}) as running:
        yield running


@pytest.fixture(scope="module")
def searches(server, folder):
    """Searches for dances, one or two, and for one of which there is nothing to see, as VIEWS calls them.

    With the ids of the dances by name.
    """
    made = {one["name"]: one["dance_id"] for one in server.client.get("/dances").json()["dances"]}
    clips = {"search": [1], "possible": [1], "two": [1, 2], "spoken": [20], "twice": [8]}
    for name, seeds in clips.items():
        clip = folder / f"{name}.npz"
        formats.write(clip, [dance(seed, dancer=9) for seed in seeds])
        answer = server.client.post(
            "/search", content=clip.read_bytes(), params={"filename": clip.name}
        ).json()
        made[name] = answer["search_id"]
    return made


@pytest.fixture(scope="module")
def looking(browser, server, searches):
    """A page to look round with, on a phone; some searches have the verdicts of `VERDICTS`."""
    seen = visit(browser, server.url, WRITE)
    seen.page.set_viewport_size(NARROW)
    for name, verdicts in VERDICTS.items():
        seen.page.route(f"**/searches/{searches[name]}", partial(answer_with, verdicts, ignored=IGNORED))
    yield seen
    seen.context.close()


def test_what_is_not_known_is_said_plainly(looking, folder):
    """An unknown dance gets a plain sentence and the nearest three, greyed; the answer outlives a reload."""
    formats.write(folder / "unknown.npz", [dance(99, 5)])
    looking.go()
    looking.page.locator("input[type=file]").first.set_input_files(folder / "unknown.npz")
    looking.page.get_by_role("heading", name="No match").wait_for()
    looking.page.reload()
    looking.page.get_by_role("heading", name="No match").wait_for()

    looking.page.get_by_role("heading", name="Nearest, none of them near enough").wait_for()
    assert 3 == looking.page.locator(".match.dim").count()
    assert [] == looking.complaints


@pytest.mark.parametrize(
    ("name", "heading", "badges", "accident"),
    [
        ("search", "This is dance-1", ["Match"], "1 search in 2,000 gives this by accident."),
        ("possible", "This may be dance-1", ["Possible match"], "1 search in 9 gives this by accident."),
    ],
)
def test_a_verdict_is_seen_and_read(looking, searches, name, heading, badges, accident):
    """As a word with an icon, in the heading and as a sentence: colour only repeats it."""
    looking.go(f"search/{searches[name]}")

    assert heading == looking.heading
    assert badges == looking.page.locator(".verdict").all_inner_texts()
    assert len(badges) == looking.page.locator(".verdict svg").count()
    assert accident in looking.page.inner_text(".answer")


def test_every_dancer_has_a_section_and_what_is_none_is_named(looking, searches):
    """Two dancers, one with a match and one without; who is ignored stands below, with the reason."""
    looking.go(f"search/{searches['two']}")
    sections = looking.page.locator("section.dancer")

    assert "2 dancers: dance-1 and no match" == looking.heading
    assert ["Dancer 1", "Dancer 2"] == sections.locator("h2").all_inner_texts()
    assert "dance-1, shown above" in sections.nth(0).inner_text()
    assert 3 == sections.nth(1).locator(".match.dim").count()
    assert ["0:03.0 – 0:05.2 ignored: 2.2 s, head and shoulders only"] == looking.page.locator(
        ".ignored li"
    ).all_inner_texts()
    sections.nth(1).locator(".match a").first.click()
    looking.page.get_by_text("dancer 2 of 2").wait_for()


def test_a_match_names_its_recording_and_the_others(looking, searches):
    """The recording that fits best is the one that plays; the other is there to be unfolded."""
    looking.go(f"search/{searches['twice']}")
    found = looking.page.locator(".answer")
    shown = looking.page.locator(".stage-name").nth(1).inner_text()
    best, other = sorted(["anna.npz", "berta.npz"], key=lambda file: f"duet ({file})" != shown)
    assert f"duet ({best})" == shown
    assert f"of the recording {best}" in found.inner_text()
    found.locator("summary").click()

    assert other in found.locator(".others li").inner_text()
    assert 1 == found.locator(".others li").count()


def test_a_file_that_cannot_be_read_is_explained(browser, server, folder):
    """The service's own sentence is shown, and another clip can be tried."""
    (folder / "broken.mp4").write_bytes(b"no video at all" * 100)
    seen = visit(browser, server.url, WRITE)
    seen.go()
    seen.page.locator("input[type=file]").first.set_input_files(folder / "broken.mp4")
    message = seen.page.get_by_role("alert")
    message.wait_for()
    assert len(message.inner_text()) > 20
    seen.page.get_by_role("button", name="Try another clip").click()
    seen.page.get_by_role("heading", name="Which dance is this?").wait_for()
    seen.context.close()


def test_a_file_of_another_kind_is_refused_before_it_is_sent(browser, server, folder):
    """On the place itself, with what is taken, in the dialog that adds dances too; the good ones stay."""
    (folder / "notes.txt").write_text("not a dance")
    (folder / "hollow.npz").write_bytes(b"")
    good = folder / "dance-1.npz"
    seen = visit(browser, server.url, WRITE)
    seen.go()
    sent = len([url for url in seen.loaded if "/search" in url])
    seen.page.locator("input[type=file]").first.set_input_files(folder / "notes.txt")
    message = seen.page.locator("main").get_by_role("alert")

    assert "notes.txt cannot be used: a video (.mp4, .mov" in message.inner_text()
    assert "a motion file (.npz, .bvh, .pkl, .json, .csv, .pt) is expected." in message.inner_text()
    seen.page.locator("input[type=file]").first.set_input_files(folder / "hollow.npz")
    assert "hollow.npz is an empty file." == message.inner_text()
    assert sent == len([url for url in seen.loaded if "/search" in url])
    seen.go("dances")
    seen.page.get_by_role("button", name="Add dances").first.click()
    files = [folder / "notes.txt", good, folder / "hollow.npz"]
    seen.page.locator("dialog input[type=file]").set_input_files(files)
    seen.page.locator(".add-row").first.wait_for()
    assert [good.name] == seen.page.locator(".add-row .faint").all_inner_texts()
    assert (
        seen.page.locator("dialog")
        .get_by_role("alert")
        .inner_text()
        .endswith("1 other file was not taken either.")
    )
    assert [] == seen.complaints
    seen.context.close()


def test_a_dance_that_could_not_be_cancelled_is_shown(browser, server, folder):
    """Stopping an addition in its last step says that the dance is known, and shows it."""
    job = {
        "job_id": 32 * "0",
        "state": "running",
        "progress": 0.99,
        "ahead": 0,
        "error": None,
        "result": None,
    }
    late = {"error": "too_late", "message": "'waltz' was learnt before the job could be cancelled"}
    seen = visit(browser, server.url, WRITE)
    seen.page.route("**/recordings?*", lambda route: route.fulfill(status=202, json=job))
    seen.page.route(
        "**/jobs/*/events",
        lambda route: route.fulfill(body=f"event: progress\ndata: {json.dumps(job)}\n\n"),
    )
    seen.page.route(
        f"**/jobs/{32 * '0'}",
        lambda route: (
            route.fulfill(status=409, json=late)
            if route.request.method == "DELETE"
            else route.fulfill(json=job)
        ),
    )
    seen.go("dances")
    seen.page.get_by_role("button", name="Add dances").first.click()
    seen.page.locator("dialog input[type=file]").set_input_files(folder / "dance-2.npz")
    seen.page.get_by_role("button", name="Add the dance").click()
    seen.page.get_by_text("following the dancer 99 %").wait_for()
    with seen.page.expect_response("**/dances?limit=*"):  # the list is made anew
        seen.page.get_by_role("button", name="Stop or dismiss dance-2").click()

    assert (
        "'waltz' was learnt before the job could be cancelled." == seen.page.locator(".notice").inner_text()
    )
    seen.context.close()


def test_the_page_takes_the_kinds_that_the_library_takes(looking):
    looking.go()
    accepted = looking.page.locator("input[type=file]").first.get_attribute("accept").split(",")

    assert ["video/*", *formats.list_suffixes(), *sorted(VIDEO_SUFFIXES)] == accepted


@pytest.mark.parametrize("route", VIEWS)
def test_every_view_can_be_read_and_used(looking, searches, route):
    """On a phone nothing sticks out; contrast as WCAG AA asks for in both themes; names for who does not see.

    And nothing is asked for that is not there.
    """
    looking.go(route.format(**searches))
    for scheme in ("light", "dark"):
        # Otherwise colours change gently, and on a busy machine late.
        looking.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")

        assert [] == looking.page.evaluate(POOR_CONTRAST)
    assert [] == looking.page.evaluate(NAMELESS)
    assert NARROW["width"] == looking.page.evaluate("document.documentElement.scrollWidth")
    assert [] == looking.complaints


def test_with_a_token_the_evidence_is_saved(looking, searches):
    """A link would send no token; the file is the report, under a name that says of what."""
    looking.go(f"compare/{searches['spoken']}/{searches[SPOKEN]}")
    looking.page.get_by_text("there is no figure to show").wait_for()
    with looking.page.expect_download() as saving:
        looking.page.get_by_role("link", name="Evidence report").click()

    assert f"spoken.npz beside {SPOKEN}.html" == saving.value.suggested_filename
    assert "Evidence report: spoken.npz" in Path(saving.value.path()).read_text(encoding="utf-8")


def test_the_keyboard_alone_is_enough(browser, server):
    """Letters go to the views, arrows move on the map, a player obeys, help says so, Escape goes back."""
    seen = visit(browser, server.url, WRITE)
    seen.go()
    keys = seen.page.keyboard
    keys.press("?")
    seen.page.get_by_role("heading", name="How it works").wait_for()
    keys.press("Escape")
    keys.press("d")
    seen.page.get_by_role("heading", name="Dances", exact=True).wait_for()
    seen.page.get_by_role("link", name="dance-1").press("Enter")
    seen.page.locator(".lanes").wait_for()
    moment = seen.page.get_by_label("Moment of the dance")
    keys.press("Shift+ArrowRight")
    keys.press("ArrowRight")
    assert pytest.approx(1.1, abs=0.02) == float(moment.input_value())
    keys.press("m")
    seen.page.locator("canvas.map").press("ArrowRight")
    keys.press("Enter")
    seen.page.locator(".lanes").wait_for()
    keys.press("Escape")
    seen.page.get_by_role("heading", name="Dances", exact=True).wait_for()
    seen.context.close()

    assert [] == seen.complaints


@pytest.mark.parametrize(
    ("expected", "asked"),
    [
        (
            "Judged by words alone: the known dance has no skeletons.",
            "say.basis({ synchrony_reason: 'the known dance has no skeletons' })",
        ),
        (
            "Both move closely in step, compared over 7.2 s.",
            "say.inStep({ parts: { synchrony: 0.93, synchrony_seconds: 7.2 }, synchrony_reason: null })",
        ),
        (
            ["Loona (yves.mp4)", "Loona", "Loona", "Loona"],
            "['yves.mp4', 'Loona.mp4', 'yves', null].map((recording) => "
            "say.nameMatch({ dance: 'Loona', recording }))",
        ),
        (
            ["too low", "too far to the right", "too far back"],
            "['low', 'to the right', 'far back'].map(say.tooFar)",
        ),
        (["a", "b c", "d"], "say.labelsIn(' a,b c; d;a,')"),
        ("waltz, tango and no match", "say.listed(['waltz', 'tango', 'no match'])"),
        (["same tempo", "20 % faster", "30 % slower", ""], "[1.01, 1.2, 0.7, null].map(say.tempo)"),
        (
            ["20 % faster", "", "", ""],
            "[['match', 6], ['match', 5.9], ['possible match', 9], ['no match', 9]].map(([verdict, end]) => "
            "say.tempoOf({ verdict, query: { start: 0, end }, tempo: 1.2 }))",
        ),
        (["0:00.0", "1:12.4", "1:00.0", "10:05.0"], "[0, 72.4, 59.97, 605].map((t) => say.time(t))"),
        (["9.5 s", "10 min", "1:01 min"], "[9.5, 600, 61].map(say.length)"),
    ],
)
def test_numbers_are_said_as_people_say_them(looking, expected, asked):
    looking.go()

    assert expected == looking.page.evaluate(
        f"async () => {{ const say = await import('/elements/say.js'); return {asked}; }}"
    )


def test_page_and_command_line_say_the_same_of_a_match(looking):
    """Every sentence of E-values and likelihood ratios, letter by letter."""
    evalues = [None, 6.6, 0.99, 0.91, 0.55, 0.5, 0.3, *(10.0 ** (step / 7) for step in range(-70, 43))]
    ratios = [math.log10(3), *(step / 9 for step in range(-36, 73))]
    looking.go()
    said = looking.page.evaluate(
        """async ([evalues, ratios]) => {
          const say = await import("/elements/say.js");
          return [evalues.map(say.accident), ratios.map((one) => say.ratio(one)),
                  ratios.map((one) => say.ratioCell(one.log_ratio))];
        }""",
        [evalues, [{"log_ratio": one, "bounded": wording.is_bounded(one)} for one in ratios]],
    )

    assert [wording.accident_sentence(one) for one in evalues] == said[0]
    assert [wording.ratio_words(one) for one in ratios] == said[1]
    assert [wording.ratio_cell(one).removeprefix("more than ") for one in ratios] == said[2]


def test_the_alignment_goes_both_ways(looking):
    """Between two points of the path straight on, beyond its ends at its mean pace, and back again."""
    looking.go()
    found = looking.page.evaluate("""async () => {
      const { Alignment } = await import("/compare/alignment.js");
      const path = new Alignment([1, 2, 2, 4], [10, 11, 12, 16]);
      const there = [0, 1.5, 3, 4, 5].map((time) => path.toReference(time));
      return [there, there.map((time) => path.toQuery(time))];
    }""")

    assert [[8, 10.5, 14, 16, 18], [0, 1.5, 3, 4, 5]] == found


def test_names_are_never_taken_for_html(looking):
    """A dance may be called anything; its page is reached all the same."""
    looking.go("dances", ".dance")
    looking.page.get_by_role("link", name=NAUGHTY).click()
    looking.page.locator(".lanes").wait_for()

    assert NAUGHTY == looking.heading
    assert [] == looking.complaints


def test_who_likes_stillness_gets_it(browser, server):
    """With reduced motion thumbnails show one still."""
    seen = visit(browser, server.url, WRITE, reduced_motion="reduce")
    seen.go("dances", ".dance")
    thumbnail = seen.page.locator("canvas.thumbnail").first
    assert drawn(thumbnail)

    def pictures() -> set[str]:
        found = set()
        for _ in range(3):
            found.add(thumbnail.evaluate("(canvas) => canvas.toDataURL()"))
            seen.page.wait_for_timeout(300)
        return found

    wait_for(lambda: len(pictures()) == 1)  # a busy machine draws it again when its size is known
    assert 1 == len(pictures())
    seen.context.close()


def test_a_token_is_asked_for_and_kept_for_the_visit(browser, server):
    """A wrong one is refused; one for reading shows no way to change anything; a reload asks no more."""
    seen = visit(browser, server.url)
    seen.page.goto(f"{server.url}/#/dances")
    for token, message in (("not-a-token-at-all", "can give you one"), (READ, "not valid here")):
        give(seen.page, token, message)
    seen.page.locator(".dance").first.wait_for()
    assert 0 == seen.page.get_by_role("button", name="Add dances").count()
    seen.page.reload()
    seen.page.locator(".dance").first.wait_for()
    seen.go("dance/duet", ".recordings")
    seen.page.get_by_text("berta", exact=True).wait_for()
    assert 0 == seen.page.locator("button.edit, .recording-actions .quiet").count()
    seen.context.close()


def give(page, token: str, message: str) -> None:
    """Give a token when it is asked for with a certain text."""
    page.get_by_text(message).wait_for()
    page.get_by_role("textbox", name="Token").fill(token)
    page.get_by_role("button", name="Go on").click()


def test_a_browser_that_keeps_nothing_will_do(browser, server, folder):
    """Where storage is forbidden the page starts and searches all the same; a token holds for the visit."""
    seen = visit(browser, server.url)
    seen.context.add_init_script("""for (const name of ["localStorage", "sessionStorage"])
      Object.defineProperty(window, name, { get() { throw new DOMException("", "SecurityError"); } });""")
    seen.page.goto(seen.url)
    give(seen.page, WRITE, "can give you one")
    seen.page.keyboard.press("t")
    assert "dark" == seen.page.evaluate("document.documentElement.dataset.theme")
    seen.page.locator("input[type=file]").first.set_input_files(
        write_dance(folder / "again.npz", 2, dancer=5)
    )
    seen.page.locator(".stages, .match").first.wait_for()
    seen.context.close()
