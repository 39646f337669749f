"""Writes every command, from the commands themselves, into the page that asks for them."""

import inspect
import re
from collections.abc import Iterator

import click
from sphinx.application import Sphinx

from dancematch.cli import ROOMS, VERBS, dancematch
from dancematch.cli.research.eval import EvalCommand
from markdown_tables import table_lines

MARK = "<!-- commands -->"
# A quoted command or pattern, an option, or a character that Markdown would take for markup.
_SPECIAL = re.compile(r"'((?:dancematch|clips/)[^']*)'|(?<![\w-])(--[a-z][\w-]*)|[\\`*_<>\[\]$]")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the writing of commands."""
    app.connect("source-read", write_commands)
    return {"parallel_read_safe": True}


def write_commands(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Put all commands, in place, where a page has the mark."""
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, "\n".join(describe_commands()))


def describe_commands() -> Iterator[str]:
    """The lines of all commands, one section per room."""
    top = click.Context(dancematch, info_name="dancematch")
    for room, title in ROOMS.items():
        yield from (f"## {title}", "")
        for name in (name for name, verb in VERBS.items() if verb.room == room):
            command = dancematch.get_command(top, name)
            assert command is not None  # noqa: S101  (for the type checker)
            yield from _describe_command(click.Context(command, info_name=name, parent=top), "###")


def _describe_command(context: click.Context, level: str) -> Iterator[str]:
    """One command: what it does, how it is called, its options."""
    command = context.command
    yield from (f"{level} {context.command_path.removeprefix('dancematch ')}", "")
    yield from _describe_help(command.help or "")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from ("```text", usage, "```", "")
    records = [one.get_help_record(context) for one in command.params if isinstance(one, click.Option)]
    rows = [(f"`{names}`", _escape(text)) for names, text in filter(None, records)]
    yield from table_lines(("option", ""), rows)
    if isinstance(command, EvalCommand):
        for name, suite in command.catalogue_suites.items():
            yield from _describe_command(click.Context(suite, info_name=name, parent=context), "####")


def _describe_help(text: str) -> Iterator[str]:
    """The paragraphs of a help; those that click keeps as they are become blocks of code."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if not paragraph.startswith("\b"):
            yield from (_escape(paragraph), "")
            continue
        heading, *lines = paragraph.lstrip("\b\n").splitlines()
        if heading.endswith(":"):
            yield from (_escape(heading), "")
        else:
            lines.insert(0, heading)
        yield from ("```text", *inspect.cleandoc("\n" + "\n".join(lines)).splitlines(), "```", "")


def _escape(text: str) -> str:
    """Plain text as Markdown, options and quoted commands in letters of one width."""
    return _SPECIAL.sub(
        lambda found: f"`{found[1] or found[2]}`" if found[1] or found[2] else "\\" + found[0], text
    )
