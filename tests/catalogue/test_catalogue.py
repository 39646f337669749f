import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from dance_samples import MODEL, dance, digest, random_words, recorded, toy_codebook
from dancematch.catalogue.listing import read_names
from dancematch.catalogue.records import require_name
from dancematch.catalogue.store import Store, StoredTrack
from dancematch.catalogue.verify import find_problems
from dancematch.errors import (
    CatalogueError,
    DanceExistsError,
    DanceMatchError,
    InputError,
    ModelMismatchError,
    UnknownDanceError,
)
from dancematch.motion import FPS
from dancematch.search.engine import Engine, Query
from dancematch.skeletons import BODY15
from dancematch.types import Fingerprint, Motion
from databases import run_sql

STEPS = 400  # words a dance: with the skeletons enough to fill several pages of the file


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "dances.db"


@pytest.fixture
def store(address):
    opened = Store(address, MODEL)
    yield opened
    opened.close()


def put(store: Store, name: str, seed: int = 0, **changes) -> Fingerprint:
    """Add a dance of random words."""
    made = random_words(STEPS, seed)
    facts = {"file": f"{name}.npz", "content": digest(f"hash of {name}"), "seconds": 200.0, **changes}
    store.add(recorded(name, **facts), [StoredTrack(made)])
    return made


def bytes_beside(path: Path) -> bytes:
    """Everything the catalogue keeps on disk, its log included."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def names(store: Store) -> list[str]:
    return [known.name for known in store.dances()]


def run(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Start another process that knows these tests' builders."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


ADD_MANY = """
import sys
from test_catalogue import MODEL, Store, put
path, prefix, count = sys.argv[1:]
store = Store(path, MODEL)
for number in range(int(count)):
    put(store, f"{prefix}{number}", number)
    print(f"{prefix}{number}", flush=True)
"""


ADD_UNTIL_KILLED = """
import os, signal, sys, threading
from test_catalogue import MODEL, Store, put
store = Store(sys.argv[1], MODEL)
for number in range(100000):
    put(store, f"d{number}", number)
    print(f"d{number}", flush=True)
    if number == 20:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGKILL)).start()
