"""A catalogue as Python's own containers are, filters by keyword, verbs in one call, progress, tables."""

import inspect
import sys
from collections import defaultdict
from dataclasses import fields

import pytest

import dancematch as dm
from dance_samples import dance, write_dance
from dancematch.errors import CatalogueError, InputError, MissingExtraError, UnknownDanceError
from dancematch.pipeline.answer import Answer
from dancematch.search.settings import DanceChoice, DanceFilter

NAMES = ["Polka", "Thriller", "Waltz"]


@pytest.fixture(scope="module")
def told():
    """What the calls of the fixtures told of their progress, by the name of the call."""
    return defaultdict(list)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, told):
    """Three dances as motion files, and a catalogue of them; the first two have a label."""
    folder = tmp_path_factory.mktemp("api")
    with dm.open_catalogue(folder / "dances.db") as known:
        for seed, name in enumerate(NAMES):
            path = write_dance(folder / f"{name}.npz", seed)
            facts = {"labels": ["studio"], "performer": "Anna"} if seed < 2 else {"collection": "balls"}
            known.add(path, dance=name, on_progress=told[f"add {name}"].append, **facts)
    return folder


@pytest.fixture(scope="module")
def known(folder):
    with dm.open_catalogue(folder / "dances.db", create=False) as catalogue:
        yield catalogue


@pytest.fixture(scope="module")
def answer(known, folder, told):
    return known.search(folder / "Thriller.npz", on_progress=told["search"].append)


@pytest.fixture(scope="module")
def segments(known, told):
    return dm.scan(known, dance(1), on_progress=told["scan"].append)


@pytest.fixture(scope="module")
def comparison(folder, told):
    clip = folder / "Thriller.npz"
    return dm.compare(clip, str(clip), on_progress=told["compare"].append)


# As a container


def test_a_catalogue_has_a_length_and_is_iterated_by_name(known):
    assert 3 == len(known)
    assert NAMES == [dance.name for dance in known]
    assert known.dances() == list(known)


def test_a_dance_is_in_a_catalogue_by_name_by_id_and_itself(known):
    thriller = known["Thriller"]

    assert "Thriller" in known
    assert thriller.dance_id in known
    assert thriller in known
    assert thriller == known[thriller.dance_id] == known.dance("Thriller")
    assert "thriller" not in known
    assert 7 not in known


def test_an_unknown_dance_is_a_key_error_with_a_sentence(known):
    with pytest.raises(KeyError) as caught:
        known["Moonwalk"]

    assert isinstance(caught.value, UnknownDanceError)
    assert isinstance(caught.value, CatalogueError)
    assert str(caught.value).startswith(f"{known.where} has no dance named 'Moonwalk';")


def test_a_catalogue_without_dances_is_still_there(tmp_path):
    """`if catalogue:` asks whether there is one, not whether it is filled."""
    with dm.open_catalogue(tmp_path / "new.db") as new:
        assert (0, [], True) == (len(new), list(new), bool(new))
        assert f"<Catalogue '{tmp_path / 'new.db'}', 0 dances>" == repr(new)


def test_records_say_what_they_are_in_one_line(known):
    (recording,) = known.recordings("Thriller")

    assert f"<Catalogue '{known.where}', 3 dances>" == repr(known)
    assert "<Dance 'Thriller', 1 recording, 8.7 s, labelled 'studio'>" == repr(known["Thriller"])
    assert repr(known["Waltz"]).endswith(", in 'balls'>")
    assert "<Recording 'Thriller.npz' of 'Thriller', 8.7 s, by 'Anna'>" == repr(recording)


def test_a_catalogue_that_cannot_be_read_is_still_shown(tmp_path):
    with dm.open_catalogue(tmp_path / "broken.db") as broken:
        (tmp_path / "broken.db").write_text("no database")

        assert f"<Catalogue '{tmp_path / 'broken.db'}', cannot be read>" == repr(broken)


# Searching


def test_a_search_takes_label_and_collection_by_name(known):
    def found(**which):
        return {match.dance for match in known.search(dance(2), **which).candidates}

    assert {"Polka", "Thriller"} == found(label="studio")
    assert {"Waltz"} == found(collection="balls")
    assert {"Thriller"} == found(among=frozenset({known["Thriller"].dance_id}))
    with pytest.raises(InputError, match="has the label 'nothing'"):
        known.search(dance(2), label="nothing")
    with pytest.raises(TypeError, match="'lable'"):
        known.search(dance(2), lable="studio")


def test_the_keywords_of_a_search_are_the_fields_of_the_filter():
    assert [field.name for field in fields(DanceFilter)] == list(DanceChoice.__annotations__)


def test_an_answer_says_its_verdict_in_one_line(answer):
    nothing = Answer(())

    assert repr(answer).startswith(
        "<Answer match, 1 dancer, <Match 'Thriller (Thriller.npz)', match, 0.0-8.7 s"
    )
    assert "<Answer no match, 0 dancers>" == repr(nothing)
    assert {1} == {len(repr(one).splitlines()) for one in (answer, answer.candidates, nothing)}


