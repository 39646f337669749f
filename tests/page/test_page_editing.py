"""Dances changed on the page, one where it stands and several at once, before a real server."""

import pytest

from page_samples import NARROW, visit


@pytest.fixture
def editing(browser, studio):
    """A page to edit with."""
    seen = visit(browser, studio.url)
    yield seen
    seen.context.close()


def known(studio, name: str) -> dict:
    """A dance as the service has it."""
    return studio.client.get(f"/dances/{name}").json()


def rename(page, name: str, key: str = "Enter") -> None:
    """Type another name into the heading."""
    page.locator("h1 button").click()
    page.get_by_role("textbox", name="name", exact=True).fill(name)
    page.keyboard.press(key)


def shows(page, name: str) -> None:
    """Wait for a name to stand in the heading, no longer in a field."""
    page.locator("h1").get_by_role("button", name=name, exact=True).wait_for()


def test_a_name_is_changed_where_it_stands(editing, studio):
    """Escape leaves it as it was, Enter saves it, the notice takes it back."""
    editing.go("dance/march")
    rename(editing.page, "waltz", "Escape")
    shows(editing.page, "march")
    assert "march" == known(studio, "march")["name"]
    rename(editing.page, "slow march")
    shows(editing.page, "slow march")
    assert 1 == editing.page.locator("h1 button:focus").count()  # the keyboard stays where it was
    assert "slow march" == known(studio, "slow march")["name"]
    notice = editing.page.locator(".notice.offer")
    assert "march is now called slow march." == notice.locator("span").first.inner_text()
    notice.get_by_role("button", name="Undo").click()
    shows(editing.page, "march")

    assert "march" == known(studio, "march")["name"]
    assert [] == editing.complaints


def test_a_change_that_came_first_is_not_overwritten(editing, studio):
    """Who is second is told so, sees the first change after a reload, and can then make theirs."""
    editing.go("dance/polka")
    assert 200 == studio.client.patch("/dances/polka", json={"notes": "by another hand"}).status_code
    rename(editing.page, "fast polka")
    trouble = editing.page.locator("h1").get_by_role("alert")
    trouble.get_by_text(
        "polka was changed by somebody else meanwhile; reload to see how it is now."
    ).wait_for()
    assert "polka" == known(studio, "polka")["name"]
    trouble.get_by_role("button", name="Reload").click()
    editing.page.get_by_text("by another hand").wait_for()
    rename(editing.page, "fast polka")
    shows(editing.page, "fast polka")

    assert "by another hand" == known(studio, "fast polka")["notes"]


def test_a_name_that_is_taken_offers_to_merge(editing, studio):
    """The two become one dance with both recordings, and that is shown."""
    editing.go("dance/reel")
    rename(editing.page, "jig")
    editing.page.locator("h1").get_by_text("There is a dance called jig already.").wait_for()
    editing.page.get_by_role("button", name="Merge with jig").click()
    shows(editing.page, "jig")
    editing.page.get_by_role("heading", name="2 recordings").wait_for()

    assert ["jig.npz", "reel.npz"] == sorted(one["file"] for one in known(studio, "jig")["recordings"])


def test_labels_and_facts_are_changed_where_they_stand(editing, studio):
    """Labels are added several at once and removed one by one; a recording has performer, date, link."""
    editing.go("dance/galop")
    page = editing.page
    page.get_by_role("button", name="add a label").click()
    page.get_by_role("combobox", name="labels").fill("court, fast; old")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Remove the label court").wait_for()
    page.get_by_role("button", name="Remove the label old").click()
    page.get_by_role("button", name="Remove the label old").wait_for(state="detached")
    for field, value in (("performer", "Anna"), ("date", "2020-12"), ("link", "https://example.org/a")):
        page.get_by_role("button", name=f"add {field}").click()
        page.get_by_role("textbox", name=field).fill(value)
        page.keyboard.press("Enter")
        shown = value.removeprefix("https://")
        page.locator(".recording-fields").get_by_role("button", name=shown, exact=True).wait_for()
    found = known(studio, "galop")

    assert ["court", "fast"] == found["labels"]
    assert {"performer": "Anna", "date": "2020-12", "url": "https://example.org/a"} == {
        name: found["recordings"][0][name] for name in ("performer", "date", "url")
    }
    assert "https://example.org/a" == page.get_by_role("link", name="open").get_attribute("href")