"""


def test_what_is_added_comes_back(store):
    made = put(store, "thriller", label="Halloween", collection="pop")
    (known,) = store.dances()
    (recording,) = store.recordings()
    ((dance_id, found),) = store.fingerprints()

    assert ("thriller", ("Halloween",), "pop", 1, 1, 200.0) == (
        known.name,
        known.labels,
        known.collection,
        known.recordings,
        known.dancers,
        known.seconds,
    )
    assert ("thriller.npz", digest("hash of thriller"), "thriller", 1, False) == (
        recording.file,
        recording.recording_id,
        recording.dance,
        recording.dancers,
        recording.poster,
    )
    assert known.dance_id == recording.dance_id == dance_id
    np.testing.assert_array_equal(made.words, found.words)
    assert (made.vocabulary, made.seconds_per_word, MODEL, made.start) == (
        found.vocabulary,
        found.seconds_per_word,
        found.model_id,
        found.start,
    )


def test_it_is_still_there_the_next_day(address, store):
    put(store, "thriller")
    store.close()
    again = Store(address, MODEL, create=False)

    assert ["thriller"] == names(again)
    assert "thriller" == again.find_recording(digest("hash of thriller")).dance
    assert again.find_recording(digest("hash of another")) is None
    assert (True, False) == (again.has("thriller"), again.has("macarena"))
    again.close()


def test_visibility_comes_back_to_a_256th(store):
    seen = np.linspace(0, 1, 20).reshape(10, 2)
    made = Fingerprint(np.zeros((10, 2), int), 8, 0.5, MODEL, 3.5, seen)
    store.add(recorded("x", "x", digest("x"), 5.0), [StoredTrack(made)])
    ((_, found),) = store.fingerprints()

    np.testing.assert_allclose(seen, found.visibility, atol=1 / 510 + 1e-6)
    assert {0.0, 1.0} <= set(found.visibility.ravel().tolist())
    assert 3.5 == found.start


def test_skeletons_come_back_within_two_millimetres(store):
    moved = dance(3).joints.copy()
    moved[5, 4] = np.nan
    kept = Motion(moved, FPS, BODY15, start=1.25)
    store.add(recorded("x", "x", digest("x"), 5.0), [StoredTrack(random_words(4, 0), kept)])
    ((found,),) = [dancers.values() for dancers in store.motions("x").values()]

    np.testing.assert_allclose(kept.joints, found.joints, atol=0.002)
    np.testing.assert_array_equal(kept.visibility, found.visibility)
    assert (FPS, BODY15) == (found.fps, found.skeleton)


def test_skeletons_need_not_be_kept(store):
    put(store, "thriller")

    assert {digest("hash of thriller"): {1: None}} == store.motions("thriller")


def test_dancers_keep_their_order(store):
    both = [StoredTrack(random_words(4, seed)) for seed in (1, 2)]
    store.add(recorded("duet", "duet", digest("duet"), 2.0), both)
    found = [fingerprint.words for _, fingerprint in store.fingerprints()]

    assert 2 == store.dances()[0].dancers
    np.testing.assert_array_equal([track.fingerprint.words for track in both], found)


def test_dances_are_listed_by_name(store):
    for name in ("waltz", "Ägypten", "macarena"):
        put(store, name)

    assert ["macarena", "waltz", "Ägypten"] == names(store)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({}, "already has this very content as 'thriller'"),
        ({"content": digest("another")}, "already has a dance named 'thriller', of other content"),
    ],
)
def test_a_name_is_given_once(store, changes, complaint):
    """A refusal says whether it is the name or the content that is known."""
    put(store, "thriller", seed=1)
    with pytest.raises(DanceExistsError, match=complaint):
        put(store, "thriller", seed=2, **changes)

    assert ["thriller"] == names(store)
    assert 1 == len(store.fingerprints())


def test_a_content_is_kept_once(store):
    """Under another name too, and the error has the name that it has."""
    put(store, "thriller", content=digest("same"))
    with pytest.raises(DanceExistsError, match="this very content as 'thriller'; 'other' was not added"):
        put(store, "other", content=digest("same"))


def test_a_dance_without_a_dancer_is_refused(store):
    with pytest.raises(InputError, match="it has no dancer"):
        store.add(recorded("nobody", "x", digest("x"), 1.0), [])

    assert not store.has("nobody")


def test_removing_really_deletes(path):
    """No byte of a removed dance's words or skeletons is left in the file or in the log beside it."""
    store = Store(path, MODEL)
    secret = put(store, "secret", seed=7).words.astype("<u2").tobytes()
    skeleton = dance(1).joints.astype("<f2").tobytes()
    store.add(recorded("b", "b", digest("b"), 1.0), [StoredTrack(random_words(4, 1), dance(1))])
    put(store, "other", seed=8)
    pieces = [whole[at : at + 32] for whole in (secret, skeleton) for at in range(0, 1200, 300)]
    assert all(piece in bytes_beside(path) for piece in pieces)
    reader = Store(path, MODEL)  # another process has it open: the log is not simply deleted
    reader.dances()
    store.remove("secret")
    store.remove("b")

    assert not any(piece in bytes_beside(path) for piece in pieces)
    assert b"secret" not in bytes_beside(path)
    assert ["other"] == names(reader)
    assert 1 == len(reader.fingerprints())
    reader.close()
    store.close()
    assert not any(piece in bytes_beside(path) for piece in pieces)


def test_a_removed_dance_may_come_back(store):
    put(store, "thriller")
    store.remove("thriller")
    put(store, "thriller")

    assert ["thriller"] == names(store)


