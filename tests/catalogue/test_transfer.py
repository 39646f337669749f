import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dance_samples import MODEL, dance, random_words
from dancematch.catalogue.records import Dance, Exclusion, StoredTrack
from dancematch.catalogue.store import Store
from dancematch.catalogue.transfer.plain_folder import (
    HEADER,
    LINES,
    Exported,
    Imported,
    export_catalogue,
    import_catalogue,
)
from dancematch.catalogue.verify import problems_of
from dancematch.errors import CatalogueError, DanceExistsError, FormatError, InputError, ModelMismatchError
from dancematch.motion import FPS
from dancematch.skeletons import BODY15
from dancematch.types import Fingerprint, Motion, Span
from databases import contents, fetch, run_sql


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "exported"


@pytest.fixture
def store(address):
    """A catalogue with everything that one may hold."""
    opened = Store(address, MODEL)
    partly = np.linspace(0, 1, 20).reshape(10, 2)
    unseen = dance(3).joints.copy()
    unseen[5, 4] = np.nan
    opened.add(
        Dance("Thriller/1983: ünï", "a.mp4", "hash a", 20.0, "Halloween", "pop", "2020-01-01T00:00:00+00:00"),
        [
            StoredTrack(
                Fingerprint(np.arange(20).reshape(10, 2) % 8, 8, 4 / 30, MODEL, 3.1, partly),
                Motion(unseen, FPS, BODY15, start=3.1),
                1.5,
                0.75,
            ),
            StoredTrack(random_words(7, 1), None, None, 0.1, dancer=3),
        ],
    )
    opened.add(Dance("polka", "b.npz", "hash b", 5.0), [StoredTrack(random_words(4, 2))])
    opened.exclude("polka", Span(0.1, 1.3), "walks on")
    yield opened
    opened.close()


def files(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def export(store: Store, folder: Path, **options) -> list[Exported]:
    return list(export_catalogue(store, folder, **options))


def test_there_and_back_nothing_is_lost(store, address, new_address, folder, tmp_path):
    """To the byte: words, visibility, skeletons, labels, periods, exclusions, when it was added."""
    export(store, folder)
    elsewhere = new_address()
    brought = list(import_catalogue(elsewhere, folder))
    other = Store(elsewhere, MODEL, create=False)

    assert [Imported("Thriller/1983: ünï"), Imported("polka")] == brought
    assert contents(address) == contents(elsewhere)
    assert [] == list(problems_of(other))
    export(other, tmp_path / "again")
    assert files(folder) == files(tmp_path / "again")
    other.close()


def test_the_files_are_plain(store, folder):
    """What the module promises to other programs: JSON lines, and arrays of the stated names and types."""
    export(store, folder)
    lines = [json.loads(line) for line in (folder / LINES).read_text(encoding="utf-8").splitlines()]
    first, second = lines
    with np.load(folder / first["file"], allow_pickle=False) as arrays:
        kinds = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    frames = len(dance(3).joints)

    assert {"format": "dancematch-catalogue", "version": 1, "model_id": MODEL} == json.loads(
        (folder / HEADER).read_text()
    )
    assert ["Thriller/1983: ünï", "polka"] == [line["dance_id"] for line in lines]
    assert [{"start": 0.1, "end": 1.3, "reason": "walks on"}] == second["exclusions"]
    assert [1, 3] == [dancer["dancer"] for dancer in first["dancers"]]
    assert {
        "words_1": ("<u2", (10, 2)),
        "visibility_1": ("|u1", (10, 2)),
        "joints_1": ("<f2", (frames, 15, 3)),
        "joint_visibility_1": ("|u1", (frames, 15)),
        "words_3": ("<u2", (7, 2)),
        "visibility_3": ("|u1", (7, 2)),
    } == kinds


def test_an_empty_catalogue_can_be_exported_and_imported(tmp_path, folder):
    empty = Store(tmp_path / "empty.db", MODEL)

    assert [] == export(empty, folder)
    assert [] == list(import_catalogue(tmp_path / "other.db", folder))
    assert MODEL == Store(tmp_path / "other.db", None).model_id
    empty.close()


def test_an_interrupted_export_goes_on_and_is_not_taken_for_a_whole_one(store, folder, tmp_path):
    running = export_catalogue(store, folder)
    first = next(running)
    running.close()
    with pytest.raises(InputError, match="holds no finished export; 'dancematch copy' makes one"):
        list(import_catalogue(tmp_path / "other.db", folder))
    assert not (tmp_path / "other.db").exists()
    before = (folder / first.file).stat().st_mtime_ns

    assert [True, False] == [exported.skipped for exported in export(store, folder)]
    assert before == (folder / first.file).stat().st_mtime_ns
    assert 2 == len(list(import_catalogue(tmp_path / "other.db", folder)))


def test_what_a_killed_export_left_half_written_is_cleared_away(store, folder):
    """Files of processes that are gone, or were numbered as we are; not those of one that runs."""
    folder.mkdir()
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    for number in (gone.pid, os.getpid(), os.getppid()):
        (folder / f".polka-0123.npz.{number}.part").write_bytes(b"half")
    (folder / ".mine.part").touch()
    export(store, folder)

    assert {".mine.part", f".polka-0123.npz.{os.getppid()}.part"} == {
        path.name for path in folder.iterdir() if path.suffix == ".part"
    }


def test_exporting_again_without_a_change_writes_nothing(store, folder):
    export(store, folder)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}

    assert [True, True] == [exported.skipped for exported in export(store, folder)]
    assert before == {path: path.stat().st_mtime_ns for path in folder.iterdir()}


