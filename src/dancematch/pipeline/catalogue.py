"""A catalogue of known dances that takes and finds whole files."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dancematch.catalogue.listing import Page, dance_of, names_of, page_of, with_skeletons
from dancematch.catalogue.records import KnownTrack, require_name
from dancematch.catalogue.stats import Stats, stats_of
from dancematch.catalogue.store import Dance, Exclusion, Store, StoredTrack
from dancematch.catalogue.verify import Problem, problems_of
from dancematch.errors import DanceExistsError, DanceMatchError, InputError
from dancematch.model.kmeans import require_words_of
from dancematch.model.names import called
from dancematch.model.tokeniser import Tokeniser, load_background, load_model
from dancematch.motion import to_body15
from dancematch.pipeline.cached_engine import CachedEngine
from dancematch.pipeline.extract import (
    Look,
    MakeEstimator,
    Outcome,
    Progress,
    clips_in,
    content_hash,
    motions_of_many,
    named_anew,
)
from dancematch.pipeline.tokenise import period_in, words_in
from dancematch.pose import default_estimator
from dancematch.pose.selection import select_motions
from dancematch.search.confidence.verdict import MAX_EVALUE, require_max_evalue
from dancematch.search.settings import ALL_DANCES, DEFAULT_LIMIT, DanceFilter, Settings
from dancematch.types import Fingerprint, IgnoredTrack, Motion, Span

if TYPE_CHECKING:
    from dancematch.pipeline.answer import Answer
    from dancematch.pipeline.query_variants import QueryClip, QueryDancer
    from dancematch.search.engine import Engine


@dataclass(frozen=True)
class Added:
    """What became of a file that was to be added."""

    path: Path
    dance_id: str | None = None
    skipped: bool = False  # the very content was there already, under this name
    dancers: int = 0
    seconds: float = 0.0
    error: DanceMatchError | None = None
    ignored: tuple[IgnoredTrack, ...] = ()  # who and what was followed in the file but is no dancer


def open_catalogue(
    where: str | Path,
    *,
    model: str | Path | None = None,
    create: bool = True,
    make_estimator: MakeEstimator = default_estimator,
) -> "Catalogue":
    """Open the catalogue at a file's path or database URL; `create` it if it is not there."""
    return Catalogue(where, model=model, create=create, make_estimator=make_estimator)


def _readable(name: str) -> str:
    """A file's name as text; on some systems a name may be any bytes."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


def _named(path: Path) -> str:
    """The name that a dance has by its file: on one line, whatever is in the file's."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in _readable(path.stem))


def _brought_near(motion: Motion) -> Motion:
    """The same motion about the origin: its place says nothing, and far places cost precision."""
    pelvis = motion.joints[:, 0]
    seen = np.isfinite(pelvis).all(axis=1)
    middle = pelvis[seen].mean(axis=0) * np.array([1, 0, 1]) if seen.any() else np.zeros(3)
    joints = np.asarray(motion.joints - middle, dtype=np.float32)
    return Motion(joints, motion.fps, motion.skeleton, motion.visibility, motion.start)


