"""What the service does, whoever asks: learn, search, explain. No HTTP in here."""

import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dancematch import formats
from dancematch.cache_folder import cache_folder
from dancematch.catalogue.records import Dance
from dancematch.errors import CatalogueError, DanceExistsError, InputError
from dancematch.formats import fingerprint as words_files
from dancematch.pipeline.analysis import Analysis
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.files import SERVICE_SUFFIX
from dancematch.pipeline.query import QueryClip, query_of_motions, query_of_words
from dancematch.report.compare import compare
from dancematch.report.evidence import FileKind, QueryFile, dancer_of
from dancematch.search.confidence.verdict import MAX_EVALUE
from dancematch.search.engine import Query
from dancematch.search.settings import DEFAULT_LIMIT, DanceFilter
from dancematch.server.files.upload import Intake, Upload
from dancematch.server.files.videos import Videos
from dancematch.server.jobs.runner import Runner
from dancematch.server.jobs.table import Job, JobTable, now
from dancematch.server.metrics import Metrics
from dancematch.server.options import Options
from dancematch.server.overview.positions import positions
from dancematch.server.overview.vocabulary import Gallery
from dancematch.server.problems import Discretion, RefusedError, not_found, too_costly
from dancematch.server.queries.held_searches import KeptSearch, Searches
from dancematch.server.queries.reports import report_of
from dancematch.server.schemas.views import answer_view, differences_view, explanation_view
from dancematch.types import Fingerprint, Motion

if TYPE_CHECKING:
    pass

log = logging.getLogger(__name__)

_NAMELESS = "clip"  # what a file is called that came without a name
MOST_DANCERS = 32  # of a file
MOST_EXPLAINED = 4e9  # words of the clip times words of the dance squared: some seconds of work


@dataclass(frozen=True)
class Wanted:
    """What a search is about."""

    limit: int = DEFAULT_LIMIT
    max_evalue: float = MAX_EVALUE
    label: str | None = None
    collection: str | None = None
    periodic: bool | None = None
    filename: str | None = None
    keep: bool = True


@dataclass(frozen=True)
class NewDance:
    """What a dance that is to be learnt is called."""

    dance_id: str
    label: str | None = None
    collection: str | None = None
    filename: str | None = None


def folder_of(options: Options, catalogue: Catalogue) -> Path:
    """Where jobs and uploads are kept: beside the catalogue if that is a file."""
    if options.folder is not None:
        return options.folder
    if "://" in options.catalogue:
        return cache_folder() / "service" / catalogue.identity
    database = Path(options.catalogue)
    return database.with_name(database.name + SERVICE_SUFFIX)