def change_by_adding(store: Store) -> None:
    store.add(Dance("waltz", "c", "hash c", 2.0), [StoredTrack(random_words(4, 5))])


def change_by_removing(store: Store) -> None:
    store.remove("polka")


def change_by_excluding(store: Store) -> None:
    store.exclude("polka", Span(2, 3))


@pytest.mark.parametrize("change", [change_by_adding, change_by_removing, change_by_excluding])
def test_an_export_of_another_time_is_replaced_only_when_asked(store, folder, tmp_path, change):
    """And then nothing of what was removed in between is left in the folder."""
    export(store, folder)
    before = files(folder)
    change(store)
    with pytest.raises(InputError, match="before it changed; choose another folder, or say --force"):
        export(store, folder)
    assert before == files(folder)
    export(store, folder, force=True)
    export(store, tmp_path / "fresh")

    assert files(tmp_path / "fresh") == files(folder)


def test_a_folder_of_somebody_else_is_left_alone(store, folder):
    folder.mkdir()
    (folder / HEADER).write_text('{"format": "recipes"}')
    for force in (False, True):
        with pytest.raises(FormatError, match="is not the header of an exported catalogue"):
            export(store, folder, force=force)

    assert [HEADER] == [path.name for path in folder.iterdir()]


def test_a_file_where_a_folder_should_be_is_an_error(store, folder):
    folder.write_text("x")
    with pytest.raises(InputError, match="cannot be made: File exists"):
        export(store, folder)


def test_a_damaged_dance_is_not_exported(store, address, folder):
    run_sql(address, "UPDATE tracks SET words = X'00' WHERE dancer = 3")
    with pytest.raises(CatalogueError, match="1983: ünï' is damaged; 'dancematch doctor' says more"):
        export(store, folder)


def test_a_dance_whose_words_were_changed_is_not_exported(store, address, folder):
    """A backup does not take over damage that only the checksum shows."""
    ((words,),) = fetch(address, "SELECT words FROM tracks WHERE dancer = 3")
    changed = bytes([words[0] ^ 1]) + words[1:]
    run_sql(address, f"UPDATE tracks SET words = X'{changed.hex()}' WHERE dancer = 3")  # noqa: S608
    with pytest.raises(CatalogueError, match="is damaged; 'dancematch doctor' says more"):
        export(store, folder)


def lines_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / LINES).read_text(encoding="utf-8").splitlines()]


def test_checksums_come_along(store, folder, tmp_path):
    """What is imported has the checksums that it was exported with, by the line and in the catalogue."""
    export(store, folder)
    list(import_catalogue(tmp_path / "other.db", folder))
    kept = fetch(
        tmp_path / "other.db",
        "SELECT words_checksum, skeletons_checksum FROM tracks JOIN dances ON dance = dances.key "
        "ORDER BY dance_id, dancer",
    )
    told = [
        (dancer["words_checksum"], dancer["skeletons_checksum"])
        for line in lines_of(folder)
        for dancer in line["dancers"]
    ]

    assert told == kept
    assert [False, True, True] == [skeletons is None for _, skeletons in told]


