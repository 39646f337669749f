"""Nothing that is printed holds control characters, wherever they come from."""

import ast
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dancematch.cli
from cli_samples import Answer, run_main
from dance_samples import digest, recorded, save_small_model, shipped, write_dance
from dancematch import formats
from dancematch.catalogue.records import StoredTrack
from dancematch.catalogue.store import Store
from dancematch.cli import logs
from dancematch.cli.output import counted, emit, emit_table, json_line, say, share_bar
from dancematch.control_characters import has_controls
from databases import run_sql

CLI = Path(dancematch.cli.__file__).parent
RED = "a\x1b[31mred\n"  # a stem: it would colour the terminal, and break the line
SHOWN = r"a\x1b[31mred\n"
ODD = "\x1b[31m\x00\n\t\x7f\x9b1m\u2028\u202egpj\u2066\udcff"


def is_plain(answer: Answer) -> bool:
    """Whether only the ends of lines are control characters."""
    return not any(has_controls(line) for line in (answer.out + answer.err).split("\n"))


@pytest.fixture
def clip(tmp_path) -> Path:
    return write_dance(tmp_path / "in" / f"{RED}.npz", 1)


@pytest.fixture
def model(tmp_path) -> Path:
    save_small_model(tmp_path / "model")
    return tmp_path / "model"


def test_the_name_of_a_file_is_printed_with_its_control_characters_visible(clip, model, tmp_path):
    """Through every verb that takes a file; as JSON, the very name comes back."""
    known, out, with_model = tmp_path / "dances.db", tmp_path / "out", ("--model", model)
    answers = {
        "info": run_main("info", clip),
        "info as JSON": run_main("info", clip, "--json"),
        "add": run_main("add", known, clip, "--jobs", 1, *with_model),
        "add again": run_main("add", known, clip, "--jobs", 1, "--json", *with_model),
        "list": run_main("list", known, *with_model),
        "list as JSON": run_main("list", known, "--json", *with_model),
        "search": run_main("search", known, clip, "--explain", *with_model),
        "search as JSON": run_main("search", known, clip, "--json", *with_model),
        "compare": run_main("compare", clip, clip, "--report", tmp_path / f"{RED}.html", *with_model),
        "extract": run_main("extract", clip, "-o", out, "--jobs", 1),
        "words": run_main("extract", clip, "--words", "-o", tmp_path / f"{RED}words.npz", *with_model),
        "copy": run_main("copy", known, f"{tmp_path / RED}/"),
        "copy back": run_main("copy", f"{tmp_path / RED}/", tmp_path / f"{RED}.db", "--json"),
        "doctor": run_main("doctor", tmp_path / f"{RED}.db", "--quick"),
    }

    assert [] == [verb for verb, answer in answers.items() if not is_plain(answer)]
    assert f"file: {clip.parent}/{SHOWN}.npz" == answers["info"].out.splitlines()[0]
    assert str(clip) == answers["info as JSON"].objects[0]["file"]
    assert f"{clip.parent}/{SHOWN}.npz -> {out}/{SHOWN}.npz: 1 dancer(s)\n" == answers["extract"].err
    assert f"{tmp_path}/{SHOWN}.db" in answers["doctor"].out
    assert ["a\ufffd[31mred\ufffd"] == [line["name"] for line in answers["list as JSON"].objects]


def test_errors_about_a_file_show_its_control_characters(tmp_path):
    broken = tmp_path / f"{RED}.mp4"
    broken.write_bytes(b"no video")
    missing = tmp_path / f"{RED}missing.mp4"
    known = tmp_path / "dances.db"
    save = write_dance(tmp_path / "good.npz", 1)
    assert 0 == run_main("add", known, save, "--jobs", 1).code
    answers = [
        *(run_main("info", one) for one in (broken, missing)),
        *(run_main("search", known, one) for one in (broken, missing)),
        run_main("search", known, broken, "--json"),
        *(run_main("add", known, one, "--jobs", 1) for one in (broken, missing)),
        run_main("add", known, broken, "--jobs", 1, "--json"),
        run_main("extract", broken, "-o", tmp_path / "out", "--jobs", 1),
        run_main("compare", broken, save),
        run_main("compare", save, RED),
        run_main("list", missing),
        run_main("list", known, "--label", RED),
        run_main("remove", known, RED),
        run_main("edit", known, RED, "--exclude", 1, 2),
        run_main("copy", missing, known),
        run_main("copy", known, broken),
        run_main("search", known, save, "--plot", tmp_path / RED / "x.png"),
        run_main("search", known, save, "--weights", missing),
        run_main("list", known, "--model", RED),
    ]

    assert [1] * len(answers) == [answer.code for answer in answers]
    assert [] == [answer for answer in answers if not is_plain(answer)]
    assert all(r"\x1b[31mred\n" in answer.err for answer in answers)


@pytest.mark.parametrize(
    "arguments",
    [
        [RED],
        ["list", "x.db", f"--{RED}"],
        ["edit", "x.db", "a", "--label", RED, "--unlabel", RED],
        ["search", "x.db", "x.mp4", "--limit", RED],
        ["search", "x.db", "x.mp4", "--shortlist", RED],
        ["copy", "x.db", RED, "--force"],
        ["eval", RED],
    ],
)
def test_wrong_usage_shows_the_control_characters_that_were_typed(arguments):
    answer = run_main(*arguments)

    assert (2, "", True) == (answer.code, answer.out, is_plain(answer))
    assert r"\x1b[31mred\n" in answer.err