class Service:
    """One catalogue at work."""

    def __init__(self, options: Options, catalogue: Catalogue) -> None:
        self.options, self.catalogue = options, catalogue
        _search_on_cluster(options, catalogue)
        self.folder = folder_of(options, catalogue).absolute()
        self.uploads, videos = self.folder / "uploads", self.folder / "videos"
        for folder in (self.folder, self.uploads, videos):
            _make_private(folder)
        self._videos = Videos(videos)
        self._lock = _locked(self.folder)
        self.table = JobTable(self.folder / "jobs.db")
        self.discretion = Discretion(catalogue.where, str(self.folder))
        self.runner = Runner(self.table, self.uploads, options, self.discretion, self._finish)
        self.intake = Intake(self.uploads, options.upload_bytes, options.sync_bytes, options.upload_seconds)
        self.searches, self.metrics = Searches(), Metrics()
        self.gallery = Gallery(catalogue, self.folder)
        self._map: tuple[tuple[int, int], dict[str, Any]] | None = None
        self.ready = False
        self.failure: Exception | None = None  # why it never will be

    def open(self) -> None:
        """Get the engine ready, with a search that compiles what is compiled, and begin with the jobs."""
        for one in self.catalogue.background[:1]:
            self.catalogue.searcher.search([Query(one), Query(one, mirrored=True)])
        self.runner.start()
        self.ready = True

    def close(self) -> None:
        """Put back what runs, and let go of everything."""
        self.ready = False
        self.runner.stop()
        self.table.close()
        self.catalogue.close()
        self._lock.close()

    # Learning

    def known_already(self, new: NewDance, digest: str) -> Dance | None:
        """The dance, if this very content has this very name; refused if either is another's."""
        known_as = self.catalogue.known_by_content(digest)
        if known_as == new.dance_id:
            return self.catalogue.dance(known_as)
        if known_as is not None:
            raise DanceExistsError(f"this very content is known already, as {known_as!r}")
        if self._has(new.dance_id):
            raise DanceExistsError(
                f"{new.dance_id!r} is already the name of another dance; choose another, or delete it first"
            )
        return None

    def _has(self, dance_id: str) -> bool:
        try:
            self.catalogue.dance(dance_id)
        except CatalogueError:
            return False
        return True

    def learn(self, new: NewDance, upload: Upload) -> Dance:
        """Learn a dance from a small file, now."""
        dance = _dance(new, upload.digest)
        if upload.holds_words:
            self.catalogue.learn_words(dance, self._checked_words(upload.path))
        else:
            self.catalogue.learn(dance, self._checked(formats.read(upload.path)))
        return self.catalogue.dance(new.dance_id)

    def _finish(self, job: Job, analysis: Analysis) -> Mapping[str, Any]:
        if job.kind == "search":
            wanted = Wanted(**job.parameters)
            motions = self._checked(analysis.motions)
            tokeniser = self.catalogue.tokeniser
            query = query_of_motions(motions, tokeniser, "the file", analysis.ignored, analysis.images)
            kind: FileKind = "motion file" if formats.is_motion_file(job.upload) else "video"
            clip = QueryFile(wanted.filename or _NAMELESS, job.digest, kind)
            return self.answer(query, wanted, clip)
        new = NewDance(**job.parameters)
        # A server that died right after it had learnt the dance finds it here.
        known = self.known_already(new, job.digest)
        if known is None:
            self.catalogue.learn(_dance(new, job.digest), self._checked(analysis.motions))
            known = self.catalogue.dance(new.dance_id)
        if self.options.keep_videos and not formats.is_motion_file(job.upload):
            self._videos.keep(self.uploads / job.upload, job.digest)
        return self.described([known])[0]

    def described(self, dances: Sequence[Dance]) -> list[dict[str, Any]]:
        """What is known of dances, and what there is to see of each."""
        shown = self.catalogue.with_skeletons([dance.dance_id for dance in dances])
        return [
            asdict(dance)
            | {"motion": dance.dance_id in shown, "video": self._videos.find(dance.content_hash) is not None}
            for dance in dances
        ]

    def video(self, dance_id: str) -> Path:
        """The file of a dance's video, if it was kept."""
        found = self._videos.find(self.catalogue.dance(dance_id).content_hash)
        if found is None:
            raise not_found("not_found", f"no video of {dance_id!r} was kept")
        return found

    def forget(self, dance_id: str) -> None:
        """Delete a dance, and its video if there is one."""
        digest = self.catalogue.dance(dance_id).content_hash
        self.catalogue.remove(dance_id)
        self._videos.forget(digest)

    def _checked(self, motions: Sequence[Motion]) -> Sequence[Motion]:
        """The motions of a file, if they are neither too long nor too many."""
        self._require_bearable([motion.seconds for motion in motions])
        return motions

    def _checked_words(self, path: Path) -> list[Fingerprint]:
        said = words_files.read(path)
        self._require_bearable([len(words) * words.seconds_per_word for words in said])
        return said

    def _require_bearable(self, seconds: Sequence[float]) -> None:
        most = self.options.work.video_seconds
        if max(seconds) > most:
            raise InputError(f"the file lasts {max(seconds):.0f} s, above the limit of {most:.0f} s; cut it")
        if len(seconds) > MOST_DANCERS:
            raise InputError(f"the file shows {len(seconds)} dancers, above the limit of {MOST_DANCERS}")

    # Searching

    def search(self, upload: Upload, wanted: Wanted) -> dict[str, Any]:
        """Search for what a small file shows, now."""
        tokeniser = self.catalogue.tokeniser
        if upload.holds_words:
            query = query_of_words(self._checked_words(upload.path), tokeniser)
        else:
            query = query_of_motions(self._checked(formats.read(upload.path)), tokeniser, "the file")
        kind: FileKind = "motion words" if upload.holds_words else "motion file"
        return self.answer(query, wanted, QueryFile(wanted.filename or _NAMELESS, upload.digest, kind))

    def answer(self, query: QueryClip, wanted: Wanted, clip: QueryFile) -> dict[str, Any]:
        """Search for every dancer of a clip, and hold it for questions about it."""
        began = time.perf_counter()
        only = DanceFilter(wanted.label, wanted.collection, wanted.periodic)
        found = self.catalogue.search(query, limit=wanted.limit, max_evalue=wanted.max_evalue, only=only)
        self.metrics.search(found.verdict)
        search_id = secrets.token_hex(16) if wanted.keep else None
        answer = {
            "search_id": search_id,
            "filename": wanted.filename,
            "created": now(),
            "max_evalue": wanted.max_evalue,
            "searched": self.catalogue.searcher.tracks,
            "elapsed_seconds": round(time.perf_counter() - began, 4),
            "picture": bool(query.images),
            **answer_view(found),
        }
        if search_id:
            self.searches.keep(search_id, KeptSearch(answer, found, clip))
        return answer

    def explained(self, search: KeptSearch, dance_id: str, dancer: int | None = None) -> dict[str, Any]:
        """Why one of the dances that a search found is like the clip."""
        match = search.match(dance_id, dancer)
        known = self.catalogue.tracks([dance_id])
        _require_explainable(search.dancer(match.dancer).words, [track.fingerprint for track in known])
        why, alignment = self.catalogue.explain(search.found.query, match)
        return explanation_view(match, why, alignment, dancer_of(known, alignment.reference))

    def report(
        self, search: KeptSearch, dance_id: str, dancer: int | None = None, clip: Upload | None = None
    ) -> str:
        """The evidence that the clip is one of the dances, as a page to hand on."""
        match = search.match(dance_id, dancer)
        known = [track.fingerprint for track in self.catalogue.tracks([dance_id])]
        _require_explainable(search.dancer(match.dancer).words, known)
        return report_of(self.catalogue, self.options, search, match, clip)

    def differences(self, search: KeptSearch, dance_id: str, dancer: int | None = None) -> dict[str, Any]:
        """Where the clip differs from one of the dances, moment by moment."""
        match = search.match(dance_id, dancer)
        motions = self.catalogue.motions(dance_id)
        if not motions:
            raise not_found("not_found", f"no skeletons of {dance_id!r} were kept, or it is gone")
        tokeniser, own = self.catalogue.tokeniser, search.dancer(match.dancer)
        theirs = query_of_motions(motions, tokeniser, dance_id).dancers
        _require_explainable(own.words, [one.words for one in theirs])
        found = compare(
            [own], theirs, tokeniser, self.catalogue.background, name=dance_id, mirrored=match.mirrored
        )
        return differences_view(found)

    # Looking around

    def map(self, limit: int) -> dict[str, Any]:
        """Dances as points in the plane; made anew when the catalogue has changed."""
        key = self.catalogue.generation, limit
        if self._map is None or self._map[0] != key:
            self._map = key, self._drawn(limit)
        return self._map[1]

    def _drawn(self, limit: int) -> dict[str, Any]:
        names = self.catalogue.some_names(limit)
        shown = self.catalogue.with_skeletons(names)
        tracks = {
            track.dance_id: track for track in reversed(self.catalogue.tracks(names))
        }  # the first dancer's
        chosen = [tracks[name] for name in names if name in tracks]
        places, explained = positions([track.fingerprint for track in chosen])
        return {
            "dances": [
                {"dance_id": track.dance_id, "label": track.label, "collection": track.collection}
                | {"motion": track.dance_id in shown, "x": round(float(x), 4), "y": round(float(y), 4)}
                for track, (x, y) in zip(chosen, places, strict=True)
            ],
            "total": self.catalogue.page(limit=1).total,
            "explained": [round(float(share), 4) for share in explained],
        }

    def gauges(self) -> dict[str, tuple[str, float | Mapping[str, int]]]:
        """States of now, for the metrics."""
        states = dict.fromkeys(("waiting", "running", "done", "failed", "cancelled"), 0)
        return {
            "ready": ("Whether searches are answered.", int(self.ready)),
            "dances": ("Dances in the catalogue.", self.catalogue.page(limit=1).total),
            "jobs": ("Jobs by state.", states | self.table.counts()),
            "searches_held": ("Queries that can be asked about.", len(self.searches)),
        }