def test_arrays_that_somebody_changed_are_not_imported(store, folder, tmp_path):
    """A whole and readable file of arrays, with one word or joint other than what was exported."""
    export(store, folder)
    (polka,), (thriller,) = folder.glob("polka*.npz"), folder.glob("Thriller*.npz")
    for path, name in ((polka, "words_1"), (thriller, "joints_1")):
        with np.load(path) as stored:
            arrays = dict(stored)
        arrays[name].flat[-1] += 1 if arrays[name].flat[-1] < 1 else -1
        np.savez_compressed(path, **arrays)

    assert [FormatError, FormatError] == [
        type(imported.error) for imported in import_catalogue(tmp_path / "other.db", folder)
    ]
    assert not (tmp_path / "other.db").exists()  # nothing of it was good


def test_an_export_without_checksums_is_damaged(store, folder, tmp_path):
    export(store, folder)
    lines = lines_of(folder)
    del lines[0]["dancers"][0]["words_checksum"]
    (folder / LINES).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    brought = {one.dance_id: one.error for one in import_catalogue(tmp_path / "other.db", folder)}

    assert isinstance(brought.pop(lines[0]["dance_id"]), FormatError)
    assert {None} == set(brought.values())


def test_known_content_is_skipped_whatever_its_name(store, folder, tmp_path):
    export(store, folder)
    other = Store(tmp_path / "other.db", MODEL)
    other.add(Dance("mine", "x", "hash b", 5.0), [StoredTrack(random_words(4, 2))])
    brought = {imported.dance_id: imported for imported in import_catalogue(tmp_path / "other.db", folder)}

    assert "mine" == brought["polka"].known_as
    assert ["Thriller/1983: ünï", "mine"] == [known.dance_id for known in other.dances()]
    again = list(import_catalogue(tmp_path / "other.db", folder))
    assert ["Thriller/1983: ünï", "mine"] == [imported.known_as for imported in again]
    other.close()


def test_a_taken_name_spoils_nothing_else(store, folder, tmp_path):
    export(store, folder)
    other = Store(tmp_path / "other.db", MODEL)
    other.add(Dance("polka", "x", "another polka", 5.0), [StoredTrack(random_words(4, 9))])
    brought = {imported.dance_id: imported for imported in import_catalogue(tmp_path / "other.db", folder)}

    assert isinstance(brought["polka"].error, DanceExistsError)
    assert other.has("Thriller/1983: ünï")
    assert [] == other.exclusions()
    other.close()


def test_words_of_another_model_are_refused_with_the_usual_sentence(store, folder, tmp_path):
    export(store, folder)
    Store(tmp_path / "other.db", "new").close()
    with pytest.raises(ModelMismatchError, match="holds words of the model new, not of toy; open it with"):
        list(import_catalogue(tmp_path / "other.db", folder))


def in_line(**changes):
    """Change what the first line says."""

    def damage(folder: Path) -> None:
        first, *others = (folder / LINES).read_text(encoding="utf-8").splitlines(keepends=True)
        told = json.dumps(json.loads(first) | changes) + "\n"
        (folder / LINES).write_text("".join([told, *others]), encoding="utf-8")

    return damage


def in_dancers(**changes):
    def damage(folder: Path) -> None:
        first = json.loads((folder / LINES).read_text(encoding="utf-8").splitlines()[0])
        in_line(dancers=[dancer | changes for dancer in first["dancers"]])(folder)

    return damage


def in_arrays(folder: Path) -> None:
    (thriller,) = folder.glob("Thriller*.npz")
    thriller.write_bytes(thriller.read_bytes()[:100])


def without_arrays(folder: Path) -> None:
    (thriller,) = folder.glob("Thriller*.npz")
    thriller.unlink()


def with_other_arrays(folder: Path) -> None:
    (thriller,), (polka,) = folder.glob("Thriller*.npz"), folder.glob("polka*.npz")
    shutil.copy(polka, thriller)


