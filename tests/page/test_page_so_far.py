"""The likeliest dance appears on the page while the clip is still being read."""

import json

import pytest

from dance_samples import write_dance
from dancematch.pipeline.catalogue import open_catalogue
from film_samples import open_gate
from page_samples import NARROW, visit
from server_samples import GATED_WORKER, PUPPETS, serving

NAME = "a dance whose name is longer than a phone is wide"


@pytest.fixture(scope="module")
def cinema(tmp_path_factory):
    """A server whose films are read on as the test says; they are of the dance with the number 3."""
    folder = tmp_path_factory.mktemp("cinema")
    with open_catalogue(folder / "dances.db") as known:
        for seed in range(4):
            known.add(write_dance(folder / f"dance-{seed}.npz", seed), dance=NAME if seed == 3 else None)
    options = (f"worker={json.dumps(GATED_WORKER)}",)
    with serving(folder / "dances.db", *options, command=PUPPETS) as running:
        yield running


@pytest.fixture
def gates(tmp_path):
    """The folder of the gates of one film."""
    folder = tmp_path / "gates"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("events", ["stream", "refused"])
def test_the_likeliest_dance_appears_before_the_answer(browser, cinema, gates, tmp_path, events):
    """With the verdict and how much was read, and gives way to the answer; without events it is asked for.

    Nothing is claimed before, nothing jumps, nothing sticks out on a phone.
    """
    clip = tmp_path / "film.mp4"
    clip.write_text(str(gates), encoding="utf-8")
    seen = visit(browser, cinema.url)
    seen.page.set_viewport_size(NARROW)
    if events == "refused":
        busy = {"error": "busy", "message": "64 streams of events are under way already"}
        seen.page.route("**/jobs/*/events", lambda route: route.fulfill(status=429, json=busy))
    seen.go()
    seen.page.locator("input[type=file]").first.set_input_files(clip)
    seen.page.get_by_text("Following the dancer").wait_for()
    card, place = seen.page.locator(".progress-card"), seen.page.locator(".so-far")
    nothing, height = place.inner_text().strip(), card.bounding_box()["height"]
    for number, seconds in ((1, 4), (2, 6)):
        open_gate(gates, number)
        place.get_by_text(f"after {seconds} s of the clip").wait_for()
        (job,) = cinema.client.get("/jobs", params={"state": "running"}).json()["jobs"]
        (dancer,) = cinema.client.get(f"/jobs/{job['job_id']}").json()["partial"]["dancers"]
        assert ["So far:", dancer["verdict"].capitalize(), NAME] == [
            line.strip() for line in place.locator(".so-far-dance").inner_text().splitlines() if line.strip()
        ]
        assert height == card.bounding_box()["height"]
    wide = seen.page.evaluate("document.documentElement.scrollWidth")
    open_gate(gates, 3)
    seen.page.locator(".stages, .match").first.wait_for()

    assert ("", True) == (nothing, wide <= NARROW["width"])
    assert 0 == seen.page.locator(".so-far").count()
    assert "film.mp4" in seen.page.inner_text("main")
    assert [] == [one for one in seen.complaints if "429" not in one]
    seen.context.close()


SHOWN = """async (partials) => {
  const { soFarPlace, showSoFar } = await import("/elements/so_far.js");
  const place = soFarPlace();
  let spoken = 0;
  const shown = [];
  const listener = new MutationObserver((changes) => { spoken += changes.length; });
  listener.observe(place.children[0], { childList: true });
  for (const partial of partials) {
    showSoFar(place, partial);
    shown.push(place.textContent);
    await new Promise((go) => setTimeout(go));
  }
  return [shown, spoken, place.querySelectorAll("img").length];
}"""


def answer(seconds: float, *best: tuple[str, str, float]) -> dict:
    """The answer on so many seconds: dance, verdict and E-value of each dancer's likeliest."""
    dancers = [
        {"candidates": [{"dance": dance, "dance_id": dance, "verdict": verdict, "evalue": evalue}]}
        for dance, verdict, evalue in best
    ]
    return {"read_seconds": seconds, "dancers": dancers}


def test_only_what_is_likely_is_said_and_aloud_only_when_it_changes(browser, cinema):
    """Of two dancers the likelier; no match is nothing to say; a name is text and never HTML."""
    seen = visit(browser, cinema.url)
    seen.go()
    shown, spoken, images = seen.page.evaluate(
        SHOWN,
        [
            None,
            answer(4.0, ("polka", "no match", 3.0)),
            answer(6.03, ("polka", "no match", 3.0), ("<img>", "possible match", 0.2)),
            answer(8.1, ("polka", "possible match", 0.1), ("<img>", "match", 0.0001)),
            answer(75.0, ("polka", "possible match", 0.1), ("<img>", "match", 0.0001)),
            {"read_seconds": 80.0, "dancers": [{"candidates": []}]},
        ],
    )

    assert [
        "", "",
        "So far: Possible match<img>So far, after 6 s of the clip",
        "So far: Match<img>So far, after 8 s of the clip",
        "So far: Match<img>So far, after 1:15 min of the clip",
        "",
    ] == shown  # fmt: skip
    assert (3, 0) == (spoken, images)
    seen.context.close()
