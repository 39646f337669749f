"""Options that several verbs share, and groups of options that a command gets as one frozen dataclass."""

import dataclasses
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from dancematch.errors import InputError
from dancematch.search.confidence.verdict import MAX_EVALUE, require_max_evalue

Command = TypeVar("Command", bound=Callable[..., Any])

MODEL_HELP = "A shipped model's name or a model's folder."

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
model_option = click.option("--model", help=MODEL_HELP)
JOBS_SETTINGS: dict[str, Any] = {
    "type": click.IntRange(1), "default": os.cpu_count(), "help": "Processes to use (default: all cores).",
}  # fmt: skip
jobs_option = click.option("--jobs", **JOBS_SETTINGS)


def force_option(meaning: str = "Replace a file that is there.") -> Callable[[Command], Command]:
    """The option `--force`."""
    return click.option("--force", is_flag=True, help=meaning)


def max_evalue_settings(meaning: str) -> dict[str, Any]:
    """The same for a group of options."""
    return {
        "type": float, "default": MAX_EVALUE, "show_default": True, "callback": _check_max_evalue,
        "metavar": "0..1", "help": meaning,
    }  # fmt: skip


def _check_max_evalue(_context: click.Context, _option: click.Parameter, value: float) -> float:
    try:
        return require_max_evalue(value)
    except InputError as error:
        raise click.BadParameter(str(error)) from None


def file_path() -> click.Path:
    """The type of an option that names a file to write."""
    return click.Path(path_type=Path, dir_okay=False)


def option(*names: str, **settings: Any) -> Any:
    """A field of a group: `click.option` with these names and settings."""
    return dataclasses.field(metadata={"names": names, "settings": settings})


def option_group(parameter: str, group: type) -> Callable[[Command], Command]:
    """Give a command the options of `group`, a frozen dataclass of `option` fields, as one parameter."""
    fields = dataclasses.fields(group)

    def decorate(command: Command) -> Command:
        @wraps(command)
        def collect(*arguments: Any, **given: Any) -> Any:
            chosen = group(**{field.name: given.pop(field.name) for field in fields})
            return command(*arguments, **{parameter: chosen}, **given)

        for field in reversed(fields):
            names, settings = field.metadata["names"], field.metadata["settings"]
            collect = click.option(*names, field.name, **settings)(collect)
        return collect  # type: ignore[return-value]

    return decorate


@dataclasses.dataclass(frozen=True)
class FilterOptions:
    """Which dances of a catalogue are meant; all if neither is given."""

    label: str | None = option("--label", help="Only dances with this label.")
    collection: str | None = option("--collection", help="Only dances of this collection.")

    def is_empty(self) -> bool:
        """Whether nothing is asked of the dances."""
        return self.label is None and self.collection is None
