"""What is said of files that are to be added: their dances, performers, labels and so on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypedDict

from dancematch.catalogue.records import Dance, NewRecording, Recording, require_name
from dancematch.errors import InputError
from dancematch.pipeline.analysis.info_files import read_recording_info
from dancematch.pipeline.recording_index import IndexRow

DanceFrom = Literal["title", "file", "folder"]


class Facts(TypedDict, total=False):
    """What may be said of a recording and its dance."""

    labels: Sequence[str]
    collection: str | None
    notes: str | None
    performer: str | None
    url: str | None
    date: str | None


@dataclass(frozen=True)
class RecordingPlan:
    """What is said of one file; None: nothing."""

    dance: str | None = None  # its name; None: by the title that a downloader wrote, else by the file
    join: bool = False  # it may be one more recording of a dance that is there
    labels: tuple[str, ...] = ()
    collection: str | None = None
    notes: str | None = None
    performer: str | None = None
    url: str | None = None
    date: str | None = None

    def require_sound(self) -> None:
        """Refuse what the catalogue would refuse."""
        named = {"dance": self.dance, **{kind: getattr(self, kind) for kind in _SINGLE}}
        for kind, value in named.items():
            if value is not None:
                require_name(value, kind)
        for label in self.labels:
            require_name(label, "label")

    def with_facts(self, other: "RecordingPlan | IndexRow") -> "RecordingPlan":
        """Return the same, completed by what another source says; labels of both."""
        missing = {name: getattr(other, name) for name in _SINGLE if getattr(self, name) is None}
        return replace(self, **missing, labels=tuple(dict.fromkeys((*self.labels, *other.labels))))

    def with_info(self, path: Path) -> "RecordingPlan":
        """Return the same, completed by what a downloader wrote beside the file."""
        try:
            info = read_recording_info(path)
        except InputError:  # which naming has told about
            return self
        if info is None:
            return self
        found = RecordingPlan(labels=info.labels, performer=info.performer, url=info.url, date=info.date)
        return self.with_facts(found)

    def record(self, name: str, recording: Recording, poster: bytes | None = None) -> NewRecording:
        """Return the recording as the catalogue stores it."""
        dance = Dance(name, labels=self.labels, collection=self.collection, notes=self.notes)
        said = replace(recording, performer=self.performer, url=self.url, date=self.date)
        return NewRecording(dance, said, poster)


_SINGLE = ("collection", "notes", "performer", "url", "date")


def plan_of(dance: str | None, facts: Facts) -> RecordingPlan:
    """Return the plan of what was said in so many words."""
    unknown = next((name for name in facts if name not in Facts.__annotations__), None)
    if unknown is not None:
        raise TypeError(
            f"there is no fact {unknown!r} of a recording; there are {', '.join(Facts.__annotations__)}"
        )
    given = facts.get("labels", ())
    if isinstance(given, str):
        raise InputError(f"labels are several texts, got one: {given!r}; put it into a list")
    single = {name: facts.get(name) for name in _SINGLE}
    return RecordingPlan(dance, dance is not None, tuple(given), **single)  # type: ignore[arg-type]


def plan_clips(
    clips: Iterable[Path],
    said: RecordingPlan,
    *,
    dance_from: DanceFrom = "title",
    index: Mapping[Path, IndexRow] | None = None,
) -> dict[Path, RecordingPlan]:
    """Return the plan of each clip: what is said of all, then what the index says of it.

    Without a name it is one dance per file; with `folder`, one per folder.
    """
    from dancematch.pipeline.ingest import name_dance, name_folder

    rows = {path.resolve(): row for path, row in _unite_dances(index or {}).items()}
    plans = {}
    for clip in clips:
        plan, row = said, rows.get(clip.resolve())
        if row is not None:
            plan = plan.with_facts(row)
            if plan.dance is None and row.dance is not None:
                plan = replace(plan, dance=row.dance, join=True)
        if plan.dance is None and dance_from == "folder":
            plan = replace(plan, dance=name_folder(clip), join=True)
        if plan.dance is None and dance_from == "file":
            plan = replace(plan, dance=name_dance(clip))
        plans[clip] = plan
    return plans


def _unite_dances(index: Mapping[Path, IndexRow]) -> dict[Path, IndexRow]:
    """Return rows that all say of their dance what any of them does."""
    labels: dict[str, dict[str, None]] = {}
    single: dict[str, dict[str, str]] = {}
    for row in index.values():
        if row.dance is not None:
            labels.setdefault(row.dance, {}).update(dict.fromkeys(row.labels))
            known = single.setdefault(row.dance, {})
            known |= {name: value for name in ("collection", "notes") if (value := getattr(row, name))}
    return {
        path: row if row.dance is None else replace(row, labels=tuple(labels[row.dance]), **single[row.dance])  # type: ignore[arg-type]
        for path, row in index.items()
    }
