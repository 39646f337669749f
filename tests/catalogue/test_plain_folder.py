import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from catalogue_samples import POSTER, edit, of_dance
from cli_samples import run_main
from dance_samples import MODEL, SECONDS_PER_WORD, dance, digest, random_words, recorded
from dancematch.catalogue.editing.requests import EditDance, EditRecording
from dancematch.catalogue.records import Exclusion, StoredTrack
from dancematch.catalogue.store import Store
from dancematch.catalogue.transfer import plain_folder
from dancematch.catalogue.transfer.copying import copy_catalogue
from dancematch.catalogue.transfer.plain_folder import HEADER, LINES
from dancematch.catalogue.transfer.recording_rows import Copied
from dancematch.catalogue.verify import find_problems
from dancematch.errors import FormatError, InputError, ModelMismatchError
from dancematch.motion import FPS
from dancematch.skeletons import BODY15
from dancematch.types import Fingerprint, Motion, Span
from databases import contents, fetch, run_sql


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "exported"


@pytest.fixture
def source(address) -> str:
    """A catalogue with everything that one may hold."""
    fill(address)
    return address


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """A copy of such a catalogue in a folder."""
    place = tmp_path_factory.mktemp("exported")
    fill(str(place / "dances.db"))
    export(place / "dances.db", place / "folder")
    return place / "folder"


@pytest.fixture
def copied_folder(exported, folder) -> Path:
    """Such a folder, to be damaged; whatever engine its catalogue was on, it is the same to the byte."""
    return shutil.copytree(exported, folder)


def fill(address: str) -> None:
    opened = Store(address, MODEL)
    partly = np.linspace(0, 1, 20).reshape(10, 2)
    unseen = dance(3).joints.copy()
    unseen[5, 4] = np.nan
    opened.add(
        recorded(
            "Thriller/1983: ünï",
            "a.mp4",
            digest("hash a"),
            20.0,
            "Halloween",
            "pop",
            "2020-01-01T00:00:00+00:00",
        ),
        [
            StoredTrack(
                Fingerprint(np.arange(20).reshape(10, 2) % 8, 8, SECONDS_PER_WORD, MODEL, 3.1, partly),
                Motion(unseen, FPS, BODY15, start=3.1),
                1.5,
                0.75,
            ),
            StoredTrack(random_words(7, 1), None, None, 0.1, dancer=3),
        ],
    )
    opened.add(recorded("polka", "b.npz", digest("hash b"), 5.0), [StoredTrack(random_words(4, 2))])
    again = of_dance("polka", "again.mp4", labels=("folk", "fast"), notes="a; b", date="1999", poster=POSTER)
    opened.add(again, [StoredTrack(random_words(4, 3))], join=True)
    edit(opened, EditRecording("b.npz", exclude=Span(0.1, 1.3), reason="walks on"))
    opened.close()


