"""The options of `dancematch edit`, in groups, and the edits that they ask for."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.options import file_path, option
from dancematch.errors import InputError
from dancematch.types import Span

if TYPE_CHECKING:
    from dancematch.catalogue.editing.requests import EditDance, EditRecording, Value


def _values(options: object, names: "dict[str, str]") -> "dict[str, Value]":
    """The values that are given, or removed by `--no-...`, by field; both at once are refused."""
    values: dict[str, Value] = {}
    for name, spelling in names.items():
        given, removed = getattr(options, name), getattr(options, f"no_{name}")
        if given is not None and removed:
            raise click.UsageError(f"--{spelling} and --no-{spelling} contradict each other")
        if given is not None or removed:
            values[name] = given
    return values


def _is_any_given(options: object) -> bool:
    return any(getattr(options, field.name) not in (None, False, ()) for field in fields(options))  # type: ignore[arg-type]


@dataclass(frozen=True)
class DanceEditOptions:
    """What becomes of the dances."""

    name: str | None = option("--name", help="The new name of the dance.")
    labels: tuple[str, ...] = option("--label", multiple=True, help="Add this label; may be repeated.")
    unlabels: tuple[str, ...] = option("--unlabel", multiple=True, help="Remove this label; may be repeated.")
    notes: str | None = option("--note", metavar="TEXT", help="A line to keep with the dances.")
    no_notes: bool = option("--no-note", is_flag=True, help="Remove the note.")
    collection: str | None = option("--collection", help="The collection that the dances belong to.")
    no_collection: bool = option("--no-collection", is_flag=True, help="Take them out of their collection.")
    merge_into: str | None = option(
        "--merge-into", metavar="DANCE",
        help="Make all their recordings recordings of this dance, which gets labels and notes too.",
    )  # fmt: skip

    def is_given(self) -> bool:
        """Whether anything is asked of dances."""
        return _is_any_given(self)

    def values(self) -> "dict[str, Value]":
        """The new values by field."""
        named: dict[str, Value] = {} if self.name is None else {"name": self.name}
        return named | _values(self, {"notes": "note", "collection": "collection"})

    def edit(self, dance: str) -> "EditDance":
        """The edit of one dance."""
        from dancematch.catalogue.editing.requests import EditDance

        return EditDance(dance, self.values(), self.labels, self.unlabels, self.merge_into)


@dataclass(frozen=True)
class RecordingEditOptions:
    """What becomes of recordings."""

    performer: str | None = option("--performer", help="Who dances in the recording.")
    no_performer: bool = option("--no-performer", is_flag=True, help="Remove it.")
    url: str | None = option("--url", help="The web page that the recording comes from.")
    no_url: bool = option("--no-url", is_flag=True, help="Remove it.")
    date: str | None = option("--date", help="When it was made: 2020, 2020-12 or 2020-12-31.")
    no_date: bool = option("--no-date", is_flag=True, help="Remove it.")
    move_to: str | None = option(
        "--move-to", metavar="DANCE", help="Make it a recording of this dance, which is there."
    )
    new_dance: str | None = option(
        "--new-dance", metavar="NAME", help="Make it a recording of a new dance of this name."
    )
    exclude: tuple[float, float] | None = option(
        "--exclude", type=float, nargs=2, metavar="START END",
        help="Never match this segment (seconds), such as the applause at the end.",
    )  # fmt: skip
    reason: str | None = option("--reason", help="With --exclude: words to keep with the segment.")
    clear_exclusions: bool = option(
        "--clear-exclusions", is_flag=True, help="Let all of the recording match again."
    )

    def is_given(self) -> bool:
        """Whether anything is asked of recordings."""
        return _is_any_given(self)

    def values(self) -> "dict[str, Value]":
        """The new values by field."""
        return _values(self, {name: name for name in ("performer", "url", "date")})

    def edit(self, recording: str, of_dance: str | None = None) -> "EditRecording":
        """The edit of one recording."""
        from dancematch.catalogue.editing.requests import EditRecording

        if self.exclude is not None and not 0 <= self.exclude[0] < self.exclude[1] < math.inf:
            start, end = self.exclude
            problem = "starts at 0 or later" if start < 0 else "ends after it starts"
            raise InputError(f"a segment {problem}, got {start} to {end}; nothing was changed")
        return EditRecording(
            recording,
            self.values(),
            move_to=self.move_to,
            new_dance=self.new_dance,
            exclude=None if self.exclude is None else Span(*self.exclude),
            reason=self.reason,
            clear_exclusions=self.clear_exclusions,
            of_dance=of_dance,
        )


@dataclass(frozen=True)
class WhichOptions:
    """What is edited, besides dances that are named."""

    recordings: tuple[str, ...] = option(
        "--recording", multiple=True, metavar="FILE|ID",
        help="The recording that --performer and the like are about; may be repeated. Not needed for a dance "
        "that has only one.",
    )  # fmt: skip
    with_label: str | None = option("--with-label", metavar="LABEL", help="All dances with this label.")
    in_collection: str | None = option(
        "--in-collection", metavar="COLLECTION", help="All dances of this collection."
    )
    csv: Path | None = option(
        "--csv", type=file_path(), metavar="FILE",
        help="Make dances or recordings what this table says: what 'dancematch list --csv' wrote, corrected.",
    )  # fmt: skip
    undo: bool = option("--undo", is_flag=True, help="Take the last edit back; again: make it again.")

    @property
    def is_filter(self) -> bool:
        """Whether dances are chosen by label or collection."""
        return self.with_label is not None or self.in_collection is not None

    def ways(self, dances: Sequence[str]) -> Iterator[str]:
        """The ways in which it is said what to edit; one is right."""
        yield from ["DANCES"] if dances else ["--recording"] if self.recordings else []
        yield from (
            [f"--{'in-collection' if self.with_label is None else 'with-label'}"] if self.is_filter else []
        )
        yield from ["--csv"] if self.csv is not None else []
        yield from ["--undo"] if self.undo else []


def refuse_contradictions(
    dances: Sequence[str], which: WhichOptions, dance: DanceEditOptions, recording: RecordingEditOptions
) -> None:
    """Refuse options that need another one, or that rule each other out."""
    ways = list(which.ways(dances))
    if not ways:
        known = (
            "name DANCES or a --recording, choose by --with-label or --in-collection, or give --csv or --undo"
        )
        raise click.UsageError(f"say what to edit: {known}")
    if len(ways) > 1:
        raise click.UsageError(f"{ways[0]} and {ways[1]} both say what to edit; give one of them")
    asked = dance.is_given() or recording.is_given()
    if asked and (which.csv is not None or which.undo):
        raise click.UsageError(f"{ways[0]} says all that changes; leave out the other options")
    if not asked and which.csv is None and not which.undo:
        raise click.UsageError("say what to change, such as --name, --label or --performer")
    _refuse_pairs(dance, recording)
    if which.recordings:
        _refuse_about_recordings(dances, which, dance, recording)
    if dance.name is not None and (len(dances) != 1 or dance.merge_into is not None):
        raise click.UsageError("--name is the name of one dance; name that dance, and merge nothing")


def _refuse_pairs(dance: DanceEditOptions, recording: RecordingEditOptions) -> None:
    """Refuse two options that say the opposite, and one that needs another."""
    for options in (dance, recording):
        options.values()
    both = set(dance.labels) & set(dance.unlabels)
    if both:
        raise click.UsageError(f"--label and --unlabel contradict each other about {min(both)!r}")
    if recording.reason is not None and recording.exclude is None:
        raise click.UsageError("--reason is that of a segment; give --exclude START END too")
    if recording.move_to is not None and recording.new_dance is not None:
        raise click.UsageError("--move-to names a dance that is there, --new-dance one that is not")


def _refuse_about_recordings(
    dances: Sequence[str], which: WhichOptions, dance: DanceEditOptions, recording: RecordingEditOptions
) -> None:
    if which.is_filter or which.csv is not None or which.undo or len(dances) > 1:
        raise click.UsageError("--recording names recordings of one dance; give that dance, or none")
    if dance.is_given() and not dances:
        raise click.UsageError("names, labels, notes and collections are those of a dance: name it too")
    if not recording.is_given():
        raise click.UsageError("say what to change of the --recording, such as --performer or --move-to")
