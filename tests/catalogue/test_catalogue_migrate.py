import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from dance_samples import dance, save_small_model, small_model
from dancematch.catalogue.migrations import STEPS
from dancematch.catalogue.postgresql import normalised
from dancematch.catalogue.records import Changes, Dance, Exclusion, StoredTrack
from dancematch.catalogue.rows import words_row
from dancematch.catalogue.schema import VERSION
from dancematch.catalogue.stats import stats_of
from dancematch.catalogue.store import Store
from dancematch.catalogue.verify import problems_of
from dancematch.errors import CatalogueError
from dancematch.motion import FPS
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.skeletons import BODY15
from dancematch.types import Motion, Span
from databases import PASSWORD, fetch, run_script, run_sql

# What the first version wrote, word for word: never to be made by today's code.
VERSION_1 = """
CREATE TABLE dances (
	"key" INTEGER NOT NULL, dance_id VARCHAR NOT NULL, label VARCHAR, collection VARCHAR,
    source VARCHAR NOT NULL,
	content_hash VARCHAR NOT NULL, seconds FLOAT NOT NULL, added VARCHAR NOT NULL,
	PRIMARY KEY ("key"), UNIQUE (dance_id), UNIQUE (content_hash)
);
INSERT INTO dances
	VALUES(1,'thriller','Halloween','pop','thriller.mp4','aa11',3.0,'2026-01-16T03:24:30+00:00');
INSERT INTO dances VALUES(2,'polka',NULL,NULL,'polka.npz','bb22',3.0,'2026-01-16T03:24:31+00:00');
CREATE TABLE facts (name VARCHAR NOT NULL, value VARCHAR NOT NULL, PRIMARY KEY (name));
INSERT INTO facts VALUES('version','1');
INSERT INTO facts VALUES('model_id','toy');
INSERT INTO facts VALUES('generation','2');
CREATE TABLE tracks (
	"key" INTEGER NOT NULL, dance INTEGER NOT NULL, dancer INTEGER NOT NULL, start FLOAT NOT NULL,
	seconds_per_word FLOAT NOT NULL, channels INTEGER NOT NULL, vocabulary INTEGER NOT NULL,
	words BLOB NOT NULL, visibility BLOB NOT NULL, fps FLOAT, joints BLOB, joint_visibility BLOB,
	PRIMARY KEY ("key"), UNIQUE (dance, dancer),
	FOREIGN KEY(dance) REFERENCES dances ("key") ON DELETE CASCADE
);
INSERT INTO tracks
	VALUES(1,1,1,1.5,0.5,2,8,X'010002000300040005000600',X'FFFF8000FFFF',30.0,zeroblob(180),zeroblob(30));
INSERT INTO tracks VALUES(2,1,2,1.5,0.5,2,8,X'010002000300040005000600',X'FFFF8000FFFF',NULL,NULL,NULL);
INSERT INTO tracks VALUES(3,2,1,1.5,0.5,2,8,X'010002000300040005000600',X'FFFF8000FFFF',NULL,NULL,NULL);
CREATE INDEX ix_tracks_dance ON tracks (dance);
"""


# What the second version added to it.
VERSION_2 = (
    VERSION_1
    + """
ALTER TABLE tracks ADD COLUMN period_seconds FLOAT;
ALTER TABLE tracks ADD COLUMN period_strength FLOAT;
ALTER TABLE tracks ADD COLUMN generation INTEGER DEFAULT '0' NOT NULL;
CREATE INDEX ix_tracks_generation ON tracks (generation);
CREATE INDEX ix_dances_label ON dances (label);
CREATE INDEX ix_dances_collection ON dances (collection);
CREATE TABLE exclusions (
	dance INTEGER NOT NULL, start FLOAT NOT NULL, "end" FLOAT NOT NULL, reason VARCHAR,
	PRIMARY KEY (dance, start, "end"), FOREIGN KEY (dance) REFERENCES dances (key) ON DELETE CASCADE
);
CREATE TABLE removals (generation INTEGER NOT NULL, track INTEGER NOT NULL, PRIMARY KEY (generation, track));
INSERT INTO facts VALUES('log_start','2');
INSERT INTO facts VALUES('identity','a name that it has');
UPDATE facts SET value = '2' WHERE name = 'version';
UPDATE tracks SET period_seconds = 1.5, period_strength = .8 WHERE key = 3;
INSERT INTO exclusions VALUES(2, 0, 1, 'walks on');
"""
)


