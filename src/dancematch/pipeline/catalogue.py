"""A catalogue of known dances that takes and finds whole files.

`KnownDances` tells what it knows, `SearchableDances` searches it; here it is opened, added to and edited.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from dancematch.catalogue.editing.edit import CatalogueEditor, Edited
from dancematch.catalogue.editing.requests import Edit, EditRecording
from dancematch.catalogue.records import Exclusion, NewRecording, Recording
from dancematch.catalogue.store import Store
from dancematch.errors import DiskFullError, InputError
from dancematch.model.names import describe_model
from dancematch.model.tokeniser import load_background, load_model
from dancematch.pipeline.analysis.analyse_files import Analyser, analyse_files
from dancematch.pipeline.analysis.clip_files import find_clips
from dancematch.pipeline.analysis.file_analysis import MakeEstimator, Progress
from dancematch.pipeline.cached_engine import CachedEngine
from dancematch.pipeline.ingest import Added, Ingest, store_recording, tokenise_dancers
from dancematch.pipeline.recording_plan import Facts, RecordingPlan, plan_clips, plan_of
from dancematch.pipeline.review_list import ReviewList
from dancematch.pipeline.searchable_dances import SearchableDances
from dancematch.pose import default_estimator
from dancematch.search.kernels.preparation import start_preparing
from dancematch.types import Fingerprint, Motion, Span

if TYPE_CHECKING:
    from dancematch.pipeline.answer import Answer


def open_catalogue(
    where: str | Path,
    *,
    model: str | Path | None = None,
    create: bool = True,
    make_estimator: MakeEstimator = default_estimator,
) -> "Catalogue":
    """Open the catalogue at a file's path or database URL; `create` it if it is not there."""
    return Catalogue(where, model=model, create=create, make_estimator=make_estimator)


