"""A catalogue into another model's words, made from the skeletons it keeps.

The words are made first, while others go on reading and writing; then all of them are
replaced in one transaction. Whatever ends the process before leaves the old ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dancematch.catalogue.store import NewWords, Store
from dancematch.errors import CatalogueError
from dancematch.model.tokeniser import Tokeniser
from dancematch.pipeline.extract import Progress
from dancematch.pipeline.words import period_in, put_into_words

_NAMED = 20  # dances that a message names before it only counts


@dataclass(frozen=True)
class Retokenised:
    """What became of a catalogue whose words were to be made anew."""

    old_model: str
    new_model: str
    dances: int  # that have new words
    dropped: tuple[str, ...] = ()  # dances that were forgotten, by name

    @property
    def changed(self) -> bool:
        """Whether there was anything to do."""
        return self.old_model != self.new_model


def retokenise(
    where: str | Path,
    tokeniser: Tokeniser,
    *,
    drop_missing: bool = False,
    on_progress: Progress | None = None,
) -> Retokenised:
    """Put every dance of a catalogue into the words of `tokeniser`, all of them at once or none.

    A dance cannot come along if the skeletons of one of its dancers were not kept, or if they
    are too short for the model: such dances are refused, or forgotten if `drop_missing` says so.
    """
    store = Store(where, None, create=False)
    try:
        old_model = store.model_id
        if old_model == tokeniser.model_id:
            return Retokenised(old_model, old_model, len(store.dances()))
        generation = store.generation
        names = [dance.dance_id for dance in store.dances()]
        made: list[NewWords] = []
        missing: list[str] = []
        for done, name in enumerate(names, start=1):
            words = list(_new_words(store, name, tokeniser))
            made += words
            missing += [] if words else [name]
            if on_progress is not None:
                on_progress(done / len(names))
        if missing and not drop_missing:
            raise _left_behind(store, missing, len(names))
        store.replace_words(tokeniser.model_id, made, generation=generation)
        return Retokenised(old_model, tokeniser.model_id, len(names) - len(missing), tuple(missing))
    finally:
        store.close()


def _new_words(store: Store, dance_id: str, tokeniser: Tokeniser) -> Iterator[NewWords]:
    """The words of a dance's dancers; none if the skeletons of any of them are missing."""
    dancers = store.dancers(dance_id)
    kept = {dancer: motion for dancer, motion in dancers.items() if motion is not None}
    if len(kept) == len(dancers):
        for dancer, words in put_into_words(tokeniser, kept).items():
            yield NewWords(dance_id, dancer, words, *period_in(words, tokeniser))


def _left_behind(store: Store, missing: Sequence[str], known: int) -> CatalogueError:
    named = ", ".join(missing[:_NAMED]) + (" and others" if len(missing) > _NAMED else "")
    return CatalogueError(
        f"{len(missing)} of the {known} dances in {store.where} keep no skeletons to make words from "
        f"({named}); nothing was changed: remove them and add their clips afterwards, or say --drop-missing"
    )
