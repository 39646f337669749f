"""The page in a real browser, before a real server: a whole journey.

With DANCEMATCH_SCREENSHOTS=FOLDER it films larger clips and leaves there a picture of every view (of some
also on a phone, in the dark).
"""

import io
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dance_samples import write_dance
from dancematch.motion import excerpt, mirror
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.synthetic.rendering.mannequin import Appearance
from dancematch.synthetic.rendering.renderer import render
from page_samples import NARROW, PATIENCE, WIDE, Visit, drawn, until, visit
from server_samples import serving, wait_for

SCREENSHOTS = os.environ.get("DANCEMATCH_SCREENSHOTS")
SIZE, FPS = ((640, 480), 30.0) if SCREENSHOTS else ((320, 240), 15.0)
ON_A_PHONE = ("search", "results", "details", "dances")  # views that are pictured there too
HEAVIEST = 250_000  # bytes of the first view, unpacked: no framework, no pictures, no fonts


@pytest.fixture(scope="module")
def album():
    return Album(Path(SCREENSHOTS) if SCREENSHOTS else None)


class Album:
    """Pictures of the views, where they are wanted."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def take(self, page, name: str, *, whole: bool = True) -> None:
        """The page as it is, whole or what is seen at once; some views on a phone in the dark as well."""
        if self.folder is None:
            return
        ways = [(f"{name}.png", WIDE, "light"), (f"{name}-phone.png", NARROW, "dark")]
        for file, viewport, scheme in ways if name in ON_A_PHONE else ways[:1]:
            page.set_viewport_size(viewport)
            page.emulate_media(color_scheme=scheme)
            # What is drawn only while it is seen has to be seen once.
            page.evaluate(
                "async () => { for (let y = 0; y < document.body.scrollHeight; y += 300) {"
                " scrollTo(0, y); await new Promise((done) => setTimeout(done, 120)); } scrollTo(0, 0); }"
            )
            page.wait_for_timeout(400)
            few_colours(page.screenshot(full_page=whole)).save(self.folder / file, optimize=True)
        page.set_viewport_size(WIDE)
        page.emulate_media(color_scheme="light")


def few_colours(png: bytes) -> Any:
    """The same picture in a third of the bytes."""
    from PIL import Image  # comes with matplotlib

    return Image.open(io.BytesIO(png)).convert("RGB").quantize(256)


def film(path: Path, seed: int, dancer: int, seconds: tuple[float, float], mirrored: bool = False) -> Path:
    """A short clip of a mannequin."""
    danced = perform(compose_dance(seed, eight_counts=2), replace(Dancer.random(dancer), tempo=1.0))
    danced = excerpt(mirror(danced) if mirrored else danced, *seconds)
    render(danced, path, appearances=[Appearance.random(dancer)], size=SIZE, fps=FPS)
    return path


def test_a_whole_journey(browser, tmp_path, album):
    """From nothing known to a dance recognised, compared, scrubbed through and forgotten again."""
    with serving(tmp_path / "dances.db") as server:
        seen = visit(browser, server.url)
        first_view(seen, album)
        teach(seen.page, tmp_path, album)
        ask(seen.page, tmp_path, album)
        compare(seen.page, album)
        hand_on(seen)
        look_round(seen, album)
        forget(seen.page, server)
        seen.context.close()

    assert [] == seen.complaints
    assert {urlsplit(server.url).netloc} == {urlsplit(url).netloc for url in seen.loaded if "blob" not in url}


WEIGHT = """() => {
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  return all.reduce((sum, one) => sum + one.decodedBodySize, 0);
}"""


def first_view(seen: Visit, album: Album) -> None:
    """An empty catalogue says what to do first; nothing heavy is loaded for it."""
    seen.go()
    seen.page.get_by_role("heading", name="First, add some dances").wait_for()
    album.take(seen.page, "empty")
    assert 10_000 < seen.page.evaluate(WEIGHT) < HEAVIEST


def teach(page, folder: Path, album: Album) -> None:
    """Videos and motion files become dances, with progress, under names that can be chosen."""
    videos = [film(folder / "waltz.mp4", 0, 0, (0.0, 6.0)), film(folder / "tango.mp4", 3, 3, (0.0, 2.0))]
    others = [write_dance(folder / f"study-{seed}.npz", seed) for seed in (11, 12, 13, 14)]
    page.locator("input[type=file]").first.set_input_files([*videos, *others])
    page.get_by_label("Name of the dance in tango.mp4").fill("slow tango")
    page.get_by_label("Labels").fill("ballroom; studio")
    page.get_by_label("Keep a small picture").check()
    page.get_by_role("button", name="Add 6 dances").click()
    page.locator(".tray progress").first.wait_for()
    page.locator(".tray-row.analysing").first.wait_for()
    album.take(page, "adding")
    until(page, "document.querySelectorAll('.tray-row.done').length === 6")
    until(page, "document.querySelectorAll('.dance').length === 6")
    assert "slow tango" in page.inner_text(".dances")
    until(
        page,
        "[...document.querySelectorAll('.dance img.poster')].filter((one) => one.naturalWidth).length === 2",
    )
    page.get_by_role("button", name="Add dances").click()
    page.locator("dialog input[type=file]").first.set_input_files(others[0])
    page.get_by_role("button", name="Add the dance").click()
    page.get_by_text("known already").wait_for()
    page.get_by_label("Find dances").fill("TANGO")
    page.get_by_text("1 dance fits").wait_for()


def ask(page, folder: Path, album: Album) -> None:
    """Somebody else dances part of it, mirrored: it is named, with where, how changed and the verdict."""
    clip = film(folder / "phone.mp4", 0, 20, (1.0, 5.0), mirrored=True)
    page.get_by_role("link", name="Search", exact=True).click()
    page.get_by_role("heading", name="Which dance is this?").wait_for()
    album.take(page, "search")
    page.locator("input[type=file]").first.set_input_files(clip)
    page.get_by_text("Following the dancer").wait_for()
    page.locator(".answer").wait_for(timeout=PATIENCE)
    assert "This is waltz" == " ".join(page.inner_text("h1").split())
    found = page.locator(".answer")
    assert re.search(r"1 search in .+ gives this by accident", found.inner_text())
    assert "mirrored" in found.inner_text()
    page.get_by_role("heading", name="Where they differ").wait_for()
    page.get_by_role("button", name="Pause").click()  # it plays at once
    album.take(page, "results")
    give_up(page, clip, album)


def give_up(page, clip: Path, album: Album) -> None:
    """A search that is under way can be cancelled; what was found before is still there."""
    page.locator("input[type=file]").first.set_input_files(clip)
    page.get_by_text("Following the dancer").wait_for()
    album.take(page, "searching")
    if album.folder is None:
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("heading", name="Which dance is this?").wait_for()
        page.go_back()
    page.get_by_role("heading", name="This is waltz").wait_for()


def compare(page, album: Album) -> None:
    """Both players go together, whichever is scrubbed, and the pictures of why are under Details."""
    page.get_by_text("Details: words").click()
    page.get_by_role("heading", name="Where they agree").wait_for()
    clip, known = page.get_by_label("Moment of your clip"), page.get_by_label("Moment of waltz")
    clip.fill("2")
    assert pytest.approx(3.0, abs=0.4) == float(known.input_value())
    until(page, "Math.abs(document.querySelector('.film-stage video').currentTime - 2) < 0.1")
    known.fill("4")
    assert pytest.approx(3.0, abs=0.4) == float(clip.input_value())
    matrix = page.locator("canvas.matrix")
    matrix.scroll_into_view_if_needed()
    assert drawn(matrix)
    box = matrix.bounding_box()
    matrix.click(position={"x": 2, "y": 2})
    assert float(clip.input_value()) < 1
    assert box["width"] > 100
    # The skeleton over the film, the figure in space, and a turn of it.
    clip.fill("2.5")
    page.evaluate("scrollTo(0, 0)")
    until(page, "Math.abs(document.querySelector('.film-stage video').currentTime - 2.5) < 0.1")
    assert drawn(page.locator("canvas.overlay"))
    figure = page.locator("canvas.figure").last
    before = figure.evaluate("(canvas) => canvas.toDataURL()")
    figure.press("ArrowRight")
    wait_for(lambda: before != figure.evaluate("(canvas) => canvas.toDataURL()"))
    album.take(page, "details")
    if album.folder is not None:
        page.get_by_role("button", name="Overlay").click()
        page.get_by_role("button", name="Loop from this moment").click()
        album.take(page, "overlay", whole=False)
    plays(page, clip)


def plays(page, clip) -> None:
    """Space plays and pauses."""
    page.locator("h2").first.click()
    before = float(clip.input_value())
    page.keyboard.press("Space")
    page.get_by_role("button", name="Pause").wait_for()
    until(page, f"Math.abs(document.querySelector('input[type=range]').value - {before}) > 0.2")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play").wait_for()


def hand_on(seen: Visit) -> None:
    """The evidence is saved with pictures of the clip; without the clip, it opens as a page of its own."""
    link = seen.page.get_by_role("link", name="Evidence report")
    with seen.page.expect_download() as saving:
        link.click()
    saved = Path(saving.value.path()).read_text(encoding="utf-8")
    # Six pictures of the clip, and the one that is kept of the recording.
    assert ("phone.mp4 beside waltz.html", 7) == (
        saving.value.suggested_filename, saved.count("data:image/jpeg;base64,"),
    )  # fmt: skip
    seen.page.reload()
    with seen.context.expect_page() as opened:
        link.click()
    report = opened.value
    report.get_by_role("heading", name="phone.mp4 and the dance waltz").wait_for()
    assert "mirrored" in report.inner_text("main")
    assert "pre-wrap" == report.locator("pre").first.evaluate("(one) => getComputedStyle(one).whiteSpace")
    report.close()


def look_round(seen: Visit, album: Album) -> None:
    """The dance's own page, the map and, where time does not matter, the words."""
    stops = [("dances", "dances", ".dance"), ("dance/waltz", "dance", ".lanes"), ("map", "map", "canvas.map")]
    if album.folder is not None:
        stops.append(("words", "words", ".word-card canvas"))
    for route, name, wait in stops:
        seen.go(route, wait)
        assert drawn(seen.page.locator("main canvas").first)
        if route == "map":
            seen.page.locator("canvas.map").press("ArrowRight")
            seen.page.locator(".map-card .thumbnail").wait_for()
        album.take(seen.page, name, whole=name != "words")  # of which there are too many to show


def forget(page, server) -> None:
    """A dance is removed only after a second yes."""
    page.get_by_role("link", name="Dances", exact=True).click()
    page.get_by_role("checkbox", name="Select slow tango").check()
    page.get_by_role("button", name="Remove", exact=True).click()
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    page.get_by_role("button", name="Remove it").click()
    page.get_by_text("slow tango is removed.").wait_for()
    assert "slow tango" not in [one["name"] for one in server.client.get("/dances").json()["dances"]]
    until(page, "document.querySelectorAll('.dance').length === 5")
