"""Files -> stored recordings: what `add` does with each of them."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dancematch.catalogue.listing import find_dance
from dancematch.catalogue.records import (
    MAX_FILE_NAME_LENGTH,
    MAX_NAME_LENGTH,
    Dance,
    NewRecording,
    Recording,
    StoredTrack,
    find_name_problem,
)
from dancematch.catalogue.sql.new_dances import require_agreement
from dancematch.catalogue.store import Store
from dancematch.control_characters import replace_controls
from dancematch.errors import CatalogueError, DanceExistsError, DanceMatchError, InputError
from dancematch.model.kmeans import require_words_of
from dancematch.model.tokeniser import Tokeniser
from dancematch.motion import to_body15
from dancematch.pipeline.analysis.analyse_files import Analyser
from dancematch.pipeline.analysis.clip_files import content_hash, rename_in_error
from dancematch.pipeline.analysis.file_analysis import Analysis, Progress
from dancematch.pipeline.analysis.info_files import read_title
from dancematch.pipeline.recording_plan import RecordingPlan
from dancematch.pipeline.tokenise import period_in, words_in
from dancematch.pose.selection import select_motions
from dancematch.types import Fingerprint, IgnoredTrack, Motion

_NOTHING_SEEN = "\ufffd"  # the name of what has only blanks for a name

Dancers = Sequence[tuple[Motion | None, Fingerprint]]  # skeletons, if they are known, and words


@dataclass(frozen=True)
class Added:
    """What became of a file that was to be added."""

    path: Path
    dance: str | None = None  # the name of its dance
    skipped: bool = False  # the same content is in the catalogue already, as a recording of this dance
    dancers: int = 0
    seconds: float = 0.0
    error: DanceMatchError | None = None
    ignored: tuple[IgnoredTrack, ...] = ()  # tracks of the file that are no dancers
    note: str | None = None  # such as why it is not named by its title
    dance_id: str | None = None
    recordings: int = 0  # of that dance, with this one
    known: Recording | None = None  # what it is skipped as


def _skip(path: Path, known: Recording) -> Added:
    return Added(path, known.dance, skipped=True, dance_id=known.dance_id, known=known)


class ChosenName(NamedTuple):
    """The name that a dance gets, and what its user should know about it."""

    name: str
    note: str | None = None


def name_dance(path: Path) -> str:
    """The name of a dance by its file: one that the catalogue takes, whatever bytes the file's name has.

    Control characters become U+FFFD; a name that is too long is cut and has a digest of the whole of it, so
    that two long names that begin alike stay two.
    """
    return _clean_name(_decode_name(_stem_of(path)), "name", MAX_NAME_LENGTH)


def name_file(path: Path) -> str:
    """The name of a recording's file, without its folder, cleaned like a dance's."""
    return _clean_name(_decode_name(path.name or path.resolve().name), "file", MAX_FILE_NAME_LENGTH)


def name_folder(path: Path) -> str:
    """The name of a dance by the folder that its recording lies in."""
    return _clean_name(_decode_name(path.resolve().parent.name), "name", MAX_NAME_LENGTH)


def propose_names(path: Path) -> list[str]:
    """Names for the dance of a downloaded video by its title, the best first; none if it has no title.

    They are cleaned and shortened like a file's. The last has the file's name, for titles without uploader
    and id. An `.info.json` that is of no use is an `InputError`.
    """
    found = read_title(path)
    if found is None:
        return []
    proposals = (*found.proposals(), f"{found.title} ({_decode_name(_stem_of(path))})")
    names = [_clean_name(one, "name", MAX_NAME_LENGTH) for one in proposals]
    return [] if names[0] == _NOTHING_SEEN else names


def _stem_of(path: Path) -> str:
    return path.stem or path.resolve().stem


def _decode_name(name: str) -> str:
    """A file's name, U+FFFD for each byte that is no character."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


def _clean_name(name: str, kind: str, longest: int) -> str:
    clean = replace_controls(name).strip()
    if len(clean) > longest:
        digest = hashlib.sha256(clean.encode()).hexdigest()[:8]
        clean = f"{clean[: longest - len(digest) - 1]}-{digest}"
    if find_name_problem("file", clean):  # only blanks are left to be wrong
        return _NOTHING_SEEN
    return f"dance {clean}" if find_name_problem(kind, clean) else clean  # which looks like an id


def tokenise_dancers(tokeniser: Tokeniser, motions: Sequence[Motion], what: object) -> Dancers:
    """The skeletons and words of each dancer among the motions; `what` names the clip in an error."""
    return [(motions[dancer - 1], words) for dancer, words in words_in(tokeniser, motions, what).items()]


def store_recording(
    store: Store, tokeniser: Tokeniser, new: NewRecording, dancers: Dancers, *, join: bool = False
) -> Recording:
    """Store a recording with its dancers; their number and its length are taken from them."""
    tracks, ends = [], []
    for motion, words in dancers:
        require_words_of(tokeniser, words)
        period = period_in(words, tokeniser)
        skeletons = None if motion is None else _move_to_origin(to_body15(motion))
        tracks.append(StoredTrack(words, skeletons, *period))
        ends.append(words.span(0, len(words) - 1).end if motion is None else motion.span.end)
    if not ends:
        raise InputError(f"{new.dance.name!r} was not added: it has no dancer")
    recording = replace(new.recording, seconds=max(ends))
    store.add(replace(new, recording=recording), tracks, join=join)
    found = store.find_recording(recording.recording_id)
    if found is None:
        raise CatalogueError(f"{new.dance.name!r} was removed by another process as soon as it was added")
    return found


