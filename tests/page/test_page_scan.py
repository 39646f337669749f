"""The page's timeline of a long video, and what it says before a camera.

With DANCEMATCH_SCREENSHOTS=FOLDER the video shows a mannequin, and pictures of both views are left there.
"""

import json
import os
from base64 import b64encode
from pathlib import Path

import numpy as np
import pytest

from dance_samples import dance, write_dance
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pose.stills import picture_at
from dancematch.synthetic.rendering.mannequin import Appearance
from dancematch.synthetic.rendering.renderer import render
from dancematch.types import Motion
from film_samples import MEDLEY
from page_samples import NAMELESS, NARROW, POOR_CONTRAST, WIDE, until, visit
from pose_samples import write_clip
from server_samples import LONG_WORKER, PUPPETS, serving

SCREENSHOTS = os.environ.get("DANCEMATCH_SCREENSHOTS")
NAMES = {0: "polka", 1: "slow waltz", 2: "jive", 3: "tango"}


@pytest.fixture(scope="module")
def theatre(tmp_path_factory):
    """A server whose long videos show made-up dancers."""
    folder = tmp_path_factory.mktemp("theatre")
    with open_catalogue(folder / "dances.db") as known:
        for seed, name in NAMES.items():
            known.add(write_dance(folder / f"{name}.npz", seed, eight_counts=4))
    options = (f"worker={json.dumps(LONG_WORKER)}",)
    with serving(folder / "dances.db", *options, command=PUPPETS) as running:
        yield running


@pytest.fixture(scope="module")
def video(tmp_path_factory) -> Path:
    """A video of three dances, the second of which is not known; for pictures, a mannequin dances them."""
    path = tmp_path_factory.mktemp("video") / "evening.webm"
    if not SCREENSHOTS:
        return write_clip(path, range(0, 51_000, 500), codec="libvpx", rate=2)
    motions = [dance(int(seed), 4, 4) for seed in MEDLEY.split()]
    whole = Motion(np.concatenate([one.joints for one in motions]), motions[0].fps, motions[0].skeleton)
    render(whole, path.with_suffix(".mp4"), appearances=[Appearance.random(4)], size=(640, 480), fps=15.0)
    return path.with_suffix(".mp4")


def take(page, name: str, *, phone: bool = False) -> None:
    """A picture of the page as it is, where pictures are wanted; on a phone in the dark."""
    if SCREENSHOTS is None:
        return
    from test_page_journey import few_colours

    page.set_viewport_size(NARROW if phone else WIDE)
    page.emulate_media(color_scheme="dark" if phone else "light")
    # What is drawn only while it is seen has to be seen once in these colours.
    page.evaluate("() => { document.activeElement.blur(); scrollTo(0, document.body.scrollHeight / 3); }")
    page.wait_for_timeout(500)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(200)
    picture = few_colours(page.screenshot(full_page=True))
    picture.save(Path(SCREENSHOTS) / f"{name}{'-phone' if phone else ''}.png", optimize=True)


def test_a_long_video_becomes_a_timeline(browser, theatre, video):
    """Sent, followed, shown as lanes and as a list, played beside the dance, corrected, and taken along."""
    seen = visit(browser, theatre.url)
    page = seen.page
    seen.go("scan")
    page.get_by_role("heading", name="What is danced when?").wait_for()
    page.locator("input[type=file]").set_input_files(video)
    page.get_by_role("heading", name=video.name).wait_for()
    page.get_by_text("2 known dances, 1 dancer in 51").wait_for()
    rows = page.locator(".segment-row")
    texts = [one.inner_text() for one in rows.all()]
    looks = [one.get_attribute("class") for one in page.locator(".tl-segment").all()]
    widths = [one.bounding_box()["width"] for one in page.locator(".tl-segment").all()]

    assert ["tango" in texts[0], "no known dance" in texts[1], "slow waltz" in texts[2]] == [True] * 3
    assert ["kind-0", "unknown", "kind-1"] == [look.split()[1] for look in looks]
    assert max(widths) < 1.4 * min(widths)
    play(page)
    take(page, "scan")
    correct(page)
    with page.expect_download() as saving:
        page.get_by_role("button", name="Subtitles (SRT)").click()
    subtitles = Path(saving.value.path()).read_text(encoding="utf-8")
    assert ("evening.srt", 3) == (saving.value.suggested_filename, subtitles.count("-->"))
    assert "bolero" in subtitles
    check_phone(page)
    take(page, "scan", phone=True)
    assert [] == seen.complaints
    seen.context.close()


def play(page) -> None:
    """A click on a segment plays the video from there, beside the dance; the keyboard goes on to the next."""
    page.locator(".tl-segment").nth(2).click()
    page.locator(".watched .stage").nth(1).wait_for()
    until(page, "document.querySelector('.watched video').currentTime > 33")
    until(page, "document.querySelector('.watched .stage + .stage canvas').width > 0")
    names = [one.inner_text() for one in page.locator(".watched .stage-name").all()]
    assert [True, "slow waltz"] == [names[0].startswith("Dancer 1, 0:3"), names[1]]
    assert ["3"] == page.evaluate(
        "[...document.querySelectorAll('.segment-row.chosen')].map((row) => "
        "String([...row.parentNode.children].indexOf(row) + 1))"
    )
    page.locator(".tl-segment").nth(2).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.locator(".stages.single .stage-name").wait_for()  # no known dance: nothing stands beside it
    page.locator(".play-segment").first.click()
    page.get_by_role("heading", name="tango").wait_for()
    page.locator(".watched video").evaluate("(video) => video.pause()")