@pytest.fixture
def old(address) -> str:
    """A catalogue of the first version."""
    run_script(address, VERSION_1)
    return address


@pytest.fixture(params=[VERSION_1, VERSION_2], ids=["1", "2"])
def older(request, address) -> str:
    """A catalogue of any version before today's."""
    run_script(address, request.param)
    return address


@pytest.fixture
def file(tmp_path) -> Path:
    """A catalogue of the first version in a file."""
    path = tmp_path / "old.db"
    run_sql(path, "PRAGMA journal_mode=WAL")
    run_script(path, VERSION_1)
    return path


def version_of(path: object) -> str:
    ((value,),) = fetch(path, "SELECT value FROM facts WHERE name = 'version'")
    return value


def layout(path: str) -> dict[str, object]:
    """The tables as a database sees them, whatever statements made them."""
    engine = sa.create_engine(normalised(path) if "://" in path else f"sqlite:///{path}")
    seen = sa.inspect(engine)
    found = {}
    for table in sorted(seen.get_table_names()):
        columns = [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in seen.get_columns(table)]
        indexes = sorted((i["name"], *i["column_names"]) for i in seen.get_indexes(table))
        foreign = [(f["constrained_columns"], f["options"]) for f in seen.get_foreign_keys(table)]
        found[table] = sorted(columns), indexes, foreign, seen.get_pk_constraint(table)["constrained_columns"]
    engine.dispose()
    return found


def test_an_older_catalogue_is_brought_up_to_date_when_it_is_opened(old):
    """Nothing of it is lost, and what is new in today's version works on it."""
    store = Store(old, "toy", create=False)
    known = {dance.dance_id: dance for dance in store.dances()}
    words = store.fingerprints()

    assert str(VERSION) == version_of(old)
    assert ["polka", "thriller"] == list(known)
    assert (
        Dance("thriller", "thriller.mp4", "aa11", 3.0, "Halloween", "pop", "2026-01-16T03:24:30+00:00", 2)
        == (known["thriller"])
    )
    assert ["polka", "thriller", "thriller"] == [name for name, _ in words]
    for _, found in words:
        np.testing.assert_array_equal([[1, 2], [3, 4], [5, 6]], found.words)
        np.testing.assert_allclose([[1, 1], [128 / 255, 0], [1, 1]], found.visibility)
    assert [(2, 15, 3)] == [motion.joints.shape for motion in store.motions("thriller")]
    assert [] == list(problems_of(store))
    store.exclude("thriller", Span(0, 2))
    store.add(Dance("new", "new", "cc33", 3.0), [StoredTrack(words[0][1], None, 1.0, 0.9)])
    assert (4, 1.0) == (store.generation, store.dances()[0].period_seconds)
    store.close()


def test_a_migrated_catalogue_is_laid_out_like_a_new_one(older, new_address):
    Store(older, None).close()
    new = new_address()
    Store(new, "toy").close()

    assert layout(new) == layout(older)


def test_what_was_there_before_the_checksums_gets_them(older):
    """All is well right after the migration, and a byte that is flipped from then on is found."""
    store = Store(older, None)
    assert [] == list(problems_of(store))
    store.close()
    run_sql(older, "UPDATE tracks SET words = X'010002000300040005000700' WHERE key = 3")
    store = Store(older, None)

    assert [("polka", "dancer 1: the words are damaged: they are not those that were added")] == [
        (found.dance_id, found.problem) for found in problems_of(store)
    ]
    store.close()


def test_the_second_version_loses_nothing(address):
    """Periods, exclusions, its name and the log of changes are what they were."""
    run_script(address, VERSION_2)
    store = Store(address, None)

    assert ("a name that it has", 2) == (store.identity, store.generation)
    assert {"polka": 1.5, "thriller": None} == {d.dance_id: d.period_seconds for d in store.dances()}
    assert [Exclusion("polka", 0, 1, "walks on")] == store.exclusions()
    assert Changes(2, (), ()) == store.changes(2, store.everything().token)
    store.close()


def test_every_catalogue_has_a_name_of_its_own(old, tmp_path):
    """One that was made before there were names gets one when it is migrated, and it stays."""
    first, other = Store(old, None), Store(tmp_path / "other.db", "toy")
    named = first.identity
    first.close()

    again = Store(old, None)
    assert 32 == len(named)
    assert named == again.identity != other.identity
    again.close()
    other.close()


