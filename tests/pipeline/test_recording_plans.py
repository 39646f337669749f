"""What is said of files that are to be added, from all sources, and that the catalogue has just that then."""

import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import dance, save_small_model, small_model
from dancematch.catalogue.store import Store
from dancematch.errors import DanceExistsError
from dancematch.pipeline.analysis.file_analysis import Analysis
from dancematch.pipeline.analysis.info_files import info_path
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.ingest import Ingest
from dancematch.pipeline.recording_index import match_rows_to_files, parse_index
from dancematch.pipeline.recording_plan import DanceFrom, RecordingPlan, plan_clips, plan_of
from dancematch.types import Fingerprint


@cache
def some_words() -> Fingerprint:
    return small_model().fingerprint(dance(1))


def analyse(contents, _on_progress):
    """Every file shows the same dance: only what is said of it counts here."""
    for path in contents:
        yield Analysis(path, (dance(1),), words=(some_words(),))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("plans") / "model"
    save_small_model(folder)
    return folder


@pytest.fixture
def known(tmp_path, model):
    with Catalogue(tmp_path / "dances.db", model=model) as catalogue:
        yield catalogue


def write_files(folder: Path, *names: str) -> list[Path]:
    """Files of different content."""
    paths = [folder / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(path))
    return paths


def index_of(folder: Path, text: str):
    return match_rows_to_files(parse_index(text, "i.csv"), folder)


def test_a_folder_is_a_dance(tmp_path):
    """Its files are recordings of it, wherever the folder lies; a title beside a file says nothing then."""
    clips = write_files(tmp_path, "Waltz/a.mp4", "Waltz/b.mp4", "x/Polka/a.mp4")
    info_path(clips[0]).write_text('{"title": "Thriller"}')
    plans = plan_clips(clips, RecordingPlan(), dance_from="folder")

    assert [("Waltz", True), ("Waltz", True), ("Polka", True)] == [
        (plans[clip].dance, plans[clip].join) for clip in clips
    ]


@pytest.mark.parametrize(("dance_from", "expected"), [("title", [None, None]), ("file", ["a", "b"])])
def test_without_a_folder_each_file_is_a_dance(tmp_path, dance_from: DanceFrom, expected):
    """Named by its title, which is looked for on adding, or by itself; it joins no other."""
    plans = plan_clips(write_files(tmp_path, "a.mp4", "b.mp4"), RecordingPlan(), dance_from=dance_from)

    assert expected == [plan.dance for plan in plans.values()]
    assert [False, False] == [plan.join for plan in plans.values()]


def test_rows_of_an_index_unite_what_they_say_of_their_dance(tmp_path):
    """A dance's labels, collection and notes hold for all its files; performers and dates for one."""
    clips = write_files(tmp_path, "a.mp4", "b.mp4", "c.mp4")
    text = (
        "file,dance,labels,collection,notes,performer,date\n"
        "a.mp4,Waltz,slow,Vienna,,Anna,2020\n"
        "b.mp4,Waltz,old,,from a ball,Ben,\n"
        "c.mp4,Polka,,,,,\n"
    )
    one, two, three = plan_clips(clips, RecordingPlan(), index=index_of(tmp_path, text)).values()

    for plan in (one, two):
        assert ("Waltz", True, {"slow", "old"}, "Vienna", "from a ball") == (
            plan.dance, plan.join, set(plan.labels), plan.collection, plan.notes
        )  # fmt: skip
    assert [("Anna", "2020"), ("Ben", None)] == [(plan.performer, plan.date) for plan in (one, two)]
    assert RecordingPlan("Polka", join=True) == three


def test_what_is_said_comes_before_the_index_and_that_before_a_downloaders_information(tmp_path, known):
    """Value by value; labels are those of all three."""
    (clip,) = write_files(tmp_path, "a.mp4")
    info_path(clip).write_text(
        '{"title": "T", "uploader": "info", "webpage_url": "https://example.org/info", '
        '"upload_date": "20010101", "track": "music"}'
    )
    index = index_of(
        tmp_path, "file,dance,performer,url,labels\na.mp4,Waltz,index,https://example.org/index,two\n"
    )
    plans = plan_clips([clip], plan_of(None, {"performer": "said", "labels": ["one"]}), index=index)
    (added,) = known.add_planned(plans, analyser=analyse)
    (recording,) = known.recordings()

    assert "Waltz" == added.dance == recording.dance
    assert ("said", "https://example.org/index", "2001-01-01") == (
        recording.performer, recording.url, recording.date
    )  # fmt: skip
    assert ("music", "one", "two") == known.dance("Waltz").labels


