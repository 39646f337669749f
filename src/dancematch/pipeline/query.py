"""Clip -> query: every dancer of the clip that is asked about, in words as seen and mirrored."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dancematch import formats
from dancematch.directions import mirror_bones
from dancematch.errors import NoDancerError
from dancematch.formats import fingerprint as words_files
from dancematch.formats.archive import Archive
from dancematch.model.kmeans import require_words_of
from dancematch.model.tokeniser import Tokeniser
from dancematch.motion import mirror
from dancematch.pipeline.analysis.analyse_files import analyse_files
from dancematch.pipeline.analysis.clip_files import content_hash
from dancematch.pipeline.analysis.file_analysis import (
    Analysis,
    ImageTrack,
    MakeEstimator,
    Progress,
    analyse_progressively,
)
from dancematch.pipeline.tokenise import decode, words_in
from dancematch.pose import default_estimator
from dancematch.pose.selection import select_motions
from dancematch.search.confidence.verdict import PARTIAL_SHARE
from dancematch.search.query import Query
from dancematch.types import BONES_UNSEEN, SEEN_FROM, Fingerprint, IgnoredTrack, Match, Motion


@dataclass(frozen=True, eq=False)
class QueryDancer:
    """One dancer of a query clip: skeletons, and words as seen and mirrored."""

    dancer: int  # 1 = the most prominent
    motion: Motion  # decoded from the words if the clip is a file of words
    words: Fingerprint
    mirrored: Fingerprint
    turned: tuple[Fingerprint, Fingerprint] | None = None  # both as if filmed from another side

    def queries(self) -> tuple[Query, ...]:
        """Every variant to search for."""
        plain = (Query(self.words, False, self.dancer), Query(self.mirrored, True, self.dancer))
        if self.turned is None:
            return plain
        words, mirrored = self.turned
        return (*plain, Query(words, False, self.dancer, True), Query(mirrored, True, self.dancer, True))

    def variant(self, match: Match) -> Query:
        """The variant that a match was found with."""
        asked = match.mirrored, match.turned
        return next(one for one in self.queries() if (one.mirrored, one.turned) == asked)


@dataclass(frozen=True, eq=False)
class QueryClip:
    """The clip that is asked about: its dancers, and the tracks that are no dancers."""

    dancers: tuple[QueryDancer, ...]
    ignored: tuple[IgnoredTrack, ...] = ()
    images: tuple[ImageTrack, ...] = ()  # where each dancer is in the frames, if the clip is a video
    read_seconds: float | None = None  # of a video that is still being read; None: this is all of it
    sha256: str | None = None  # of the file, if it is one and all of it was read

    def limit_evalue(self, max_evalue: float) -> float:
        """The E-value that a match has at most, where one with the whole clip has `max_evalue`.

        While a video is read there are several answers, each of which may be an accident: a tenth of it.
        """
        return max_evalue if self.read_seconds is None else PARTIAL_SHARE * max_evalue

    def dancer(self, number: int) -> QueryDancer:
        """The dancer of that number."""
        return next(one for one in self.dancers if one.dancer == number)

    def variant(self, match: Match) -> Query:
        """The variant that a match was found by."""
        return self.dancer(match.dancer).variant(match)


def holds_words(path: Path) -> bool:
    """Whether a file holds motion words, as 'dancematch extract --words' writes them."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        return False
    with Archive(path) as archive:
        return words_files.is_words(archive)


def read_query(
    clip: str | Path | Motion | Sequence[Motion],
    tokeniser: Tokeniser,
    *,
    make_estimator: MakeEstimator = default_estimator,
    on_progress: Progress | None = None,
) -> QueryClip:
    """The query that a video, a motion file, a file of words or motions make."""
    if not isinstance(clip, str | Path):
        return query_of_motions([clip] if isinstance(clip, Motion) else clip, tokeniser, "the query")
    if holds_words(Path(clip)):
        return replace(query_of_words(words_files.read(clip), tokeniser), sha256=content_hash(clip))
    (found,) = analyse_files([Path(clip)], make_estimator=make_estimator, on_progress=on_progress)
    if found.error is not None:
        raise found.error
    return replace(query_of_analysis(found, tokeniser, found.path), sha256=content_hash(clip))


