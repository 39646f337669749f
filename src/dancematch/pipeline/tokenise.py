"""Motions -> words, and words -> motions that can be drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dancematch.errors import NoDancerError
from dancematch.model.kmeans import require_words_of
from dancematch.model.tokeniser import Tokeniser
from dancematch.motion import into_world
from dancematch.pipeline.analysis.file_analysis import Progress, extract_motions
from dancematch.pose.selection import no_dancer, select_motions
from dancematch.search.stage2.periodicity import period_of
from dancematch.types import SEEN_FROM, Fingerprint, Motion


def tokenise_motions(tokeniser: Tokeniser, motions: Mapping[int, Motion]) -> dict[int, Fingerprint]:
    """The words of each dancer, by number; dancers in view for too short a time for a word are left out."""
    made = {
        dancer: tokeniser.fingerprint(motion)
        for dancer, motion in motions.items()
        if tokeniser.is_long_enough(motion)
    }
    return {dancer: words for dancer, words in made.items() if (words.visibility >= SEEN_FROM).any()}


def words_in(tokeniser: Tokeniser, motions: Sequence[Motion], what: object) -> dict[int, Fingerprint]:
    """The words of a clip's dancers by number, from 1; `what` names the clip in an error.

    Motions that are no dancer's (`select_motions`) and those too short for a word are left out; if none is
    left, the error says why.
    """
    dancing, ignored = select_motions(motions)
    made = tokenise_motions(tokeniser, dancing)
    if made:
        return made
    if dancing or not any(map(tokeniser.is_long_enough, motions)):
        raise NoDancerError(f"no dancer is seen in {what} for long enough to give a single word")
    raise NoDancerError(no_dancer(what, ignored))


def period_in(words: Fingerprint, tokeniser: Tokeniser) -> tuple[float | None, float]:
    """The period of a dance in seconds and its strength; None and 0 if it does not repeat."""
    found = period_of(words, tokeniser.codebook)
    return (found.seconds, found.strength) if found else (None, 0.0)


def fingerprints_of(
    path: str | Path, tokeniser: Tokeniser, *, on_progress: Progress | None = None
) -> list[Fingerprint]:
    """The words of every dancer in a video or motion file, the most prominent first."""
    return list(words_in(tokeniser, extract_motions(path, on_progress=on_progress), path).values())


def decode(fingerprint: Fingerprint, tokeniser: Tokeniser) -> Motion:
    """The motion that words decode to, on `body15`, with the turns and travel that they carry."""
    require_words_of(tokeniser, fingerprint)
    return into_world(tokeniser.decode(fingerprint))
