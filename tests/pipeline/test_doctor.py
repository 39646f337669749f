import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli_samples import run_main
from dance_samples import MODEL, digest, random_words, recorded, write_dance
from dancematch.cache_folder import CACHE_VARIABLE
from dancematch.catalogue.store import Store, StoredTrack
from dancematch.cli import logs
from dancematch.pipeline import checkup
from dancematch.pipeline.checkup import OK, PROBLEM, WARNING, Finding, check_everything
from dancematch.pose.blazepose.weights import FILES
from dancematch.search import settings
from databases import run_sql


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """A cache folder without anything in it."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    return folder


@pytest.fixture
def catalogue(tmp_path) -> Path:
    store = Store(tmp_path / "dances.db", MODEL)
    for number in range(3):
        store.add(recorded(f"d{number}", "x", digest(number), 5.0), [StoredTrack(random_words(4, number))])
    store.close()
    return tmp_path / "dances.db"


def found(what: str, *arguments: str, **options) -> list[Finding]:
    return [one for one in check_everything(*arguments, **options) if one.what == what]


def test_a_sound_installation_has_no_problem(catalogue, cache):
    """Networks that are yet to be fetched are a warning; nothing is made by looking."""
    answer = run_main("doctor", catalogue, "--json")
    states = {(told["what"], told["state"]) for told in answer.objects}

    assert 0 == answer.code
    assert {"ok", "warning"} == {state for _, state in states}
    assert ("weights", "warning") in states
    expected = "versions extras codecs weights kernels model cache catalogue numbers"
    assert set(expected.split()) == {n for n, _ in states}
    assert not cache.exists()


def test_the_networks_are_judged_by_their_content(cache):
    cache.mkdir()
    assert WARNING == found("weights")[0].state
    for file in FILES:
        (cache / file.name).write_bytes(b"not a network")
    (damaged,) = found("weights")

    assert (WARNING, True) == (damaged.state, "damaged (pose_detection.tflite)" in damaged.says)


def test_what_is_missing_is_said_with_how_to_get_it(monkeypatch):
    """An extra is a problem only where it is needed."""
    monkeypatch.setitem(checkup._EXTRAS, "postgres", (("no_such_driver",), "catalogues on PostgreSQL"))
    monkeypatch.setitem(checkup._CODECS, "AV1", ("no_such_decoder",))
    monkeypatch.setattr(
        checkup.metadata, "requires", lambda _: ["numpy>=99", "no-such-library>=1", "x; extra == 'y'"]
    )
    postgres = next(one for one in found("extras") if one.says.startswith("postgres"))

    assert (OK, "pip install 'dancematch[postgres]'") == (postgres.state, postgres.advice)
    assert PROBLEM in {one.state for one in found("extras", needed=frozenset({"postgres"}))}
    assert [PROBLEM] == [one.state for one in found("codecs")]
    assert ["ok", "problem", "problem"] == [one.state for one in found("versions")]
    assert "no-such-library is not installed, 1 or newer is needed" == found("versions")[2].says


def test_a_damaged_model_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.setattr("dancematch.model.tokeniser.shipped_models", lambda: [str(tmp_path / "none")])
    (model,) = found("model")

    assert (PROBLEM, "pip install --force-reinstall dancematch") == (model.state, model.advice)


def test_a_catalogue_too_large_for_words_alone_is_told_which_extra_helps(catalogue, monkeypatch):
    """Not where it is installed, nor in a small one."""
    assert not [one for one in found("catalogue", str(catalogue)) if one.state != OK]
    monkeypatch.setattr(settings, "SYNCHRONY_TRACKS", 2)
    monkeypatch.setattr(checkup.util, "find_spec", lambda name: None if name == "faiss" else name)
    (warning,) = [one for one in found("catalogue", str(catalogue)) if one.state != OK]

    assert WARNING == warning.state
    assert "pip install 'dancematch[scale]'" == warning.advice


def test_little_room_is_a_warning(monkeypatch):
    monkeypatch.setattr(checkup._room, "__defaults__", (1 << 70,))
    (room,) = found("cache")

    assert (WARNING, True) == (room.state, room.advice.startswith("make room"))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("DELETE FROM tracks WHERE recording = 2", "d1: x: it has no dancer"),
        ("UPDATE facts SET value = 'x' WHERE name = 'log_start'", "the log_start is 'x', not a number"),
        ("UPDATE facts SET value = 'x' WHERE name = 'generation'", "the generation is 'x', not a number"),
    ],
)
def test_a_damaged_catalogue_is_a_problem(catalogue, damage, says):
    run_sql(catalogue, damage)
    answer = run_main("doctor", catalogue)

    assert 1 == answer.code
    assert f"problem  catalogue  {says}\n" in answer.out
    assert "1 problem(s)\n" == answer.err


def test_a_cluster_that_does_not_answer_is_a_problem():
    answer = run_main("doctor", "--cluster", "127.0.0.1:1", "--json")

    assert 1 == answer.code
    assert ("cluster", "problem") == (answer.objects[-1]["what"], answer.objects[-1]["state"])


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:

    program = str(Path(sys.executable).with_name("dancematch"))
    return subprocess.run(
        [program, *map(str, arguments)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_logs_are_one_json_object_a_line(tmp_path):
    """What is told of every file, by its facts; results stay on stdout."""
    clip = write_dance(tmp_path / "a.npz", 1)
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    places = (tmp_path / "dances.db", clip, tmp_path / "bad.npz")
    done = command("add", *places, "--model", "floor", "--jobs", 1, "--log-json")
    lines = [json.loads(line) for line in done.stderr.splitlines()]

    assert (1, "") == (done.returncode, done.stdout)
    assert [("failed", None), ("added", "a")] == sorted(
        ((line["state"], line.get("dance")) for line in lines if "state" in line), reverse=True
    )
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    assert "1 added, 0 skipped, 1 failed" == lines[-1]["message"]


def test_the_environment_asks_for_json_too(tmp_path):
    """Of errors as well, in any verb, and never with a password."""
    url = "postgresql://me:s3cret@127.0.0.1:1/dances"
    done = command("list", url, DANCEMATCH_LOG="json")
    (line,) = [json.loads(line) for line in done.stderr.splitlines()]

    assert (1, "error") == (done.returncode, line["level"])
    assert "s3cret" not in done.stderr
    assert command("list", tmp_path / "none.db").stderr.startswith("dancematch: ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at postgresql://me:s3cret@host/x now", "at postgresql://me:***@host/x now"),
        ("postgresql://:s3cret@host", "postgresql://:***@host"),
        ("postgresql://h/x?password=s3cret&a=1", "postgresql://h/x?password=***&a=1"),
        ("a.mp4: 3 dancers at 10:30", "a.mp4: 3 dancers at 10:30"),
        ("http://127.0.0.1:8765/x@y", "http://127.0.0.1:8765/x@y"),
    ],
)
def test_passwords_are_hidden_wherever_they_stand(text, shown):
    assert shown == logs.without_passwords(text)
