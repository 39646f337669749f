"""Files -> stored dances: what `add` does with each of them."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dancematch.catalogue.records import (
    MAX_FILE_NAME_LENGTH,
    MAX_NAME_LENGTH,
    find_name_problem,
    require_name,
)
from dancematch.catalogue.store import Dance, Store, StoredTrack
from dancematch.control_characters import replace_controls
from dancematch.errors import DanceExistsError, DanceMatchError, InputError
from dancematch.model.kmeans import require_words_of
from dancematch.model.tokeniser import Tokeniser
from dancematch.motion import to_body15
from dancematch.pipeline.analysis.analyse_files import Analyser
from dancematch.pipeline.analysis.clip_files import content_hash, rename_in_error
from dancematch.pipeline.analysis.file_analysis import Analysis, Progress
from dancematch.pipeline.analysis.info_files import read_title
from dancematch.pipeline.tokenise import period_in, words_in
from dancematch.pose.selection import select_motions
from dancematch.types import Fingerprint, IgnoredTrack, Motion

_NOTHING_SEEN = "\ufffd"  # the name of what has only blanks for a name

Dancers = Sequence[tuple[Motion | None, Fingerprint]]  # skeletons, if they are known, and words


@dataclass(frozen=True)
class Added:
    """What became of a file that was to be added."""

    path: Path
    dance_id: str | None = None
    skipped: bool = False  # the same content is in the catalogue already, under this name
    dancers: int = 0
    seconds: float = 0.0
    error: DanceMatchError | None = None
    ignored: tuple[IgnoredTrack, ...] = ()  # tracks of the file that are no dancers
    note: str | None = None  # why it is not named by its title


class ChosenName(NamedTuple):
    """The name that a dance gets, and what its user should know about it."""

    name: str
    note: str | None = None


def name_dance(path: Path) -> str:
    """The name of a dance by its file: one that the catalogue takes, whatever bytes the file's name has.

    Control characters become U+FFFD; a name that is too long is cut and has a digest of the whole of it, so
    that two long names that begin alike stay two.
    """
    return _clean_name(_decode_name(_stem_of(path)), "dance_id", MAX_NAME_LENGTH)


def name_source(path: Path) -> str:
    """The name of a dance's recording: that of the file without its folder, cleaned like the dance's."""
    return _clean_name(_decode_name(path.name or path.resolve().name), "source", MAX_FILE_NAME_LENGTH)


def propose_names(path: Path) -> list[str]:
    """Names for the dance of a downloaded video by its title, the best first; none if it has no title.

    They are cleaned and shortened like a file's. The last has the file's name, for titles without uploader
    and id. An `.info.json` that is of no use is an `InputError`.
    """
    found = read_title(path)
    if found is None:
        return []
    proposals = (*found.proposals(), f"{found.title} ({_decode_name(_stem_of(path))})")
    names = [_clean_name(one, "dance_id", MAX_NAME_LENGTH) for one in proposals]
    return [] if names[0] == _NOTHING_SEEN else names


def _stem_of(path: Path) -> str:
    return path.stem or path.resolve().stem


def _decode_name(name: str) -> str:
    """A file's name, U+FFFD for each byte that is no character."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


def _clean_name(name: str, kind: str, longest: int) -> str:
    clean = replace_controls(name)
    if len(clean) > longest:
        digest = hashlib.sha256(clean.encode()).hexdigest()[:8]
        clean = f"{clean[: longest - len(digest) - 1]}-{digest}"
    return _NOTHING_SEEN if find_name_problem(kind, clean) else clean  # only blanks are left to be wrong


def tokenise_dancers(tokeniser: Tokeniser, motions: Sequence[Motion], what: object) -> Dancers:
    """The skeletons and words of each dancer among the motions; `what` names the clip in an error."""
    return [(motions[dancer - 1], words) for dancer, words in words_in(tokeniser, motions, what).items()]


def store_dance(store: Store, tokeniser: Tokeniser, dance: Dance, dancers: Dancers) -> Dance:
    """Store a dance with its dancers; their number and its length are taken from them."""
    tracks, ends = [], []
    for motion, words in dancers:
        require_words_of(tokeniser, words)
        period = period_in(words, tokeniser)
        skeletons = None if motion is None else _move_to_origin(to_body15(motion))
        tracks.append(StoredTrack(words, skeletons, *period))
        ends.append(words.span(0, len(words) - 1).end if motion is None else motion.span.end)
    stored = replace(dance, seconds=max(ends))
    store.add(stored, tracks)
    return replace(stored, dancers=len(tracks))


