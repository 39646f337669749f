"""Many clips -> answers, one after another: what `search` does with several files.

Clips are analysed in several processes; the searches run in this one, through `Catalogue.search`. What is
held at a time does not grow with the number of clips: skeletons are dropped when their clip is searched.
"""

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dancematch.errors import DanceMatchError, InputError
from dancematch.model.tokeniser import Tokeniser
from dancematch.pipeline.analysis.analyse_files import analyse_files
from dancematch.pipeline.analysis.clip_files import content_hash, rename_in_error
from dancematch.pipeline.analysis.file_analysis import Analysis, MakeEstimator, Progress
from dancematch.pipeline.answer import Answer
from dancematch.pipeline.query import QueryClip, holds_words, query_of_motions, read_query
from dancematch.pose import default_estimator
from dancematch.types import Verdict


@dataclass(frozen=True)
class SearchedClip:
    """What a search says of one clip of many, or why it says nothing."""

    path: Path
    sha256: str | None = None  # of the content; None where that cannot be read
    answer: Answer | None = None  # without the query's skeletons
    error: DanceMatchError | None = None
    is_words: bool = False

    @property
    def verdict(self) -> Verdict | None:
        """The strongest of all dancers'; None if the clip cannot be read or shows no dancer."""
        return None if self.answer is None else self.answer.verdict

    def named(self) -> dict[str, str | None]:
        """Which clip it is, as JSON has it."""
        return {"clip": self.path.name, "file": str(self.path), "sha256": self.sha256}

    def described(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        if self.answer is None:
            return self.named() | {"verdict": None, "error": str(self.error)}
        return self.named() | self.answer.described()


def hash_clips(clips: Sequence[Path]) -> dict[Path, str | None]:
    """The content hash of each clip; None where it cannot be read, which its search will report."""
    return {clip: _hash_clip(clip) for clip in clips}


def _hash_clip(clip: Path) -> str | None:
    try:
        return content_hash(clip)
    except InputError:
        return None


@dataclass(frozen=True)
class BatchSearch:
    """Searches for many clips; a bad one spoils only its own result."""

    tokeniser: Tokeniser
    search: Callable[[QueryClip], Answer]  # `Catalogue.search` with its options
    jobs: int = 1
    make_estimator: MakeEstimator = default_estimator

    def run(
        self, contents: Mapping[Path, str | None], on_progress: Progress | None = None
    ) -> Generator[SearchedClip, None, None]:
        """What becomes of each clip, given with its content hash, in their order.

        The same content is searched for once, if the names end alike too: the suffix says how a file is
        read. An error that is not about a clip, such as a database that is gone, ends the run.
        """
        report = on_progress or (lambda _share: None)
        originals = _find_originals(contents)
        words = {clip for clip in set(originals.values()) if _is_words(clip)}
        analysed = [clip for clip, original in originals.items() if clip == original and clip not in words]
        copies = Counter(originals.values())
        results: dict[Path, SearchedClip] = {}  # of clips whose copies are still to come
        analyses = analyse_files(
            analysed, jobs=self.jobs, make_estimator=self.make_estimator,
            on_progress=lambda share: report(share * len(analysed) / len(contents)),
        )  # fmt: skip
        with closing(analyses):  # type: ignore[type-var]  # a generator, which has workers to end
            for done, (clip, sha256) in enumerate(contents.items(), start=1):
                original = originals[clip]
                if clip == original:
                    found = self._search(clip, sha256, None if clip in words else next(analyses))
                    results[clip] = replace(found, sha256=sha256, is_words=clip in words)
                yield _rename(results[original], clip)
                copies[original] -= 1
                if not copies[original]:
                    del results[original]
                report(done / len(contents))

    def _search(self, clip: Path, sha256: str | None, analysis: Analysis | None) -> SearchedClip:
        """The result of one clip, which is a file of words if it has not been analysed."""
        try:
            query = replace(self._read_query(clip, analysis), sha256=sha256)
        except DanceMatchError as error:
            return SearchedClip(clip, error=error)
        answer = self.search(query)
        return SearchedClip(clip, answer=replace(answer, query=QueryClip((), answer.ignored)))

    def _read_query(self, clip: Path, analysis: Analysis | None) -> QueryClip:
        if analysis is None:
            return read_query(clip, self.tokeniser)
        if analysis.error is not None:
            raise analysis.error
        return query_of_motions(analysis.motions, self.tokeniser, clip, analysis.ignored)


def _find_originals(contents: Mapping[Path, str | None]) -> dict[Path, Path]:
    """The first clip of the same content and suffix for each clip, which may be the clip itself."""
    first: dict[tuple[str | Path, str], Path] = {}
    return {
        clip: first.setdefault((sha256 or clip, clip.suffix.lower()), clip)
        for clip, sha256 in contents.items()
    }


def _is_words(clip: Path) -> bool:
    try:
        return holds_words(clip)
    except DanceMatchError:  # the analysis will say what is wrong with it
        return False


def _rename(found: SearchedClip, clip: Path) -> SearchedClip:
    if clip == found.path:
        return found
    return replace(found, path=clip, error=rename_in_error(found.error, found.path, clip))