def test_removing_the_unknown_is_an_error(store):
    with pytest.raises(UnknownDanceError, match="has no dance named 'polka'"):
        store.remove("polka")


def test_the_generation_counts_changes_and_nothing_else(address, store):
    seen = [store.generation]
    put(store, "a")
    seen.append(store.generation)
    with pytest.raises(DanceExistsError):
        put(store, "a")
    with pytest.raises(UnknownDanceError):
        store.remove("b")
    store.dances()
    seen.append(store.generation)
    store.remove("a")
    again = Store(address, MODEL)
    seen.append(again.generation)
    again.close()

    assert [0, 1, 1, 2] == seen


def test_words_of_another_model_are_refused(address, store):
    with pytest.raises(ModelMismatchError, match="words of the model toy only"):
        store.add(
            recorded("x", "x", digest("x"), 1.0),
            [StoredTrack(Fingerprint(np.zeros((2, 2), int), 8, 0.5, "new"))],
        )
    with pytest.raises(ModelMismatchError, match="holds words of the model toy, not of new"):
        Store(address, "new")


def one_sentence(error: DanceMatchError) -> bool:
    return "\n" not in str(error) and "Traceback" not in str(error) and len(str(error)) < 300


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database, whatever its name says " * 100)


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (cake TEXT)")
    connection.close()


def newer(path: Path) -> None:
    Store(path, MODEL).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE facts SET value = '99' WHERE name = 'version'")
    connection.close()


def cut_short(path: Path) -> None:
    store = Store(path, MODEL)
    put(store, "thriller")
    store.close()
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (garbage, "is not a catalogue, or it is damaged"),
        (foreign, "is a database, but not a dancematch catalogue"),
        (newer, "has catalogue version 99, this dancematch reads version 1 only"),
        (cut_short, "damaged"),
        (Path.mkdir, "is a folder, not a catalogue; name a file in it, such as .*dances.db.dances.db"),
        (os.mkfifo, "is neither a catalogue nor any other file; choose another name"),
    ],
)
@pytest.mark.parametrize("create", [True, False])
def test_what_is_no_catalogue_is_refused_and_left_alone(path, make, complaint, create):
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(CatalogueError, match=complaint) as caught:
        Store(path, MODEL, create=create).dances()

    assert one_sentence(caught.value)
    assert str(path) in str(caught.value)
    assert before == (path.read_bytes() if path.is_file() else b"")


def test_a_file_that_was_begun_is_completed_by_adding_only(path):
    """A kill in the first moment leaves an empty file: adding goes on with it, searching says what it is."""
    path.touch()
    with pytest.raises(CatalogueError, match="is an empty file, no catalogue yet; 'dancematch add' makes it"):
        Store(path, MODEL, create=False)
    assert b"" == path.read_bytes()

    store = Store(path, MODEL)
    put(store, "thriller")
    assert ["thriller"] == names(store)
    store.close()


@pytest.mark.parametrize("address", ["{}", "sqlite:///{}"])
def test_looking_for_a_catalogue_makes_none(path, address):
    with pytest.raises(CatalogueError, match="'dancematch add' makes one"):
        Store(address.format(path), MODEL, create=False)

    assert not path.exists()


@pytest.mark.parametrize("where", ["{}/missing/dances.db", "/proc/dances.db"])
def test_a_place_that_cannot_be_written_is_an_error(tmp_path, where):
    with pytest.raises(CatalogueError, match="unable to open database file") as caught:
        Store(where.format(tmp_path), MODEL)

    assert one_sentence(caught.value)


def test_no_place_is_no_catalogue():
    """An empty path would be a catalogue in memory: everything added would be lost without a word."""
    with pytest.raises(CatalogueError, match="got neither"):
        Store("", MODEL)


def test_a_path_may_hold_any_characters(tmp_path):
    odd = tmp_path / "100 % what? #1 ünï.db"
    store = Store(odd, MODEL)
    put(store, "thriller")
    store.close()

    assert odd.is_file()