def _move_to_origin(motion: Motion) -> Motion:
    """The same motion about the origin: its place says nothing, and far places cost precision."""
    pelvis = motion.joints[:, 0]
    seen = np.isfinite(pelvis).all(axis=1)
    middle = pelvis[seen].mean(axis=0) * np.array([1, 0, 1]) if seen.any() else np.zeros(3)
    joints = np.asarray(motion.joints - middle, dtype=np.float32)
    return Motion(joints, motion.fps, motion.skeleton, motion.visibility, motion.start)


@dataclass(frozen=True)
class _Work:
    """The files of one run that have to be analysed, and others with the very content of one of them."""

    originals: dict[str, Path] = field(default_factory=dict)  # by content hash
    names: dict[Path, ChosenName] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)  # these names
    copies: dict[Path, Path] = field(default_factory=dict)  # each with its original


@dataclass(frozen=True)
class Ingest:
    """Adds clips to a catalogue; `analyser` runs here, in several processes or on a cluster."""

    store: Store
    tokeniser: Tokeniser
    analyser: Analyser
    label: str | None = None
    collection: str | None = None

    def add(self, names: Mapping[Path, str | None], on_progress: Progress | None = None) -> Iterator[Added]:
        """What becomes of each file, given with the name of its dance; a bad one spoils nothing else.

        None is the name by the title in the `.info.json` beside a file or, without one, by the file.
        """
        self.store.require_writable()
        for kind, given in (("label", self.label), ("collection", self.collection)):
            if given is not None:
                require_name(given, kind)  # before the long work
        work = _Work()
        for path, name in names.items():
            early = self._check(path, name, work)
            if early is not None:
                yield early
        results: dict[Path, Added] = {}
        hashes = {path: digest for digest, path in work.originals.items()}
        for analysis in self.analyser(hashes, on_progress):
            path = analysis.path
            chosen = work.names[path]
            results[path] = replace(self._store(analysis, chosen.name, hashes[path]), note=chosen.note)
            yield results[path]
        for path, original in work.copies.items():
            error = rename_in_error(results[original].error, original, path)
            yield replace(results[original], path=path, skipped=error is None, error=error, note=None)

    def _check(self, path: Path, name: str | None, work: _Work) -> Added | None:
        """The result of a file that needs no analysis; any other is entered as work."""
        try:
            if name is not None:
                require_name(name)
            digest = content_hash(path)
        except InputError as error:
            return Added(path, error=error)
        if digest in work.originals:
            work.copies[path] = work.originals[digest]
            return None
        present = self.store.find_content(digest)
        if present is not None:
            return Added(path, present, skipped=True)
        chosen = self._choose_name(path, name, work.taken)
        if self.store.has(chosen.name):
            taken = f"{chosen.name!r} is already the name of another dance in {self.store.where}"
            other = "the content is new: rename the file or give an id"
            return Added(path, error=DanceExistsError(f"{taken}; {other}"))
        work.originals[digest], work.names[path] = path, chosen
        work.taken.add(chosen.name)
        return None

    def _choose_name(self, path: Path, name: str | None, taken: Collection[str]) -> ChosenName:
        """The name that was given, else the first by the title that no other dance has, else the file's."""
        if name is not None:
            return ChosenName(name)
        try:
            proposals = propose_names(path) or [name_dance(path)]
        except InputError as error:
            return ChosenName(name_dance(path), f"{error}; the dance is named by its file")
        free = (one for one in proposals if one not in taken and not self.store.has(one))
        return ChosenName(next(free, proposals[0]))

    def _store(self, analysis: Analysis, name: str, digest: str) -> Added:
        path = analysis.path
        try:
            if analysis.error is not None:
                raise analysis.error
            dance = Dance(name, name_source(path), digest, 0.0, self.label, self.collection)
            stored = store_dance(self.store, self.tokeniser, dance, self._dancers(analysis))
        except DanceExistsError as error:  # another process was quicker
            known_as = self.store.find_content(digest)
            return Added(path, known_as, skipped=True) if known_as else Added(path, error=error)
        except DanceMatchError as error:
            return Added(path, error=error)
        ignored = analysis.ignored + select_motions(analysis.motions)[1]
        return Added(path, name, False, stored.dancers, stored.seconds, ignored=ignored)

    def _dancers(self, analysis: Analysis) -> Dancers:
        if analysis.words:
            return list(zip(analysis.motions, analysis.words, strict=True))
        return tokenise_dancers(self.tokeniser, analysis.motions, analysis.path)