def test_what_cannot_be_kept_is_said_beside_the_field(editing):
    """The service's sentence stands there, and what was typed is still in the field."""
    editing.go("dance/galop")
    editing.page.locator(".recording-fields div", has_text="date").get_by_role("button").first.click()
    editing.page.get_by_role("textbox", name="date").fill("last summer")
    editing.page.keyboard.press("Enter")
    editing.page.get_by_role("alert").get_by_text("A date is a year, a month or a day").wait_for()

    assert "last summer" == editing.page.get_by_role("textbox", name="date").input_value()


def test_recordings_move_part_and_go(editing, studio):
    """One to another dance, one to be a dance of its own, and the rest is asked about before it goes."""
    page = editing.page
    editing.go("dance/round", ".recordings")
    page.get_by_role("button", name="Show berta.npz").click()
    page.locator(".recording.chosen", has_text="berta.npz").wait_for()
    page.get_by_role("button", name="Move: anna.npz", exact=True).click()
    page.get_by_role("combobox", name="The other dance").fill("minuet")
    page.get_by_role("button", name="Move it").click()
    page.get_by_role("heading", name="2 recordings").wait_for()
    page.get_by_role("button", name="Own dance: clara.npz").click()
    page.get_by_role("textbox", name="Name of the new dance").fill("solo")
    page.get_by_role("button", name="Make it a dance").click()
    page.get_by_role("heading", name="1 recording").wait_for()
    assert ["minuet", "solo"] == [
        one["dance"]
        for name in ("minuet", "solo")
        for one in known(studio, name)["recordings"]
        if one["file"] in ("anna.npz", "clara.npz")
    ]
    page.get_by_role("button", name="Remove: berta.npz").click()
    page.get_by_text("round goes with it").wait_for()
    page.get_by_role("button", name="Remove it").click()
    page.get_by_role("heading", name="Dances", exact=True).wait_for()

    assert 404 == studio.client.get("/dances/round").status_code
    assert [] == editing.complaints


def test_several_are_changed_at_once(editing, studio):
    """Selected with the keyboard alone, in one request; merged under the name that is chosen; taken back."""
    page = editing.page
    asked = []
    page.on("request", lambda one: asked.append(one.url) if one.method in ("POST", "PATCH") else None)
    editing.go("dances", ".dance")
    for name in ("gavotte", "bourree"):
        box = page.get_by_role("checkbox", name=f"Select {name}")
        box.focus()
        page.keyboard.press("Space")
    page.get_by_text("2 dances selected").wait_for()
    page.get_by_role("button", name="Add a label").press("Enter")
    page.get_by_role("combobox", name="Label, or several").fill("court, slow")
    page.keyboard.press("Enter")
    page.locator(".dance", has_text="gavotte").get_by_text("slow").wait_for()
    assert [f"{studio.url}/edits"] == asked
    page.get_by_role("button", name="Remove a label").click()
    page.get_by_role("radio", name="court").check()
    page.get_by_role("button", name="Remove it").click()
    page.get_by_text("label court removed").wait_for()
    page.get_by_role("button", name="Set the collection").click()
    page.get_by_role("combobox", name="Collection; none").fill("archive")
    page.get_by_role("button", name="Set it").click()
    page.locator(".dance", has_text="bourree").get_by_text("archive").wait_for()
    page.get_by_label("Find dances").fill("gavotte")
    page.get_by_text("1 dance fits").wait_for()  # the other one stays selected, though it is not shown
    for collection in ("museum", "archive"):
        page.get_by_role("button", name="Set the collection").click()
        page.get_by_role("combobox", name="Collection; none").fill(collection)
        page.get_by_role("button", name="Set it").click()
        page.locator(".dance", has_text="gavotte").get_by_text(collection).wait_for()
    page.get_by_label("Find dances").fill("")
    page.locator(".dance", has_text="bourree").wait_for()
    assert [["old", "slow"], "archive"] == [
        known(studio, "bourree")[name] for name in ("labels", "collection")
    ]
    page.get_by_role("button", name="Merge", exact=True).click()
    page.get_by_role("radio", name="bourree").check()
    page.get_by_role("button", name="Merge them").click()
    page.get_by_text("1 dance selected").wait_for()
    assert 2 == len(known(studio, "bourree")["recordings"])
    page.get_by_role("button", name="Undo").click()
    page.locator(".dance", has_text="gavotte").wait_for()

    assert 1 == len(known(studio, "bourree")["recordings"])
    assert [] == editing.complaints


def test_while_something_is_edited_nothing_sticks_out(editing):
    """On a phone: an open field with its trouble, the bar of what is selected, a notice with its button."""
    editing.page.set_viewport_size(NARROW)
    editing.go("dance/minuet")
    rename(editing.page, "jig")
    editing.page.get_by_role("button", name="Merge with jig").wait_for()
    assert NARROW["width"] == editing.page.evaluate("document.documentElement.scrollWidth")
    editing.go("dances", ".dance")
    editing.page.get_by_role("checkbox").first.check()
    editing.page.get_by_text("1 dance selected").wait_for()
    assert NARROW["width"] == editing.page.evaluate("document.documentElement.scrollWidth")