class Catalogue(SearchableDances):
    """Known dances: add to them, search them; `len`, `in`, `catalogue["Thriller"]`, iteration: `Dance`s."""

    def __init__(
        self,
        where: str | Path,
        *,
        model: str | Path | None = None,
        create: bool = True,
        make_estimator: MakeEstimator = default_estimator,
    ) -> None:
        self.tokeniser = tokeniser = load_model(model)
        self._background = load_background(tokeniser, model)
        self._store = Store(
            where, tokeniser.model_id, create=create, lazily=True, describe_model=describe_model
        )
        self._make_estimator = make_estimator
        self._editor = CatalogueEditor(self._store)
        self.reviews = ReviewList(self._store)
        self._cached_engine = CachedEngine(self._store, tokeniser.codebook, self._background)
        self.searcher = self._cached_engine

    def add(
        self,
        path: str | Path,
        *,
        dance: str | None = None,
        poster: bool = False,
        on_progress: Progress | None = None,
        **facts: Unpack[Facts],
    ) -> Added:
        """Learn a recording from a video or motion file.

        With the name of a `dance` it is one more recording of that dance. Without, it is a dance of its own,
        named by the title in the `.info.json` that yt-dlp writes beside a video, else by the file. `facts`
        are labels, collection and notes of the dance, performer, url and date of the recording. A `poster` is
        one small picture of a video. The same content is not added twice, whatever its name.
        """
        plan = plan_of(dance, facts)
        (added,) = self._ingest(1, poster=poster).add({Path(path): plan}, on_progress)
        if added.error is not None:
            raise added.error
        return added

    def add_many(
        self,
        places: Sequence[str | Path],
        *,
        jobs: int = 1,
        analyser: Analyser | None = None,
        on_progress: Progress | None = None,
        **facts: Unpack[Facts],
    ) -> Iterator[Added]:
        """Add every clip in the files and folders named, and say what became of each.

        `analyser` may analyse them elsewhere than in `jobs` processes of this machine.
        """
        plans = plan_clips(find_clips(places), plan_of(None, facts))
        yield from self.add_planned(plans, jobs=jobs, analyser=analyser, on_progress=on_progress)

    def add_planned(
        self,
        plans: Mapping[Path, RecordingPlan],
        *,
        jobs: int = 1,
        analyser: Analyser | None = None,
        posters: bool = False,
        on_progress: Progress | None = None,
    ) -> Iterator[Added]:
        """Add clips by what is said of each (`plan_clips`), and say what became of each."""
        yield from self._ingest(jobs, analyser, poster=posters).add(plans, on_progress)

    def _ingest(self, jobs: int, analyser: Analyser | None = None, *, poster: bool = False) -> Ingest:
        start_preparing()  # a catalogue that grows will be searched
        return Ingest(self._store, self.tokeniser, analyser or self._analyser(jobs, poster))

    def _analyser(self, jobs: int, posters: bool) -> Analyser:
        make = self._make_estimator
        return lambda contents, report: analyse_files(
            list(contents), jobs=jobs, make_estimator=make, posters=posters, on_progress=report
        )

    def learn(self, new: NewRecording, motions: Sequence[Motion], *, join: bool = False) -> Recording:
        """Store a recording by its motions; its length and dancers are taken from them.

        Only if it may `join` a dance can it be of one that is there.
        """
        dancers = tokenise_dancers(self.tokeniser, motions, new.recording.file)
        return store_recording(self._store, self.tokeniser, new, dancers, join=join)

    def learn_words(
        self, new: NewRecording, words: Sequence[Fingerprint], *, join: bool = False
    ) -> Recording:
        """Store a recording by its words alone, one fingerprint per dancer; no skeletons can be shown."""
        dancers = [(None, one) for one in words]
        return store_recording(self._store, self.tokeniser, new, dancers, join=join)

    def keep_for_review(self, answer: "Answer", query_file: str, query_id: str) -> int:
        """Put the possible matches of an answer on the list for review; returns how many of them wait.

        The clip is named by its file and by what `content_hash` says of it.
        """
        return self.reviews.keep(answer, query_file, query_id)

    def edit(
        self,
        edits: Sequence[Edit],
        *,
        expected: Mapping[str, str] | None = None,
        dry_run: bool = False,
    ) -> Edited:
        """Correct what is said of dances and recordings: all of it or, if anything is wrong, nothing.

        `expected` has ETags (`etag`) of dances by name or id: one that does not fit any more refuses all.
        """
        return self._editor.edit(edits, expected=expected, dry_run=dry_run)

    def undo(self, edit_id: str | None = None, *, dry_run: bool = False) -> Edited:
        """Take the last edit back, if it is the one of this id; undone again, it is made again."""
        return self._editor.undo(edit_id, dry_run=dry_run)

    def remove(self, dance: str) -> None:
        """Forget a dance, by name or id, with all its recordings."""
        self.remove_many([dance])

    def remove_many(self, dances: Iterable[str]) -> None:
        """Forget dances, all of them or, if one is unknown, none."""
        names = list(dances)
        self._remove(lambda: self._store.remove_many(names))

    def remove_recordings(self, recordings: Iterable[str]) -> None:
        """Forget recordings, by id or file name, all of them or none; a dance goes with its last one."""
        names = list(recordings)
        self._remove(lambda: self._store.remove_recordings(names))

    def _remove(self, work: Callable[[], None]) -> None:
        try:
            work()
        except DiskFullError:
            self._cached_engine.remove_cache()  # which gives its room, and has to go in any case
            work()
        self._cached_engine.remove_cache()

    def exclude(
        self, dance: str, span: Span, reason: str | None = None, *, recording: str | None = None
    ) -> list[Exclusion]:
        """Never match this segment of a dance's recording again; returns all that is excluded of the dance.

        The recording need not be named if the dance has only one.
        """
        known = self.recordings(dance) if recording is None else [self.recording(recording, dance)]
        if len(known) > 1:
            raise InputError(
                f"{dance!r} has {len(known)} recordings; say which one the segment is of, such as "
                f"{known[0].file!r}"
            )
        wanted = EditRecording(known[0].recording_id, exclude=span, reason=reason)
        self.edit([wanted])
        return self._store.exclusions(dance)

    def close(self) -> None:
        """Let go of the database."""
        self.searcher.close()
        self._cached_engine.close()
        self._store.close()

    def __enter__(self) -> "Catalogue":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
