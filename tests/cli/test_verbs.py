"""What holds for all verbs: rooms, spelling, option groups, and how one more is added."""

from dataclasses import FrozenInstanceError, dataclass

import click
import pytest
from click.testing import CliRunner

from cli_samples import run_main
from dancematch.cli import ROOMS, VERBS, Verb, manage
from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import option, option_group

TOY = '''
"""dancematch greet: a toy."""

import click

from dancematch.cli.options import json_option
from dancematch.cli.output import emit_json
from dancematch.errors import InputError


@click.command("greet")
@click.argument("name")
@json_option
def greet_command(name: str, as_json: bool) -> None:
    """Greet NAME.

    \\b
    Example:
      dancematch greet Martha
    """
    if not name.isalpha():
        raise InputError(f"{name!r} is no name")
    emit_json({"name": name}) if as_json else click.echo(f"Hello, {name}")
'''


@pytest.fixture
def toy_verb(tmp_path, monkeypatch):
    """A verb added as CONTRIBUTING.md says: a file in its room, and a line in the table."""
    (tmp_path / "greet.py").write_text(TOY, encoding="utf-8")
    monkeypatch.setattr(manage, "__path__", [*manage.__path__, str(tmp_path)])
    monkeypatch.setitem(VERBS, "greet", Verb("manage", "Greet a dancer."))


@pytest.mark.usefixtures("toy_verb")
def test_a_verb_is_a_file_and_a_line():
    """It is listed in its room, found when misspelt, and its errors become one line."""
    listed = run_main("--help").out
    wrong = run_main("greet", "42")

    assert "greet       Greet a dancer." in listed[listed.index("Manage") : listed.index("Research")]
    assert (0, "Hello, Martha\n") == run_main("greet", "Martha")[:2]
    assert [{"name": "Martha"}] == run_main("greet", "Martha", "--json").objects
    assert (ExitCode.FAILED, "'42' is no name") == (wrong.code, wrong.complaint)
    assert "dancematch greet Martha" in run_main("greet", "--help").out
    assert "Did you mean 'greet'?" in run_main("graet", "Martha").err


def test_there_are_some_twenty_verbs_in_three_rooms():
    assert len(VERBS) <= 21
    assert ["use", "manage", "research"] == list(ROOMS)
    assert set(ROOMS) == {verb.room for verb in VERBS.values()}


@pytest.mark.parametrize(
    ("line", "meant"),
    [("serach a b", "search"), ("lst a", "list"), ("search a b --lable x", "--label"), ("bogus", None)],
)
def test_a_misspelt_verb_or_option_is_answered_with_the_nearest(line, meant):
    answer = run_main(*line.split())

    assert (ExitCode.WRONG_USAGE, "") == (answer.code, answer.out)
    assert (meant is None) == ("Did you mean" not in answer.err)
    assert meant is None or meant in answer.err.splitlines()[-1]


def test_a_group_of_options_is_one_frozen_value():
    """The command gets all of them, given or not, in one parameter."""

    @dataclass(frozen=True)
    class Shoe:
        size: int = option("--size", default=38, show_default=True)
        is_red: bool = option("--red", is_flag=True)

    got = []

    @click.command()
    @click.argument("dancer")
    @option_group("shoe", Shoe)
    def dress(dancer: str, shoe: Shoe) -> None:
        got.append((dancer, shoe))

    CliRunner().invoke(dress, ["Martha", "--red"], catch_exceptions=False)

    assert [("Martha", Shoe(38, True))] == got
    assert "--size INTEGER  [default: 38]" in CliRunner().invoke(dress, ["--help"]).output
    with pytest.raises(FrozenInstanceError):
        got[0][1].size = 39
