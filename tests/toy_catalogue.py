"""A catalogue of toy words for tests of the verbs that need no model, and all that is said in one."""

from pathlib import Path
from typing import NamedTuple

from dance_samples import MODEL, digest, random_words
from dancematch.catalogue.records import Dance, Exclusion, NewRecording, Recording, StoredTrack
from dancematch.catalogue.store import Store

RECORDED = {  # files by dance
    "Thriller": ("anna.mp4", "ben.mp4"), "thriller cover": ("cover.mp4",), "Waltz": ("waltz.mp4",),
}  # fmt: skip


class Said(NamedTuple):
    """All that a catalogue says of dances and recordings."""

    dances: list[Dance]
    recordings: list[Recording]
    exclusions: list[Exclusion]

    def dance(self, name: str) -> Dance:
        """The dance of that name."""
        (found,) = [one for one in self.dances if one.name == name]
        return found

    def recording(self, file: str) -> Recording:
        """The recording of that file name."""
        (found,) = [one for one in self.recordings if one.file == file]
        return found

    def files(self, dance: str) -> list[str]:
        """The files of a dance."""
        return [one.file for one in self.recordings if one.dance == dance]


def make_catalogue(where: Path) -> Path:
    """Make a catalogue of three dances; the first has two recordings, and all the label pop."""
    store = Store(where, MODEL)
    for name, files in RECORDED.items():
        for file in files:
            new = NewRecording(Dance(name, labels=("pop",)), Recording(digest(file), file, 10.0))
            store.add(new, [StoredTrack(random_words(20, len(file)))], join=True)
    store.close()
    return where


def read_said(where: Path) -> Said:
    """Read all that a catalogue says."""
    store = Store(where, None, create=False)
    try:
        return Said(store.dances(), store.recordings(), store.exclusions())
    finally:
        store.close()
