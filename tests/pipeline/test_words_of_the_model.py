"""Words that name the right model but are of another kind: no door lets them in."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dance_samples import digest, recorded, small_model
from dancematch.catalogue.store import Store
from dancematch.errors import ModelMismatchError
from dancematch.formats import fingerprint as words_files
from dancematch.model.kmeans import require_words_of
from dancematch.pipeline.ingest import store_recording
from dancematch.pipeline.query import read_query
from dancematch.types import Fingerprint


def sound_words() -> Fingerprint:
    """What the small model itself might have made."""
    model = small_model()
    words = np.zeros((20, len(model.channels)), np.uint16)
    return Fingerprint(words, model.vocabulary, model.seconds_per_word, model.model_id)


def of_channels(channels: int) -> Fingerprint:
    return replace(sound_words(), words=np.zeros((20, channels), np.uint16), visibility=None)


FOREIGN = {
    "one channel": of_channels(1),
    "forty channels": of_channels(40),
    "vocabulary of 7": replace(sound_words(), vocabulary=7),
    "a nanosecond per word": replace(sound_words(), seconds_per_word=1e-9),
}
foreign_words = pytest.mark.parametrize("words", FOREIGN.values(), ids=FOREIGN)


@foreign_words
def test_words_of_another_kind_are_not_the_models(words: Fingerprint) -> None:
    """The right model's id does not make words its own: channels, vocabulary and clock are compared."""
    with pytest.raises(ModelMismatchError, match=r"channels of 16 words, each of 0\.133333 s, but these"):
        require_words_of(small_model(), words)


def test_a_clock_moved_by_rounding_is_the_models() -> None:
    """Words whose seconds per word were written with nine digits are accepted."""
    require_words_of(small_model(), replace(sound_words(), seconds_per_word=0.133333333))


@foreign_words
def test_a_dance_of_another_kind_of_words_is_not_stored(words: Fingerprint, tmp_path: Path) -> None:
    """No dance is in the catalogue after such words were to be stored in it."""
    store = Store(tmp_path / "d.db", small_model().model_id)
    with pytest.raises(ModelMismatchError):
        store_recording(store, small_model(), recorded("x", "x.npz", digest("x"), 0.0), [(None, words)])
    assert [] == store.dances()


@foreign_words
def test_a_query_of_another_kind_of_words_is_refused(words: Fingerprint, tmp_path: Path) -> None:
    """A file of such words is an error in one sentence, none of the model's runtime."""
    words_files.write(tmp_path / "q.npz", [words])
    with pytest.raises(ModelMismatchError, match="make them anew"):
        read_query(tmp_path / "q.npz", small_model())