@pytest.mark.parametrize("address", ["nosql://host/dances", "://", "sqlite:/x://y"])
def test_addresses_that_lead_nowhere_are_refused(address):
    with pytest.raises(CatalogueError) as caught:
        Store(address, MODEL)

    assert one_sentence(caught.value)


def test_passwords_are_not_told():
    """Whatever fails on a server's address, the message goes to logs and screens."""
    with pytest.raises(DanceMatchError) as caught:
        Store("postgresql://dancer:pa55word@127.0.0.1:1/dances", MODEL)

    assert "pa55word" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "value", "read"),
    [
        ("words", b"\x01", "fingerprints"),
        ("words", b"\xff\xff\xff\xff", "fingerprints"),
        ("visibility", b"", "fingerprints"),
        ("vocabulary", -1, "fingerprints"),
        ("joints", b"\x00\x00", "motions"),
        ("joint_visibility", b"\x00", "motions"),
        ("fps", 0, "motions"),
    ],
)
def test_damaged_rows_are_named(address, store, column, value, read):
    store.add(recorded("thriller", "x", digest("x"), 1.0), [StoredTrack(random_words(4, 0), dance(1))])
    literal = f"X'{value.hex()}'" if isinstance(value, bytes) else value
    run_sql(address, f"UPDATE tracks SET {column} = {literal}")  # noqa: S608  (our own names)
    with pytest.raises(CatalogueError, match="of 'thriller' are damaged"):
        store.fingerprints() if read == "fingerprints" else store.motions("thriller")


def test_two_processes_may_add_at_once(address):
    """Both start from nothing, and every dance of both is there in the end."""
    adders = [run(ADD_MANY, str(address), prefix, "25") for prefix in "ab"]
    for adder in adders:
        _, complaints = adder.communicate()
        assert (0, "") == (adder.returncode, complaints)
    store = Store(address, MODEL, create=False)

    assert sorted(f"{prefix}{number}" for prefix in "ab" for number in range(25)) == names(store)
    assert 50 == store.generation
    store.close()


def test_readers_go_on_while_another_process_writes(address, store):
    """A writer in the middle of its work does not keep others from opening and reading the state before."""
    put(store, "before")
    with store.transaction("BEGIN IMMEDIATE") as writing:
        writing.exec_driver_sql("UPDATE dances SET notes = 'half done'")
        reader = Store(address, MODEL, create=False)
        (known,) = reader.dances()
        assert ("before", None) == (known.name, known.notes)
        assert 1 == len(reader.fingerprints())
    assert ["half done"] == [known.notes for known in reader.dances()]
    reader.close()


def test_a_killed_process_loses_nothing_it_had_acknowledged(address):
    """Kill -9 in the middle of adding: all acknowledged dances are there and found, at most one more."""
    adder = run(ADD_UNTIL_KILLED, str(address))
    acknowledged = adder.communicate()[0].split()
    assert -signal.SIGKILL == adder.returncode
    store = Store(address, MODEL, create=False)
    found = store.fingerprints()
    wanted = random_words(STEPS, 7)

    assert len(acknowledged) <= len(found) <= len(acknowledged) + 1
    assert set(acknowledged) <= set(names(store))
    assert store.generation == len(found)
    assert [] == list(find_problems(store))
    matches = Engine(toy_codebook(), found).search([Query(wanted.segment(20, 60))], limit=1)
    assert ["d7"] == [read_names(store)[match.dance_id] for match in matches]
    put(store, "and on")
    store.close()


FILL_THE_DISK = """
import resource, sys
from test_catalogue import MODEL, CatalogueError, Store, put
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
store = Store(sys.argv[1], MODEL)
try:
    for number in range(1000):
        put(store, f"d{number:03}", number)
        print(f"d{number:03}", flush=True)
except CatalogueError as error:
    print(error, file=sys.stderr)
    print(len(store.fingerprints()), file=sys.stderr)
"""


