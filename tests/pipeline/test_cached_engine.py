"""A catalogue's engine: read in bulk, kept beside the database, never wrong and never in the way."""

import shutil
import sqlite3
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from dance_samples import MODEL, digest, random_words, recorded, toy_codebook
from dancematch.cache_folder import cache_folder
from dancematch.catalogue import packed
from dancematch.catalogue.editing.edit import CatalogueEditor
from dancematch.catalogue.editing.requests import EditRecording
from dancematch.catalogue.packed import read_packed_tracks
from dancematch.catalogue.records import NewRecording, StoredTrack
from dancematch.catalogue.store import Store
from dancematch.errors import CatalogueError
from dancematch.pipeline import cached_engine as kept_engine
from dancematch.pipeline.analysis.clip_files import find_clips
from dancematch.pipeline.cached_engine import CachedEngine
from dancematch.search.engine import Engine, Query
from dancematch.types import SEEN_FROM, Span

CROWD = [random_words(30, 900 + n) for n in range(25)]


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    """Ten tracks are worth keeping, seven come in one piece, and nobody's own cache folder is touched."""
    monkeypatch.setattr(kept_engine, "MIN_CACHED_TRACKS", 10)
    monkeypatch.setattr(packed, "TRACKS", 7)
    monkeypatch.setenv("DANCEMATCH_CACHE", str(tmp_path / "user"))


def new(number: int) -> tuple[NewRecording, list[StoredTrack]]:
    """A dance of one or two dancers, some partly seen, some with a label, collection or period."""
    tracks = []
    for dancer in range(1 + number % 2):
        made = random_words(8 + number % 30, 10 * number + dancer)
        visible = np.random.default_rng(number).random(made.words.shape).astype(np.float32)
        track = type(made)(made.words, made.vocabulary, 0.5, MODEL, number / 10, visible)
        tracks.append(StoredTrack(track, period_seconds=2.0 if number % 3 == 0 else None))
    label = "odd" if number % 2 else None
    return recorded(
        f"dance {number}", "x", digest(f"hash {number}"), 20.0, label=label, collection=f"b{number % 4}"
    ), tracks


def filled(address: object) -> Store:
    made = Store(str(address), MODEL)
    made.add_many([new(number) for number in range(15)])
    return made


@pytest.fixture
def store(address):
    made = filled(address)
    yield made
    made.close()


@pytest.fixture
def file_store(tmp_path):
    """In a file, whatever it is that happens to the file."""
    made = filled(tmp_path / "dances.db")
    yield made
    made.close()


class Patient(CachedEngine):
    """Waits until the cache is written."""

    def current(self) -> Engine:
        """As it is, and all of it on disk."""
        made = super().current()
        self.close()
        return made


def kept(store: Store) -> CachedEngine:
    return Patient(store, toy_codebook(), CROWD)


def exclude(store: Store, number: int, span: Span) -> None:
    """A segment of the recording of the dance of that number never matches from now on."""
    CatalogueEditor(store).edit([EditRecording(digest(f"hash {number}"), exclude=span)])


def found(engine: Engine) -> list[tuple[str, float]]:
    """What a search finds, whatever the order of entering."""
    matches = engine.search([Query(random_words(12, 77))], limit=50)
    return [(match.dance_id, match.score) for match in matches]


def expected(store: Store) -> list[tuple[str, float]]:
    """The same of an engine that is built noun by noun."""
    plain = Engine(toy_codebook(), background=CROWD)
    plain.add(store.everything().added)
    return found(plain)


def test_what_is_read_in_bulk_is_what_is_read_one_by_one(store):
    """Every fact and every word, also what is excluded and therefore unseen."""
    exclude(store, 3, Span(1.0, 4.0))
    exclude(store, 3, Span(4.6, 5.0))
    one_by_one = {track.key: track for track in store.everything().added}
    state, pieces = read_packed_tracks(store)
    seen = 0
    for piece in pieces:
        packed = piece.packed
        facts = zip(
            piece.keys.tolist(), piece.dance_ids, piece.dancers, piece.labels, piece.collections, strict=True
        )
        for number, (key, *said) in enumerate(facts):
            track, part = one_by_one[key], slice(*packed.offsets[number : number + 2])
            assert [track.dance_id, track.dancer, track.labels, track.collection] == said
            assert (track.fingerprint.words == packed.words[part]).all()
            shown = np.unpackbits(packed.seen[part], axis=1, count=2)
            assert ((track.fingerprint.visibility >= SEEN_FROM) == shown).all()
            assert (track.fingerprint.start, 0.5) == tuple(packed.clocks[number])
            assert np.isnan(piece.periods[number]) == (track.period_seconds is None)
            seen += 1
    assert (3, len(one_by_one)) == (state.generation, seen)


