"""dancematch words: what a model can say."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dancematch.cli.options import json_option, model_option, option, option_group
from dancematch.cli.output import emit_json, emit_table, require_free, say, share_bar

if TYPE_CHECKING:
    from dancematch.model.tokeniser import Tokeniser
    from dancematch.report.word_gallery_data import WordCount
    from dancematch.types import Fingerprint

_PAGE = Path("words.html")


@dataclass(frozen=True)
class PageOptions:
    """Whether a page is written, and where."""

    render: bool = option(
        "--render", is_flag=True, help="Write a page that shows every word moving, and print nothing."
    )
    output: Path | None = option(
        "-o", "--output", type=click.Path(path_type=Path), help=f"The page that --render writes [{_PAGE}]."
    )
    force: bool = option("--force", is_flag=True, help="Let --render replace a file that is there.")


@click.command("words")
@model_option
@click.option("--catalogue", help="Count the words in this catalogue, not in the model's own background.")
@click.option("--channel", "channels", multiple=True, help="Print only this body part; may be repeated.")
@click.option(
    "--limit", type=click.IntRange(1), default=10, show_default=True, help="Words to print of each body part."
)
@option_group("wanted", PageOptions)
@json_option
def words_command(
    model: str | None,
    catalogue: str | None,
    channels: tuple[str, ...],
    limit: int,
    wanted: PageOptions,
    as_json: bool,
) -> None:
    """Show the words of a model: how common each is, which are alike, and what they look like.

    The most common words of each body part are printed; the page has all of them.

    \b
    Example:
      dancematch words --channel left_arm
      dancematch words --render -o words.html
      dancematch words --catalogue dances.db --json --limit 256
    """
    from dancematch.errors import InputError
    from dancematch.model.tokeniser import load_model
    from dancematch.report.word_gallery import write_gallery
    from dancematch.report.word_gallery_data import list_words

    if wanted.output is not None and not wanted.render:
        raise click.UsageError("-o names the page that --render writes; without --render there is none")
    page = wanted.output or _PAGE
    if wanted.render:
        require_free(page, wanted.force)
    tokeniser = load_model(model)
    unknown = set(channels) - set(tokeniser.codebook.channels)
    if unknown:
        known = ", ".join(tokeniser.codebook.channels)
        raise InputError(f"{tokeniser.model_id} has no channel {min(unknown)!r}; it has {known}")
    found = _read_words(tokeniser, model, catalogue)
    if wanted.render:
        from dancematch.catalogue.sql.connection import shown_address

        source = "the model's background" if catalogue is None else Path(shown_address(catalogue)).name
        with share_bar("drawing") as tell:
            write_gallery(page, tokeniser, found, source=source, overwrite=wanted.force, on_progress=tell)
        say(f"{page}: the {tokeniser.vocabulary} words of each body part; open it in a browser")
        return
    by_channel = groupby(list_words(tokeniser, found), key=lambda word: word.channel)
    common = [
        word
        for name, words in by_channel
        if not channels or name in channels
        for word in islice(words, limit)
    ]
    _print(common, as_json)
    if not as_json:
        _say_sources(tokeniser.trained_on)


def _say_sources(trained_on: Mapping[str, Any]) -> None:
    """Say what the model learnt from, and whether all of it may be used commercially."""
    sources = trained_on.get("sources", [])
    if sources:
        listed = ", ".join(f"{one['name']} ({one['licence']})" for one in sources)
        free = all(one["commercial"] for one in sources)
        say(f"learnt from {listed}; " + ("commercial use: yes" if free else "commercial use: not of all"))


def _read_words(tokeniser: "Tokeniser", model: str | None, catalogue: str | None) -> "list[Fingerprint]":
    """The words of the catalogue, or of the model's own background."""
    from dancematch.model.tokeniser import load_background
    from dancematch.pipeline.catalogue import open_catalogue

    if catalogue is None:
        return load_background(tokeniser, model)
    with open_catalogue(catalogue, model=model, create=False) as known:
        return [words for _, words in known.fingerprints()]


def _print(words: "list[WordCount]", as_json: bool) -> None:
    if as_json:
        for word in words:
            emit_json(word)
        return
    emit_table(
        ["channel", "word", "times", "share", "most like it"],
        [
            [
                word.channel,
                str(word.word),
                str(word.count),
                f"{100 * word.share:.1f} %",
                ", ".join(f"{near.word} ({near.similarity:.2f})" for near in word.nearest),
            ]
            for word in words
        ],
    )
