"""A clip as a search reads it: every dancer in it, as seen and mirrored."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dancematch.directions import mirror_bones
from dancematch.formats import fingerprint as words_files
from dancematch.formats.archive import Archive
from dancematch.model.kmeans import require_words_of
from dancematch.model.tokeniser import Tokeniser
from dancematch.motion import mirror
from dancematch.pipeline.analyse_files import analyse_files
from dancematch.pipeline.analysis import MakeEstimator, Progress
from dancematch.pipeline.tokenise import decode, words_in
from dancematch.pose import default_estimator
from dancematch.pose.selection import select_motions
from dancematch.search.engine import Query
from dancematch.types import BONES_UNSEEN, SEEN_FROM, Fingerprint, IgnoredTrack, Motion


@dataclass(frozen=True, eq=False)
class QueryDancer:
    """One dancer of a clip: the skeletons, and the words as seen and mirrored."""

    dancer: int
    motion: Motion  # of a clip that is words: what they tell of
    words: Fingerprint
    mirrored: Fingerprint

    def queries(self) -> tuple[Query, Query]:
        """Both ways to search for the dancer."""
        return Query(self.words, False, self.dancer), Query(self.mirrored, True, self.dancer)


@dataclass(frozen=True, eq=False)
class QueryClip:
    """A clip as a search reads it: its dancers, and who and what else was followed in it."""

    performances: tuple[QueryDancer, ...]
    ignored: tuple[IgnoredTrack, ...] = ()


def holds_words(path: Path) -> bool:
    """Whether a file is one that 'dancematch fingerprint' writes."""
    return path.suffix.lower() == ".npz" and path.is_file() and words_files.is_words(Archive(path))


def read_clip(
    clip: str | Path | Motion | Sequence[Motion],
    tokeniser: Tokeniser,
    *,
    make_estimator: MakeEstimator = default_estimator,
    on_progress: Progress | None = None,
) -> QueryClip:
    """The dancers of a video, motion file, file of words or of motions, and what was ignored."""
    if not isinstance(clip, str | Path):
        return read_motions([clip] if isinstance(clip, Motion) else clip, tokeniser, "the query")
    if holds_words(Path(clip)):
        return QueryClip(tuple(readings_of_words(words_files.read(clip), tokeniser)))
    (outcome,) = analyse_files([Path(clip)], make_estimator=make_estimator, on_progress=on_progress)
    if outcome.error is not None:
        raise outcome.error
    return read_motions(outcome.motions, tokeniser, outcome.path, outcome.ignored)


def readings_of(motions: Sequence[Motion], tokeniser: Tokeniser, what: object) -> list[QueryDancer]:
    """Every dancer of skeletons who moves and is seen for long enough; `what` names the clip in an error."""
    return [
        QueryDancer(dancer, motions[dancer - 1], words, tokeniser.fingerprint(mirror(motions[dancer - 1])))
        for dancer, words in words_in(tokeniser, motions, what).items()
    ]


def read_motions(
    motions: Sequence[Motion], tokeniser: Tokeniser, what: object, ignored: Sequence[IgnoredTrack] = ()
) -> QueryClip:
    """As `readings_of`, with the motions that are no dancer's added to what was `ignored` before."""
    performances = readings_of(motions, tokeniser, what)
    return QueryClip(tuple(performances), (*ignored, *select_motions(motions)[1]))


def readings_of_words(said: Sequence[Fingerprint], tokeniser: Tokeniser) -> list[QueryDancer]:
    """The same of words alone; the mirrored reading is made from the motion that they tell of."""
    return [_of_words(dancer, words, tokeniser) for dancer, words in enumerate(said, start=1)]


def _of_words(dancer: int, words: Fingerprint, tokeniser: Tokeniser) -> QueryDancer:
    require_words_of(tokeniser.model_id, words)
    told = decode(words, tokeniser)
    turned = hidden_as(tokeniser.fingerprint(mirror(told)), words)
    bones = None if words.bones is None else mirror_bones(words.bones)[: len(turned)]
    return QueryDancer(dancer, told, words, replace(turned, bones=bones))


def hidden_as(made: Fingerprint, words: Fingerprint) -> Fingerprint:
    """Words made from skeletons, unseen where those that were kept show nothing, as in excluded stretches."""
    shown = np.asarray((words.visibility >= SEEN_FROM).any(axis=1))[: len(made)]
    shown = np.pad(shown, (0, len(made) - len(shown)))
    bones = None if made.bones is None else np.where(shown[:, None], made.bones, BONES_UNSEEN)
    return replace(made, visibility=made.visibility * shown[:, None], bones=bones)