def read_query_progressively(
    clip: Path,
    tokeniser: Tokeniser,
    *,
    make_estimator: MakeEstimator = default_estimator,
    on_progress: Progress | None = None,
) -> Generator[QueryClip, None, None]:
    """Yield the query that the part of a video read so far makes, again and again, and last all of it.

    Only a part that shows a dancer counts. Of a motion file or a file of words there is nothing but all of
    it. Closing the iterator ends the reading.
    """
    if not clip.exists() or formats.is_motion_file(clip) or holds_words(clip):
        yield read_query(clip, tokeniser, make_estimator=make_estimator, on_progress=on_progress)
        return
    analyses = analyse_progressively(clip, estimator=make_estimator(), on_progress=on_progress)
    with closing(analyses):
        for found in analyses:
            try:
                query = query_of_analysis(found, tokeniser, clip)
            except NoDancerError:
                if found.read_seconds is None:
                    raise
                continue
            yield query if found.read_seconds is not None else replace(query, sha256=content_hash(clip))


def query_of_analysis(found: Analysis, tokeniser: Tokeniser, what: object) -> QueryClip:
    """The query that the dancers or words found in a file make; `what` names the file in an error."""
    if found.kind == "motion words":
        return query_of_words(found.words, tokeniser)
    query = query_of_motions(found.motions, tokeniser, what, found.ignored, found.images)
    return replace(query, read_seconds=found.read_seconds)


def query_of_motions(
    motions: Sequence[Motion],
    tokeniser: Tokeniser,
    what: object,
    ignored: Sequence[IgnoredTrack] = (),
    images: Sequence[ImageTrack] = (),
) -> QueryClip:
    """The query that skeletons make; `what` names the clip in an error.

    Motions that are no dancer's come after what was `ignored` before.
    """
    dancers = [
        dancer_of_motion(dancer, motions[dancer - 1], words, tokeniser)
        for dancer, words in words_in(tokeniser, motions, what).items()
    ]
    return QueryClip(tuple(dancers), (*ignored, *select_motions(motions)[1]), tuple(images))


def dancer_of_motion(dancer: int, motion: Motion, words: Fingerprint, tokeniser: Tokeniser) -> QueryDancer:
    """A dancer with every variant that is searched for; `words` are those of the motion as filmed."""
    reflected = mirror(motion)
    mirrored = tokeniser.fingerprint(reflected)
    turned = tokeniser.turned_fingerprint(motion, words), tokeniser.turned_fingerprint(reflected, mirrored)
    both = None if turned[0] is None or turned[1] is None else (turned[0], turned[1])
    return QueryDancer(dancer, motion, words, mirrored, both)


def query_of_words(words: Sequence[Fingerprint], tokeniser: Tokeniser) -> QueryClip:
    """The query that words alone make, one fingerprint per dancer.

    The mirrored variant is tokenised from the motion that the words decode to, which scores lower.
    """
    return QueryClip(tuple(_dancer_of_words(n, one, tokeniser) for n, one in enumerate(words, start=1)))


def _dancer_of_words(dancer: int, words: Fingerprint, tokeniser: Tokeniser) -> QueryDancer:
    require_words_of(tokeniser, words)
    motion = decode(words, tokeniser)
    mirrored = hide_unseen(tokeniser.fingerprint(mirror(motion)), words)
    bones = None if words.bones is None else mirror_bones(words.bones)[: len(mirrored)]
    return QueryDancer(dancer, motion, words, replace(mirrored, bones=bones))


def hide_unseen(made: Fingerprint, words: Fingerprint) -> Fingerprint:
    """Words made from skeletons, unseen where the stored `words` show nothing, as in excluded segments."""
    shown = np.asarray((words.visibility >= SEEN_FROM).any(axis=1))[: len(made)]
    shown = np.pad(shown, (0, len(made) - len(shown)))
    bones = None if made.bones is None else np.where(shown[:, None], made.bones, BONES_UNSEEN)
    return replace(made, visibility=made.visibility * shown[:, None], bones=bones)
