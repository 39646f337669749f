r"""What all verbs print with: lines, tables, JSON lines and progress bars; nothing else in `cli/` prints.

A file's name, a message or a value out of a catalogue may hold escape sequences. Control characters are
therefore printed as \x1b, \n or \u202e, in JSON as \u001b, never as themselves.
"""

import dataclasses
import errno
import json
import logging
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

import click
from tqdm import tqdm

from dancematch.cli import logs
from dancematch.control_characters import escape_controls, escape_json_controls
from dancematch.errors import InputError
from dancematch.types import IgnoredTrack

log = logging.getLogger(__name__)

T = TypeVar("T")


def json_line(value: Any) -> str:
    """A dataclass, or anything JSON can hold, as one line; a number that is none becomes null."""
    is_dataclass = dataclasses.is_dataclass(value) and not isinstance(value, type)
    plain = dataclasses.asdict(value) if is_dataclass else value
    try:
        text = json.dumps(plain, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:  # out of a catalogue that was edited by hand
        text = json.dumps(_without_nan(plain), ensure_ascii=False, allow_nan=False, default=str)
    return escape_json_controls(text)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def emit(line: str = "") -> None:
    """Print one line of a result; an empty one sets paragraphs apart."""
    with tqdm.external_write_mode(sys.stdout):  # a progress bar steps aside
        click.echo(escape_controls(line))


def emit_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    with tqdm.external_write_mode(sys.stdout):
        click.echo(json_line(value))


def emit_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns under headings; the cells are formatted already."""
    lines = [[escape_controls(cell) for cell in line] for line in (headings, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    for line in lines:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def emit_error(reason: str) -> None:
    """Print on stderr why the command line ends."""
    if logs.are_json():
        log.error("%s", reason)
    else:
        click.echo(f"dancematch: {escape_controls(logs.without_passwords(reason))}", err=True)


def complain(path: Path, error: Exception | None) -> None:
    """Say what is wrong with a file, naming it once."""
    say(str(error) if str(path) in str(error) else f"{path}: {error}", file=str(path), state="failed")


def ignored_line(ignored: IgnoredTrack) -> str:
    """A track of a clip that is no dancer, as all verbs describe it."""
    span = ignored.span
    return f"ignored: {span.start:.1f} to {span.end:.1f} s: {ignored.reason}"


def require_free(path: Path, force: bool) -> None:
    """Refuse, before the work, a path that is taken or cannot be written to."""
    try:
        if not path.parent.is_dir():
            raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
        if _is_taken(path) and not force:
            raise InputError(f"{path} exists already; choose another name, or say --force to replace it")
        # A trial: permissions are not all that may stand in the way.
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        advice = "shorter name" if error.errno == errno.ENAMETOOLONG else "folder that takes files"
        raise InputError(f"{path} cannot be written: {error.strerror}; choose a {advice}") from None


def _is_taken(path: Path) -> bool:
    """Whether there is such a file; an OSError if there can be none, which `Path.exists` may not tell."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def say(message: str, **facts: Any) -> None:
    """Print on stderr what is not a result; as a JSON log line it carries `facts`."""
    if logs.are_json():
        log.info("%s", message, extra={"facts": facts})
    else:
        tqdm.write(escape_controls(logs.without_passwords(message)), file=sys.stderr)


def _bars_disabled() -> bool | None:
    """Whether bars are hidden; None lets tqdm hide them where stderr is no terminal."""
    return True if logs.are_json() else None


class ShareBar:
    """A progress bar on stderr: called with the share that is done, 0..1."""

    def __init__(self, bar: "tqdm[Any]") -> None:
        self._bar = bar

    def __call__(self, share: float) -> None:
        """Move on to the share that is done."""
        self._bar.update(max(0.0, min(1.0, share) - self._bar.n))

    @property
    def visible(self) -> bool:
        """Whether there is a terminal to show it on."""
        return not self._bar.disable

    def note(self, text: str) -> None:
        """Show a text behind the bar."""
        self._bar.set_postfix_str(escape_controls(text))


@contextmanager
def share_bar(description: str) -> Iterator[ShareBar]:
    """Show a progress bar on stderr until the block ends."""
    layout = "{desc}: {percentage:3.0f}%|{bar:20}| {elapsed}<{remaining}{postfix}"
    name = escape_controls(description)
    with tqdm(
        total=1.0, desc=name, bar_format=layout, leave=False, file=sys.stderr, disable=_bars_disabled()
    ) as bar:
        yield ShareBar(bar)


@contextmanager
def stage_bars() -> Iterator[Callable[[str], Callable[[float], None]]]:
    """Progress bars one after the other; yields a function that begins the bar of a stage by its name."""
    with ExitStack() as stages:

        def begin(name: str) -> Callable[[float], None]:
            stages.close()  # the bar of the stage before
            return stages.enter_context(share_bar(name))

        yield begin


def counted(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """The items, with a progress bar on stderr that counts them."""
    name = escape_controls(description)
    yield from tqdm(items, desc=name, total=total, leave=False, file=sys.stderr, disable=_bars_disabled())


@contextmanager
def steps_bar(description: str, total: int) -> Iterator[Callable[[int, float | None], None]]:
    """A progress bar on stderr; yields a function that takes the steps done and, if it is known, the loss."""
    with tqdm(
        total=total, desc=escape_controls(description), file=sys.stderr, disable=_bars_disabled()
    ) as bar:

        def show(step: int, loss: float | None) -> None:
            bar.update(step - bar.n)
            if loss is not None:
                bar.set_postfix(loss=f"{loss:.3f}", refresh=False)

        yield show
