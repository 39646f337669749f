"""Possible matches decided on by people, on the page before a real server."""

from pathlib import Path

from dance_samples import write_dance
from page_samples import REVIEWED, visit


def test_possible_matches_are_decided_on(browser, studio):
    """A name is asked for once; what was decided stands below, goes out as a table, can be reopened."""
    seen = visit(browser, studio.url)
    page = seen.page
    seen.go()
    page.get_by_role("link", name="Review, 3 waiting").click()
    page.get_by_role("heading", name="3 possible matches to decide on").wait_for()
    row = page.locator(".review", has_text="phone.mp4")
    assert "phone.mp4 may be Loona (yves.npz)" == row.locator("h3").inner_text()
    assert "The evidence is about 30 times more likely if the clip shows this dance" in row.inner_text()
    row.locator(".review-picture canvas").wait_for()
    assert "0:03.0 – 0:08.5 of the recording" == row.get_by_role("link").last.inner_text()
    row.get_by_role("button", name="Confirm").click()
    page.get_by_text("Say who decides first").wait_for()
    page.get_by_role("textbox", name="Your name").fill("Anna")
    for clip, button in zip(REVIEWED, ("Confirm", "Same dance, changed", "Reject"), strict=True):
        page.get_by_role("textbox", name=f"Note on {clip} and Loona").fill(f"on {clip}")
        page.get_by_role("group", name=f"Decide on {clip} and Loona").get_by_role(
            "button", name=button
        ).click()
        page.locator(".review.decided", has_text=clip).wait_for()
    page.get_by_role("heading", name="Nothing to decide on").wait_for()
    decided = {
        one["query_file"]: one for one in studio.client.get("/reviews?state=decided").json()["reviews"]
    }
    assert ["confirmed", "changed", "rejected"] == [decided[clip]["decision"] for clip in REVIEWED]
    assert ("Anna", "on stage.mp4") == tuple(decided["stage.mp4"][name] for name in ("decided_by", "note"))
    with page.expect_download() as saving:
        page.get_by_role("button", name="Download as CSV").click()
    assert "on stage.mp4" in Path(saving.value.path()).read_text(encoding="utf-8")
    page.get_by_role("button", name="Open again: studio.mp4 and Loona").click()
    page.get_by_role("link", name="Review, 1 waiting").wait_for()
    page.reload()
    page.get_by_role("heading", name="1 possible match to decide on").wait_for()

    assert "Anna" == page.get_by_role("textbox", name="Your name").input_value()
    assert [] == seen.complaints
    seen.context.close()


def test_searches_keep_possible_matches_if_that_is_switched_on(browser, studio, folder):
    """Off at first; the choice is remembered in the browser and goes with each search."""
    seen = visit(browser, studio.url)
    clip = write_dance(folder / "clip.npz", 40, dancer=9)
    asked = []
    for wanted in (False, True):
        seen.go()
        switch = seen.page.get_by_role("checkbox", name="Keep possible matches for review")
        switch.set_checked(wanted)
        with seen.page.expect_request("**/search?*") as sent:
            seen.page.locator("input[type=file]").first.set_input_files(clip)
        asked.append("review=true" in sent.value.url)
        seen.page.locator(".stages, .match").first.wait_for()
    seen.go()

    assert [False, True] == asked
    assert seen.page.get_by_role("checkbox", name="Keep possible matches for review").is_checked()
    seen.context.close()


def test_who_decides_second_is_told(browser, studio):
    """What another decided meanwhile stays; the list is shown as it is now."""
    seen = visit(browser, studio.url)
    page = seen.page
    (waiting,) = studio.client.get("/reviews?state=waiting").json()["reviews"][:1]
    seen.go("reviews", ".review")
    page.get_by_role("textbox", name="Your name").fill("Anna")
    other = {"decision": "rejected", "decided_by": "Berta"}
    assert 200 == studio.client.patch(f"/reviews/{waiting['review_id']}", json=other).status_code
    group = page.get_by_role("group", name=f"Decide on {waiting['query_file']} and")
    group.get_by_role("button", name="Confirm").click()
    page.locator(".notice.bad").wait_for()
    page.locator(".review.decided", has_text=waiting["query_file"]).get_by_text("by Berta").wait_for()

    assert 0 == group.count()
    seen.context.close()
