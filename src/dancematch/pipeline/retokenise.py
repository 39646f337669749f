"""A catalogue tokenised again by another model, from the skeletons it stores.

In place, all words are made first, while other processes go on reading and writing, and are replaced in one
transaction: a crash before it leaves the old ones. Into another catalogue recordings are copied one by one,
while the old one keeps answering; those that are there already are skipped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dancematch.catalogue.listing import read_names, read_poster
from dancematch.catalogue.records import Dance, NewRecording, Recording
from dancematch.catalogue.reviews import ReviewStore
from dancematch.catalogue.store import Store, StoredTrack
from dancematch.errors import CatalogueError
from dancematch.model.names import describe_model
from dancematch.model.tokeniser import Tokeniser
from dancematch.pipeline.analysis.file_analysis import Progress
from dancematch.pipeline.tokenise import period_in, tokenise_motions

_MAX_NAMED = 20  # recordings that a message names before it only counts


@dataclass(frozen=True)
class Retokenised:
    """The result of tokenising a catalogue again."""

    old_model: str
    new_model: str
    recordings: int  # that have new words
    dropped: tuple[str, ...] = ()  # recordings that were removed: dance and file

    @property
    def changed(self) -> bool:
        """Whether the model was another one."""
        return self.old_model != self.new_model


def retokenise(
    where: str | Path,
    tokeniser: Tokeniser,
    *,
    drop_missing: bool = False,
    on_progress: Progress | None = None,
) -> Retokenised:
    """Put every recording of a catalogue into the words of `tokeniser`, all of them at once or none.

    Without the skeletons of each dancer, or with skeletons too short for the model, a recording has no new
    words: that is an error, or removes the recording if `drop_missing` is given.
    """
    store = Store(where, None, create=False)
    try:
        store.require_writable()
        old_model = store.model_id
        if old_model == tokeniser.model_id:
            return Retokenised(old_model, old_model, len(store.recordings()))
        generation = store.generation
        known = store.recordings()
        made: list[tuple[str, StoredTrack]] = []
        missing: list[str] = []
        for done, one in enumerate(known, start=1):
            tracks = list(_retokenise_recording(store, one.recording_id, tokeniser))
            # Skeletons stay as they are.
            made += [(one.recording_id, replace(track, motion=None)) for track in tracks]
            missing += [] if tracks else [_shown(one)]
            if on_progress is not None:
                on_progress(done / len(known))
        if missing and not drop_missing:
            raise _missing_skeletons(store, missing, len(known))
        store.replace_words(tokeniser.model_id, made, generation=generation)
        return Retokenised(old_model, tokeniser.model_id, len(known) - len(missing), tuple(missing))
    finally:
        store.close()


def retokenise_into(
    source: str | Path,
    target: str | Path,
    tokeniser: Tokeniser,
    *,
    drop_missing: bool = False,
    on_progress: Progress | None = None,
) -> Retokenised:
    """Put every recording of a catalogue into the words of `tokeniser` in the `target`, made if need be.

    The source is only read. What is in the target by content is skipped: an interrupted run goes on, and
    a repeated one adds what has come since, to the dance of the same id, whatever it is called by now.
    Recordings without new words are an error at the end, or left out if `drop_missing` is given.
    """
    old, new = (
        Store(source, None, create=False),
        Store(target, tokeniser.model_id, describe_model=describe_model),
    )
    try:
        missing: list[str] = []
        known, dances = old.recordings(), {dance.dance_id: dance for dance in old.dances()}
        for dance_id, name in read_names(new).items():
            if dance_id in dances:  # what is said of it there stays
                dances[dance_id] = replace(dances[dance_id], name=name, collection=None, notes=None)
        for done, one in enumerate(known, start=1):
            is_new = new.find_recording(one.recording_id) is None
            if is_new and not _copy_recording(old, new, dances[one.dance_id], one, tokeniser):
                missing.append(_shown(one))
            if on_progress is not None:
                on_progress(done / len(known))
        ReviewStore(old).copy_into(ReviewStore(new))
        if missing and not drop_missing:
            raise _missing_skeletons(old, missing, len(known), "all others are in the new catalogue")
        return Retokenised(old.model_id, new.model_id, len(known) - len(missing), tuple(missing))
    finally:
        old.close()
        new.close()


def _copy_recording(old: Store, new: Store, dance: Dance, recording: Recording, tokeniser: Tokeniser) -> bool:
    """Store a recording of the old catalogue in the new one; False if its skeletons are missing."""
    made = list(_retokenise_recording(old, recording.recording_id, tokeniser))
    if made:
        poster = read_poster(old, recording.recording_id)
        excluded = [
            one for one in old.exclusions(dance.dance_id) if one.recording_id == recording.recording_id
        ]
        new.add(NewRecording(dance, recording, poster, tuple(excluded)), made, join=True)
    return bool(made)


def _shown(recording: Recording) -> str:
    return f"{recording.dance} ({recording.file})"


def _retokenise_recording(store: Store, recording_id: str, tokeniser: Tokeniser) -> Iterator[StoredTrack]:
    """Yield a recording's dancers in the words of `tokeniser`; none if the skeletons of any are missing."""
    dancers = store.dancers(recording_id)
    stored = {dancer: motion for dancer, motion in dancers.items() if motion is not None}
    if len(stored) == len(dancers):
        for dancer, words in tokenise_motions(tokeniser, stored).items():
            yield StoredTrack(words, stored[dancer], *period_in(words, tokeniser), dancer=dancer)


def _missing_skeletons(
    store: Store, missing: Sequence[str], known: int, state: str = "nothing was changed"
) -> CatalogueError:
    named = ", ".join(missing[:_MAX_NAMED]) + (" and others" if len(missing) > _MAX_NAMED else "")
    return CatalogueError(
        f"{len(missing)} of the {known} recordings in {store.where} keep no skeletons to make words from "
        f"({named}); {state}: remove them and add their clips afterwards, or say --drop-missing"
    )