def test_an_empty_catalogue_is_read_too(tmp_path):
    with_nothing = Store(tmp_path / "empty.db", MODEL)

    assert (0, []) == (
        read_packed_tracks(with_nothing)[0].generation,
        list(read_packed_tracks(with_nothing)[1]),
    )
    assert [] == found(kept(with_nothing).current())
    with_nothing.close()


@pytest.mark.parametrize(
    "damage",
    ["words = x'0102'", "words = x'010203'", "words = x''", "words = 7", "visibility = x'00'",
     "channels = 1", "start = 'x'", "seconds_per_word = 0", "vocabulary = 3"],
)  # fmt: skip
def test_a_damaged_track_is_named(file_store, damage):
    connection = sqlite3.connect(file_store.where)
    connection.execute(f"UPDATE tracks SET {damage} WHERE recording = 5")  # noqa: S608  (our own words)
    connection.commit()
    connection.close()

    with pytest.raises(CatalogueError, match=r"'dance 4' (are damaged|is not of its column)|several kinds"):
        list(read_packed_tracks(file_store)[1])


def cache_of(store: Store) -> Path:
    """Beside a file; in the user's folder for a server."""
    if "://" in store.where:
        return cache_folder() / "engines" / store.identity
    return Path(store.where + ".cache")


def without_reading(monkeypatch) -> None:
    """From now on the database cannot be read as a whole."""

    def forbidden(_: Store) -> None:
        raise AssertionError("the whole database is read")

    monkeypatch.setattr(kept_engine, "read_packed_tracks", forbidden)


def test_what_was_kept_is_opened_and_brought_up_to_date(store, monkeypatch):
    """Without reading the whole database: what came since is added."""
    assert expected(store) == found(kept(store).current())
    store.add_many([new(number) for number in range(15, 18)])
    without_reading(monkeypatch)

    assert expected(store) == found(kept(store).current())


def test_a_removed_dance_is_gone_from_the_disk_too(store):
    """Whoever removed it: the first engine that hears of it takes the cache away, and finds it no more."""
    first = kept(store)
    first.current()
    assert cache_of(store).is_dir()
    store.remove("dance 5")
    second = kept(store)

    assert expected(store) == found(second.current()) == found(first.current())
    assert not cache_of(store).exists()
    third = kept(store)
    third.current()
    assert cache_of(store).is_dir()
    third.remove_cache()
    assert not cache_of(store).exists()


def test_a_changed_dance_is_no_reason_to_throw_the_cache_away(store, monkeypatch):
    """A stretch excluded: what was kept still serves, and does not match there any more."""
    before = found(kept(store).current())
    exclude(store, 7, Span(0.0, 9.0))
    without_reading(monkeypatch)

    assert expected(store) == found(kept(store).current()) != before
    assert cache_of(store).is_dir()


def test_nothing_in_a_cache_is_taken_for_a_clip(file_store):
    """The catalogue may lie among the clips, which are then all added by the name of their folder."""
    kept(file_store).current()
    clip = Path(file_store.where).with_name("clip.mp4")
    clip.touch()

    assert [clip] == find_clips([clip.parent])


def test_a_small_catalogue_keeps_nothing(tmp_path):
    few = Store(tmp_path / "few.db", MODEL)
    few.add_many([new(0), new(2)])
    kept(few).current()
    few.close()

    assert {"few.db", "few.db.ballast"} == {path.name for path in tmp_path.glob("few*")}


