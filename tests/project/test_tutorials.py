"""Every command of the tutorials and guides does what the page shows.

The commands of a page run one after another in one folder, in this process. In place of videos there are
motion files of procedural dances under the same names: `.mp4` in a command is `.npz` here. A review's id,
which is random, stands on the pages as `r3f2`. Shown output is compared; `...` stands for anything.

A comment before a block says more of it: `file: NAME` (the block is that file), `exit code N` (of its last
command), `not run: WHY` (its commands are only parsed).
"""

import doctest
import re
import shlex
import tomllib
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from cli_samples import run_main
from dancematch.cli import dancematch
from tutorial_samples import write_files

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page for page in (ROOT / "docs").rglob("*.md") if "```console" in page.read_text(encoding="utf-8")
)
BLOCK = re.compile(r"(?:<!-- ([^\n]*?) -->\n)?```(console|python|text)\n(.*?)```", re.DOTALL)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


class Block(NamedTuple):
    """A fenced block of a page, and what the comment before it says."""

    note: str
    kind: str
    text: str

    def commands(self) -> list[tuple[str, str]]:
        """The commands with the output that is shown below each."""
        parts = re.split(r"^\$ (.*)\n", self.text, flags=re.MULTILINE)
        return list(zip(parts[1::2], parts[2::2], strict=True))


def read_blocks(page: Path) -> list[Block]:
    """The blocks of a page, those within lists too."""
    text = re.sub(r"^ {1,3}(?=\S)", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [Block(*found) for found in BLOCK.findall(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_does_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(page.stem, tmp_path)
    for block in read_blocks(page):
        if block.note.startswith("file: "):
            Path(block.note.removeprefix("file: ")).write_text(_stand_in(block.text), encoding="utf-8")
        elif block.kind == "python":
            exec(compile(_stand_in(block.text), page.name, "exec"), {})  # noqa: S102
        elif block.note.startswith("not run"):
            for command, _ in block.commands():
                _parse(command)
        elif block.kind == "console":
            _run(block)


def _run(block: Block) -> None:
    """Run the commands of a block; each gives the output that is shown, and the exit code."""
    commands = block.commands()
    for number, (command, shown) in enumerate(commands, start=1):
        said = re.search(r"exit code (\d)", block.note) if number == len(commands) else None
        program, *arguments = shlex.split(_stand_in(command))
        assert "dancematch" == program, command
        jobs = (
            ("--jobs", 1) if arguments[0] in ("add", "search") else ()
        )  # workers cost more than they save here
        answer = run_main(*(_name_review(one, arguments) for one in arguments), *jobs)
        assert (int(said[1]) if said else 0) == answer.code, (command, answer)
        _compare(shown, answer.out + answer.err, command)


def _stand_in(text: str) -> str:
    """A text of a page with motion files for videos."""
    return text.replace(".mp4", ".npz")


def _name_review(argument: str, arguments: list[str]) -> str:
    """The id of the first review in place of the pages' `r3f2`."""
    if argument != "r3f2":
        return argument
    return run_main("review", arguments[1], "--json").objects[0]["review_id"]


def _compare(shown: str, got: str, command: str) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    got = got.replace(".npz", ".mp4")
    assert doctest.OutputChecker().check_output(shown, got, flags), (
        f"{command}\nshows\n{shown}\nbut gives\n{got}"
    )


def _parse(command: str) -> None:
    """Refuse options and extras that are not there; the commands of other programs are left alone."""
    program, *arguments = shlex.split(command)
    if program == "pip":
        assert set(re.findall(r"[a-z]+", command.partition("[")[2])) <= set(EXTRAS), command
    if program == "dancematch":
        top = click.Context(dancematch, info_name="dancematch")
        verb = dancematch.get_command(top, arguments[0])
        verb.make_context(arguments[0], arguments[1:], parent=top)  # read and checked, but not run


def test_no_command_is_overlooked():
    """What begins with a dollar stands in a block that the test above reads."""
    for page in PAGES:
        shown = re.findall(r"^ *\$ (.*)", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        blocks = [block for block in read_blocks(page) if block.kind == "console"]

        assert shown == [command for block in blocks for command, _ in block.commands()]
    assert {"teacher", "lawyer", "archive"} <= {page.stem for page in PAGES}
