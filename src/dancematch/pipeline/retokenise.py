"""A catalogue tokenised again by another model, from the skeletons it stores.

In place, all words are made first, while other processes go on reading and writing, and are replaced in one
transaction: a crash before it leaves the old ones. Into another catalogue dances are copied one by one, while
the old one keeps answering; those that are there already are skipped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dancematch.catalogue.store import Dance, Store, StoredTrack
from dancematch.errors import CatalogueError
from dancematch.model.names import describe_model
from dancematch.model.tokeniser import Tokeniser
from dancematch.pipeline.analysis.file_analysis import Progress
from dancematch.pipeline.tokenise import period_in, tokenise_motions

_MAX_NAMED = 20  # dances that a message names before it only counts


@dataclass(frozen=True)
class Retokenised:
    """The result of tokenising a catalogue again."""

    old_model: str
    new_model: str
    dances: int  # that have new words
    dropped: tuple[str, ...] = ()  # names of dances that were removed

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
    """Put every dance of a catalogue into the words of `tokeniser`, all of them at once or none.

    Without the skeletons of each dancer, or with skeletons too short for the model, a dance has no new
    words: that is an error, or removes the dance if `drop_missing` is given.
    """
    store = Store(where, None, create=False)
    try:
        store.require_writable()
        old_model = store.model_id
        if old_model == tokeniser.model_id:
            return Retokenised(old_model, old_model, len(store.dances()))
        generation = store.generation
        names = [dance.dance_id for dance in store.dances()]
        made: list[tuple[str, StoredTrack]] = []
        missing: list[str] = []
        for done, name in enumerate(names, start=1):
            tracks = list(_retokenise_dance(store, name, tokeniser))
            made += [(name, replace(track, motion=None)) for track in tracks]  # skeletons stay as they are
            missing += [] if tracks else [name]
            if on_progress is not None:
                on_progress(done / len(names))
        if missing and not drop_missing:
            raise _missing_skeletons(store, missing, len(names))
        store.replace_words(tokeniser.model_id, made, generation=generation)
        return Retokenised(old_model, tokeniser.model_id, len(names) - len(missing), tuple(missing))
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
    """Put every dance of `source` into the words of `tokeniser` in the catalogue `target`, made if need be.

    The source is only read. What is in the target by content is skipped: an interrupted run goes on, and
    a repeated one adds what has come since. Dances without new words are an error at the end, or left out
    if `drop_missing` is given.
    """
    old, new = (
        Store(source, None, create=False),
        Store(target, tokeniser.model_id, describe_model=describe_model),
    )
    try:
        missing: list[str] = []
        known = old.dances()
        for done, dance in enumerate(known, start=1):
            if new.find_content(dance.content_hash) is None and not _copy_dance(old, new, dance, tokeniser):
                missing.append(dance.dance_id)
            if on_progress is not None:
                on_progress(done / len(known))
        if missing and not drop_missing:
            raise _missing_skeletons(old, missing, len(known), "all others are in the new catalogue")
        return Retokenised(old.model_id, new.model_id, len(known) - len(missing), tuple(missing))
    finally:
        old.close()
        new.close()


def _copy_dance(old: Store, new: Store, dance: Dance, tokeniser: Tokeniser) -> bool:
    """Store a dance of the old catalogue in the new one; False if its skeletons are missing."""
    made = list(_retokenise_dance(old, dance.dance_id, tokeniser))
    if made:
        new.add_many([(dance, made)], old.exclusions(dance.dance_id))
    return bool(made)


def _retokenise_dance(store: Store, dance_id: str, tokeniser: Tokeniser) -> Iterator[StoredTrack]:
    """Yield a dance's dancers in the words of `tokeniser`; none if the skeletons of any are missing."""
    dancers = store.dancers(dance_id)
    stored = {dancer: motion for dancer, motion in dancers.items() if motion is not None}
    if len(stored) == len(dancers):
        for dancer, words in tokenise_motions(tokeniser, stored).items():
            yield StoredTrack(words, stored[dancer], *period_in(words, tokeniser), dancer=dancer)


def _missing_skeletons(
    store: Store, missing: Sequence[str], known: int, state: str = "nothing was changed"
) -> CatalogueError:
    named = ", ".join(missing[:_MAX_NAMED]) + (" and others" if len(missing) > _MAX_NAMED else "")
    return CatalogueError(
        f"{len(missing)} of the {known} dances in {store.where} keep no skeletons to make words from "
        f"({named}); {state}: remove them and add their clips afterwards, or say --drop-missing"
    )
