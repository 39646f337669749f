"""The command line: each verb is a thin shell over a public function, in a file of its own.

Results go to stdout, everything else to stderr; `exit_codes.py` names the exit codes.
"""

import errno
import gc
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

import click

from dancematch.cli import logs
from dancematch.cli.exit_codes import ExitCode
from dancematch.control_characters import escape_controls
from dancematch.errors import DanceMatchError
from dancematch.temporary_folder import clear_abandoned

# New objects after which Python looks for garbage, 700 by default: a tenth of a start would be spent on it,
# and what is imported is none.
_GARBAGE_OBJECTS = 20_000


class Verb(NamedTuple):
    """The room of a verb's file, and its line in the list: read without importing the verb itself."""

    room: str
    summary: str


ROOMS = {"use": "Use", "manage": "Manage a catalogue", "research": "Research"}
VERBS = {
    "search": Verb("use", "Say which known dance a clip is, and write the evidence down."),
    "scan": Verb("use", "Say which dance is danced when, in long videos and live."),
    "compare": Verb("use", "Say where two performances differ."),
    "lineage": Verb("use", "Say which dances share passages with one, and what is rare."),
    "extract": Verb("use", "Turn videos into skeletons or words, and words into motion."),
    "info": Verb("use", "Explain a video or motion file."),
    "demo": Verb("use", "Render dances, recognise them from video, and write a report."),
    "add": Verb("manage", "Learn recordings of dances from videos or motion files."),
    "list": Verb("manage", "List the dances or the recordings a catalogue knows."),
    "remove": Verb("manage", "Forget dances or single recordings."),
    "edit": Verb("manage", "Correct what is said of dances and recordings; merge, undo."),
    "copy": Verb("manage", "Copy a catalogue, also to or from a folder of plain files."),
    "review": Verb("manage", "Decide on possible matches that wait."),
    "dedup": Verb("manage", "Find dances that look like one, to be merged."),
    "doctor": Verb("manage", "Check this installation or a catalogue, and say what to do."),
    "retokenise": Verb("manage", "Put a catalogue into another model's words."),
    "serve": Verb("manage", "Serve a catalogue as a page and a REST service."),
    "eval": Verb("research", "Measure how well dances are found, also in your catalogue."),
    "train": Verb("research", "Fit a tokeniser on motions of your own."),
    "benchmark": Verb("research", "Make a benchmark of labelled clips."),
    "words": Verb("research", "Show what words a model has."),
}


@contextmanager
def _end_with_reader() -> Iterator[None]:
    """End quietly when the pipe that the output goes to is closed, as after `| head`."""
    try:
        yield
    except BrokenPipeError:
        # Otherwise the interpreter would complain when it flushes the rest.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        sys.exit(ExitCode.READER_LEFT)


@contextmanager
def _show_controls() -> Iterator[None]:
    """Let wrong usage be told with the control characters of what was typed visible."""
    try:
        yield
    except (click.exceptions.NoArgsIsHelpError, click.MissingParameter):
        raise  # several lines, and nothing in them was typed
    except click.UsageError as error:
        raise click.UsageError(escape_controls(error.format_message()), error.ctx) from None


class LazyGroup(click.Group):
    """Imports a verb only when it is used, so that help comes at once."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """As click does; the help is printed here."""
        with _end_with_reader(), _show_controls():
            return super().make_context(*arguments, **options)

    def invoke(self, context: click.Context) -> Any:
        """As click does; the verbs run here."""
        with _end_with_reader(), _show_controls():
            return super().invoke(context)

    def list_commands(self, _context: click.Context) -> list[str]:
        """All verbs, in the order of the table."""
        return list(VERBS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """Import the verb's module and take the command from it."""
        if name not in VERBS:
            return None
        module = importlib.import_module(f"dancematch.cli.{VERBS[name].room}.{name}")
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; an unknown verb is answered with the nearest one."""
        name = arguments[0]
        near = get_close_matches(name, VERBS, n=1)
        if name not in VERBS and near and not name.startswith("-"):
            context.fail(f"No such command '{name}'. Did you mean '{near[0]}'?")
        return super().resolve_command(context, arguments)

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs by room."""
        for room, title in ROOMS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name, verb.summary) for name, verb in VERBS.items() if verb.room == room]
                )


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
    gc.set_threshold(_GARBAGE_OBJECTS)
    logs.begin()
    clear_abandoned()
    try:
        dancematch.main(standalone_mode=True)
    except DanceMatchError as error:
        _fail(str(error))
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            _fail(f"{error.filename} cannot be used: its name is too long; choose a shorter one")
        if error.errno != errno.ENOSPC:
            raise
        _fail("the output cannot be written: no space left")


def _fail(reason: str) -> NoReturn:
    from dancematch.cli.output import emit_error

    emit_error(reason)
    sys.exit(ExitCode.FAILED)