def test_a_dance_that_is_said_comes_before_that_of_the_index(tmp_path):
    clips = write_files(tmp_path, "a.mp4", "b.mp4")
    index = index_of(tmp_path, "file,dance\na.mp4,Waltz\n")

    assert [("Polka", True)] * 2 == [
        (plan.dance, plan.join)
        for plan in plan_clips(clips, plan_of("Polka", {}), dance_from="folder", index=index).values()
    ]


def test_a_file_called_like_a_dance_that_others_join_is_none_of_it(tmp_path, known):
    """Whichever comes first: it is refused, and the others are recordings of one dance."""
    clips = write_files(tmp_path, "Waltz.mp4", "b.mp4", "c.mp4")
    plans = plan_clips(
        clips,
        RecordingPlan(),
        dance_from="file",
        index=index_of(tmp_path, "file,dance\nb.mp4,Waltz\nc.mp4,Waltz\n"),
    )
    refused, *added = known.add_planned(plans, analyser=analyse)

    assert (clips[0], DanceExistsError) == (refused.path, type(refused.error))
    assert ["Waltz", "Waltz"] == [one.dance for one in added]


def test_a_title_that_is_the_name_of_a_dance_that_others_join_gets_another(tmp_path, known):
    clips = write_files(tmp_path, "a.mp4", "b.mp4")
    info_path(clips[0]).write_text('{"title": "Waltz", "uploader": "anna"}')
    plans = plan_clips(clips, RecordingPlan(), index=index_of(tmp_path, "file,dance\nb.mp4,Waltz\n"))

    assert {"Waltz (anna)", "Waltz"} == {one.dance for one in known.add_planned(plans, analyser=analyse)}


NAMES = st.sampled_from(["Waltz", "Polka", "a", "é 踊り", "=1"])
FILES = st.lists(
    st.tuples(st.sampled_from(["x", "y", "Waltz"]), st.sampled_from("abcd"), st.none() | NAMES),
    unique_by=lambda one: one[:2], min_size=1, max_size=7,
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(FILES, st.sampled_from(["title", "file", "folder"]), st.none() | NAMES)
def test_the_catalogue_has_what_was_planned(files, dance_from, said):
    """Folders, rows of an index and a name for all, in any mixture: each file is a recording of its dance.

    Of files that may join none, the first of a name is added, and only if no other file is to join that
    dance. Adding all again adds nothing.
    """
    with tempfile.TemporaryDirectory() as place:
        clips = write_files(Path(place), *(f"{folder}/{name}.mp4" for folder, name, _ in files))
        rows = "".join(f"{folder}/{name}.mp4,{dance}\n" for folder, name, dance in files if dance)
        index = index_of(Path(place), f"file,dance\n{rows}")
        plans = plan_clips(clips, plan_of(said, {}), dance_from=dance_from, index=index)
        store = Store(Path(place) / "dances.db", small_model().model_id)
        ingest = Ingest(store, small_model(), analyse)
        first = list(ingest.add(plans))
        stored = Counter((one.dance, one.file) for one in store.recordings())
        again = list(ingest.add(plans))
        assert stored == Counter((one.dance, one.file) for one in store.recordings())
        store.close()

        assert expected_recordings(plans) == stored
        assert set(plans) == {one.path for one in first} == {one.path for one in again}
        added = {one.path for one in first if one.error is None}
        assert added == {one.path for one in again if one.skipped}


def expected_recordings(plans: dict[Path, RecordingPlan]) -> Counter:
    """Dance and file of each recording, written out."""
    joined = {plan.dance for plan in plans.values() if plan.join}
    expected, names = Counter(), set(joined)
    for path, plan in plans.items():
        name = plan.dance or path.stem
        if plan.join or name not in names:
            expected[name, path.name] += 1
        names.add(name)
    return expected
