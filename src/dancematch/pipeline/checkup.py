"""Whether everything is here that the work needs, and what to do where it is not.

Nothing is fetched, made or changed.
"""

import platform
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from dancematch.errors import DanceMatchError

if TYPE_CHECKING:
    from dancematch.catalogue.store import Store

OK, WARNING, PROBLEM = "ok", "warning", "problem"

LITTLE_ROOM = 1 << 30  # bytes
_CODECS = {  # the decoders that will do for each
    "H.264": ("h264",),
    "HEVC": ("hevc",),
    "VP9": ("vp9", "libvpx-vp9"),
    "AV1": ("libdav1d", "libaom-av1"),
}
_EXTRAS = {  # the libraries of each, and what they are for
    "serve": (("fastapi", "uvicorn"), "dancematch serve"),
    "postgres": (("psycopg",), "catalogues on PostgreSQL"),
    "cluster": (("ray",), "--cluster, work on many machines"),
    "plot": (("matplotlib",), "pictures and reports"),
    "train": (("torch", "onnx", "matplotlib"), "dancematch train"),
    "benchmark": (("rapidfuzz",), "dancematch benchmark"),
    "scale": (("faiss",), "dances found by movement, not by words alone, among more than 10,000"),
}


@dataclass(frozen=True)
class Finding:
    """One thing that was checked."""

    what: str
    state: str  # ok, warning or problem
    says: str
    advice: str = ""  # what to do, if anything
    dance: str | None = None  # the name of the one that has a problem
    model_id: str | None = None


def check_everything(
    catalogue: str | None = None, *, needed: frozenset[str] = frozenset(), quick: bool = False
) -> Iterator[Finding]:
    """All findings, the catalogue's last; `needed` are the extras that must be there."""
    yield from _versions()
    yield from _extras(needed)
    yield from _codecs()
    yield _weights()
    yield _kernels()
    yield from _models()
    yield _room("cache", _cache_folder())
    if catalogue is not None:
        yield from check_catalogue(catalogue, quick=quick)


def _versions() -> Iterator[Finding]:
    python = f"dancematch {metadata.version('dancematch')}, Python {platform.python_version()}"
    yield Finding("versions", OK, f"{python}, {platform.system()} {platform.machine()}")
    for requirement in metadata.requires("dancematch") or ():
        name, _, wanted = requirement.partition(">=")
        if "extra ==" in requirement or not re.fullmatch(r"[\w.-]+", name):
            continue
        found = _version(name)
        if found is None or _numbers(found) < _numbers(wanted):
            says = f"{name} {found or 'is not installed'}, {wanted} or newer is needed"
            yield Finding("versions", PROBLEM, says, f"pip install --upgrade '{requirement}'")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _extras(needed: frozenset[str]) -> Iterator[Finding]:
    for extra, (libraries, purpose) in _EXTRAS.items():
        missing = [name for name in libraries if util.find_spec(name) is None]
        advice = f"pip install 'dancematch[{extra}]'" if missing else ""
        says = f"{extra}: not installed, for {purpose}" if missing else f"{extra}: for {purpose}"
        yield Finding("extras", PROBLEM if missing and extra in needed else OK, says, advice)


def _codecs() -> Iterator[Finding]:
    from dancematch.pose.video import can_decode

    missing = [name for name, decoders in _CODECS.items() if not any(map(can_decode, decoders))]
    if missing:
        says = f"videos in {', '.join(missing)} cannot be decoded"
        yield Finding("codecs", PROBLEM, says, "pip install --upgrade --force-reinstall av")
    else:
        yield Finding("codecs", OK, ", ".join(_CODECS) + " can be decoded")


def _weights() -> Finding:
    from dancematch.pose.blazepose.weights import FILES, is_good

    folder = _cache_folder()
    missing = [file.name for file in FILES if not (folder / file.name).is_file()]
    damaged = [file.name for file in FILES if not is_good(folder / file.name, file)]
    if not damaged:
        return Finding("weights", OK, f"the pose networks are in {folder}, their SHA-256 right")
    reason = "not there yet" if missing else f"damaged ({damaged[0]})"
    says = f"the pose networks are {reason}; they are fetched (35 MB) when a video is first analysed"
    return Finding("weights", WARNING, says, "connect to the internet once, or copy them into " + str(folder))


def _kernels() -> Finding:
    from dancematch.search.kernels.kernel_folder import kernel_folder
    from dancematch.search.kernels.preparation import is_prepared

    if is_prepared():
        return Finding("kernels", OK, f"the search is compiled for this computer, in {kernel_folder()}")
    says = "the search is not compiled for this computer yet; the first one waits for that, about a minute"
    return Finding("kernels", WARNING, says, "dancematch doctor --prepare")


def _models() -> Iterator[Finding]:
    from dancematch.model.tokeniser import load_background, load_model, shipped_models

    for name in shipped_models():
        try:
            model = load_model(name)
            load_background(model, name)
            yield Finding("model", OK, name, model_id=model.model_id)
        except DanceMatchError as error:
            yield Finding("model", PROBLEM, str(error), "pip install --force-reinstall dancematch")


def _cache_folder() -> Path:
    from dancematch.cache_folder import cache_folder

    return cache_folder()


def _room(what: str, folder: Path, needed: int = LITTLE_ROOM) -> Finding:
    there = next((place for place in (folder, *folder.absolute().parents) if place.is_dir()), Path("/"))
    free = shutil.disk_usage(there).free
    says = f"{free / 1e9:,.1f} GB free for {folder}"
    if free < needed:
        return Finding(what, WARNING, says, f"make room: {needed / 1e9:,.1f} GB are wise")
    return Finding(what, OK, says)


def check_catalogue(catalogue: str, *, quick: bool = False) -> Iterator[Finding]:
    """Whether a catalogue opens, is whole and has room to grow; `quick` reads no words and skeletons."""
    from dancematch.catalogue.store import Store
    from dancematch.catalogue.verify import find_problems, find_problems_quickly

    find = find_problems_quickly if quick else find_problems
    try:
        store = Store(catalogue, None, create=False)
    except DanceMatchError as error:
        yield Finding("catalogue", PROBLEM, str(error))
        return
    try:
        yield Finding("catalogue", OK, f"{store.where} is a catalogue")
        for wrong in find(store):
            yield Finding("catalogue", PROBLEM, wrong.problem, "put a backup back", wrong.dance)
        yield from _check_size(store)
        if "://" not in store.where:
            path = Path(store.where).absolute()
            yield _room("catalogue", path.parent, max(LITTLE_ROOM, path.stat().st_size))
    except DanceMatchError as error:
        yield Finding("catalogue", PROBLEM, str(error))
    finally:
        store.close()


def _check_size(store: "Store") -> Iterator[Finding]:
    """Whether all routes of a search are there for a catalogue of this size."""
    from dancematch.catalogue.stats import count_stats
    from dancematch.search.settings import SYNCHRONY_TRACKS

    try:
        dancers = count_stats(store).dancers
    except (TypeError, ValueError):  # such as a number that is none, which is among the problems
        return
    if dancers > SYNCHRONY_TRACKS and util.find_spec("faiss") is None:
        says = f"{dancers:,} dancers: beyond {SYNCHRONY_TRACKS:,}, without faiss, words alone propose dances"
        yield Finding("catalogue", WARNING, says, "pip install 'dancematch[scale]'")
