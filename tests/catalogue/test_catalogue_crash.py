"""What is left of a catalogue after kill -9, a full disk and several writers at once.

Children are forked by one process that has everything loaded: a child lives for
milliseconds, and dozens of them can be killed in seconds.
"""

import itertools
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from catalogue_samples import exclude, named_words
from dance_samples import recorded
from dancematch.catalogue.records import NewRecording, StoredTrack
from dancematch.catalogue.sql.schema import metadata
from dancematch.catalogue.store import Store
from dancematch.catalogue.verify import find_problems
from dancematch.errors import CatalogueError
from dancematch.skeletons import BODY15
from dancematch.types import Fingerprint, Motion, Span

KILLS = 20
MODEL = "toy"


def made(name: str, *, joints: int = 60) -> tuple[NewRecording, list[StoredTrack]]:
    """A dance that tells by its name how many dancers it has and what their words are."""
    number = int(name.rpartition("-")[2])
    rng = np.random.default_rng(number)
    tracks = [
        StoredTrack(
            Fingerprint(rng.integers(256, size=(100, 14)), 256, 4 / 30, MODEL),
            Motion(rng.normal(size=(joints, 15, 3)), 30.0, BODY15),
        )
        for _ in range(1 + number % 3)
    ]
    new = recorded(name, name, sha256(name.encode()).hexdigest(), 13.3)
    return replace(new, dance=replace(new.dance, dance_id=id_of(name))), tracks


def id_of(name: str) -> str:
    """The id of a dance that was made here."""
    return "d" + sha256(name.encode()).hexdigest()[:15]


def half_dances(store: Store) -> list[str]:
    """Dances that are not exactly what was added by their name."""
    found: dict[str, list[np.ndarray]] = {}
    for name, words in named_words(store):
        found.setdefault(name, []).append(words.words)
    wanted = {name: [track.fingerprint.words for track in made(name)[1]] for name in found}
    return [
        name
        for name, words in found.items()
        if not np.array_equal(np.array(words), np.array(wanted[name]))
        or [len(words)] != [len(dancers) for dancers in store.motions(name).values()]
    ]


def start(worker: Callable[..., None], *arguments: object) -> subprocess.Popen[str]:
    """Run a function of a test's file in a process of its own."""
    script = "import sys; here = __import__(sys.argv[1]); getattr(here, sys.argv[2])(*sys.argv[3:])"
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    return subprocess.Popen(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            script,
            worker.__module__,
            worker.__name__,
            *map(str, arguments),
        ],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def report_of(process: subprocess.Popen[str]) -> list:
    """The JSON lines that a process leaves when it ends well."""
    out, complaints = process.communicate(timeout=240)
    assert (0, "") == (process.returncode, complaints)
    return [json.loads(line) for line in out.splitlines()]


def tell(value: object) -> None:
    """Print a JSON line."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def lines_of_a_killed_child(
    work: Callable[[Callable[[str], object]], None], lines: int = 1, delay: float = 0
) -> list[str]:
    """Fork a child, kill it `delay` seconds after so many lines, and return all lines it has written."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(lambda line: os.write(writing, f"{line}\n".encode()))
        finally:
            os._exit(1)
    os.close(writing)
    written = b""
    while written.count(b"\n") < lines and (piece := os.read(reading, 65536)):
        written += piece
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), status
    while piece := os.read(reading, 65536):
        written += piece
    os.close(reading)
    return written.decode().splitlines()


def add_and_remove(path: str, prefix: str, mine: list[str], say: Callable[[str], object]) -> None:
    """Without end: say what is to be done, do it, say that it is done."""
    store = Store(path, MODEL)
    say("open")
    for number in range(100_000):
        name = f"{prefix}-{number}"
        if number % 4 == 1 and len(mine) > 3:
            say("-? " + " ".join(mine[:2]))
            store.remove_many(mine[:2])
            say("- " + " ".join(mine[:2]))
            mine = mine[2:]
        else:
            batch = [f"{name}{more}" for more in range(3)] if number % 4 == 3 else [name]
            say("+? " + " ".join(batch))
            store.add_many([made(one) for one in batch])
            say("+ " + " ".join(batch))
            mine = mine + batch