def test_damaged_rows_do_not_stop_a_migration(file):
    """They are there and named afterwards; whoever keeps the file can still get at the rest."""
    run_sql(file, "UPDATE tracks SET words = 7, start = 'x' WHERE key = 3")
    store = Store(file, None)

    assert ["polka"] == [found.dance_id for found in problems_of(store)]
    assert [(2, 15, 3)] == [motion.joints.shape for motion in store.motions("thriller")]
    store.close()


def test_what_changed_before_the_migration_is_not_known(old):
    """Whoever derived something from the old file starts anew; from then on changes are told."""
    store = Store(old, None)

    assert [None, None] == [store.changes(0), store.changes(1)]
    assert Changes(2, (), ()) == store.changes(2)
    assert [1, 2, 3] == sorted(track.key for track in store.everything().added)
    store.remove("thriller")
    assert Changes(3, (1, 2), ()) == store.changes(2)
    store.close()


def test_migrating_is_all_or_nothing(old, monkeypatch):
    """A step that fails leaves the old file as it was, with one sentence."""
    before = layout(old)
    monkeypatch.setitem(STEPS, 1, (*STEPS[1], "ALTER TABLE nowhere ADD COLUMN nothing FLOAT"))
    with pytest.raises(CatalogueError, match=r'cannot be used: .*(: nowhere$|"nowhere" does not)'):
        Store(old, None)

    assert ("1", before) == (version_of(old), layout(old))


def test_an_older_catalogue_that_cannot_be_written_says_how_to_migrate_it(file, monkeypatch):
    content = file.read_bytes()
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    with pytest.raises(CatalogueError, match=r"version 1, must be brought to 4 .* dancematch stats COPY$"):
        Store(file, None)

    assert content == file.read_bytes()


@pytest.mark.parametrize("version", ["5", "99", "two", "0", "-1"])
def test_a_catalogue_of_a_version_to_come_is_refused_in_one_sentence(old, version):
    run_sql(old, f"UPDATE facts SET value = '{version}' WHERE name = 'version'")  # noqa: S608  (our own)
    with pytest.raises(CatalogueError) as caught:
        Store(old, None)

    shown = old.replace(PASSWORD, "***")
    assert (
        f"{shown} has catalogue version {version}, this dancematch reads up to 4; upgrade dancematch"
        == str(caught.value)
    )
    assert version == version_of(old)


def test_a_catalogue_that_others_migrate_meanwhile_is_not_written_any_more(address, file):
    """An older dancematch that still has the file open stops instead of writing rows it does not know."""
    store = Store(address, "toy")
    run_sql(address, "UPDATE facts SET value = '5' WHERE name = 'version'")
    track = StoredTrack(Store(file, None).fingerprints()[0][1])
    with pytest.raises(CatalogueError, match="has become catalogue version 5; upgrade dancematch"):
        store.add(Dance("new", "new", "cc33", 3.0), [track])

    store.close()


def test_a_catalogue_that_lacks_a_table_of_its_version_is_damaged(address):
    Store(address, "toy").close()
    run_sql(address, "DROP TABLE exclusions")
    with pytest.raises(CatalogueError, match="is damaged: its table 'exclusions' is missing"):
        Store(address, "toy")


def test_what_nobody_has_looked_at_is_looked_at_when_the_catalogue_is_opened(file, tmp_path):
    """Dances of the first version have no periods: opened to be searched, they get them, and are told."""
    save_small_model(tmp_path / "model")
    motion = Motion(np.tile(dance(1, eight_counts=1).joints, (4, 1, 1)), FPS, BODY15)
    row = words_row(small_model().fingerprint(motion))
    connection = sqlite3.connect(file)
    connection.execute("UPDATE facts SET value = ? WHERE name = 'model_id'", (small_model().model_id,))
    names = ("seconds_per_word", "channels", "vocabulary", "words", "visibility")
    connection.execute(
        "UPDATE tracks SET seconds_per_word = ?, channels = ?, vocabulary = ?, words = ?, visibility = ?",
        [row[name] for name in names],
    )
    connection.commit()
    connection.close()
    store = Store(file, None)
    assert 3 == len(store.unmeasured(10))
    with open_catalogue(file, model=tmp_path / "model", create=False) as known:
        periods = [found.period_seconds for found in known.dances()]

    assert [pytest.approx(motion.seconds / 4, rel=0.02)] * 2 == periods
    assert ((), 1.0) == (store.unmeasured(10), stats_of(store).periodic_share)
    told = store.changes(2)
    assert told is not None
    assert [1, 2, 3] == sorted(track.key for track in told.added)
    store.close()
