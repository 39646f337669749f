"""A PostgreSQL server that restarts while dances are added, removed, excluded and copied."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
import sqlalchemy as sa

from catalogue_samples import edit, undo
from dance_samples import MODEL, dance, random_words, recorded, small_model
from dancematch import formats
from dancematch.catalogue.editing.requests import EditRecording
from dancematch.catalogue.records import Exclusion
from dancematch.catalogue.sql import outage
from dancematch.catalogue.store import NewRecording, Store, StoredTrack
from dancematch.catalogue.transfer import database_rows
from dancematch.catalogue.transfer.copying import copy_catalogue
from dancematch.errors import CatalogueError, ServerAwayError
from dancematch.pipeline.analysis.analyse_files import analyse_files
from dancematch.pipeline.ingest import Ingest
from dancematch.pipeline.recording_plan import RecordingPlan
from dancematch.types import Motion, Span
from databases import contents, fetch

CLIPS = 60
PATIENCE_SECONDS = 180


@pytest.fixture
def url(postgresql) -> str:
    return postgresql.new_schema()


@pytest.fixture
def store(url):
    opened = Store(url, MODEL)
    yield opened
    opened.close()


def new(name: str, seed: int = 0) -> tuple[NewRecording, list[StoredTrack]]:
    return recorded(name, f"{name}.npz", digest(name), 20.0), [StoredTrack(random_words(40, seed))]


def digest(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def names(store: Store) -> list[str]:
    return [known.name for known in store.dances()]


def write_clips(folder: Path, count: int) -> Path:
    """Small motion files, each of another content."""
    folder.mkdir()
    motion = dance(0)
    for number in range(count):
        joints = motion.joints[:150] + np.float32(number / 1000)
        formats.npz.write(folder / f"clip{number:02}.npz", [Motion(joints, motion.fps, motion.skeleton)])
    return folder


def start_adding(url: str, clips: Path) -> "subprocess.Popen[str]":
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "dancematch", "add", url, str(clips), "--model", "floor", "--jobs", "1"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def read_until(process: "subprocess.Popen[str]", pattern: str, times: int = 1) -> list[str]:
    """The lines on stderr up to the one that shows the pattern so many times."""
    lines: list[str] = []
    while times and (line := process.stderr.readline()):
        lines.append(line.rstrip())
        times -= bool(re.search(pattern, line))
    return lines


@pytest.mark.parametrize("mode", ["immediate", "fast"])
def test_add_waits_out_a_restart_of_the_server(postgresql, url, tmp_path, mode):
    """All clips are there, each once, after a crash and after an orderly restart; it is told once."""
    with start_adding(url, write_clips(tmp_path / "clips", CLIPS)) as adding:
        lines = read_until(adding, r"1 dancer\(s\)", times=8)
        postgresql.halt(mode)
        lines += read_until(adding, "waiting for it|failed")
        postgresql.start()
        lines += [line.rstrip() for line in adding.stderr]
    store = Store(url, None, create=False)
    known = store.dances()
    store.close()
    waits = [line for line in lines if "waiting" in line]

    assert f"{CLIPS} added, 0 skipped, 0 failed" == lines[-1]
    assert 0 == adding.returncode
    assert CLIPS == len(known) == sum(one.recordings for one in known)
    assert 1 == len(waits)
    assert re.fullmatch(
        r"postgresql://dancer:\*\*\*@.*: the server is away; waiting for it, up to 60 s", waits[0]
    )
    assert CLIPS + 2 == len(lines)  # and nothing else was said, such as a driver's traceback


class Commits:
    """What happens to the commits of a catalogue, one after the other."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.next: list[str] = []
        self._commit: Callable[..., None] = store.engine.dialect.do_commit
        monkeypatch.setattr(store.engine.dialect, "do_commit", self)

    def __call__(self, connection: Any) -> None:
        """Commit, or lose the connection before or after it."""
        fate = self.next.pop(0) if self.next else "commit"
        if fate == "lost":
            connection.driver_connection.close()
        self._commit(connection)
        if fate == "lost reply":
            connection.driver_connection.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")


@pytest.fixture
def commits(store, monkeypatch):
    return Commits(store, monkeypatch)


@pytest.mark.parametrize("fates", [["lost reply"], ["lost"], ["lost", "lost reply"]])
def test_a_change_whose_commit_was_lost_is_made_once(store, commits, fates):
    """Whether the server had committed it or not is asked, not guessed: for each kind of change."""
    commits.next = [*fates]
    store.add(*new("a"))
    commits.next = [*fates]
    edit(store, EditRecording("a.npz", exclude=Span(1, 2), reason="chorus"))
    commits.next = [*fates]
    undo(store)
    commits.next = [*fates]
    undo(store)
    store.add(*new("b"))
    commits.next = [*fates]
    store.remove("b")

    excluded = Exclusion("a", 1, 2, "chorus")
    assert (["a"], [excluded], 6) == (names(store), store.exclusions(), store.generation)


def test_a_clip_whose_commit_was_lost_counts_as_added(url, tmp_path, monkeypatch):
    """Not as skipped, though its content is in the catalogue when it is asked for."""
    model = small_model()
    store = Store(url, model.model_id)
    commits = Commits(store, monkeypatch)
    clips = sorted(write_clips(tmp_path / "clips", 3).iterdir())
    ingest = Ingest(store, model, lambda files, report: analyse_files(list(files), on_progress=report))
    added = []
    for one in ingest.add({clip: RecordingPlan(clip.stem) for clip in clips}):
        added.append(one)
        commits.next = ["lost reply"] if len(added) == 1 else []

    assert [("clip00", False), ("clip01", False), ("clip02", False)] == [
        (one.dance, one.skipped) for one in added
    ]
    assert [None] * 3 == [one.error for one in added]
    assert (3, 3) == (len(store.dances()), store.generation)
    store.close()