def test_help_for_a_missing_argument_keeps_its_lines():
    assert run_main().err.splitlines()[0].startswith("Usage: ")
    assert "Missing argument" in run_main("list").err


def test_names_out_of_a_catalogue_edited_by_hand_are_printed_visibly(tmp_path):
    store = Store(tmp_path / "dances.db", shipped().model_id)
    words = shipped().fingerprint(formats.read(write_dance(tmp_path / "a.npz", 1))[0])
    store.add(recorded("a", "a.npz", digest("a"), 5.0), [StoredTrack(words)])
    store.close()
    odd = "'\x1b[31m\u202ea\n'"
    run_sql(tmp_path / "dances.db", f"UPDATE dances SET name = {odd}, collection = {odd}")  # noqa: S608
    run_sql(tmp_path / "dances.db", f"INSERT INTO labels SELECT key, {odd} FROM dances")  # noqa: S608
    known = tmp_path / "dances.db"
    answers = {
        "list": run_main("list", known),
        "list as JSON": run_main("list", known, "--json"),
        "list of recordings": run_main("list", known, "--recordings"),
        "search": run_main("search", known, tmp_path / "a.npz", "--explain"),
        "edit": run_main("edit", known, "--with-label", odd.strip("'"), "--note", "x", "--dry-run"),
        "doctor": run_main("doctor", known),
        "doctor as JSON": run_main("doctor", known, "--json"),
        "copy": run_main("copy", known, tmp_path / "copy.db"),
        "remove": run_main("remove", known, "--label", odd.strip("'"), "--yes"),
    }

    assert [] == [verb for verb, answer in answers.items() if not is_plain(answer)]
    assert (0, r"\x1b[31m\u202ea\n: removed") == (
        answers["remove"].code,
        answers["remove"].err.splitlines()[0],
    )
    assert odd.strip("'") == answers["list as JSON"].objects[0]["name"]


def test_letters_are_printed_as_they_are(capsys):
    """Of every script, with the joiners and marks that some need."""
    text = "Ägypten 踊り می‌خواهم שלום 👩‍🎤 \\x1b"
    emit(text)
    emit_table([text], [[text]])
    say(text)
    told = capsys.readouterr()

    assert ([text] * 3, [text]) == (told.out.splitlines(), told.err.splitlines())


def test_columns_are_as_wide_as_what_is_shown(capsys):
    emit_table(["name", "n"], [["\x1b", "1"], ["ab", "2"]])

    assert ["name  n", r"\x1b  1", "ab    2"] == capsys.readouterr().out.splitlines()


def test_json_holds_every_character_as_an_escape():
    """And gives the very text back; a file's name may hold half a character."""
    line = json_line({"name": ODD, "ü": "踊り"})

    assert not has_controls(line)
    assert {"name": ODD, "ü": "踊り"} == json.loads(line)
    assert "踊り" in line


def test_progress_bars_show_the_control_characters_of_their_description(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with share_bar(f"reading {RED}") as show:
        show(0.5)
    list(counted(range(2), f"counting {RED}"))
    told = capsys.readouterr().err.replace("\r", "").replace("\x1b[A", "")

    assert f"reading {SHOWN}" in told
    assert f"counting {SHOWN}" in told
    assert "\x1b[31m" not in told


def test_logs_hold_no_control_characters(capsys):
    """As plain lines, where no handler is set, and as JSON, where delete is no escape of its own."""
    logs.begin()
    record = logging.LogRecord("dancematch", logging.WARNING, "x", 1, "%s breaks off", (ODD,), None)
    record.facts = {"file": ODD}
    logging.lastResort.handle(record)
    line = capsys.readouterr().err
    as_json = logs.JsonLines().format(record)

    assert line.endswith(" breaks off\n")
    assert not has_controls(line[:-1])
    assert not has_controls(as_json)
    assert (ODD, f"{ODD} breaks off") == (json.loads(as_json)["file"], json.loads(as_json)["message"])


def test_the_console_script_prints_names_that_are_no_text(tmp_path):
    """Bytes that are no UTF-8, on a real pipe, with logs as JSON too."""
    good = write_dance(tmp_path / os.fsdecode(b"caf\xe9\x1b.npz"), 1)
    broken = tmp_path / os.fsdecode(b"caf\xe9\x1b.bvh")
    broken.write_bytes(b"no motion")
    told = b""
    for clip, environment in ((good, {}), (broken, {}), (broken, {logs.VARIABLE: "json"})):
        line = [sys.executable, "-m", "dancematch", "info", clip]
        done = subprocess.run(line, capture_output=True, check=False, env=os.environ | environment)
        assert (clip is broken) == done.returncode
        told += done.stdout + done.stderr

    assert (0, 0) == (told.count(b"\x1b"), told.count(b"Traceback"))
    assert 3 == told.count(rb"caf\udce9") + told.count(rb"caf\\udce9")


def test_nothing_but_the_output_module_prints():
    """Verbs print by `emit`, `emit_json`, `emit_table` and `say`, which make control characters visible."""
    found = []
    for path in sorted(CLI.rglob("*.py")):
        if path == CLI / "output.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("print", "input") or called.startswith(("click.echo", "click.secho", "tqdm")):
                found.append(f"{path.relative_to(CLI)}: {called}")
            if called.endswith((".stdout.write", ".stderr.write")):
                found.append(f"{path.relative_to(CLI)}: {called}")

    assert [] == found
