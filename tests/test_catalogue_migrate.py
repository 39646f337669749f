import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from dancematch.catalogue.migrations import STEPS
from dancematch.catalogue.records import Changes, Dance, StoredTrack
from dancematch.catalogue.schema import VERSION
from dancematch.catalogue.store import Store
from dancematch.catalogue.verify import problems_of
from dancematch.errors import CatalogueError
from dancematch.types import Span

# What the first version wrote, word for word: never to be made by today's code.
VERSION_1 = """
CREATE TABLE dances (
	"key" INTEGER NOT NULL, dance_id VARCHAR NOT NULL, label VARCHAR, bank VARCHAR, source VARCHAR NOT NULL,
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


def run_sql(path: Path, script: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


@pytest.fixture
def old(tmp_path) -> Path:
    """A catalogue of the first version."""
    path = tmp_path / "old.db"
    run_sql(path, "PRAGMA journal_mode=WAL;" + VERSION_1)
    return path


def version_of(path: Path) -> str:
    connection = sqlite3.connect(path)
    (value,) = connection.execute("SELECT value FROM facts WHERE name = 'version'").fetchone()
    connection.close()
    return value


def layout(path: Path) -> dict[str, object]:
    """The tables of a file as a database sees them, whatever statements made them."""
    engine = sa.create_engine(f"sqlite:///{path}")
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


def test_a_migrated_catalogue_is_laid_out_like_a_new_one(old, tmp_path):
    Store(old, None).close()
    Store(tmp_path / "new.db", "toy").close()

    assert layout(tmp_path / "new.db") == layout(old)


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
    with pytest.raises(CatalogueError, match="cannot be used: no such table: nowhere"):
        Store(old, None)

    assert ("1", before) == (version_of(old), layout(old))


def test_an_older_catalogue_that_cannot_be_written_says_how_to_migrate_it(old, monkeypatch):
    content = old.read_bytes()
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    with pytest.raises(CatalogueError, match=r"version 1, must be brought to 2 .* dancematch stats COPY$"):
        Store(old, None)

    assert content == old.read_bytes()


@pytest.mark.parametrize("version", ["3", "99", "two", "0", "-1"])
def test_a_catalogue_of_a_version_to_come_is_refused_in_one_sentence(old, version):
    run_sql(old, f"UPDATE facts SET value = '{version}' WHERE name = 'version'")  # noqa: S608  (our own)
    with pytest.raises(CatalogueError) as caught:
        Store(old, None)

    assert f"{old} has catalogue version {version}, this dancematch reads up to 2; upgrade dancematch" == str(
        caught.value
    )
    assert version == version_of(old)


def test_a_catalogue_that_others_migrate_meanwhile_is_not_written_any_more(tmp_path, old):
    """An older dancematch that still has the file open stops instead of writing rows it does not know."""
    store = Store(tmp_path / "dances.db", "toy")
    run_sql(tmp_path / "dances.db", "UPDATE facts SET value = '3' WHERE name = 'version'")
    track = StoredTrack(Store(old, None).fingerprints()[0][1])
    with pytest.raises(CatalogueError, match="has become catalogue version 3; upgrade dancematch"):
        store.add(Dance("new", "new", "cc33", 3.0), [track])

    store.close()


def test_a_file_that_lacks_a_table_of_its_version_is_damaged(tmp_path):
    Store(tmp_path / "dances.db", "toy").close()
    run_sql(tmp_path / "dances.db", "DROP TABLE exclusions")
    with pytest.raises(CatalogueError, match="is damaged: its table 'exclusions' is missing"):
        Store(tmp_path / "dances.db", "toy")
