"""What is PostgreSQL's own; what every catalogue promises is in test_catalogue*.py, on both engines."""

import os
import re
import subprocess
import sys
import threading
import time
from hashlib import sha256
from pathlib import Path

import pytest
import sqlalchemy as sa

from catalogue_samples import named_tracks
from cli_samples import run_main
from dance_samples import MODEL, random_words, recorded, toy_codebook, write_dance
from dancematch.cache_folder import CACHE_VARIABLE
from dancematch.catalogue.listing import read_page
from dancematch.catalogue.sql import postgresql as engine_room
from dancematch.catalogue.sql.database import WRITE
from dancematch.catalogue.sql.schema import facts
from dancematch.catalogue.store import NewRecording, Store, StoredTrack
from dancematch.errors import CatalogueError, DanceMatchError
from dancematch.pipeline.cached_engine import CachedEngine
from databases import PASSWORD, USER, fetch, run_sql

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
    content = sha256(name.encode()).hexdigest()
    return recorded(name, f"{name}.npz", content, 20.0), [StoredTrack(random_words(40, seed))]


def names(store: Store) -> list[str]:
    return [known.name for known in store.dances()]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ((PASSWORD, "wr0ng"), "the server refuses the password of 'dancer'; give the right one in ~/.pgpass"),
        ((f":{PASSWORD}@", "@"), "the server wants a password of 'dancer'; give it in ~/.pgpass, PGPASSWORD"),
        (("/postgres", "/nowhere"), "the server has no database 'nowhere'; make it (createdb nowhere)"),
        ((f"{USER}:", "stranger:"), "the server refuses the password of 'stranger'"),
        ((r"re:127.0.0.1:\d+", "127.0.0.1:1"), "no server answers at 127.0.0.1, port 1; is it running"),
        ((r"re:127.0.0.1:\d+", "nowhere.invalid"), "no server answers at nowhere.invalid, port 5432; is it"),
        (("/postgres", "/postgres?colour=red&x="), "cannot be used: "),
    ],
)
def test_a_server_that_does_not_let_us_in_is_one_sentence(postgresql, change, complaint):
    """On the command line, with exit code 1, and without the password."""
    what, by = change
    asked = postgresql.url()
    asked = re.sub(what[3:], by, asked) if what.startswith("re:") else asked.replace(what, by)
    answer = run_main("list", asked)

    assert (1, "") == (answer.code, answer.out)
    assert complaint in answer.complaint
    assert PASSWORD not in answer.err
    assert "wr0ng" not in answer.err


@pytest.mark.parametrize("way", ["PGPASSWORD", "PGPASSFILE", "query"])
def test_the_password_need_not_stand_before_the_host(postgresql, url, tmp_path, monkeypatch, way):
    """PostgreSQL's own ways to give it work; given among the options it is not shown either."""
    bare = url.replace(f":{PASSWORD}@", "@")
    if way == "PGPASSWORD":
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
    elif way == "PGPASSFILE":
        file = tmp_path / "pgpass"
        file.write_text(f"127.0.0.1:{postgresql.port}:*:{USER}:{PASSWORD}\n", encoding="utf-8")
        file.chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(file))
    else:
        bare = f"{bare}&password={PASSWORD}"
    store = Store(bare, MODEL)

    assert [] == names(store)
    assert PASSWORD not in store.where
    store.close()


@pytest.mark.parametrize("scheme", ["postgres", "postgresql+psycopg"])
def test_other_names_of_the_scheme_are_understood(url, scheme):
    store = Store(url.replace("postgresql", scheme), MODEL)

    assert store.where.startswith("postgresql://dancer:***@127.0.0.1:")
    store.close()