def test_a_full_disk_is_our_error_and_loses_nothing(path):
    """A file that may not grow stands in for a disk without room."""
    filler = run(FILL_THE_DISK, str(path))
    acknowledged, complaints = filler.communicate()
    complaint, left = complaints.splitlines()
    store = Store(path, MODEL, create=False)

    assert 0 == filler.returncode
    assert complaint.startswith(f"the catalogue {path} cannot be used: ")
    assert 2 < len(acknowledged.split()) == int(left)
    assert acknowledged.split() == names(store)
    put(store, "there is room again")
    store.close()


def test_a_catalogue_on_a_read_only_disk_can_be_read(tmp_path, monkeypatch):
    path = tmp_path / "read only?.db"
    filled = Store(path, MODEL)
    put(filled, "a")
    filled.close()
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    store = Store(path, MODEL, create=False)

    assert ["a"] == [dance.name for dance in store.dances()]
    with pytest.raises(CatalogueError, match="can only be read: the file, or the folder") as caught:
        store.remove("a")
    assert one_sentence(caught.value)
    store.close()


def test_a_catalogue_that_is_made_lazily_is_made_by_the_first_change(path):
    """Whoever only asks, or fails before there is anything to keep, leaves no file."""
    lazy = Store(path, MODEL, lazily=True)
    assert ([], False, None) == (names(lazy), lazy.has("a"), lazy.find_recording(digest("x")))
    with pytest.raises(InputError, match="it has no dancer"):
        lazy.add(recorded("nobody", "x", digest("x"), 1.0), [])
    assert [] == list(path.parent.iterdir())
    named = lazy.identity
    put(lazy, "thriller")

    assert (["thriller"], 1, named) == (names(lazy), lazy.generation, lazy.identity)
    lazy.close()
    again = Store(path, MODEL, create=False)
    assert ["thriller"] == names(again)
    again.close()


def test_threads_may_read_while_a_catalogue_comes_into_being(path):
    """Each sees nothing or the first dance, and no half-made tables."""
    lazy = Store(path, MODEL, lazily=True)
    with ThreadPoolExecutor(8) as threads:
        readings = [threads.submit(names, lazy) for _ in range(40)]
        writing = threads.submit(put, lazy, "thriller")
        readings += [threads.submit(names, lazy) for _ in range(200)]
        seen = [tuple(reading.result()) for reading in readings]
        writing.result()

    assert {(), ("thriller",)} >= set(seen)
    assert ["thriller"] == names(lazy)
    lazy.close()


def test_a_catalogue_that_another_process_makes_meanwhile_is_seen(path):
    """Two begin with nothing, lazily: the second goes on with what the first has made."""
    first, second = Store(path, MODEL, lazily=True), Store(path, MODEL, lazily=True)
    assert [] == names(second)
    put(first, "thriller")

    assert ["thriller"] == names(second)
    put(second, "polka")
    assert ["polka", "thriller"] == names(first)
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("where", "complaint"),
    [("{}/missing/dances.db", "there is no folder .*missing$"), ("/proc/dances.db", "cannot be made")],
)
def test_a_place_where_nothing_can_be_made_is_an_error_before_the_work(tmp_path, where, complaint):
    """Not only when the first dance is to be kept, hours later."""
    with pytest.raises(CatalogueError, match=complaint) as caught:
        Store(where.format(tmp_path), MODEL, lazily=True)

    assert one_sentence(caught.value)


@pytest.mark.parametrize("name", ["", "  ", "\t", "a\nb", "bell\x07", "break\u2028", "half\ud800"])
def test_a_name_that_cannot_be_typed_is_refused(name):
    with pytest.raises(InputError, match="give another name") as caught:
        require_name(name)

    assert one_sentence(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["Thriller (1983)", "Ägypten", "踊り", "a b", "💃🏽"])
def test_a_name_may_be_any_text(name):
    require_name(name)
