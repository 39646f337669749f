"""What is asked to be changed, and what comes of it: images of before made into images of after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dancematch.catalogue.editing.images import DanceImage, ExcludedSegment, Images, RecordingImage
from dancematch.catalogue.records import (
    MAX_REASON_LENGTH,
    Dance,
    Exclusion,
    Recording,
    find_dance_problems,
    find_recording_problems,
    new_dance_id,
)
from dancematch.errors import InputError
from dancematch.types import Span

Value = str | None | tuple[str, ...]
DANCE_FIELDS = ("name", "labels", "collection", "notes")
RECORDING_FIELDS = ("performer", "url", "date")


@dataclass(frozen=True)
class EditDance:
    """Changes of one dance, named by name or id; a value that is not given stays."""

    dance: str
    values: Mapping[str, Value] = field(default_factory=dict)  # of `DANCE_FIELDS`
    add_labels: tuple[str, ...] = ()
    remove_labels: tuple[str, ...] = ()
    merge_into: str | None = None  # another dance, which gets all recordings, labels and notes


@dataclass(frozen=True)
class EditRecording:
    """Changes of one recording, named by its id or its file's name; a value that is not given stays."""

    recording: str
    values: Mapping[str, Value] = field(default_factory=dict)  # of `RECORDING_FIELDS`
    move_to: str | None = None  # another dance, which must be there
    new_dance: str | None = None  # the name of a dance that is made for it
    exclude: Span | None = None  # a segment that never matches
    reason: str | None = None  # of that segment
    clear_exclusions: bool = False
    of_dance: str | None = None  # tells recordings with one file name apart


Edit = EditDance | EditRecording


@dataclass(frozen=True)
class Resolved:
    """The ids that names in edits mean."""

    dances: Mapping[str, str]
    recordings: Mapping[int, str]  # by the place of the edit among all


def apply_edits(before: Images, edits: Sequence[Edit], resolved: Resolved) -> Images:
    """Return what there is after all edits, one after the other; what cannot be kept is an `InputError`."""
    work = _Work(dict(before.dances), dict(before.recordings))
    for place, edit in enumerate(edits):
        if isinstance(edit, EditDance):
            work.edit_dance(edit, resolved)
        else:
            work.edit_recording(edit, resolved.recordings[place], resolved)
    _require_no_contradiction(edits, resolved)
    work.remove_empty_dances(before)
    after = Images(work.dances, work.recordings)
    _require_sound(after.without(before))
    return after


@dataclass
class _Work:
    """Images in the middle of an edit."""

    dances: dict[str, DanceImage | None]
    recordings: dict[str, RecordingImage]
    made: dict[str, str] = field(default_factory=dict)  # ids of new dances by name
    by_dance: dict[str, dict[str, None]] = field(default_factory=dict)  # ids of recordings; made when needed

    def edit_dance(self, edit: EditDance, resolved: Resolved) -> None:
        _require_fields(edit.values, DANCE_FIELDS, "dance")
        dance_id = resolved.dances[edit.dance]
        dance = self._dance(dance_id, edit.dance)
        values = dict(edit.values)
        if values.get("name", "") is None:
            raise InputError(f"{dance.name!r} needs a name; nothing was changed")
        _require_labels(edit)
        if "labels" in values:
            values["labels"] = tuple(sorted(set(values["labels"] or ())))
        dance = replace(dance, **values)  # type: ignore[arg-type]  # checked by `_require_sound`
        kept = (set(dance.labels) | set(edit.add_labels)) - set(edit.remove_labels)
        self.dances[dance_id] = replace(dance, labels=tuple(sorted(kept)))
        if edit.merge_into is not None:
            self._merge(dance_id, resolved.dances[edit.merge_into], edit)

    def _merge(self, dance_id: str, into_id: str, edit: EditDance) -> None:
        if dance_id == into_id:
            raise InputError(f"{edit.dance!r} cannot be merged into itself; nothing was changed")
        if "name" in edit.values:
            raise InputError(
                f"{edit.dance!r} loses its name when it is merged: name the dance that stays instead; "
                f"nothing was changed"
            )
        dance, into = self._dance(dance_id, edit.dance), self._dance(into_id, edit.merge_into or "")
        notes = dict.fromkeys(one for one in (into.notes, dance.notes) if one)
        self.dances[into_id] = replace(
            into,
            labels=tuple(sorted({*into.labels, *dance.labels})),
            notes="; ".join(notes) or None,
            collection=into.collection or dance.collection,
        )
        for key in self.of_dance(dance_id):
            self._move(self.recordings[key], into_id)
        self.dances[dance_id] = None

    def edit_recording(self, edit: EditRecording, recording_id: str, resolved: Resolved) -> None:
        _require_fields(edit.values, RECORDING_FIELDS, "recording")
        recording = replace(self.recordings[recording_id], **edit.values)  # type: ignore[arg-type]
        target = recording.dance_id
        if edit.move_to is not None and edit.new_dance is not None:
            raise InputError(f"{recording.file} can go to one dance only; nothing was changed")
        if edit.move_to is not None:
            target = self._dance(resolved.dances[edit.move_to], edit.move_to).dance_id
        if edit.new_dance is not None:
            target = self._make_dance(edit.new_dance, recording.dance_id)
        if edit.clear_exclusions:
            recording = replace(recording, excluded=())
        if edit.exclude is not None:
            recording = _exclude(recording, edit.exclude, edit.reason)
        self._move(recording, target)

    def of_dance(self, dance_id: str) -> list[str]:
        """Return the ids of the recordings that a dance has now."""
        if not self.by_dance:
            for key, one in self.recordings.items():
                self.by_dance.setdefault(one.dance_id, {})[key] = None
        return list(self.by_dance.get(dance_id, ()))

    def _move(self, recording: RecordingImage, dance_id: str) -> None:
        """Store a recording as one of a dance, which may be its own."""
        key = recording.recording_id
        if self.by_dance:
            del self.by_dance[recording.dance_id][key]
            self.by_dance.setdefault(dance_id, {})[key] = None
        self.recordings[key] = replace(recording, dance_id=dance_id)

    def _make_dance(self, name: str, like: str) -> str:
        """Make a dance for recordings of another; several in one edit go to the same one."""
        if name not in self.made:
            source = self.dances[like]
            made = DanceImage(new_dance_id(), name, (), None, None, source.added if source else "")
            self.dances[made.dance_id] = made
            self.made[name] = made.dance_id
        return self.made[name]

    def _dance(self, dance_id: str, named: str) -> DanceImage:
        found = self.dances[dance_id]
        if found is None:
            raise InputError(f"{named!r} is merged into another dance in the same edit; nothing was changed")
        return found

    def remove_empty_dances(self, before: Images) -> None:
        """Remove dances whose last recording has gone to another."""
        recorded = {one.dance_id for one in self.recordings.values()}
        for key in self.dances:
            if key not in recorded:
                self.dances[key] = None
        for key in [key for key, one in self.dances.items() if one is None and key not in before.dances]:
            del self.dances[key]