def files(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def export(source: object, folder: Path, **options) -> Copied:
    """Copy a catalogue into a folder."""
    return sum(copy_catalogue(str(source), f"{folder}/", **options), Copied())


def bring(folder: Path, target: object) -> Copied:
    """Copy a folder into a catalogue."""
    return sum(copy_catalogue(folder, str(target)), Copied())


WHOLE = Copied(3, 3, 0, 4, 3)
THRILLER = "Thriller/1983: ünï (a.mp4)"
LINE = '{"dance": {"name": "x"}, "file": "x", "recording_id": "x", "arrays": %s}'


def test_there_and_back_nothing_is_lost(source, new_address, folder, tmp_path):
    """To the byte: words, visibility, skeletons, periods, exclusions, posters, and all that people say."""
    elsewhere = new_address()

    assert WHOLE == export(source, folder)
    assert WHOLE == bring(folder, elsewhere)
    other = Store(elsewhere, MODEL, create=False)
    assert contents(source) == contents(elsewhere)
    assert [] == list(find_problems(other))
    export(elsewhere, tmp_path / "again")
    assert files(folder) == files(tmp_path / "again")
    other.close()


def test_a_folder_can_be_copied_into_a_folder(source, folder, tmp_path):
    export(source, folder)

    assert WHOLE == export(folder, tmp_path / "again")
    assert files(folder) == files(tmp_path / "again")


def test_the_files_are_plain(source, folder):
    """What the module promises to other programs: JSON lines, and arrays of the stated names and types."""
    export(source, folder)
    lines = [json.loads(line) for line in (folder / LINES).read_text(encoding="utf-8").splitlines()]
    first, third, second = lines
    with np.load(folder / third["arrays"], allow_pickle=False) as arrays:
        assert POSTER == arrays["poster"].tobytes()
    with np.load(folder / first["arrays"], allow_pickle=False) as arrays:
        kinds = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    frames = len(dance(3).joints)

    assert {"format": "dancematch-catalogue", "version": 1, "model_id": MODEL} == json.loads(
        (folder / HEADER).read_text()
    )
    assert ["Thriller/1983: ünï", "polka", "polka"] == [line["dance"]["name"] for line in lines]
    assert ["a.mp4", "again.mp4", "b.npz"] == [line["file"] for line in lines]
    assert (["fast", "folk"], "a; b", "1999") == (
        third["dance"]["labels"],
        third["dance"]["notes"],
        third["date"],
    )
    assert second["dance"] == third["dance"]
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


def test_an_empty_catalogue_can_be_copied_there_and_back(tmp_path, folder):
    Store(tmp_path / "empty.db", MODEL).close()

    assert Copied() == export(tmp_path / "empty.db", folder)
    assert Copied() == bring(folder, tmp_path / "other.db")
    assert MODEL == Store(tmp_path / "other.db", None).model_id


def test_an_interrupted_copy_goes_on_and_is_not_taken_for_a_whole_one(source, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(plain_folder, "BATCH", 1)
    running = copy_catalogue(source, f"{folder}/")
    assert [Copied(3), Copied(3, 1, 0, 2, 1)] == [next(running), next(running)]
    running.close()
    with pytest.raises(InputError, match="holds no finished copy of a catalogue; 'dancematch copy "):
        bring(folder, tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()
    (first,) = folder.glob("*.npz")
    before = first.stat().st_mtime_ns

    assert Copied(3, 2, 1, 2, 3) == export(source, folder)
    assert before == first.stat().st_mtime_ns
    assert WHOLE == bring(folder, tmp_path / "other.db")


def test_what_a_killed_copy_left_half_written_is_cleared_away(source, folder):
    """Files of processes that are gone, or were numbered as we are; not those of one that runs."""
    folder.mkdir()
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    for number in (gone.pid, os.getpid(), os.getppid()):
        (folder / f".dancematch-0123456789abcdef.{number}.part").write_bytes(b"half")
    (folder / ".mine.part").touch()
    export(source, folder)

    assert {".mine.part", f".dancematch-0123456789abcdef.{os.getppid()}.part"} == {
        path.name for path in folder.iterdir() if path.suffix == ".part"
    }


def test_copying_again_without_a_change_writes_nothing(source, folder):
    export(source, folder)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}

    assert Copied(3, 0, 3, 0, 3) == export(source, folder)
    assert before == {path: path.stat().st_mtime_ns for path in folder.iterdir()}


def change_by_adding(store: Store) -> None:
    store.add(recorded("waltz", "c", digest("hash c"), 2.0), [StoredTrack(random_words(4, 5))])


def change_by_removing(store: Store) -> None:
    store.remove("polka")


def change_by_excluding(store: Store) -> None:
    edit(store, EditRecording("b.npz", exclude=Span(2, 3)))


def change_by_renaming(store: Store) -> None:
    edit(store, EditDance("polka", {"name": "Polka"}))


@pytest.mark.parametrize(
    "change", [change_by_adding, change_by_removing, change_by_excluding, change_by_renaming]
)
def test_a_folder_of_another_time_is_replaced_only_when_asked(source, folder, tmp_path, change):
    """And then nothing of what was removed in between is left in the folder."""
    export(source, folder)
    before = files(folder)
    store = Store(source, MODEL)
    change(store)
    store.close()
    with pytest.raises(InputError, match="before it changed; choose another folder, or say --force"):
        export(source, folder)
    assert before == files(folder)
    export(source, folder, force=True)
    export(source, tmp_path / "fresh")

    assert files(tmp_path / "fresh") == files(folder)


def test_a_folder_of_another_program_is_left_alone(source, folder):
    folder.mkdir()
    (folder / HEADER).write_text('{"format": "recipes"}')
    for force in (False, True):
        with pytest.raises(FormatError, match="is not the header of a catalogue in plain files"):
            export(source, folder, force=force)

    assert [HEADER] == [path.name for path in folder.iterdir()]


def test_a_folder_with_other_files_is_left_alone(source, folder):
    folder.mkdir()
    (folder / "letter.txt").write_text("x")
    with pytest.raises(InputError, match="holds other files; name a new folder, or a file in it such as "):
        export(source, folder)

    assert ["letter.txt"] == [path.name for path in folder.iterdir()]


def test_a_folder_that_cannot_be_made_is_an_error(source, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be made: Not a directory"):
        export(source, tmp_path / "file" / "folder")


def test_a_damaged_dance_is_not_copied(source, folder):
    """A backup does not take over damage, not even one word that only the checksum shows."""
    ((words,),) = fetch(source, "SELECT words FROM tracks WHERE dancer = 3")
    changed = bytes([words[0] ^ 1]) + words[1:]
    for stored in ("00", changed.hex()):
        run_sql(source, f"UPDATE tracks SET words = X'{stored}' WHERE dancer = 3")  # noqa: S608
        done = export(source, folder)

        assert {THRILLER: "is damaged; 'dancematch doctor' says more"} == done.failed
        assert ["polka", "polka"] == [line["dance"]["name"] for line in lines_of(folder)]


def test_a_damaged_file_is_found_and_written_again_only_when_asked(source, folder, tmp_path):
    export(source, folder)
    (polka,) = folder.glob("b_npz*.npz")
    polka.write_bytes(polka.read_bytes()[:-9])
    done = export(source, folder)

    assert (2, ["polka (b.npz)"]) == (done.verified, list(done.failed))
    assert f"is there, but is not the same in {polka}" in done.failed["polka (b.npz)"]
    assert Copied(3, 1, 2, 1, 3) == export(source, folder, force=True)
    assert WHOLE == bring(folder, tmp_path / "other.db")


def lines_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / LINES).read_text(encoding="utf-8").splitlines()]


def test_checksums_come_along(source, folder, tmp_path):
    """What is copied back has the checksums of the folder's lines."""
    export(source, folder)
    bring(folder, tmp_path / "other.db")
    kept = fetch(
        tmp_path / "other.db",
        "SELECT words_checksum, skeletons_checksum FROM tracks JOIN recordings ON recording = recordings.key "
        "ORDER BY file, dancer",
    )
    told = [
        (dancer["words_checksum"], dancer["skeletons_checksum"])
        for line in lines_of(folder)
        for dancer in line["dancers"]
    ]

    assert told == kept
    assert [False, True, True, True] == [skeletons is None for _, skeletons in told]


def test_changed_arrays_are_not_copied(source, folder, tmp_path):
    """A whole and readable file of arrays, with one word, joint or pixel other than what was exported."""
    export(source, folder)
    (polka,), (thriller,) = folder.glob("b_npz*.npz"), folder.glob("a_mp4*.npz")
    (poster,) = folder.glob("again*.npz")
    for path, name in ((polka, "words_1"), (thriller, "joints_1"), (poster, "poster")):
        with np.load(path) as stored:
            arrays = dict(stored)
        last = arrays[name].flat[-1]
        arrays[name].flat[-1] = last + 1 if last < 1 else last - 1
        np.savez_compressed(path, **arrays)

    failed = bring(folder, tmp_path / "other.db").failed.values()
    assert 3 == len(failed)
    assert all("does not hold what recordings.jsonl says of it" in why for why in failed)
    assert not (tmp_path / "other.db").exists()  # nothing of it was good


def test_a_folder_without_checksums_is_damaged(source, folder, tmp_path):
    export(source, folder)
    lines = lines_of(folder)
    del lines[0]["dancers"][0]["words_checksum"]
    (folder / LINES).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = bring(folder, tmp_path / "other.db")

    assert (2, 2, [THRILLER]) == (done.copied, done.verified, list(done.failed))


def test_known_content_is_skipped_whatever_its_name(source, folder, tmp_path):
    export(source, folder)
    other = Store(tmp_path / "other.db", MODEL)
    other.add(recorded("mine", "x", digest("hash b"), 5.0), [StoredTrack(random_words(4, 2))])

    assert Copied(3, 2, 1, 3, 3) == bring(folder, tmp_path / "other.db")
    assert ["Thriller/1983: ünï", "mine", "polka"] == [known.name for known in other.dances()]
    assert Copied(3, 0, 3, 0, 3) == bring(folder, tmp_path / "other.db")
    other.close()


def test_a_taken_name_spoils_nothing_else(source, folder, tmp_path):
    export(source, folder)
    other = Store(tmp_path / "other.db", MODEL)
    other.add(recorded("polka", "x", digest("another polka"), 5.0), [StoredTrack(random_words(4, 9))])
    done = bring(folder, tmp_path / "other.db")

    taken = f"'polka' is already the name of another dance in {tmp_path / 'other.db'}"
    assert {"polka (b.npz)": taken, "polka (again.mp4)": taken} == done.failed
    assert other.has("Thriller/1983: ünï")
    assert [] == other.exclusions()
    other.close()


def test_words_of_another_model_are_refused_with_the_usual_sentence(source, folder, tmp_path):
    export(source, folder)
    Store(tmp_path / "other.db", "new").close()
    with pytest.raises(ModelMismatchError, match="holds words of the model new, not of toy; open it with"):
        bring(folder, tmp_path / "other.db")


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


def in_dance(**changes):
    def damage(folder: Path) -> None:
        first = json.loads((folder / LINES).read_text(encoding="utf-8").splitlines()[0])
        in_line(dance=first["dance"] | changes)(folder)

    return damage


def in_arrays(folder: Path) -> None:
    (thriller,) = folder.glob("a_mp4*.npz")
    thriller.write_bytes(thriller.read_bytes()[:100])


def without_arrays(folder: Path) -> None:
    (thriller,) = folder.glob("a_mp4*.npz")
    thriller.unlink()


def with_other_arrays(folder: Path) -> None:
    (thriller,), (polka,) = folder.glob("a_mp4*.npz"), folder.glob("b_npz*.npz")
    shutil.copy(polka, thriller)


@pytest.mark.parametrize(
    "damage",
    [
        in_arrays,
        without_arrays,
        with_other_arrays,
        in_line(seconds="long"),
        in_line(performer=7),
        in_line(poster_checksum=7),
        in_dance(labels=7),
        in_dance(labels=[7]),
        in_dance(dance_id=None),
        in_dance(notes=7),
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
def test_a_damaged_dance_is_named_and_the_others_are_copied(copied_folder, tmp_path, damage):
    damage(copied_folder)
    done = bring(copied_folder, tmp_path / "other.db")
    other = Store(tmp_path / "other.db", MODEL)

    assert (2, [THRILLER]) == (done.verified, list(done.failed))
    assert "\n" not in done.failed[THRILLER]
    assert ["polka"] == [known.name for known in other.dances()]
    assert [Exclusion("polka", 0.1, 1.3, "walks on")] == other.exclusions()
    assert [] == list(find_problems(other))
    other.close()


def test_a_damaged_line_is_named_and_the_others_are_copied(copied_folder, tmp_path):
    lines = (copied_folder / LINES).read_text().splitlines(keepends=True)
    (copied_folder / LINES).write_text("".join(["{" + lines[0][2:], *lines[1:]]))
    done = bring(copied_folder, tmp_path / "other.db")

    assert {f"line 1 of {LINES}": "does not describe a recording: it may be damaged"} == done.failed
    assert len(lines) - 1 == done.verified
    with pytest.raises(FormatError, match="line 1 of"):  # what it names would be deleted unread
        list(copy_catalogue(tmp_path / "other.db", f"{copied_folder}/", force=True))


def test_a_file_that_is_gone_is_called_missing(copied_folder, tmp_path):
    next(copied_folder.glob("*.npz")).unlink()
    (reason,) = bring(copied_folder, tmp_path / "other.db").failed.values()

    assert reason.endswith(".npz is missing")


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        (LINES, "{", "line 1 of .* does not describe a recording"),
        (LINES, "[]", "line 1 of .* does not describe a recording"),
        (LINES, LINE % '"../secret.npz"', "line 1 of .* does not describe a recording"),
        (LINES, LINE % '"/secret.npz"', "line 1 of .* does not describe a recording"),
        (LINES, LINE % "7", "line 1 of .* does not describe a recording"),
        (HEADER, "{", "is not valid JSON"),
        (HEADER, "[]", "is not the header of a catalogue in plain files"),
        (HEADER, '{"format": "dancematch-catalogue"}', "names no model: a model's id is text, got None"),
        (HEADER, r'{"format": "dancematch-catalogue", "model_id": "\u001b[1m"}', r"got '\\x1b\[1m'"),
        (
            HEADER,
            '{"format": "dancematch-catalogue", "version": 9, "model_id": "toy"}',
            "has format number 9, this version reads 1: update dancematch",
        ),
    ],
)
def test_a_damaged_folder_is_refused_before_a_catalogue_is_made(
    copied_folder, tmp_path, name, text, complaint
):
    (copied_folder / name).write_text(text)
    with pytest.raises(FormatError, match=complaint):
        bring(copied_folder, tmp_path / "other.db")

    assert not (tmp_path / "other.db").exists()


def test_the_verb_copies_to_a_folder_and_from_it(source, folder, tmp_path):
    """The counts of any copy, and one sentence for what is refused."""
    there = run_main("copy", source, f"{folder}/")
    back = run_main("copy", folder, tmp_path / "other.db", "--json")
    edited = f"UPDATE recordings SET recording_id = '{digest('new')}' WHERE file = 'b.npz'"  # noqa: S608
    run_sql(
        tmp_path / "other.db", edited, "UPDATE dances SET dance_id = 'd000000000000000' WHERE name = 'polka'"
    )
    taken = run_main("copy", folder, tmp_path / "other.db")
    changed = run_main("copy", tmp_path / "other.db", folder)

    assert (0, "3 copied, 0 skipped, 0 failed") == (there.code, there.err.splitlines()[0])
    assert (0, str(folder), 3) == (back.code, back.objects[0]["source"], back.objects[0]["verified"])
    assert (1, "polka (b.npz): 'polka' is already the name of another dance in") == (
        taken.code,
        taken.err[:62],
    )
    assert (1, True) == (changed.code, changed.complaint.endswith("say --force to replace it"))
    assert "holds no finished copy" in run_main("copy", f"{tmp_path}/nowhere/", source).complaint
    assert "there is no catalogue at" in run_main("copy", tmp_path / "nowhere", source).complaint
