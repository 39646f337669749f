"""Keypoints as CSV, and tables that are something else."""

import csv
import json

import numpy as np
import pytest

from dancematch import formats
from dancematch.errors import FormatError
from dancematch.pipeline.analysis.clip_files import find_clips
from dancematch.skeletons import BLAZEPOSE33, COCO17
from formats_samples import SAMPLES, coco_joints, picture_marks, pixels, write_table


@pytest.fixture(params=["landmarks.csv", "movenet.csv"])
def sound(request, tmp_path):
    """Give the path of a sound table."""
    SAMPLES[request.param](tmp_path / "sound.csv")
    return tmp_path / "sound.csv"


@pytest.fixture
def rows(sound):
    """Give the rows of a sound table."""
    with sound.open(newline="") as file:
        return list(csv.reader(file))


def wide(joints, axes, numbers):
    """Rows of a table with a column per number."""
    header = [
        axes.format(joint=joint, axis=axis) for joint in joints for axis in ("x", "y", "z", "visibility")
    ]
    return [["class", *header], *(["dance", *map(str, frame.ravel().tolist())] for frame in numbers)]


@pytest.mark.parametrize(
    ("joints", "axes"),
    [
        (BLAZEPOSE33.joints, "{joint}_{axis}"),
        ([joint.upper() for joint in BLAZEPOSE33.joints], "{joint}.{axis}"),
        (range(33), "{axis}{joint}"),
        (range(1, 34), "{axis}_{joint}"),
        (range(33), "landmark_{joint}_{axis}"),
    ],
)
def test_a_column_per_number_is_read(tmp_path, joints, axes):
    """By name or number, counted from 0 or 1, a column for each of x, y, z and visibility."""
    marks = np.array([picture_marks(pose) for pose in coco_joints(5)])
    (tmp_path / "lists.json").write_text(json.dumps(marks.tolist()))
    (expected,) = formats.read(tmp_path / "lists.json")
    (columns,) = formats.read(write_table(tmp_path / "a.csv", wide(joints, axes, marks)))

    assert (BLAZEPOSE33, 5) == (columns.skeleton, len(columns.joints))
    np.testing.assert_allclose(expected.joints, columns.joints, atol=1e-6)
    np.testing.assert_allclose(columns.visibility, 0.8, atol=1e-6)


def test_movenet_by_columns_is_read_by_its_names(tmp_path):
    """Where x and y have columns of their own, their names say which is which."""
    header = [f"{joint}_{axis}" for joint in COCO17.joints for axis in ("x", "y", "score")]
    numbers = [list(map(str, (frame / (1000, 1000, 1)).ravel().tolist())) for frame in pixels()]
    SAMPLES["movenet.csv"](tmp_path / "cells.csv")
    (cells,) = formats.read(tmp_path / "cells.csv")
    (columns,) = formats.read(write_table(tmp_path / "columns.csv", [header, *numbers]))

    np.testing.assert_allclose(cells.joints, columns.joints, atol=1e-6)
    np.testing.assert_allclose(cells.visibility, columns.visibility, atol=1e-6)


def test_numbers_of_frames_are_gaps_and_stamps_a_clock(tmp_path, rows):
    """A row that is left out is an unseen frame; a column of times gives the rate."""
    gap = [row for number, row in enumerate(rows) if number != 5]
    (motion,) = formats.read(write_table(tmp_path / "a.csv", gap))
    assert [4] == np.flatnonzero(~motion.visibility.any(axis=1)).tolist()

    timed = [["timestamp_ms", *rows[0]], *([str(1000 + 40 * n), *row] for n, row in enumerate(rows[1:]))]
    (motion,) = formats.read(write_table(tmp_path / "b.csv", timed))
    assert (12, pytest.approx(25), 0.0) == (len(motion.joints), motion.fps, motion.start)


def test_semicolons_marks_of_order_and_blank_lines_do_not_matter(tmp_path, sound, rows):
    (expected,) = formats.read(sound)
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=";").writerows([*rows, [], []])

    np.testing.assert_array_equal(expected.joints, formats.read(tmp_path / "a.csv")[0].joints)


def test_empty_cells_are_unseen(tmp_path, rows):
    for place, cell in ((3, ""), (4, "nan"), (5, "None")):
        rows[2][place] = cell
    (motion,) = formats.read(write_table(tmp_path / "a.csv", rows))

    assert [2, 3, 4] == np.flatnonzero(motion.visibility[1] == 0).tolist()


def fill_cells(cell):
    return lambda rows: [rows[0], *([row[0], *[cell] * (len(row) - 1)] for row in rows[1:])]


def change_cell(place, cell):
    return lambda rows: [*rows[:2], [*rows[2][:place], cell, *rows[2][place + 1 :]], *rows[3:]]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda rows: rows[:1], "no frame below"),
        (lambda rows: [*rows[:2], rows[2][:-1], *rows[3:]], "row 3 has .* cells, but the header"),
        (lambda rows: [*rows, [*rows[-1], "1"]], "row 14 has .* cells, but the header"),
        (change_cell(4, "left"), r"row 3, column .*: numbers were expected, got 'left'"),
        (change_cell(4, "(0.1, 0.2, 0.3, 0.4, 0.5)"), "at most four numbers"),
        (change_cell(4, "0.5"), "two, three or four numbers"),
        (change_cell(4, "0.5,1e300"), "two, three or four|from the origin"),
        (fill_cells("inf,inf,inf"), "from the origin"),
        (lambda rows: [*rows, rows[3]], "frame numbers do not rise"),
        (change_cell(0, "2.5"), "frame numbers do not rise"),
        (lambda rows: [*rows[:-1], ["900000000", *rows[-1][1:]]], "only 12 are there"),
        (fill_cells(""), "no person"),
        (lambda rows: [[*row, row[6]] for row in rows], "none of these"),
        (lambda rows: [row[:6] for row in rows], "none of these"),
        (lambda rows: [["file", "label"], *(["a.mp4", "waltz"] for _ in rows)], "none of these"),
    ],
)
def test_damaged_tables_are_refused(tmp_path, rows, change, complaint):
    """Each kind of damage gives one sentence that names the file and what is wrong."""
    with pytest.raises(FormatError, match=rf"a\.csv.*({complaint})") as refused:
        formats.read(write_table(tmp_path / "a.csv", change(rows)))
    assert "\n" not in str(refused.value)


def test_a_cut_quotation_is_refused(tmp_path, sound):
    text = sound.read_text()
    (tmp_path / "a.csv").write_text(text[: text.rindex('"') - 3])
    with pytest.raises(FormatError, match=r"a\.csv.*(cut short|cells)"):
        formats.read(tmp_path / "a.csv")


def test_labels_and_indexes_in_a_folder_are_left_alone(tmp_path):
    """Of the tables in a folder of clips only those of keypoints are clips; one that is named is meant."""
    for name in ("landmarks.csv", "movenet.csv"):
        SAMPLES[name](tmp_path / name)
    (tmp_path / "labels.csv").write_text("file,label\na.mp4,waltz\n")
    (tmp_path / "index.csv").write_text("id,left,right,x,y\n1,2,3,4,5\n")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "noise.csv").write_bytes(bytes(range(256)) * 10)

    assert [tmp_path / "landmarks.csv", tmp_path / "movenet.csv"] == find_clips([tmp_path])
    assert [tmp_path / "labels.csv"] == find_clips([tmp_path / "labels.csv"])