def test_what_another_process_added_meanwhile_is_not_taken_for_ours(store, url, commits, monkeypatch):
    """A lost change is told by its own token: the same content by another process is a refusal."""
    other = Store(url, MODEL)
    pause = outage.time.sleep

    def let_the_other_be_faster(seconds: float) -> None:
        if not other.has("theirs"):
            other.add(recorded("theirs", "x.npz", digest("a"), 20.0), new("a")[1])
        pause(seconds)

    commits.next = ["lost"]
    monkeypatch.setattr(outage.time, "sleep", let_the_other_be_faster)
    with pytest.raises(CatalogueError, match="content as 'theirs'"):
        store.add(*new("a"))

    assert ["theirs"] == names(store)
    other.close()


def test_a_server_that_stays_away_is_waited_for_once(postgresql, store, monkeypatch, caplog):
    """The first change waits, the next ones fail at once, with one line of log; then all goes on."""
    monkeypatch.setattr(outage, "PATIENCE_SECONDS", 0.5)
    postgresql.halt()
    pauses: list[float] = []
    pause = outage.time.sleep
    monkeypatch.setattr(outage.time, "sleep", lambda seconds: (pauses.append(seconds), pause(seconds)))
    waited: list[int] = []
    try:
        for name in "abc":
            with pytest.raises(ServerAwayError, match=r"no server answers at 127\.0\.0\.1, port"):
                store.add(*new(name))
            waited.append(len(pauses))
    finally:
        postgresql.start()
    store.add(*new("d"))

    assert 1 == len(caplog.records)
    assert waited[0] > 1
    assert [waited[0]] * 3 == waited
    assert ["d"] == names(store)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere.invalid"])
def test_the_first_connection_is_not_waited_for(url, monkeypatch, address):
    """An address that is wrong is said at once."""
    monkeypatch.setattr(outage.time, "sleep", lambda _: pytest.fail("it waits"))
    with pytest.raises(CatalogueError, match="no server answers at"):
        Store(re.sub(r"127.0.0.1:\d+", address, url), MODEL)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SET statement_timeout = 50; SELECT pg_sleep(9)", "statement timeout"),
        ("SELECT * FROM nowhere", "does not exist"),
    ],
)
def test_what_a_restart_does_not_mend_is_not_repeated(store, statement, reason):
    calls = []

    @outage.repeated
    def ask(database: Store) -> None:
        calls.append(1)
        with database.transaction() as connection:
            for one in statement.split("; "):
                connection.execute(sa.text(one))

    with pytest.raises(CatalogueError, match=r"cannot be used|is damaged") as told:
        ask(store)
    assert [1] == calls
    assert not isinstance(told.value, ServerAwayError), reason


def test_a_connection_that_an_administrator_ends_is_made_anew(store, url):
    """In the middle of a change, which begins again."""
    ended = []

    @outage.repeated
    def add(database: Store) -> None:
        with database.transaction("BEGIN IMMEDIATE") as connection:
            database.next_generation(connection)
            if not ended:
                mine = connection.execute(sa.text("SELECT pg_backend_pid()")).scalar()
                ended.append(fetch(url, f"SELECT pg_terminate_backend({mine})"))
            database.next_generation(connection)

    add(store)

    assert (1, 2) == (len(ended), store.generation)


def test_a_copy_waits_out_a_restart_of_its_target(postgresql, url, tmp_path, monkeypatch):
    """Batch after batch; what was stored before the restart counts as copied all the same."""
    monkeypatch.setattr(database_rows, "BATCH", 5)
    source = Store(tmp_path / "dances.db", MODEL)
    source.add_many([new(f"d{number:02}", number) for number in range(40)])
    source.close()
    copied, restart = [], threading.Thread(target=lambda: (time.sleep(1), postgresql.start()))
    for some in copy_catalogue(tmp_path / "dances.db", url):
        copied.append(some)
        if len(copied) == 3:
            postgresql.halt()
            restart.start()
    restart.join(PATIENCE_SECONDS)

    assert (40, 0, 40) == tuple(
        sum(getattr(some, what) for some in copied) for what in ("copied", "skipped", "verified")
    )
    assert contents(tmp_path / "dances.db") == contents(url)


ADD = """
import hashlib, sys
import numpy as np
from dance_samples import recorded
from dancematch.catalogue.store import Store, StoredTrack
from dancematch.types import Fingerprint
store = Store(sys.argv[1], "toy")
words = StoredTrack(Fingerprint(np.zeros((40, 2), int), 8, 0.5, "toy"))
for number in range(100_000):
    name = f"{sys.argv[2]}{number}"
    store.add(recorded(name, name, hashlib.sha256(name.encode()).hexdigest(), 20.0), [words])
    print(name, flush=True)
"""


def test_a_crash_under_two_writers_loses_nothing_acknowledged(postgresql, url):
    """Both go on afterwards; what they were told is stored is there, and nothing is there twice."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", ADD, url, prefix],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        for prefix in "ab"
    ]  # fmt: skip
    written = [writer.stdout.readline().strip() for writer in writers for _ in range(10)]
    postgresql.halt()
    postgresql.start()
    written += [writer.stdout.readline().strip() for writer in writers for _ in range(100)]
    for writer in writers:
        writer.kill()
        written += writer.stdout.read().split()
        writer.communicate()
    store = Store(url, MODEL, create=False)
    found = names(store)

    assert set(found) >= set(written) - {""}
    assert len(found) <= len(written) + 2  # committed, but no longer acknowledged
    assert store.generation == len(found) == len(store.fingerprints())
    store.close()