def acknowledged(lines: list[str], there: set[str]) -> tuple[set[str], set[str]]:
    """What must be there after these lines, and what may be or not because it was being done."""
    unsure: set[str] = set()
    for line in lines:
        sign, *names = line.split()
        there = there | set(names) if sign == "+" else there - set(names) if sign == "-" else there
        unsure = set(names) if sign.endswith("?") else set()
    return there, unsure


def kill_many(path: str, kills: str) -> None:
    """Kill child after child at its work, and report on what each leaves."""
    chance = random.Random(0)  # noqa: S311  (moments, not secrets)
    there: set[str] = set()
    Store(path, MODEL).close()
    for kill in range(int(kills)):
        mine = sorted(there)
        lines = lines_of_a_killed_child(
            lambda say, kill=kill, mine=mine: add_and_remove(path, str(kill), mine, say),
            lines=chance.randint(1, 9),
            delay=chance.uniform(0, 0.006),
        )
        there, unsure = acknowledged(lines, there)
        store = Store(path, MODEL, create=False)
        found = {dance.name for dance in store.dances()}
        tell(
            {
                "lines": len(lines),
                "lost": sorted(there - found - unsure),
                "unheard_of": sorted(found - there - unsure),
                "torn": (unsure & found) not in (set(), unsure),
                "half": half_dances(store) if kill % 10 == 9 else [],
                "problems": [str(problem) for problem in find_problems(store)],
                "in_flight": bool(unsure),
            }
        )
        there = set(sorted(found)[-6:])
        store.remove_many(found - there)
        store.close()


def test_kill_9_at_any_moment_loses_nothing_acknowledged_and_leaves_nothing_half(tmp_path):
    """Processes that add and remove, killed at random: what they had in hand is there as a whole or not."""
    reports = report_of(start(kill_many, tmp_path / "dances.db", KILLS))

    assert KILLS == len(reports)
    for name in ("lost", "unheard_of", "torn", "half", "problems"):
        assert [] == [report[name] for report in reports if report[name]], name
    # The test itself: most were killed in the middle of something, after having done something.
    assert sum(report["in_flight"] for report in reports) > KILLS / 3
    assert sum(report["lines"] > 3 for report in reports) > KILLS / 3


def make_and_halt(path: str, moment: int, say: Callable[[str], object]) -> None:
    """Make a catalogue, but come to a halt before the statement of that number."""
    numbers = itertools.count()

    def halt(*_: object) -> None:
        if next(numbers) == moment:
            say("halted")
            signal.pause()

    sa.event.listen(sa.Engine, "before_cursor_execute", halt)
    Store(path, MODEL)
    say("done")
    signal.pause()


def kill_makers(path: str) -> None:
    """Kill the making of a catalogue before each of its statements, and report on what is left."""
    for moment in itertools.count():
        attempt = f"{path}.{moment}"
        lines = lines_of_a_killed_child(
            lambda say, attempt=attempt, moment=moment: make_and_halt(attempt, moment, say)
        )
        connection = sqlite3.connect(attempt)
        tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()[0]
        connection.close()
        store = Store(attempt, MODEL)
        store.add(*made("room-1"))
        tell([tables, half_dances(store), [str(problem) for problem in find_problems(store)]])
        store.close()
        if lines == ["done"]:
            return


def test_kill_9_while_a_catalogue_is_made_leaves_all_tables_or_none(tmp_path):
    """Killed before any statement of it; either way the next one to add goes on."""
    reports = report_of(start(kill_makers, tmp_path / "new.db"))
    tables = [count for count, *_ in reports]

    assert [([], [])] * len(reports) == [(half, problems) for _, half, problems in reports]
    assert {0, len(metadata.tables)} == set(tables)
    assert sorted(tables) == tables
    assert tables.count(0) > 6


