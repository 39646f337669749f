"""Recordings added on the page: several as one dance, or as an index says, before a real server."""

import pytest

from dance_samples import write_dance
from page_samples import visit


@pytest.fixture
def adding(browser, studio):
    """The page with its dialog that adds dances."""
    seen = visit(browser, studio.url)
    seen.go("dances", ".dance")
    seen.page.get_by_role("button", name="Add dances").click()
    yield seen
    seen.context.close()


def known(studio, name: str) -> dict:
    """A dance as the service has it."""
    return studio.client.get(f"/dances/{name}").json()


def choose(seen, *files) -> None:
    seen.page.locator("dialog input[type=file]").set_input_files(files)
    seen.page.locator(".add-row").first.wait_for()


def test_several_files_become_one_dance(adding, studio, folder):
    """Under one name, with the performer and the labels that are typed once."""
    choose(adding, *[write_dance(folder / f"take-{seed}.npz", seed) for seed in (51, 52, 53)])
    page = adding.page
    page.get_by_role("radio", name="All are recordings of one dance").check()
    page.get_by_role("combobox", name="Name of the dance", exact=True).fill("hornpipe")
    page.get_by_role("textbox", name="Performer").fill("Anna")
    page.get_by_role("combobox", name="Labels").fill("sea, solo")
    page.get_by_role("button", name="Add 3 recordings").click()
    page.locator(".tray-row.done").nth(2).wait_for()
    page.locator(".dance", has_text="hornpipe").get_by_text("3 recordings").wait_for()
    found = known(studio, "hornpipe")

    assert ["sea", "solo"] == found["labels"]
    assert 3 * ["Anna"] == [one["performer"] for one in found["recordings"]]
    assert [] == adding.complaints


def test_an_index_says_what_the_files_are(adding, studio, folder):
    """Each file goes with what its row says; a file that is named but was not chosen is told."""
    index = folder / "index.csv"
    index.write_text(
        "file,dance,performer,labels,date\n"
        "clips/one.npz,tarantella,Berta,south;fast,2019\n"
        "clips/two.npz,tarantella,Clara,,\n"
        "clips/three.npz,branle,,,\n",
        encoding="utf-8",
    )
    files = [
        write_dance(folder / f"{name}.npz", seed) for name, seed in (("one", 61), ("two", 62), ("else", 63))
    ]
    choose(adding, *files, index)
    page = adding.page
    note = "The index says what 2 files are. The index also names three.npz, which was not chosen."
    page.get_by_text(note).wait_for()
    assert ["tarantella", "tarantella", "else"] == [
        field.input_value() for field in page.locator(".add-row input").all()
    ]
    page.get_by_role("button", name="Add 3 files").click()
    page.locator(".tray-row.done").nth(2).wait_for()
    found = known(studio, "tarantella")

    assert ["fast", "south"] == found["labels"]
    assert [("one.npz", "Berta", "2019"), ("two.npz", "Clara", None)] == sorted(
        (one["file"], one["performer"], one["date"]) for one in found["recordings"]
    )
    assert 1 == len(known(studio, "else")["recordings"])


def test_an_index_that_cannot_be_read_is_explained(adding, folder):
    """The service's sentence stands in the dialog, nothing goes until the table is out; the files stay."""
    (folder / "bad.csv").write_text("file,colour\na.npz,red\n", encoding="utf-8")
    choose(adding, folder / "known.npz", folder / "bad.csv")

    adding.page.locator("dialog").get_by_text("bad.csv: ").wait_for()
    assert "colour" in adding.page.locator("dialog [role=alert]").last.inner_text()
    assert ["known.npz"] == adding.page.locator(".add-row .faint").all_inner_texts()
    assert adding.page.get_by_role("button", name="Add the dance").is_disabled()
    adding.page.get_by_role("button", name="Leave bad.csv out").click()
    assert adding.page.get_by_role("button", name="Add the dance").is_enabled()


def test_a_name_that_is_taken_can_be_joined(adding, studio, folder):
    """The row says so, and offers to add the file as one more recording of that dance."""
    choose(adding, write_dance(folder / "fresh.npz", 71))
    page = adding.page
    page.get_by_label("Name of the dance in fresh.npz").fill("known")
    page.get_by_role("button", name="Add the dance").click()
    page.get_by_text("there is a dance of this name").wait_for()
    page.get_by_role("button", name="Add it to known").click()
    page.locator(".tray-row.done").wait_for()

    assert ["fresh.npz", "known.npz"] == sorted(one["file"] for one in known(studio, "known")["recordings"])
