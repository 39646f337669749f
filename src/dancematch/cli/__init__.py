"""The command line: each verb a thin shell over a public function, in a file of its own.

Results go to stdout, everything else to stderr. Exit codes: 0 found or done, 1 our error
in one line, 2 wrong usage, 3 no match, 141 nobody reads what is printed, as after `| head`.
"""

import errno
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

import click

from dancematch.cli import logs
from dancematch.errors import DanceMatchError

READER_LEFT = 128 + 13  # what a shell says of a program that SIGPIPE ended


class Verb(NamedTuple):
    """Where a verb lives, and its line in the list: read without importing the verb itself."""

    module: str
    summary: str


VERBS = {
    "demo": Verb("use.demo", "Render dances, recognise them from video, and write a report."),
    "add": Verb("manage.add", "Learn dances from videos or motion files."),
    "search": Verb("use.search", "Say which known dance a clip is."),
    "compare": Verb("use.compare", "Say where two performances differ."),
    "report": Verb("use.report", "Write down the evidence for a match."),
    "dedup": Verb("manage.dedup", "Find dances that a catalogue knows twice."),
    "serve": Verb("manage.serve", "Serve a catalogue as a page and a REST service."),
    "list": Verb("manage.dances", "List the dances a catalogue knows."),
    "remove": Verb("manage.dances", "Forget dances."),
    "exclude": Verb("manage.exclude", "Never match a stretch of a dance."),
    "stats": Verb("manage.stats", "Say what a catalogue holds, in numbers."),
    "audit": Verb("research.audit", "Say how well changed dances of a catalogue are found."),
    "verify": Verb("manage.verify", "Check that a catalogue is whole."),
    "export": Verb("manage.transfer", "Write a catalogue as a folder of plain files."),
    "import": Verb("manage.transfer", "Add the dances of an exported folder."),
    "copy": Verb("manage.copy", "Copy all dances of one catalogue into another."),
    "doctor": Verb("manage.doctor", "Check this installation, and say what to do."),
    "extract": Verb("use.extract", "Turn videos into skeletons."),
    "info": Verb("use.info", "Explain a video or motion file."),
    "fingerprint": Verb("use.fingerprint", "Put a clip into motion words."),
    "decode": Verb("use.decode", "Turn motion words back into motion."),
    "words": Verb("research.words", "Show what words a model has."),
    "retokenise": Verb("manage.retokenise", "Put a catalogue into another model's words."),
    "fit-weights": Verb("research.fit_weights", "Learn from labels how much each metric counts."),
    "train": Verb("research.train", "Fit a tokeniser on motions of your own."),
    "eval": Verb("research.evaluate", "Measure how well dances are found."),
    "bench-build": Verb("research.benchmark", "Make a benchmark of labelled clips."),
}


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    """End quietly when nobody reads what is printed any more."""
    try:
        yield
    except BrokenPipeError:
        # What is left to be flushed at the end goes nowhere, without a complaint.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        sys.exit(READER_LEFT)


class LazyGroup(click.Group):
    """Imports a verb only when it is used, so that help comes at once."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """As click does; the help is printed here."""
        with _reader_may_leave():
            return super().make_context(*arguments, **options)

    def invoke(self, context: click.Context) -> Any:
        """As click does; the verbs run here."""
        with _reader_may_leave():
            return super().invoke(context)

    def list_commands(self, _context: click.Context) -> list[str]:
        """Every verb, in the order of a newcomer's needs."""
        return list(VERBS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """Import the verb's module and take the command from it."""
        if name not in VERBS:
            return None
        module = importlib.import_module(f"dancematch.cli.{VERBS[name].module}")
        command: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs from the table above."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dancematch", prog_name="dancematch")
def dancematch() -> None:
    """Shazam for dance: which known dance is this clip, where in it, and how sure is that?

    \b
    Example:
      dancematch demo                            see it work on rendered dances
      dancematch add dances.db thriller.mp4      learn a dance
      dancematch search dances.db phone.mp4      recognise it
    """


def main() -> None:
    """Run the command line; expected errors become one line and exit code 1."""
    logs.begin_if_asked()
    try:
        dancematch.main(standalone_mode=True)
    except DanceMatchError as error:
        _fail(str(error))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _fail("the output cannot be written: no space left")


def _fail(reason: str) -> NoReturn:
    if logs.are_json():
        logs.log.error("%s", reason)
    else:
        click.echo(f"dancematch: {logs.without_passwords(reason)}", err=True)
    sys.exit(1)