def correct(page) -> None:
    """Where it stands, with the keyboard; it has a colour of its own from then on."""
    row = page.locator(".segment-row").nth(1)
    row.get_by_role("button", name="no known dance").click()
    page.keyboard.type("bolero")
    page.keyboard.press("Enter")
    page.get_by_text("is now a recording of bolero").wait_for()
    row.get_by_text("as you said").wait_for()
    look = page.locator(".tl-segment").nth(1).get_attribute("class")
    assert "kind-2" in look
    page.get_by_text("3 known dances").wait_for()


def check_phone(page) -> None:
    """Nothing sticks out, all can be read and has a name, in both themes."""
    page.set_viewport_size(NARROW)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert [] == page.evaluate(POOR_CONTRAST)
    assert [] == page.evaluate(NAMELESS)
    assert NARROW["width"] == page.evaluate("document.documentElement.scrollWidth")


def test_segments_appear_while_the_video_is_read_and_a_scan_can_be_given_up(browser, theatre, tmp_path):
    """With the time left; where the tab has no pictures of it, the dancer is a figure."""
    script = tmp_path / "script.mp4"
    script.write_text(f"3 1 11 gate={tmp_path / 'never'} 2", encoding="utf-8")
    seen = visit(browser, theatre.url)
    seen.go("scan")
    seen.page.locator("input[type=file]").set_input_files(script)
    seen.page.get_by_text("left").first.wait_for()
    seen.page.locator(".tl-segment", has_text="tango").wait_for()
    job = seen.page.url.rpartition("/")[2]
    told = seen.page.locator(".phase").inner_text()
    seen.page.reload()
    seen.page.locator(".tl-segment", has_text="tango").click()
    seen.page.get_by_text("The video was not kept").wait_for()
    seen.page.get_by_role("button", name="Cancel").click()
    seen.page.get_by_role("heading", name="What is danced when?").wait_for()

    assert told.startswith("Following the dancers: ")
    assert " left" in told
    assert "cancelled" == theatre.client.get(f"/jobs/{job}").json()["state"]
    assert [] == seen.complaints
    seen.context.close()


CAMERA = """
navigator.mediaDevices.getUserMedia = async () => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 480 });
  const brush = canvas.getContext("2d"), picture = Object.assign(new Image(), { src: "PICTURE" });
  const paint = () => {
    brush.fillStyle = `hsl(${Math.random() * 360} 40% 40%)`;
    brush.fillRect(0, 0, 640, 480);
    if (picture.naturalWidth) brush.drawImage(picture, 0, 0, 640, 480);
  };
  setInterval(paint, 100);
  window.camera = canvas.captureStream(10);
  return window.camera;
};
"""


def camera(video: Path) -> str:
    """A camera that sees changing colours; for pictures, a mannequin."""
    shown = b"" if not SCREENSHOTS else picture_at(video, 5.0, longest_side=640, most_bytes=60_000)
    return CAMERA.replace("PICTURE", (shown and f"data:image/jpeg;base64,{b64encode(shown).decode()}") or "")


def test_a_dance_is_named_while_one_dances(browser, theatre, video):
    """After a countdown that fills the picture, in large letters; what was found has a timeline then."""
    seen = visit(browser, theatre.url)
    page = seen.page
    page.add_init_script(camera(video))
    seen.go("live")
    page.get_by_role("button", name="Use the camera").click()
    page.locator(".live-letters.count").wait_for()
    stage, count = (page.locator(one).bounding_box()["height"] for one in (".live-stage", ".live-letters"))
    page.locator(".live-letters.name").wait_for()
    named = page.locator(".live-letters").inner_text()
    letters = page.locator(".live-letters").evaluate("(one) => parseFloat(getComputedStyle(one).fontSize)")
    said, listed = page.locator(".live-said").inner_text(), page.locator(".live-list").inner_text()
    take(page, "live")
    take(page, "live", phone=True)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("link", name="See the timeline").click()
    page.locator(".segment-row", has_text="tango").wait_for()

    assert ("tango", True) == (named, "tango" in listed)
    assert count > 0.6 * stage
    assert letters > 120
    assert said.startswith("named ")
    assert " s after it began" in said
    assert [] == seen.complaints
    seen.context.close()


def test_a_camera_that_goes_away_ends_cleanly(browser, theatre, video):
    """The page says so; so does the job, whose result is what was found."""
    seen = visit(browser, theatre.url)
    seen.page.add_init_script(camera(video))
    seen.go("live")
    seen.page.set_viewport_size(NARROW)
    seen.page.get_by_role("button", name="Use the camera").click()
    seen.page.get_by_text("Dance!").wait_for()
    wide = seen.page.evaluate("document.documentElement.scrollWidth")
    seen.page.wait_for_timeout(1500)
    seen.page.evaluate("camera.getTracks()[0].dispatchEvent(new Event('ended'))")
    seen.page.get_by_text("The camera is gone").wait_for()
    seen.page.get_by_role("button", name="Again").wait_for()
    jobs = theatre.client.get("/jobs").json()["jobs"]

    assert ("camera", "done", NARROW["width"]) == (jobs[0]["kind"], jobs[0]["state"], wide)
    assert [] == seen.complaints
    seen.context.close()
