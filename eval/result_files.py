"""Result files: reading them, and the Markdown that is made of them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def read_results(name: str) -> list[dict]:
    """The result lines of a file, without its header."""
    lines = (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[1:]]


def source_line(name: str) -> str:
    """Where a file's figures come from."""
    head = json.loads((RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[0])
    note = f" ({head['note']})" if "note" in head else ""
    return f"- `{head['command']}`, {head['date']}, {head['machine']}{note}"


def format_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table under a title."""
    lines = [f"**{title}**", "", f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def format_share(row: dict, name: str) -> str:
    """A figure in percent, with its interval if it has one."""
    if row.get(name) is None:
        return "-"
    low_high = row.get("intervals", {}).get(name)
    interval = f" ({100 * low_high[0]:.1f} to {100 * low_high[1]:.1f})" if low_high else ""
    return f"{row[name]:.1%}{interval}"


def format_count(part: dict, name: str) -> str:
    """How many of how many searches, and their share."""
    return f"{round(part[name] * part['queries'])} of {part['queries']} ({part[name]:.0%})"
