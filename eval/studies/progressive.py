"""Answers while a clip is read: how soon is the right dance a match, and is anything taken back?

    python eval/studies/progressive.py CLIPS [--skeletons FOLDER]

CLIPS is a folder with an index.csv, as for `dancematch eval real`. Every video is read as `search` reads it.
What has been read so far is searched for among all other recordings but copies of its own performance, each
a dance of its own. A match in a part has a tenth of the usual E-value (`PARTIAL_SHARE`), as in
`Catalogue.search_progressively`.

One JSON object per kind of query: how many queries were a right match, or a wrong one (of unknown dances: any
match), after so many seconds of the clip and at its end; which matches of a part the whole clip took back.
The calibration was fitted on these very clips.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from dancematch.errors import NoDancerError
from dancematch.evaluation.methods.recogniser import MotionRecording, Recogniser
from dancematch.evaluation.methods.search_recogniser import SearchMethod
from dancematch.evaluation.real.catalogues import copies_of
from dancematch.evaluation.real.clip_index import IndexedClip, read_index
from dancematch.evaluation.real.clip_skeletons import load_recordings
from dancematch.pipeline.analysis.file_analysis import analyse_progressively
from dancematch.pose import default_estimator
from dancematch.search.confidence.verdict import MAX_EVALUE, PARTIAL_SHARE, evalue_of, verdict_of

MOMENTS = (4, 6, 8, 10, 12)  # seconds of a clip


@dataclass(frozen=True)
class Look:
    """What was found in a part of a clip; `seconds` of the whole are None."""

    seconds: float | None
    matched: str | None  # the dance of the first candidate, if it is a match


@dataclass(frozen=True)
class Reading:
    """All looks at one clip."""

    clip: IndexedClip
    looks: list[Look]

    def matched_by(self, seconds: float) -> str | None:
        """The dance that the first match after so many seconds named; None if there was none by then."""
        early = (
            look.matched for look in self.looks if look.seconds is not None and look.seconds < seconds + 1
        )
        return next((dance for dance in early if dance is not None), None)

    @property
    def whole(self) -> str | None:
        """The dance that the whole clip matches."""
        return self.looks[-1].matched

    @property
    def first_match(self) -> str | None:
        """The dance that the first match of a part names, as `search --first` does."""
        return self.matched_by(float("inf"))


def read_clip(
    clip: IndexedClip, path: Path, recogniser: Recogniser, dances: dict[str, str], without: frozenset[str]
) -> Iterator[Look]:
    """Yield what is found while a clip is read."""
    known = len(dances) - len(without)
    analyses = analyse_progressively(path, estimator=default_estimator())
    try:
        for number, analysis in enumerate(analyses):
            # A recording of its own for each part: queries are kept by name.
            query = MotionRecording(f"{clip.file} part {number}", clip.dance, analysis.motions)
            found = recogniser.search(query, without)
            share = 1.0 if analysis.read_seconds is None else PARTIAL_SHARE
            sure = found and verdict_of(evalue_of(found[0].confidence, known), share * MAX_EVALUE) == "match"
            yield Look(analysis.read_seconds, dances[found[0].recording_id] if sure else None)
    except NoDancerError:
        yield Look(None, None)


def measure(part: str, readings: list[Reading]) -> dict[str, object]:
    """The figures of one kind of query."""

    def count(dances: list[tuple[str, str | None]]) -> dict[str, int]:
        named = [(own, dance) for own, dance in dances if dance is not None]
        right = sum(own == dance for own, dance in named)
        return {"right_matches": right, "wrong_matches": len(named) - right}

    by_moment = {
        f"{seconds} s": count([(one.clip.dance, one.matched_by(seconds)) for one in readings])
        for seconds in MOMENTS
    }
    first = [one for one in readings if one.first_match is not None]
    return {
        "study": "progressive", "part": part, "queries": len(readings),
        "after": by_moment | {"whole": count([(one.clip.dance, one.whole) for one in readings])},
        "first_match": count([(one.clip.dance, one.first_match) for one in first]),
        "first_match_not_of_the_whole": [one.clip.file for one in first if one.first_match != one.whole],
    }  # fmt: skip


def main() -> None:
    """Read the clips one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("--skeletons", type=Path, help="folder of skeletons of an earlier run")
    arguments = parser.parse_args()
    clips = read_index(arguments.clips)
    recordings = load_recordings(arguments.clips, clips, arguments.skeletons)
    recogniser = SearchMethod().build(recordings)
    dances = {one.recording_id: one.dance_id for one in recordings}
    readings = []
    for clip in tqdm(clips, leave=False):
        looks = read_clip(clip, arguments.clips / clip.file, recogniser, dances, copies_of(clip, clips))
        readings.append(Reading(clip, list(looks)))
    for part in sorted({clip.part for clip in clips}):
        print(json.dumps(measure(part, [one for one in readings if one.clip.part == part])))


if __name__ == "__main__":
    main()