def test_the_cache_of_a_deleted_catalogue_is_not_taken_for_its_successors(file_store, tmp_path):
    """The same path, generation and number of tracks, but other dances."""
    kept(file_store).current()
    aside = shutil.copytree(cache_of(file_store), tmp_path / "aside")
    file_store.close()
    for path in tmp_path.glob("dances.db*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    other = Store(tmp_path / "dances.db", MODEL)
    other.add_many([new(number) for number in range(100, 115)])
    shutil.copytree(aside, cache_of(other))

    assert expected(other) == found(kept(other).current())
    other.close()


@pytest.mark.parametrize("more", [0, 1])
def test_a_cache_of_what_came_after_a_backup_is_not_taken_for_the_restored_catalogues(
    file_store, tmp_path, more
):
    """Put back, the backup counts on by the same numbers, as far as the cache or further: other dances."""
    file_store.close()
    shutil.copy(file_store.where, tmp_path / "backup.db")
    later = Store(file_store.where, MODEL)
    later.add_many([new(number) for number in range(20, 23)])
    kept(later).current()
    assert cache_of(later).is_dir()
    later.close()
    shutil.copy(tmp_path / "backup.db", file_store.where)
    restored = Store(file_store.where, MODEL)
    for number in range(1 + more):
        restored.add_many([new(30 + 3 * number + each) for each in range(3)])

    assert expected(restored) == found(kept(restored).current())
    assert expected(restored) == found(kept(restored).current())  # and what is kept now is its own
    restored.close()


def test_another_past_is_noticed_by_an_engine_at_work_too(file_store):
    """The same generation, but not the state that the engine was made of."""
    working = kept(file_store)
    before = working.current()
    assert before is working.current()
    with file_store.transaction("BEGIN IMMEDIATE") as connection:
        connection.exec_driver_sql("UPDATE states SET token = 'another past'")
        connection.exec_driver_sql("UPDATE dances SET dance_id = 'from another past' WHERE key = 1")

    assert "from another past" in dict(found(working.current()))
    assert before is not working.current()


def test_a_cache_that_is_too_old_or_from_the_future_is_not_used(store, monkeypatch):
    kept(store).current()
    monkeypatch.setattr(Store, "changes", lambda *_: None)
    store.add_many([new(20)])

    assert expected(store) == found(kept(store).current())


def test_the_cache_is_written_anew_when_much_has_come(store, monkeypatch):
    opened = kept(store)
    opened.current()
    store.add_many([new(number) for number in range(20, 40)])
    opened.current()
    without_reading(monkeypatch)
    monkeypatch.setattr(Engine, "add", lambda _, known: None if not known else pytest.fail("not kept"))

    assert expected_count(store) == kept(store).current().tracks


def expected_count(store: Store) -> int:
    return len(store.everything().added)


def test_a_folder_that_cannot_be_written_is_replaced_by_the_users_own(file_store, tmp_path):
    cache_of(file_store).write_text("somebody's file is in the way")
    kept(file_store).current()

    assert [file_store.identity] == [path.name for path in (tmp_path / "user" / "engines").iterdir()]
    assert "somebody's file is in the way" == cache_of(file_store).read_text()


def test_nobody_waits_for_the_cache(store, monkeypatch):
    """The first search is answered while it is being written; whoever removes a dance waits for that."""
    may_go, saves = Event(), Engine.save

    def slow(engine: Engine, folder: Path, stamp: str) -> None:
        assert may_go.wait(20)
        saves(engine, folder, stamp)

    monkeypatch.setattr(Engine, "save", slow)
    opened = CachedEngine(store, toy_codebook(), CROWD)

    assert expected(store) == found(opened.current())
    assert not cache_of(store).exists()
    may_go.set()
    opened.remove_cache()
    assert not cache_of(store).exists()


def test_nowhere_to_keep_it_is_no_reason_to_fail(file_store, monkeypatch):
    tried = []

    def full(*_: object) -> None:
        tried.append(1)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Engine, "save", full)
    opened = kept(file_store)

    assert expected(file_store) == found(opened.current())
    file_store.add_many([new(number) for number in range(20, 40)])
    assert expected(file_store) == found(opened.current())
    assert 2 == len(tried)  # either place once, and then never again


def test_a_damaged_cache_is_made_anew(store):
    kept(store).current()
    (cache_of(store) / "engine-facts.npy").write_bytes(b"nonsense")

    assert expected(store) == found(kept(store).current())
    assert b"nonsense" != (cache_of(store) / "engine-facts.npy").read_bytes()


def test_an_engine_that_is_loaded_ahead_is_the_one_that_searches(file_store):
    """It is loaded once, in a thread, and answers as any other."""
    ahead, plain = (CachedEngine(file_store, toy_codebook(), CROWD) for _ in range(2))
    ahead.start_loading()
    ahead.start_loading()
    loaded = ahead.current()
    query = [Query(random_words(12, 30))]

    assert loaded is ahead.current()
    assert plain.search(query) == ahead.search(query)
    ahead.close()
    plain.close()


def test_what_goes_wrong_while_loading_ahead_is_said_when_the_engine_is_asked(file_store, monkeypatch):
    def fail(*_: object) -> None:
        raise CatalogueError("it is damaged")

    ahead = CachedEngine(file_store, toy_codebook(), CROWD)
    monkeypatch.setattr(kept_engine, "read_packed_tracks", fail)
    ahead.start_loading()

    with pytest.raises(CatalogueError, match="it is damaged"):
        ahead.current()
    ahead.close()
