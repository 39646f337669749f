"""HTML pages that need nothing beside them, from the templates in `templates/`."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dancematch.formats.files import write_bytes
from dancematch.report.poses import FADED_LEGEND


def render_page(template: str, **values: Any) -> str:
    """The page that a template makes of the values.

    Names of files and dances may hold anything, so every value is escaped, and no template lifts that;
    data for a page's script goes through `tojson`, which cannot end the script.
    """
    return _environment().get_template(template).render(values)


def write_page(path: str | Path, page: str, *, overwrite: bool = False) -> None:
    """Write a page in one piece; half a surrogate pair in a file's name becomes a question mark."""
    write_bytes(Path(path), page.encode(errors="replace"), overwrite=overwrite)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("dancematch.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.globals["faded_legend"] = FADED_LEGEND
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment
