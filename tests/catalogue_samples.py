"""What the tests of catalogues do to them in one line each."""

from dataclasses import replace

from dance_samples import digest
from dancematch.catalogue.editing.edit import CatalogueEditor, Edited
from dancematch.catalogue.editing.requests import Edit, EditRecording
from dancematch.catalogue.listing import read_dance_recordings, read_names
from dancematch.catalogue.records import Dance, Exclusion, NewRecording, Recording
from dancematch.catalogue.store import Store
from dancematch.tracks import KnownTrack
from dancematch.types import Fingerprint, Span

POSTER = bytes.fromhex("ffd8 ffc0000b080010002001011100 ffda0008010100003f00 0102030405060708 ffd9")
"""What a catalogue takes for a picture of 32 x 16 pixels; its like is in no other file."""


def of_dance(
    name: str, file: str, *, labels: tuple[str, ...] = (), poster: bytes | None = None, **facts: str | None
) -> NewRecording:
    """A recording of 20 s whose content is its file's name; facts are of the dance or of the recording."""
    own = {key: facts.pop(key) for key in ("performer", "url", "date") if key in facts}
    dance = Dance(name, labels=labels, **facts)  # type: ignore[arg-type]
    return NewRecording(dance, Recording(digest(file), file, 20.0, **own), poster)  # type: ignore[arg-type]


def edit(store: Store, *wanted: Edit, **options: object) -> Edited:
    return CatalogueEditor(store).edit(wanted, **options)  # type: ignore[arg-type]


def undo(store: Store, **options: bool) -> Edited:
    return CatalogueEditor(store).undo(**options)


def exclude(store: Store, dance: str, span: Span, reason: str | None = None) -> Exclusion:
    """Exclude a segment of a dance's only recording; return the segment that holds it now."""
    (one,) = read_dance_recordings(store, dance)
    edit(store, EditRecording(one.recording_id, exclude=span, reason=reason))
    return next(made for made in store.exclusions(dance) if made.start <= span.start < made.end)


def clear_exclusions(store: Store, dance: str) -> int:
    """Let all of a dance match again; return how many segments there were."""
    before = len(store.exclusions(dance))
    edit(
        store,
        *(EditRecording(r.recording_id, clear_exclusions=True) for r in read_dance_recordings(store, dance)),
    )
    return before


def address_of(store: Store) -> str:
    """Where a catalogue is, password included."""
    url = store.engine.url
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


def names(store: Store, **chosen: str) -> list[str]:
    return [known.name for known in store.dances(**chosen)]  # type: ignore[arg-type]


def named_tracks(store: Store, tracks: "tuple[KnownTrack, ...] | list[KnownTrack]") -> list[KnownTrack]:
    """The same tracks; for the id of a dance they have its name."""
    known = read_names(store)
    return [replace(track, dance_id=known[track.dance_id]) for track in tracks]


def named_words(store: Store, **chosen: str) -> list[tuple[str, Fingerprint]]:
    """The words of all tracks with the names of their dances."""
    known = read_names(store)
    return [(known[dance_id], words) for dance_id, words in store.fingerprints(**chosen)]  # type: ignore[arg-type]