def _move_to_origin(motion: Motion) -> Motion:
    """The same motion about the origin: its place says nothing, and far places cost precision."""
    pelvis = motion.joints[:, 0]
    seen = np.isfinite(pelvis).all(axis=1)
    middle = pelvis[seen].mean(axis=0) * np.array([1, 0, 1]) if seen.any() else np.zeros(3)
    joints = np.asarray(motion.joints - middle, dtype=np.float32)
    return Motion(joints, motion.fps, motion.skeleton, motion.visibility, motion.start)


@dataclass(frozen=True)
class _Pending:
    """The files of one run that have to be analysed, and others with the very content of one of them."""

    joined: dict[str, Dance]  # dances that files are to join, by what was said; one that is new has no id
    reserved: frozenset[str]  # their names
    originals: dict[str, Path] = field(default_factory=dict)  # by content hash
    names: dict[Path, ChosenName] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)  # names that no other dance of the run gets by its title
    copies: dict[Path, Path] = field(default_factory=dict)  # each with its original


@dataclass(frozen=True)
class Ingest:
    """Adds clips to a catalogue; `analyser` runs here, in several processes or on a cluster."""

    store: Store
    tokeniser: Tokeniser
    analyser: Analyser

    def add(
        self, plans: Mapping[Path, RecordingPlan], on_progress: Progress | None = None
    ) -> Iterator[Added]:
        """What becomes of each file, given with what is said of it; a bad one spoils nothing else."""
        self.store.require_writable()
        for plan in plans.values():
            plan.require_sound()  # before the long work
        work = self._begin(plans)
        for path, plan in plans.items():
            early = self._check(path, plan, work)
            if early is not None:
                yield early
        results: dict[Path, Added] = {}
        hashes = {path: digest for digest, path in work.originals.items()}
        for analysis in self.analyser(hashes, on_progress):
            path = analysis.path
            chosen = work.names[path]
            made = self._store(analysis, plans[path], chosen, hashes[path])
            results[path] = replace(made, note=made.note or chosen.note)
            yield results[path]
        for path, original in work.copies.items():
            error = rename_in_error(results[original].error, original, path)
            yield replace(results[original], path=path, skipped=error is None, error=error, note=None)

    def _begin(self, plans: Mapping[Path, RecordingPlan]) -> _Pending:
        said = dict.fromkeys(plan.dance for plan in plans.values() if plan.join and plan.dance is not None)
        joined = {dance: find_dance(self.store, dance) or Dance(dance) for dance in said}
        names = frozenset(dance.name for dance in joined.values())
        return _Pending(joined, names, taken=set(names))

    def _check(self, path: Path, plan: RecordingPlan, work: _Pending) -> Added | None:
        """The result of a file that needs no analysis; any other is entered as work."""
        try:
            digest = content_hash(path)
        except InputError as error:
            return Added(path, error=error)
        if digest in work.originals:
            work.copies[path] = work.originals[digest]
            return None
        present = self.store.find_recording(digest)
        if present is not None:
            return _skip(path, present)
        chosen = self._choose_name(path, plan, work)
        try:
            self._require_welcome(plan, chosen.name, work)
        except DanceMatchError as error:
            return Added(path, error=error)
        work.originals[digest], work.names[path] = path, chosen
        work.taken.add(chosen.name)
        return None

    def _require_welcome(self, plan: RecordingPlan, name: str, work: _Pending) -> None:
        """Refuse, before the long work, what the catalogue would refuse after it."""
        if plan.join and plan.dance in work.joined:
            said = Dance(name, collection=plan.collection, notes=plan.notes)
            require_agreement(said, vars(work.joined[plan.dance]))
        elif self.store.has(name) or name in work.reserved:
            raise self._name_taken(name)

    def _name_taken(self, name: str) -> DanceExistsError:
        return DanceExistsError(
            f"{name!r} is already the name of another dance in {self.store.where}; the content is new: if it "
            f"is another recording of that dance, say so (--dance {name!r}), else give it another name "
            f"(--dance NAME, or for many files --dance-from folder or --index)"
        )

    def _choose_name(self, path: Path, plan: RecordingPlan, work: _Pending) -> ChosenName:
        """The name that was given, else the first by the title that no other dance has, else the file's."""
        if plan.dance is not None:
            return ChosenName(work.joined[plan.dance].name if plan.join else plan.dance)
        try:
            proposals = propose_names(path) or [name_dance(path)]
        except InputError as error:
            return ChosenName(name_dance(path), f"{error}; the dance is named by its file")
        free = (one for one in proposals if one not in work.taken and not self.store.has(one))
        return ChosenName(next(free, proposals[0]))

    def _store(self, analysis: Analysis, plan: RecordingPlan, chosen: ChosenName, digest: str) -> Added:
        path = analysis.path
        try:
            if analysis.error is not None:
                raise analysis.error
            new = plan.with_info(path).record(
                chosen.name, Recording(digest, name_file(path)), analysis.poster
            )
            dancers = self._dancers(analysis)
            stored = store_recording(self.store, self.tokeniser, new, dancers, join=plan.join)
        except DanceExistsError as error:  # another process was quicker, or another file of this name
            known = self.store.find_recording(digest)
            if known is None:
                taken = self.store.has(chosen.name)
                return Added(path, error=self._name_taken(chosen.name) if taken else error)
            return _skip(path, known)
        except DanceMatchError as error:
            return Added(path, error=error)
        ignored = analysis.ignored + select_motions(analysis.motions)[1]
        number = self.store.count_recordings(stored.dance_id)
        return Added(
            path, stored.dance, False, stored.dancers, stored.seconds,
            ignored=ignored, dance_id=stored.dance_id, recordings=number,
        )  # fmt: skip

    def _dancers(self, analysis: Analysis) -> Dancers:
        if analysis.words:
            return list(zip(analysis.motions, analysis.words, strict=True))
        return tokenise_dancers(self.tokeniser, analysis.motions, analysis.path)
