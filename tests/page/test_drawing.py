"""The page's drawing modules by themselves: what the camera did not see is drawn faded."""

from importlib.resources import files
from pathlib import Path

import pytest

from dancematch.report.poses import FADED_LEGEND
from dancematch.skeletons import BODY15

STATIC = Path(str(files("dancematch.server"))) / "static"
SITE = "http://page.test/"
SIZE = {"width": 300, "height": 300}
# A dancer who faces us with both arms held out: x, y, z in millimetres.
POSE = {
    "pelvis": (0, 900), "neck": (0, 1400), "head": (0, 1600),
    "left_shoulder": (170, 1400), "left_elbow": (450, 1400), "left_wrist": (700, 1400),
    "right_shoulder": (-170, 1400), "right_elbow": (-450, 1400), "right_wrist": (-700, 1400),
    "left_hip": (110, 900), "left_knee": (110, 480), "left_ankle": (110, 60),
    "right_hip": (-110, 900), "right_knee": (-110, 480), "right_ankle": (-110, 60),
}  # fmt: skip
DRAW = """async ([module, size, skeleton, dancer]) => {
    const { Track, drawTrack } = await import(module);
    const style = document.documentElement.style;
    const colours = { left: "#ff0000", right: "#0000ff", torso: "#00ff00", face: "#00ff00", shadow: "#0000" };
    for (const [name, colour] of Object.entries(colours)) style.setProperty(`--${name}`, colour);
    const brush = Object.assign(document.createElement("canvas"), size).getContext("2d");
    const track = new Track(dancer, skeleton, 0.001);
    drawTrack(brush, track, 0, { ...size, camera: { turn: 0, tilt: 0 } });
    const { data } = brush.getImageData(0, 0, size.width, size.height);
    const opaque = [0, 0, 0];  // pixels that are clearly red, green, blue
    let pale = 0;
    for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] >= 250) opaque[[0, 1, 2].reduce((a, b) => (data[i + b] > data[i + a] ? b : a))] += 1;
        else if (data[i + 3] > 20) pale += 1;
    }
    return { opaque, pale, guesses: track.guesses };
}"""
OVERLAY = """async ([module, size, skeleton, frame, unseen]) => {
    const { drawOverVideo } = await import(module);
    const brush = Object.assign(document.createElement("canvas"), size).getContext("2d");
    const box = { x: 0, y: 0, ...size };
    drawOverVideo(brush, { frame, unseen }, skeleton, box);
    const { data } = brush.getImageData(0, 0, size.width, size.height);
    return data.filter((value, i) => i % 4 === 3 && value >= 250).length;
}"""


@pytest.fixture(scope="module")
def page(browser):
    """An empty page that the modules can be imported into."""
    opened = browser.new_page()

    def answer(route) -> None:
        name = route.request.url.removeprefix(SITE)
        kind = "text/javascript" if name else "text/html"
        route.fulfill(
            body=(STATIC / name).read_text(encoding="utf-8") if name else "<main></main>", content_type=kind
        )

    opened.route(f"{SITE}**", answer)
    opened.goto(SITE)
    yield opened
    opened.close()


def skeleton() -> dict:
    return {"name": BODY15.name, "joints": BODY15.joints, "parents": BODY15.parents}


def drawn(page, *unseen: str) -> dict:
    """What a dancer looks like of whom these joints were not seen."""
    frame = [value for joint in BODY15.joints for value in (*POSE[joint], 0)]
    numbers = [BODY15.index(joint) for joint in unseen]
    dancer = {"fps": 30.0, "start": 0.0, "frames": [frame] * 2, "unseen": [numbers] * 2}
    return page.evaluate(DRAW, [f"{SITE}drawing/skeleton.js", SIZE, skeleton(), dancer])


def test_a_limb_whose_end_was_not_seen_is_pale(page):
    """The left forearm is, the rest of the dancer is as if all were seen."""
    whole, without_hand = drawn(page), drawn(page, "left_wrist")
    red, green, blue = whole["opaque"]

    assert not whole["guesses"]
    assert without_hand["guesses"]
    assert 0.3 * red < without_hand["opaque"][0] < 0.95 * red
    assert [green, blue] == without_hand["opaque"][1:]
    assert without_hand["pale"] > whole["pale"] + 0.05 * red


def test_of_a_dancer_who_was_not_seen_nothing_is_opaque(page):
    """Neither limbs nor torso, head and face."""
    assert [0, 0, 0] == drawn(page, *BODY15.joints)["opaque"]


def test_a_limb_that_was_not_seen_is_pale_over_the_video(page):
    frame = [
        value for joint in BODY15.joints for value in (500 + POSE[joint][0] // 2, 1000 - POSE[joint][1] // 2)
    ]
    module = f"{SITE}drawing/overlay.js"
    opaque = [
        page.evaluate(OVERLAY, [module, SIZE, skeleton(), frame, numbers])
        for numbers in ([], [BODY15.index("left_wrist")], list(range(15)))
    ]

    assert opaque[0] > opaque[1] > opaque[2]
    assert 0 == opaque[2]


def test_the_page_and_the_reports_have_one_legend(page):
    legend = page.evaluate(f"async () => (await import('{SITE}drawing/faded.js')).FADED_LEGEND")

    assert FADED_LEGEND == legend