def _exclude(recording: RecordingImage, span: Span, reason: str | None) -> RecordingImage:
    """Exclude a segment, clipped to the recording and merged with those that it overlaps.

    The reason of a segment that it covers is replaced; that of one it covers partly is kept beside its own.
    """
    if span.start >= recording.seconds:
        raise InputError(
            f"a segment from {span.start:.1f} s on is not in {recording.file!r}, it lasts "
            f"{recording.seconds:.1f} s; nothing was changed"
        )
    end = min(span.end, recording.seconds)
    Exclusion(recording.file, span.start, end, reason)  # which refuses what cannot be kept
    made = ExcludedSegment(span.start, end, reason)
    touched = [one for one in recording.excluded if one.start < made.end and one.end > made.start]
    partly = [one for one in touched if one.start < made.start or one.end > made.end]
    reasons = "; ".join(dict.fromkeys(one.reason for one in (*partly, made) if one.reason))
    if len(reasons) > MAX_REASON_LENGTH:
        reasons = reasons[: MAX_REASON_LENGTH - 3] + "..."
    start, end = min(one.start for one in (*partly, made)), max(one.end for one in (*partly, made))
    others = [one for one in recording.excluded if one not in touched]
    excluded = [*others, ExcludedSegment(start, end, reasons or None)]
    return replace(recording, excluded=tuple(sorted(excluded, key=lambda one: (one.start, one.end))))


def _require_fields(values: Mapping[str, Value], known: Sequence[str], what: str) -> None:
    for name in values:
        if name not in known:
            raise InputError(f"a {what} has no {name!r} to be changed; there are {', '.join(known)}")


def _require_labels(edit: EditDance) -> None:
    """Refuse labels that are not several texts: the letters of one text would be labels, too."""
    for some in (edit.values.get("labels") or (), edit.add_labels, edit.remove_labels):
        if isinstance(some, str) or not all(isinstance(label, str) for label in some):
            raise InputError(f"labels are several texts, got {some!r:.60}; nothing was changed")


def _require_no_contradiction(edits: Sequence[Edit], resolved: Resolved) -> None:
    """Refuse two edits that give one thing two values."""
    said: dict[tuple[str, str], Value] = {}
    names = {dance_id: name for name, dance_id in resolved.dances.items()}  # one for each, however named
    for place, edit in enumerate(edits):
        values = dict(edit.values)
        if isinstance(edit, EditDance):
            what, named = resolved.dances[edit.dance], edit.dance
            values |= {} if edit.merge_into is None else {"dance": names[resolved.dances[edit.merge_into]]}
            values |= {f"label {label}": "added" for label in edit.add_labels}
            _refuse_both(said, what, named, {f"label {label}": "removed" for label in edit.remove_labels})
        else:
            what, named = resolved.recordings[place], edit.recording
            values |= {} if edit.move_to is None else {"dance": names[resolved.dances[edit.move_to]]}
            values |= {} if edit.new_dance is None else {"dance": edit.new_dance}
        _refuse_both(said, what, named, values)


def _refuse_both(
    said: dict[tuple[str, str], Value], what: str, named: str, values: Mapping[str, Value]
) -> None:
    """Note what an edit says of a thing; refuse what contradicts an earlier one."""
    for name, value in values.items():
        if said.setdefault((what, name), value) != value:
            raise InputError(
                f"two changes of {named!r} contradict each other: its {name} cannot be both "
                f"{said[what, name]!r} and {value!r}; nothing was changed"
            )


def _require_sound(changed: Images) -> None:
    """Refuse values that the gate of the catalogue would refuse."""
    for dance in filter(None, changed.dances.values()):
        record = Dance(dance.name, dance.dance_id, dance.labels, dance.collection, dance.notes, dance.added)
        for problem in find_dance_problems(record):
            raise InputError(f"{problem}; nothing was changed")
    for one in changed.recordings.values():
        moment = "2000-01-01"  # it is not changed here
        made = Recording(one.recording_id, one.file, one.seconds, one.performer, one.url, one.date, moment)
        for problem in find_recording_problems(made):
            raise InputError(f"{one.file}: {problem}; nothing was changed")