# In one call


def test_a_scan_in_one_call_lists_what_is_danced_when(known, segments):
    assert "<ScanSegment 0.0-8.7 s, dancer 1, 'Thriller', match>" == repr(segments[0])
    (unknown,) = dm.scan(known, dance(1), collection="balls")
    assert repr(unknown).endswith("s, dancer 1, no known dance>")


def test_an_explanation_in_one_call_is_of_the_best_match_or_of_a_dance(known, answer):
    assert known.explain(answer.query, answer.matches[0])[0] == dm.explain(known, dance(1))
    other = dm.explain(known, dance(1), dance="Waltz")
    assert other.metrics["histogram"].overall < 0.9
    assert repr(other).startswith(f"<Explanation histogram {other.metrics['histogram'].overall:.2f}, ")


def test_an_explanation_needs_a_dance(tmp_path):
    with dm.open_catalogue(tmp_path / "empty.db") as empty, pytest.raises(InputError, match="add dances"):
        dm.explain(empty, dance(1))


def test_two_files_are_compared_in_one_call(known, comparison):
    by_name = dm.compare(dance(1), "Thriller", catalogue=known)

    assert "<Comparison match, 0.0-8.7 s beside 0.0-8.7 s, x1.00>" == repr(comparison) == repr(by_name)
    with pytest.raises(InputError, match="name its catalogue too"):
        dm.compare(dance(1), "Polka")


def test_a_report_is_written_once(folder, known, tmp_path):
    target = tmp_path / "evidence.html"
    found = dm.write_report(known, folder / "Thriller.npz", target)

    assert ("Thriller", "match") == (found.match.dance, found.match.verdict)
    assert f"<Evidence 'Thriller.npz', {found.match!r}>" == repr(found)
    assert "Thriller" in target.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="exists already"):
        dm.write_report(known, "gone.npz", target)
    with pytest.raises(InputError, match=r"ends in .html"):
        dm.write_report(known, "gone.npz", tmp_path / "evidence.pdf")
    with pytest.raises(UnknownDanceError):
        dm.write_report(known, "gone.npz", tmp_path / "other.html", dance="Moonwalk")


@pytest.mark.usefixtures("answer", "segments", "comparison")
def test_progress_is_told_as_rising_shares_up_to_1(known, told, folder):
    dm.dedup(known, on_progress=told["dedup"].append)
    report = told["compare with a dance"].append
    dm.compare(folder / "Thriller.npz", "Waltz", catalogue=known, on_progress=report)
    compared = {"compare", "compare with a dance"}

    assert {"add Polka", "add Thriller", "add Waltz", "search", "scan", "dedup"} | compared == set(told)
    assert [] == [name for name, shares in told.items() if shares != sorted(shares) or shares[-1] != 1.0]


def test_long_calls_name_their_progress_alike():
    methods = ("add", "add_many", "add_planned", "search", "search_progressively", "scan", "read_query")
    functions = (dm.compare, dm.dedup, dm.explain, dm.extract_motions, dm.scan, dm.write_report)
    calls = (*functions, *(getattr(dm.Catalogue, name) for name in methods))

    assert [] == [one.__qualname__ for one in calls if "on_progress" not in inspect.signature(one).parameters]


# Tables


def test_records_become_a_data_frame(known, answer, segments):
    matches = dm.to_pandas(answer.matches)

    assert ["Thriller"] == matches["dance"].tolist()
    assert set(answer.to_pandas().columns) - {"span.start", "span.end"} == set(matches.columns)
    assert [["Thriller", "match", 0.0]] == dm.to_pandas(segments)[
        ["dance", "verdict", "span.start"]
    ].values.tolist()
    assert known.to_pandas().equals(dm.to_pandas(known))
    assert known.to_pandas(recordings=True).equals(dm.to_pandas(known.recordings()))
    assert (0, 0) == dm.to_pandas([]).shape


def test_a_comparison_becomes_a_data_frame_of_its_frames(comparison):
    table = comparison.to_pandas()

    assert comparison.query.tolist() == table["query"].tolist()
    assert comparison.degrees[:, 4].tolist() == table["degrees.left upper arm"].tolist()


def test_a_table_is_of_one_kind_of_record(known):
    with pytest.raises(InputError, match=r"records of one kind .*, got Dance, Recording"):
        dm.to_pandas([known["Waltz"], known.recordings("Waltz")[0]])
    with pytest.raises(InputError, match="got int"):
        dm.to_pandas([1, 2])


def test_a_missing_extra_names_the_command_that_installs_it(known, comparison, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for make in (lambda: dm.to_pandas(known), comparison.to_pandas):
        with pytest.raises(
            MissingExtraError, match=r"^tables .* need pandas: pip install 'dancematch\[tables\]'$"
        ):
            make()
