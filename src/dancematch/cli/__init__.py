"""The command line: each verb a thin shell over a public function, in a file of its own.

Results go to stdout, everything else to stderr. Exit codes: 0 found or done, 1 our error
in one line, 2 wrong usage, 3 no match.
"""

import errno
import importlib
import sys
from typing import NamedTuple

import click

from dancematch.errors import DanceMatchError


class Verb(NamedTuple):
    """Where a verb lives, and its line in the list: read without importing the verb itself."""

    module: str
    summary: str


VERBS = {
    "demo": Verb("demo", "Render dances, recognise them from video, and write a report."),
    "add": Verb("add", "Learn dances from videos or motion files."),
    "search": Verb("search", "Say which known dance a clip is."),
    "compare": Verb("compare", "Say where two performances differ."),
    "dedup": Verb("dedup", "Find dances that a catalogue knows twice."),
    "list": Verb("dances", "List the dances a catalogue knows."),
    "remove": Verb("dances", "Forget dances."),
    "exclude": Verb("exclude", "Never match a stretch of a dance."),
    "stats": Verb("stats", "Say what a catalogue holds, in numbers."),
    "verify": Verb("verify", "Check that a catalogue is whole."),
    "export": Verb("transfer", "Write a catalogue as a folder of plain files."),
    "import": Verb("transfer", "Add the dances of an exported folder."),
    "extract": Verb("extract", "Turn videos into skeletons."),
    "info": Verb("info", "Explain a video or motion file."),
    "fingerprint": Verb("fingerprint", "Put a clip into motion words."),
    "decode": Verb("decode", "Turn motion words back into motion."),
    "words": Verb("words", "Show what words a model has."),
    "retokenise": Verb("retokenise", "Put a catalogue into another model's words."),
    "fit-weights": Verb("fit_weights", "Learn from labels how much each metric counts."),
    "train": Verb("train", "Fit a tokeniser on motions of your own."),
    "eval": Verb("evaluate", "Measure how well dances are found."),
    "bench-build": Verb("bench_build", "Make a benchmark of labelled clips."),
}


class LazyGroup(click.Group):
    """Imports a verb only when it is used, so that help comes at once."""

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
@click.version_option(package_name="dancematch")
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
    try:
        dancematch.main(standalone_mode=True)
    except DanceMatchError as error:
        click.echo(f"dancematch: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        click.echo("dancematch: the output cannot be written: no space left", err=True)
        sys.exit(1)