class Catalogue:
    """Known dances: add to them, search them."""

    def __init__(
        self,
        where: str | Path,
        *,
        model: str | Path | None = None,
        create: bool = True,
        make_estimator: MakeEstimator = default_estimator,
    ) -> None:
        tokeniser = load_model(model)
        self.tokeniser: Tokeniser = tokeniser
        self._background = load_background(tokeniser, model)
        self._store = Store(where, tokeniser.model_id, create=create, lazily=True, called=called)
        self._make_estimator = make_estimator
        self._kept = CachedEngine(self._store, tokeniser.codebook, self._background)

    def add(
        self,
        path: str | Path,
        *,
        dance_id: str | None = None,
        label: str | None = None,
        collection: str | None = None,
        on_progress: Progress | None = None,
    ) -> Added:
        """Learn a dance from a video or motion file; the file's name is its id unless one is given.

        The same content is not added twice, whatever its name.
        """
        path = Path(path)
        names = {path: _named(path) if dance_id is None else dance_id}
        (added,) = self._add_named(
            names, label=label, collection=collection, look=self._look(1), on_progress=on_progress
        )
        if added.error is not None:
            raise added.error
        return added

    def add_many(
        self,
        places: Sequence[str | Path],
        *,
        label: str | None = None,
        collection: str | None = None,
        jobs: int = 1,
        look: Look | None = None,
        on_progress: Progress | None = None,
    ) -> Iterator[Added]:
        """Learn every clip in the files and folders named, telling of each; a bad one spoils nothing else.

        `look` may see to the looking elsewhere than in `jobs` processes of this machine.
        """
        names = {clip: _named(clip) for clip in clips_in(places)}
        yield from self._add_named(
            names, label=label, collection=collection, look=look or self._look(jobs), on_progress=on_progress
        )

    def _look(self, jobs: int) -> Look:
        """Look at clips here."""
        return lambda contents, tell: motions_of_many(
            list(contents), jobs=jobs, make_estimator=self._make_estimator, on_progress=tell
        )

    def _add_named(
        self,
        names: dict[Path, str],
        *,
        label: str | None,
        collection: str | None,
        look: Look,
        on_progress: Progress | None,
    ) -> Iterator[Added]:
        self._store.require_writable()
        originals: dict[str, Path] = {}  # by content
        twins: dict[Path, Path] = {}  # the same content twice in one call
        for path in names:
            early = self._without_work(path, names, originals, twins)
            if early is not None:
                yield early
        results: dict[Path, Added] = {}
        hashes = {path: digest for digest, path in originals.items()}
        for outcome in look(hashes, on_progress):
            path = outcome.path
            try:
                if outcome.error is not None:
                    raise outcome.error
                dance = Dance(names[path], _readable(path.name), hashes[path], 0.0, label, collection)
                kept = self._learn_outcome(dance, outcome)
                ignored = outcome.ignored + select_motions(outcome.motions)[1]
                results[path] = Added(path, names[path], False, kept.dancers, kept.seconds, ignored=ignored)
            except DanceExistsError as error:  # somebody else was quicker
                known_as = self._store.find_content(hashes[path])
                results[path] = Added(path, known_as, skipped=True) if known_as else Added(path, error=error)
            except DanceMatchError as error:
                results[path] = Added(path, error=error)
            yield results[path]
        for path, original in twins.items():
            wrong = named_anew(results[original].error, original, path)
            yield replace(results[original], path=path, skipped=wrong is None, error=wrong)

    def learn(self, dance: Dance, motions: Sequence[Motion]) -> Dance:
        """Keep a dance that has been seen already; how long it is and who dances it, the motions say."""
        return self._learn_motions(dance, motions, dance.source)

    def _learn_motions(self, dance: Dance, motions: Sequence[Motion], what: object) -> Dance:
        said = words_in(self.tokeniser, motions, what)
        return self._learn_read(dance, [(motions[dancer - 1], words) for dancer, words in said.items()])

    def _learn_outcome(self, dance: Dance, outcome: Outcome) -> Dance:
        if not outcome.words:
            return self._learn_motions(dance, outcome.motions, outcome.path)
        for words in outcome.words:
            require_words_of(self.tokeniser.model_id, words)
        return self._learn_read(dance, list(zip(outcome.motions, outcome.words, strict=True)))

    def _learn_read(self, dance: Dance, read: Sequence[tuple[Motion, Fingerprint]]) -> Dance:
        tracks = [self._track(motion, words) for motion, words in read]
        seconds = max(motion.span.end for motion, _ in read)
        return self._keep(replace(dance, seconds=seconds), tracks)

    def learn_words(self, dance: Dance, said: Sequence[Fingerprint]) -> Dance:
        """Keep a dance that is known by its words alone, a dancer each; there is nothing to see of it."""
        for words in said:
            require_words_of(self.tokeniser.model_id, words)
        tracks = [StoredTrack(words, None, *period_in(words, self.tokeniser)) for words in said]
        seconds = max(words.span(0, len(words) - 1).end for words in said)
        return self._keep(replace(dance, seconds=seconds), tracks)

    def _keep(self, dance: Dance, tracks: Sequence[StoredTrack]) -> Dance:
        self._store.add(dance, tracks)
        return replace(dance, dancers=len(tracks))

    def _track(self, motion: Motion, words: Fingerprint) -> StoredTrack:
        kept = _brought_near(to_body15(motion))
        return StoredTrack(words, kept, *period_in(words, self.tokeniser))

    def _without_work(
        self, path: Path, names: dict[Path, str], originals: dict[str, Path], twins: dict[Path, Path]
    ) -> Added | None:
        """What can be said of a clip before the long work on it; noted in either book if nothing can."""
        try:
            require_name(names[path])
            digest = content_hash(path)
        except InputError as error:
            return Added(path, error=error)
        if digest in originals:
            twins[path] = originals[digest]
            return None
        present = self._store.find_content(digest)
        if present is not None:
            return Added(path, present, skipped=True)
        if self._store.has(names[path]):
            taken = f"{names[path]!r} is already the name of another dance in {self._store.where}"
            other = "the content is new: rename the file or give an id"
            return Added(path, error=DanceExistsError(f"{taken}; {other}"))
        originals[digest] = path
        return None

    def search(
        self,
        query: str | Path | Motion | Sequence[Motion],
        *,
        limit: int = DEFAULT_LIMIT,
        max_evalue: float = MAX_EVALUE,
        only: DanceFilter = ALL_DANCES,
        settings: Settings | None = None,
        on_progress: Progress | None = None,
    ) -> "Answer":
        """Which known dance the clip is: one verdict per dancer.

        The clip is a video, motion file or file of words, or motions. Every dancer in it is searched
        for, as seen and mirrored. A match has at most the E-value `max_evalue`, which lies within 0 to 1.
        """
        from dancematch.pipeline.answer import search_dancers

        require_max_evalue(max_evalue)  # before the long work
        clip = self.read_clip(query, on_progress)
        return search_dancers(
            self.engine().search,
            clip,
            limit=limit,
            max_evalue=max_evalue,
            only=only,
            settings=settings,
        )

    def readings(
        self, clip: str | Path | Motion | Sequence[Motion], on_progress: Progress | None = None
    ) -> "list[QueryDancer]":
        """Every dancer of a video, motion file, file of words or of motions, as a search reads them."""
        return list(self.read_clip(clip, on_progress).performances)

    def read_clip(
        self, clip: str | Path | Motion | Sequence[Motion], on_progress: Progress | None = None
    ) -> "QueryClip":
        """As `readings`, together with who and what was followed in the clip but is no dancer."""
        from dancematch.pipeline.query_variants import read_clip

        make = self._make_estimator
        return read_clip(clip, self.tokeniser, make_estimator=make, on_progress=on_progress)

    def engine(self) -> "Engine":
        """The engine, brought up to date with what others have added and removed."""
        return self._kept.current()

    def dances(self, *, label: str | None = None, collection: str | None = None) -> list[Dance]:
        """What is known, or what of it has this label or is of this collection, by name."""
        return self._store.dances(label=label, collection=collection)

    def require_any(self, label: str | None, collection: str | None) -> None:
        """Refuse a label, or a collection, that no dance has; None is not asked about."""
        self._store.require_any(label, collection)

    def page(
        self,
        *,
        label: str | None = None,
        collection: str | None = None,
        text: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page:
        """Some of the dances, in order of name, the first of them after the name `after`."""
        return page_of(self._store, label=label, collection=collection, text=text, after=after, limit=limit)

    def dance(self, dance_id: str) -> Dance:
        """What is known of one dance."""
        return dance_of(self._store, dance_id)

    def with_skeletons(self, dance_ids: Sequence[str]) -> set[str]:
        """Those of the dances, some thousand at most, that can be shown."""
        return with_skeletons(self._store, dance_ids)

    def some_names(self, limit: int) -> list[str]:
        """The names of at most `limit` dances, evenly chosen."""
        return names_of(self._store, limit)

    def known_by_content(self, digest: str) -> str | None:
        """The dance that was learnt from the very content that `content_hash` names so."""
        return self._store.find_content(digest)

    def tracks(self, dance_ids: Iterable[str]) -> list[KnownTrack]:
        """Every dancer of these dances with the words, in order of name and dancer."""
        return self._store.tracks(dance_ids)

    def dancers(self, dance_id: str) -> dict[int, Motion | None]:
        """Every dancer's skeletons by the dancer's number; None if they were not kept."""
        return self._store.dancers(dance_id)

    @property
    def where(self) -> str:
        """The database's file, or its URL without the password."""
        return self._store.where

    @property
    def identity(self) -> str:
        """A random name that no other catalogue has."""
        return self._store.identity

    @property
    def generation(self) -> int:
        """Counts the changes: what was derived at another generation is out of date."""
        return self._store.generation

    @property
    def background(self) -> Sequence[Fingerprint]:
        """Ordinary dances in the model's words, of no catalogue."""
        return self._background

    def fingerprints(self) -> list[tuple[str, Fingerprint]]:
        """Every dancer's words with the name of the dance, in order of name and dancer."""
        return self._store.fingerprints()

    def motions(self, dance_id: str) -> list[Motion]:
        """The skeletons that a dance was learnt from, a dancer each."""
        return self._store.motions(dance_id)

    def remove(self, dance_id: str) -> None:
        """Forget a dance."""
        self.remove_many([dance_id])

    def remove_many(self, dance_ids: Iterable[str]) -> None:
        """Forget dances, all of them or, if one is unknown, none."""
        self._store.remove_many(dance_ids)
        self._kept.forget_kept()

    def exclude(self, dance_id: str, span: Span, reason: str | None = None) -> Exclusion:
        """Never again match this stretch of a dance; what is excluded now: no longer than the dance."""
        return self._store.exclude(dance_id, span, reason)

    def exclusions(self) -> list[Exclusion]:
        """The stretches that are never to match, by name and time."""
        return self._store.exclusions()

    def stats(self) -> Stats:
        """What is known, in numbers."""
        return stats_of(self._store)

    def verify(self) -> list[Problem]:
        """Everything that is wrong with the catalogue; nothing if all is well."""
        return list(problems_of(self._store))

    def close(self) -> None:
        """Let go of the database."""
        self._kept.settle()
        self._store.close()

    def __enter__(self) -> "Catalogue":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
