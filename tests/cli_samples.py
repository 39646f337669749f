"""The command line, run in this process as the console script runs it."""

import contextlib
import io
import json
import sys
from typing import NamedTuple
from unittest import mock

from dancematch.cli import main


class Answer(NamedTuple):
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict]:
        """What it printed, one JSON object per line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def complaint(self) -> str:
        """The one line of an expected error."""
        (line,) = self.err.splitlines()
        assert line.startswith("dancematch: ")
        return line.removeprefix("dancematch: ")


def run_main(*arguments: object) -> Answer:
    """Run the command line; an unexpected error is raised here."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    line = ["dancematch", *map(str, arguments)]
    with (
        mock.patch.object(sys, "argv", line),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as left:
            code = int(left.code or 0)
    return Answer(code, out.getvalue(), err.getvalue())
