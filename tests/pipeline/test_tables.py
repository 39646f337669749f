"""Dances and answers as tables for other programs."""

import csv
import io
import sys
from dataclasses import asdict, fields

import pytest

from cli_samples import run_main
from dance_samples import dance, digest, recorded
from dancematch.catalogue.records import Dance, Recording
from dancematch.errors import MissingExtraError
from dancematch.pipeline.answer import Answer
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pipeline.tables import dances_to_csv, recordings_to_csv
from dancematch.types import Match

QUOTED = 'a, "b" & c'


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    """Three dances, one of a name that needs quoting; two have a label."""
    where = tmp_path_factory.mktemp("tables") / "dances.db"
    with open_catalogue(where) as known:
        for seed, (name, label) in enumerate([(QUOTED, "studio"), ("naïve Ω", "studio"), ("plain", None)], 1):
            known.learn(recorded(name, f"{seed}.npz", digest(name), 1.0, label=label), [dance(seed)])
    return where


@pytest.fixture
def known(db):
    with open_catalogue(db, create=False) as catalogue:
        yield catalogue


@pytest.fixture
def answer(known):
    """Of a clip of two dancers."""
    return known.search([dance(1), dance(3)])


def cell_of(value: object) -> str:
    return "" if value is None else "; ".join(value) if isinstance(value, list) else str(value)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_csv_file_has_the_columns_and_values_of_json(db, tmp_path):
    answer = run_main("list", db, "--csv", tmp_path / "dances.csv")
    told = run_main("list", db, "--json").objects
    rows = rows_of((tmp_path / "dances.csv").read_bytes().decode().removeprefix("\ufeff"))

    assert (0, "", f"{tmp_path / 'dances.csv'}: 3 dance(s)\n") == (answer.code, answer.out, answer.err)
    assert {*(field.name for field in fields(Dance)), "etag"} == set(rows[0])
    with open_catalogue(db, create=False) as known:
        etags = known.etags()
    expected = [{**one, "etag": etags[one["dance_id"]]} for one in told]
    assert [{k: cell_of(v) for k, v in one.items()} for one in expected] == rows


def test_a_table_can_be_printed(db):
    answer = run_main("list", db, "--csv", "-", "--label", "studio")

    assert (0, "") == (answer.code, answer.err)
    assert [QUOTED, "naïve Ω"] == [row["name"] for row in rows_of(answer.out)]


def test_a_table_is_not_written_over_another_file(db, tmp_path):
    target = tmp_path / "dances.csv"
    target.write_text("mine")
    refused = run_main("list", db, "--csv", target)
    assert (1, "mine") == (refused.code, target.read_text())
    assert "exists already; choose another name, or say --force" in refused.complaint

    assert 0 == run_main("list", db, "--csv", target, "--force").code
    assert 3 == len(rows_of(target.read_text(encoding="utf-8-sig")))
    assert b"\xef\xbb\xbf" == target.read_bytes()[:3]  # by which spreadsheets know UTF-8
    assert [target] == list(tmp_path.iterdir())


def test_one_way_to_list_at_a_time(db):
    refused = run_main("list", db, "--csv", "-", "--json")

    assert 2 == refused.code
    assert "--csv and --json are two ways to list the same" in refused.err


def test_each_dance_is_one_line_whatever_a_catalogue_holds():
    """Of a database edited by hand: control characters are visible, a number that is none is empty."""
    heading, line = dances_to_csv([Dance("a\r\nb\x1b", seconds=float("nan"))])

    assert [r"a\r\nb\x1b", ""] == [rows_of(f"{heading}\n{line}\n")[0][name] for name in ("name", "seconds")]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-x", "@x", "\uff1d1", "'quoted"])
def test_no_name_is_a_formula(name):
    """A spreadsheet shows it as text; a reader drops the first apostrophe. Numbers stay numbers."""
    heading, line = dances_to_csv([Dance(name, notes="x", seconds=-1.5)])
    (row,) = rows_of(f"{heading}\n{line}\n")

    assert (f"'{name}", "x", "-1.5") == (row["name"], row["notes"], row["seconds"])


def test_recordings_are_a_table_too(known):
    """One row per recording; no file, performer or date of one is a formula either."""
    frame, table = known.to_pandas(recordings=True), known.to_arrow(recordings=True, label="studio")
    edited = Recording(digest(1), "=x.npz", 1.0, performer="@me", date="2020", dance="+1", poster=True)
    heading, line = recordings_to_csv([edited])
    (row,) = rows_of(f"{heading}\n{line}\n")

    assert {field.name for field in fields(Recording)} == set(frame.columns) == set(row)
    assert [QUOTED, "naïve Ω", "plain"] == frame["dance"].tolist()
    assert [asdict(one) for one in known.recordings(label="studio")] == table.to_pylist()
    assert ("'=x.npz", "'@me", "2020", "'+1", "true") == tuple(
        row[name] for name in ("file", "performer", "date", "dance", "poster")
    )


def test_a_catalogue_is_a_table_of_dances(known):
    frame, table = known.to_pandas(), known.to_arrow(label="studio")

    assert {field.name for field in fields(Dance)} == set(frame.columns)
    assert list(frame.columns) == table.column_names
    assert [QUOTED, "naïve Ω", "plain"] == frame["name"].tolist()
    assert [asdict(one) | {"labels": ["studio"]} for one in known.dances(label="studio")] == table.to_pylist()


def test_an_answer_is_a_table_of_candidates(answer):
    """One row per dancer and candidate; what JSON nests has dotted names."""
    rows = answer.to_arrow().to_pylist()
    told = [
        (one["dancer"], one["span"]["end"], match)
        for one in answer.described()["dancers"]
        for match in one["candidates"]
    ]

    assert 2 == len(answer.dancers)
    assert len(told) == len(rows)
    for (dancer, end, match), row in zip(told, rows, strict=True):
        same = ("dance_id", "score", "mirrored", "tempo", "verdict", "log_ratio", "evalue", "track")
        assert [match[name] for name in same] == [row[name] for name in same]
        assert (dancer, end, match["query"]["start"]) == (row["dancer"], row["span.end"], row["query.start"])
        assert match["segment"]["end"] == row["segment.end"]
        assert match["parts"] == {
            name.removeprefix("parts."): value
            for name, value in row.items()
            if name.startswith("parts.") and value is not None
        }
        assert list(match["passages"]) == row["passages"]
        assert list(match["recordings"]) == row["recordings"]


def test_every_field_of_a_match_is_in_the_table(answer):
    roots = {name.partition(".")[0] for name in answer.to_pandas().columns}

    assert {field.name for field in fields(Match)} | {"span"} == roots


def test_an_empty_answer_has_its_columns(answer):
    empty = Answer(()).to_pandas()

    assert 0 == len(empty)
    assert set(empty.columns) == {
        name for name in answer.to_pandas().columns if not name.startswith("parts.")
    }


@pytest.mark.parametrize("library", ["pyarrow", "pandas"])
def test_a_missing_library_says_how_to_install_it(known, answer, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    for make in (known.to_pandas, answer.to_pandas):
        with pytest.raises(MissingExtraError, match=rf"need {library}: pip install 'dancematch\[tables\]'"):
            make()