def test_a_database_that_cannot_hold_every_name_is_refused(postgresql):
    latin = postgresql.new_database("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(CatalogueError, match="keeps text as LATIN1, a catalogue needs UTF8"):
        Store(latin, MODEL)


def test_a_text_that_cannot_be_kept_is_one_sentence(store):
    with (
        pytest.raises(CatalogueError, match="cannot keep this: PostgreSQL text fields cannot contain NUL"),
        store.transaction(WRITE) as connection,
    ):
        connection.execute(sa.insert(facts).values(name="a\0b", value=""))

    assert (0, []) == (store.generation, names(store))


def test_a_database_that_is_empty_or_of_another_program_is_left_alone(url):
    with pytest.raises(CatalogueError, match="is a database that is empty; 'dancematch add' makes"):
        Store(url, MODEL, create=False)
    run_sql(url, "CREATE TABLE theirs (x INTEGER)")
    with pytest.raises(CatalogueError, match="is a database, but not a dancematch catalogue"):
        Store(url, MODEL)

    assert [("theirs",)] == fetch(url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")


def test_a_user_without_the_right_to_write_can_read(store, url):
    store.add(*new("a"))
    schema = url.rpartition("%3D")[2]
    run_sql(
        url,
        "DROP ROLE IF EXISTS reader",
        f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
        f"GRANT USAGE ON SCHEMA {schema} TO reader",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader",
    )
    reader = Store(url.replace(f"{USER}:", "reader:"), MODEL, create=False)

    assert ["a"] == names(reader)
    with pytest.raises(CatalogueError, match=r"permission denied for table \w+; ask the database"):
        reader.add(*new("b"))
    reader.close()
    run_sql(url, "DROP OWNED BY reader", "DROP ROLE reader")


def test_a_generation_is_not_seen_before_the_one_before_it(store, url):
    """A writer in the middle of its work keeps the next from counting: no reader can miss what it did."""
    other = Store(url, MODEL)
    done = threading.Event()

    def second() -> None:
        other.add(*new("second"))
        done.set()

    adding = threading.Thread(target=second)
    with store.transaction(WRITE) as connection:
        assert 1 == store.next_generation(connection)
        adding.start()
        assert not done.wait(0.5)
        with store.transaction() as reading:  # another connection
            assert 0 == store.state(reading).generation
    adding.join(PATIENCE_SECONDS)
    found = store.changes(1)

    assert found is not None
    assert (2, ["second"]) == (
        found.generation,
        [track.dance_id for track in named_tracks(store, found.added)],
    )
    other.close()


def test_a_reader_sees_one_state_to_the_end(store, url):
    """Whatever others add and commit meanwhile."""
    store.add(*new("before"))
    other = Store(url, MODEL)
    with store.transaction() as connection:
        first = store.state(connection)
        other.add(*new("meanwhile"))
        other.remove("before")
        count = connection.execute(sa.text("SELECT count(*) FROM dances")).scalar()
        assert (first, 1) == (store.state(connection), count)
        with pytest.raises(sa.exc.DatabaseError, match="read-only"):
            connection.execute(sa.text("DELETE FROM dances"))
    assert ["meanwhile"] == names(store)
    other.close()


def test_a_writer_does_not_wait_for_ever(url, monkeypatch):
    monkeypatch.setattr(engine_room, "_TURN_SECONDS", 1)
    first, second = Store(url, MODEL), Store(url, MODEL)
    with first.transaction(WRITE) as connection:
        first.next_generation(connection)
        with pytest.raises(CatalogueError, match="another process has been writing for more than"):
            second.add(*new("late"))
    second.add(*new("later"))

    assert ["later"] == names(first)
    first.close()
    second.close()


def test_a_connection_that_is_lost_is_one_sentence_and_the_next_one_works(store, url):
    """In the middle of a transaction it is an error; between two it is not even noticed."""
    store.add(*new("a"))
    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'dancematch' AND pid != pg_backend_pid()"
    )

    def interrupted() -> None:
        with store.transaction(WRITE) as connection:
            store.next_generation(connection)
            run_sql(url, kill)
            store.next_generation(connection)

    with pytest.raises(CatalogueError, match="the connection to the server was lost; what was acknow"):
        interrupted()
    store.add(*new("b"))
    run_sql(url, kill)
    store.add(*new("c"))

    assert (["a", "b", "c"], 3) == (names(store), store.generation)


def test_a_page_of_a_large_catalogue_is_found_by_an_index(store, url):
    """Names in the order of their letters' numbers, which is not that of PostgreSQL's own index."""
    for name in ("b", "a", "B", "ä", "C"):
        store.add(*new(name))
    name = 'name COLLATE "C"'
    plan = fetch(
        f"{url}%20-cenable_seqscan%3Doff%20-cenable_bitmapscan%3Doff",
        f"EXPLAIN SELECT key FROM dances WHERE {name} > 'B' ORDER BY {name} LIMIT 2",  # noqa: S608
    )

    assert "ix_dances_by_name" in str(plan)
    assert ["C", "a"] == [known.name for known in read_page(store, after="B", limit=2).dances]


ADD = """
import sys
from test_postgres import MODEL, DanceMatchError, Store, new
store = Store(sys.argv[1], MODEL)
try:
    for number in range(100_000):
        store.add(*new(f"{sys.argv[2]}{number}", number))
        print(f"{sys.argv[2]}{number}", flush=True)
except DanceMatchError as error:
    print(error, file=sys.stderr)
"""


def adding(url: str, prefix: str) -> subprocess.Popen[str]:
    """Another process that adds dances and prints the name of each that is acknowledged."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", ADD, url, prefix],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_changes_can_be_followed_while_several_processes_add(store, url):
    """However the additions of others interleave, a reader that follows them misses none."""
    adders = [adding(url, prefix) for prefix in "ab"]
    state, held = store.everything().generation, set()
    until = time.monotonic() + PATIENCE_SECONDS
    while not {"a15", "b15"} <= held and time.monotonic() < until:
        found = store.changes(state)
        assert found is not None
        state = found.generation
        held |= {track.dance_id for track in named_tracks(store, found.added)}
        assert len(held) == state
    for adder in adders:
        adder.kill()
        adder.communicate()

    assert {"a15", "b15"} <= held


def test_the_search_arrays_of_a_server_lie_in_the_users_cache(store, tmp_path, monkeypatch):
    """By the catalogue's own name: neither the URL nor the password is in any file's name."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr("dancematch.pipeline.cached_engine.MIN_CACHED_TRACKS", 1)
    store.add(*new("a"))
    kept = CachedEngine(store, toy_codebook(), ())
    assert 1 == kept.current().tracks
    kept.close()
    files = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")]

    assert f"engines/{store.identity}" in files
    assert not any(PASSWORD in name or "127.0.0.1" in name for name in files)
    assert 1 == CachedEngine(store, toy_codebook(), ()).current().tracks


def test_the_command_line_works_on_a_server_as_on_a_file(url, tmp_path, monkeypatch):
    """Learn, find, list, exclude, check, remove; and nothing that is printed holds the password."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    clips = [write_dance(tmp_path / f"dance{seed}.npz", seed) for seed in (1, 2)]
    options = ("--model", "floor")
    answers = [
        run_main("add", url, *clips, "--jobs", 1, *options),
        run_main("search", url, clips[0], "--json", *options),
        run_main("search", url, clips[0], "--label", "none", *options),
        run_main("list", url, "--json", *options),
        run_main("edit", url, "dance2", "--exclude", 0, 1),
        run_main("doctor", url),
        run_main("remove", url, "dance1", *options),
        run_main("remove", url, "dance1", *options),
        run_main("retokenise", url, *options),
    ]

    assert [0, 0, 1, 0, 0, 0, 0, 1, 0] == [answer.code for answer in answers]
    assert "has the label 'none'" in answers[2].complaint
    assert "dance1" == answers[1].objects[0]["dancers"][0]["candidates"][0]["dance"]
    assert ["dance1", "dance2"] == [line["name"] for line in answers[3].objects]
    assert not any(PASSWORD in answer.out + answer.err for answer in answers)


def test_a_password_that_breaks_the_url_is_not_told():
    """Of what looks like a host, a part may be the secret."""
    answer = run_main("list", "postgresql://me:s3cr/@t3nd@127.0.0.1:1/dances")

    assert (1, "in a URL's user or password, write @ as %40, / as %2F and : as %3A") == (
        answer.code,
        answer.complaint,
    )


def test_a_missing_driver_is_said_with_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DanceMatchError, match=r"pip install 'dancematch\[postgres\]'"):
        Store("postgresql://nobody@127.0.0.1:1/dances", MODEL)
