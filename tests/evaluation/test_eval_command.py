"""`dancematch eval`: suites by name, options that fit them, results as lines and tables."""

import json

import pytest
from click.testing import CliRunner

from dance_samples import dance, save_small_model, write_dance
from dancematch.cli.research.eval import eval_command
from dancematch.errors import DanceMatchError, InputError
from dancematch.evaluation.suites.aist import (
    AistClip,
)
from evaluation_samples import aist_name


@pytest.mark.parametrize(("genres", "warned"), [(("BR",), 1), (("BR", "PO"), 0)])
def test_figures_that_say_nothing_are_named(own_model, monkeypatch, genres, warned):
    """Among clips of one genre each is of the right genre: said once, whatever the number of methods."""
    some = [AistClip(aist_name(1, n, genre=g), dance(n)) for n, g in enumerate(genres * 2)]
    monkeypatch.setattr("dancematch.evaluation.suites.run.load_clips", lambda _: some)
    line = ["aist-genre", "--data", "any", "--model", str(own_model), "--method", "dtw"]
    result = CliRunner().invoke(eval_command, line)

    assert 0 == result.exit_code
    assert warned == result.stderr.count("aist-genre: every answer is right here")


@pytest.mark.parametrize("suite", ["excerpt", "benchmark"])
def test_missing_data_is_named(suite, own_model, tmp_path):
    line = [suite, "--data", str(tmp_path / "none"), "--model", str(own_model)]

    with pytest.raises(InputError, match=r"there is no folder .*none; one "):
        CliRunner().invoke(eval_command, line, catch_exceptions=False)


@pytest.fixture
def ask(clips, own_model, monkeypatch):
    """The command on these clips: its result lines, or its complaint."""
    monkeypatch.setattr("dancematch.evaluation.suites.run.load_clips", lambda _: clips)

    def run(*arguments: object) -> list[dict] | str:
        told = [*map(str, arguments), "--data", "any", "--model", str(own_model), "--json"]
        result = CliRunner().invoke(eval_command, told)
        if result.exception and result.exit_code == 1:
            return str(result.exception)
        return result.stderr if result.exit_code else list(map(json.loads, result.stdout.splitlines()))

    return run


def test_several_suites_in_one_run(ask):
    lines = ask("aist-choreography", "excerpt", "--search", "histogram", "--search", "two-stage",
                "--seconds", 2, "--seconds", 3, "--strength", 0, "--max-queries", 3)  # fmt: skip

    assert ["aist-choreography"] * 2 + ["excerpt"] * 4 == [line["suite"] for line in lines]
    assert ["kmeans", "kmeans-two-stage"] * 3 == [line["method"] for line in lines]
    assert [2, 2, 3, 3] == [line["facts"]["excerpt_seconds"] for line in lines[2:]]


def test_unknown_dances_on_the_command_line(ask, tmp_path, monkeypatch):
    """A folder of motions, and procedural dances beside them."""
    monkeypatch.setattr("dancematch.evaluation.suites.open_set.LEAST_PROCEDURAL_DANCES", 3)
    write_dance(tmp_path / "in" / "odd.npz", 77)
    lines = ask("open-set", "--unknown", tmp_path / "in", "--max-queries", 4)

    kinds = ["excerpt", "another dancer", "another dancer, 3 s", "several recordings"]

    assert kinds == [line["query"] for line in lines]
    assert {"kmeans-two-stage"} == {line["method"] for line in lines}
    assert lines[0]["unknown"] > 3


def test_lines_are_kept_in_a_file(ask, tmp_path):
    """All of them; what is there is not replaced unless that is asked for, and said before the work."""
    target = tmp_path / "results.jsonl"
    lines = ask("aist-choreography", "-o", target)

    assert lines == [json.loads(line) for line in target.read_text().splitlines()]
    assert "exists already" in ask("aist-choreography", "-o", target)
    assert 2 == ask("aist-choreography", "-o", target, "--force", "--max-queries", 2)[0]["queries"]
    assert 2 == json.loads(target.read_text())["queries"]
    assert ["results.jsonl"] == [path.name for path in tmp_path.iterdir()]


def test_a_fixed_method_takes_no_options_for_words(ask):
    assert "stage1 is always the same" in ask("aist-genre", "--method", "stage1", "--soft")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["video"], "the suite video needs --views"),
        (["aist-genre", "--seconds", 2], "--seconds belongs to the suite excerpt"),
        (["excerpt", "--unknown", "."], "--unknown belongs to the suites open-set and medley"),
        (["excerpt", "--leave-out", 3], "--leave-out belongs to the suites aist-genre and aist-choreography"),
        (["open-set", "--refit", "--query-genres", "BR"], "which open-set needs"),
        (["aist-genre", "benchmark"], "run it by itself"),
    ],
)
def test_options_without_effect_are_refused(ask, arguments, complaint):
    assert complaint in ask(*arguments)


@pytest.fixture
def ask_eval(clips, monkeypatch):
    """The command on these clips, with a second genre to fit on: its result lines, or its complaint."""
    others = [AistClip(aist_name(d, n, genre="PO"), dance(10 + n, d, 4)) for n in range(5) for d in range(2)]
    monkeypatch.setattr("dancematch.evaluation.suites.run.load_clips", lambda _: [*clips, *others])

    def run(*arguments: object) -> list[dict] | str:
        told = ["aist-cross-dancer", "--data", "any", "--query-genres", "BR", "--json", *map(str, arguments)]
        answer = CliRunner().invoke(eval_command, told)
        return answer.stderr if answer.exit_code else list(map(json.loads, answer.stdout.splitlines()))

    return run


def test_models_and_methods_run_together(ask_eval, tmp_path):
    """A model stays as it is where kmeans is fitted anew; the options hold for the words of both."""
    model = save_small_model(tmp_path / "own")
    own, floor, wordless = ask_eval(
        "--model", tmp_path / "own", "--method", "kmeans", "--method", "dtw", "--refit", "--max-queries", 2
    )
    soft = ask_eval("--model", tmp_path / "own", "--method", "kmeans", "--soft", "--phases", 2)

    assert ["kmeans", "kmeans-refitted", "dtw"] == [r["method"] for r in (own, floor, wordless)]
    assert [2, 2, 2] == [r["queries"] for r in (own, floor, wordless)]
    assert model.model_id == own["model_id"] != floor["model_id"]
    assert ["kmeans-phases2-soft"] * 2 == [r["method"] for r in soft]


def test_options_that_make_no_sense_together_are_refused(ask_eval):
    assert "--refit fits the k-means of a --method" in ask_eval("--model", "floor", "--refit")
    assert "dtw has none" in ask_eval("--method", "dtw", "--soft")
    assert "--views belongs to the suites video and open-set" in ask_eval("--views", "folder")


def test_invalid_options_are_refused_before_the_clips_are_read(monkeypatch):
    def unread(_: object) -> None:
        pytest.fail("the clips were read")

    monkeypatch.setattr("dancematch.evaluation.suites.run.load_clips", unread)
    told = ["excerpt", "--data", "any"]
    for arguments, complaint in [
        (["--model", "no-such-model"], "neither a shipped model"),
        (["--model", "network", "--phases", "5"], "a patch has 4 frames to begin at, not 5"),
    ]:
        with pytest.raises(DanceMatchError, match=complaint):
            CliRunner().invoke(eval_command, [*told, *arguments], catch_exceptions=False)
    assert 2 == CliRunner().invoke(eval_command, [*told, "--seed", "-1"]).exit_code