@pytest.mark.parametrize(
    "damage",
    [
        in_arrays,
        without_arrays,
        with_other_arrays,
        in_line(seconds="long"),
        in_line(label=7),
        in_line(dancers=None),
        in_line(exclusions=[{"start": 2, "end": 1, "reason": None}]),
        in_line(exclusions=[{}]),
        in_line(model_id="another"),
        in_dancers(vocabulary=3),
        in_dancers(seconds_per_word=0),
        in_dancers(period_seconds="often"),
        in_dancers(dancer=5),
        in_dancers(fps=None),
        in_dancers(start=0.1),
        in_dancers(words_checksum="none"),
    ],
)
def test_a_damaged_dance_is_named_and_the_others_are_imported(store, folder, tmp_path, damage):
    export(store, folder)
    damage(folder)
    first, second = import_catalogue(tmp_path / "other.db", folder)
    other = Store(tmp_path / "other.db", MODEL)

    assert isinstance(first.error, InputError)
    assert "\n" not in str(first.error)
    assert Imported("polka") == second
    assert ["polka"] == [known.dance_id for known in other.dances()]
    assert [Exclusion("polka", 0.1, 1.3, "walks on")] == other.exclusions()
    assert [] == list(problems_of(other))
    other.close()


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        (LINES, "{", "line 1 of .* does not describe a dance"),
        (LINES, "[]", "line 1 of .* does not describe a dance"),
        (LINES, '{"dance_id": "x", "file": "../secret.npz"}', "line 1 of .* does not describe a dance"),
        (LINES, '{"dance_id": "x", "file": "/secret.npz"}', "line 1 of .* does not describe a dance"),
        (LINES, '{"dance_id": 7, "file": "x.npz"}', "line 1 of .* does not describe a dance"),
        (HEADER, "{", "is not valid JSON"),
        (HEADER, "[]", "is not the header of an exported catalogue"),
        (HEADER, '{"format": "dancematch-catalogue"}', "is not the header of an exported catalogue"),
        (
            HEADER,
            '{"format": "dancematch-catalogue", "version": 9, "model_id": "toy"}',
            "has format number 9, this version reads 1: update dancematch",
        ),
    ],
)
def test_a_damaged_folder_is_refused_before_a_catalogue_is_made(
    store, folder, tmp_path, name, text, complaint
):
    export(store, folder)
    (folder / name).write_text(text)
    with pytest.raises(FormatError, match=complaint):
        list(import_catalogue(tmp_path / "other.db", folder))

    assert not (tmp_path / "other.db").exists()


def test_a_folder_is_copied_to_and_from(store, address, folder, tmp_path):
    """Counts on stderr, a line a dance in JSON, and exit code 1 with one sentence for what fails."""

    def dancematch(*arguments: object) -> tuple[int, str, str]:
        command = [str(Path(sys.executable).with_name("dancematch")), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    path, other = address, tmp_path / "other.db"
    assert (0, "", f"{folder}: 2 written, 0 kept\n") == dancematch("copy", path, f"{folder}/")
    assert (0, "", f"{folder}: 0 written, 2 kept\n") == dancematch("copy", path, f"{folder}/")
    code, out, err = dancematch("copy", folder, other, "--json")
    assert (0, "2 added, 0 skipped, 0 failed\n") == (code, err)
    assert ["added", "added"] == [json.loads(line)["state"] for line in out.splitlines()]
    assert (0, "", "0 added, 2 skipped, 0 failed\n") == dancematch("copy", folder, other)
    store.remove("polka")
    store.add(Dance("polka", "x", "another polka", 5.0), [StoredTrack(random_words(4, 9))])
    code, _, err = dancematch("copy", folder, path)
    assert (1, "0 added, 1 skipped, 1 failed") == (code, err.splitlines()[-1])
    assert "'polka' is already the name of another dance" in err
    code, out, err = dancematch("copy", path, f"{folder}/")
    assert (1, "") == (code, out)
    assert err.startswith("dancematch: ")
    assert "say --force to replace it\n" in err
    assert 1 == dancematch("copy", tmp_path / "nowhere", other)[0]