def _dance(new: NewDance, digest: str) -> Dance:
    return Dance(new.dance_id, new.filename or new.dance_id, digest, 0.0, new.label, new.collection)


def _require_explainable(query: Fingerprint, known: Sequence[Fingerprint]) -> None:
    """Refuse what would take minutes: a long dance is looked at window by window, each against all of it."""
    if len(query) * sum(len(words) ** 2 for words in known) > MOST_EXPLAINED:
        raise too_costly("the clip and the dance together are too long to be explained; search for a part")


def _search_on_cluster(options: Options, catalogue: Catalogue) -> None:
    """Let the cluster search, if there is to be one."""
    if options.cluster is not None:
        from dancematch.cluster.search import ClusterSearch

        shards = options.shards
        catalogue.searcher = ClusterSearch(catalogue, options.catalogue, options.cluster, shards=shards)


def _make_private(folder: Path) -> None:
    """A folder for this user alone: what is uploaded is nobody else's business."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made a folder: {error.strerror}; name another with --folder"
        ) from None


def _locked(folder: Path) -> IO[bytes]:
    """The folder for this process alone, however it ends: two would delete each other's files."""
    import fcntl

    file = (folder / "lock").open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise InputError(
            f"another service is at work in {folder}; stop it, or name another folder with --folder"
        ) from None
    return file


def stopping() -> RefusedError:
    """What is said while the service is not open, or not any more."""
    return RefusedError(503, "not_ready", "the catalogue is not open yet, or is being closed", 2)