def write_many(path: str, prefix: str, count: str) -> None:
    store = Store(path, MODEL)
    for number in range(int(count)):
        store.add(*made(f"{prefix}-{number}"))
        if number % 3 == 2:
            store.remove(f"{prefix}-{number - 1}")
    store.close()


def follow(path: str, last: str) -> None:
    """Follow the changes up to a generation; report what is held then, and every half dance seen."""
    store = Store(path, MODEL, create=False)
    held: dict[int, tuple[str, int]] = {}
    known = {
        id_of(f"{prefix}-{number}"): f"{prefix}-{number}" for prefix in "ab" for number in range(int(last))
    }
    generation, wrong = 0, []
    while generation < int(last):
        found = store.changes(generation)
        assert found is not None
        for key in found.removed:
            held.pop(key, None)
        held |= {track.key: (track.dance_id, track.dancer) for track in found.added}
        generation = found.generation
        dances: dict[str, set[int]] = {}
        for dance_id, dancer in held.values():
            dances.setdefault(known[dance_id], set()).add(dancer)
        wrong += [name for name in dances if dances[name] != set(range(1, len(made(name)[1]) + 1))]
        time.sleep(0.02)
    store.close()
    tell([sorted(dances), wrong])


def test_two_writers_and_three_readers_at_once(tmp_path):
    """All of both writers is there; readers who follow the changes see no half dance and end the same."""
    path = tmp_path / "dances.db"
    Store(path, MODEL).close()
    count = 30
    generations = 2 * (count + count // 3)
    writers = [start(write_many, path, prefix, count) for prefix in "ab"]
    readers = [start(follow, path, generations) for _ in range(3)]
    reports = [report_of(process) for process in writers + readers]
    store = Store(path, MODEL, create=False)
    wanted = sorted(f"{prefix}-{number}" for prefix in "ab" for number in range(count) if number % 3 != 1)

    assert [[], []] == reports[:2]
    assert [[[wanted, []]]] * 3 == reports[2:]
    assert wanted == [dance.name for dance in store.dances()]
    assert generations == store.generation
    assert ([], []) == (half_dances(store), list(find_problems(store)))
    store.close()


def fill_the_disk(path: str) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    store = Store(path, MODEL)
    written: list[str] = []
    complaints: list[str] = []
    while len(complaints) < 3:
        batch = [f"{len(written)}-{more}" for more in range(4)]
        try:
            store.add_many([made(name) for name in batch])
            written += batch
        except CatalogueError as error:
            complaints.append(str(error))
    tell([sorted(written), complaints, [dance.name for dance in store.dances()]])


def test_a_full_disk_refuses_a_batch_entirely_and_keeps_all_others(tmp_path):
    """A file that may not grow stands in for a disk without room; it can be tried again and again."""
    path = tmp_path / "dances.db"
    ((written, complaints, left),) = report_of(start(fill_the_disk, path))
    store = Store(path, MODEL, create=False)

    assert 4 <= len(written)
    for complaint in complaints:
        assert complaint.startswith(f"the catalogue {path} cannot be used: ")
        assert "\n" not in complaint
    assert written == left == [dance.name for dance in store.dances()]
    assert ([], []) == (half_dances(store), list(find_problems(store)))
    store.add(*made("room-1"))
    exclude(store, "room-1", Span(0, 1))
    store.close()


@pytest.mark.parametrize("name", ["a-0", "a-1", "a-2"])
def test_the_builder_tells_half_dances(tmp_path, name):
    """The check that the tests above rely on can fail: a dancer fewer, a word changed."""
    store = Store(tmp_path / "dances.db", MODEL)
    dance, tracks = made(name)
    wrong = Fingerprint((tracks[0].fingerprint.words + 1) % 256, 256, 4 / 30, MODEL)
    store.add(dance, [StoredTrack(wrong, tracks[0].motion), *tracks[1:]])
    assert [name] == half_dances(store)
    store.remove(name)
    store.add(dance, tracks)

    assert [] == half_dances(store)
    store.close()