def test_a_long_label_stays_within_the_window(editing, studio):
    """On a phone: the cards, the choice of labels, the bar of what is selected, the dance, the question."""
    editing.page.set_viewport_size({"width": 390, "height": 800})
    label = 200 * "x"
    assert 200 == studio.client.patch("/dances/known", json={"add_labels": [label]}).status_code

    def sticks_out() -> list[str]:
        return editing.page.evaluate(
            """() => [...document.querySelectorAll("main *, #notices *, dialog[open] *")]
                .filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > 390)
                .map((one) => `${one.tagName} ${one.className}`)"""
        )

    editing.go("dances", ".dance")
    editing.page.get_by_role("combobox", name="Only with the label").wait_for()
    editing.page.get_by_role("checkbox", name="Select known").check()
    assert [] == sticks_out()
    editing.page.get_by_role("button", name="Remove a label").click()
    editing.page.get_by_role("radio", name=label).wait_for()
    assert [] == sticks_out()
    editing.page.keyboard.press("Escape")
    editing.go("dance/known")
    editing.page.get_by_role("button", name=f"Remove the label {label}").click()
    editing.page.locator(".notice.offer").wait_for()
    assert [] == sticks_out()
    assert 390 == editing.page.evaluate("document.documentElement.scrollWidth")


def test_undo_takes_back_the_edit_that_its_notice_names(editing, studio):
    """Not another that came since, which is told; and what is told goes with the view."""
    page = editing.page
    editing.go("dance/gavotte")
    rename(page, "waltz")
    shows(page, "waltz")
    assert 200 == studio.client.patch("/dances/waltz", json={"notes": "later"}).status_code
    page.get_by_role("button", name="Undo").click()
    page.locator(".notice.bad").get_by_text("There has been another edit since").wait_for()
    assert ("waltz", "later") == tuple(known(studio, "waltz")[name] for name in ("name", "notes"))
    page.get_by_role("link", name="Dances", exact=True).click()
    page.locator(".dance").first.wait_for()

    assert 0 == page.locator(".notice").count()


def test_a_segment_is_excluded_and_matches_again(editing, studio):
    """From the moment that is shown; a segment that ends before it begins stays in the question, with why."""
    page = editing.page
    editing.go("dance/march")
    page.get_by_role("button", name="Exclude a segment: march.npz").click()
    assert "0:00.0" == page.get_by_role("textbox", name="From").input_value()
    page.get_by_role("textbox", name="From").fill("0:02.5")
    page.get_by_label("To", exact=True).fill("1")
    page.get_by_label("Reason").fill("applause")
    page.get_by_role("button", name="Exclude it").click()
    page.locator("dialog .drop-refusal:not(:empty)").wait_for()
    page.get_by_label("To", exact=True).fill("4")
    page.get_by_role("button", name="Exclude it").click()
    page.get_by_text("Never matches: 0:02.5 – 0:04.0 (applause)").wait_for()
    (recording,) = known(studio, "march")["recordings"]
    assert [(2.5, 4.0, "applause")] == [
        (one["start"], one["end"], one["reason"]) for one in recording["exclusions"]
    ]
    page.get_by_role("button", name="Let all match: march.npz").click()
    page.get_by_text("Never matches").wait_for(state="detached")
    assert [] == known(studio, "march")["recordings"][0]["exclusions"]
    page.get_by_role("button", name="Undo").click()

    page.get_by_text("Never matches: 0:02.5 – 0:04.0 (applause)").wait_for()


def test_a_field_that_is_left_shows_what_it_was(editing, studio):
    """A click elsewhere leaves the name as it was; an unknown dance to move to stays typed, with why."""
    page = editing.page
    editing.go("dance/march")
    page.locator("h1 button").click()
    page.get_by_role("textbox", name="name", exact=True).fill("typed")
    page.get_by_role("heading", name="1 recording").click()
    shows(page, "march")
    page.get_by_role("button", name="Move: march.npz", exact=True).click()
    page.get_by_role("combobox", name="The other dance").fill("nowhere")
    page.get_by_role("button", name="Move it").click()
    page.locator("dialog [role=alert]:not(:empty)").wait_for()

    assert "nowhere" == page.get_by_role("combobox", name="The other dance").input_value()
    assert "march" == known(studio, "march")["name"]
