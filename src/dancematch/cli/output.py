"""What every verb prints with: progress bars, tables and JSON lines."""

import dataclasses
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

import click
from tqdm import tqdm

from dancematch.cli import logs
from dancematch.errors import InputError
from dancematch.search.confidence.verdict import MAX_EVALUE, require_max_evalue
from dancematch.types import IgnoredTrack

log = logging.getLogger(__name__)

T = TypeVar("T")

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")


def max_evalue_option(meaning: str) -> Callable[[Any], Any]:
    """The option `--max-evalue`, which is refused before the work if it is no limit."""
    return click.option(
        "--max-evalue", type=float, default=MAX_EVALUE, show_default=True, callback=_checked_limit,
        metavar="0..1", help=meaning,
    )  # fmt: skip


def _checked_limit(_context: click.Context, _option: click.Parameter, value: float) -> float:
    try:
        return require_max_evalue(value)
    except InputError as error:
        raise click.BadParameter(str(error)) from None


def emit_json(value: Any) -> None:
    """Print a noun, or anything JSON can say, as one line."""
    is_noun = dataclasses.is_dataclass(value) and not isinstance(value, type)
    plain = dataclasses.asdict(value) if is_noun else value
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, default=str)
    # A file's name may hold bytes that are no text; JSON has an escape for them, UTF-8 has not.
    click.echo(text.encode(errors="backslashreplace").decode())


def emit_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns under headings; numbers are the caller's to format."""
    lines = [list(headings), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    for line in lines:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def complain(path: Path, error: Exception | None) -> None:
    """Say what is wrong with a file, naming it once."""
    say(str(error) if str(path) in str(error) else f"{path}: {error}", file=str(path), state="failed")


def ignored_line(ignored: IgnoredTrack) -> str:
    """What was followed in a clip but is no dancer, as every verb says it."""
    span = ignored.span
    return f"ignored: {span.start:.1f} to {span.end:.1f} s: {ignored.reason}"


def require_free(path: Path, force: bool) -> None:
    """Say before the work, not after it, that its result would replace a file or cannot be written there."""
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.exists() and not force:
        raise InputError(f"{path} exists already; choose another name, or say --force to replace it")
    try:
        # Tried: what the folder's permissions say is not all that may stand in the way.
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror}; choose a folder that takes files"
        ) from None


def say(message: str, **facts: Any) -> None:
    """Tell the person at the terminal, or a program with these facts, something that is not a result."""
    if logs.are_json():
        log.info("%s", message, extra={"facts": facts})
    else:
        tqdm.write(logs.without_passwords(message), file=sys.stderr)


def _no_bar() -> bool | None:
    """Whether bars are not shown; None: where nobody looks."""
    return True if logs.are_json() else None


@contextmanager
def share_bar(description: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on stderr that is told the share done, 0..1."""
    layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
    with tqdm(
        total=1.0, desc=description, bar_format=layout, leave=False, file=sys.stderr, disable=_no_bar()
    ) as bar:

        def tell(share: float) -> None:
            bar.update(max(0.0, min(1.0, share) - bar.n))

        yield tell


def counted(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """The items, with a progress bar on stderr that counts them."""
    bar = tqdm(items, desc=description, total=total, leave=False, file=sys.stderr, disable=_no_bar())
    yield from bar
