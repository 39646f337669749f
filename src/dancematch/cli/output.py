"""What all verbs print with: progress bars, tables and JSON lines."""

import dataclasses
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

import click
from tqdm import tqdm

from dancematch.cli import logs
from dancematch.errors import InputError
from dancematch.types import IgnoredTrack

log = logging.getLogger(__name__)

T = TypeVar("T")


def json_line(value: Any) -> str:
    """A dataclass, or anything JSON can hold, as one line."""
    is_dataclass = dataclasses.is_dataclass(value) and not isinstance(value, type)
    plain = dataclasses.asdict(value) if is_dataclass else value
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, default=str)
    # A file's name may hold bytes that are no text; JSON has an escape for them, UTF-8 has not.
    return text.encode(errors="backslashreplace").decode()


def emit_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    click.echo(json_line(value))


def emit_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns under headings; the cells are formatted already."""
    lines = [list(headings), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    for line in lines:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def complain(path: Path, error: Exception | None) -> None:
    """Say what is wrong with a file, naming it once."""
    say(str(error) if str(path) in str(error) else f"{path}: {error}", file=str(path), state="failed")


def ignored_line(ignored: IgnoredTrack) -> str:
    """A track of a clip that is no dancer, as all verbs describe it."""
    span = ignored.span
    return f"ignored: {span.start:.1f} to {span.end:.1f} s: {ignored.reason}"


def require_free(path: Path, force: bool) -> None:
    """Refuse, before the work, a path that is taken or cannot be written to."""
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.exists() and not force:
        raise InputError(f"{path} exists already; choose another name, or say --force to replace it")
    try:
        # A trial: permissions are not all that may stand in the way.
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror}; choose a folder that takes files"
        ) from None


def say(message: str, **facts: Any) -> None:
    """Print on stderr what is not a result; as a JSON log line it carries `facts`."""
    if logs.are_json():
        log.info("%s", message, extra={"facts": facts})
    else:
        tqdm.write(logs.without_passwords(message), file=sys.stderr)


def _bars_disabled() -> bool | None:
    """Whether bars are hidden; None lets tqdm hide them where stderr is no terminal."""
    return True if logs.are_json() else None


@contextmanager
def share_bar(description: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on stderr; yields a function that takes the share done, 0..1."""
    layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
    with tqdm(
        total=1.0, desc=description, bar_format=layout, leave=False, file=sys.stderr, disable=_bars_disabled()
    ) as bar:

        def show(share: float) -> None:
            bar.update(max(0.0, min(1.0, share) - bar.n))

        yield show


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
    bar = tqdm(items, desc=description, total=total, leave=False, file=sys.stderr, disable=_bars_disabled())
    yield from bar
