"""The contract of tokenisers, and the folder that a model is stored in.

A folder holds `config.json` (kind, numbers that shape the words, what it was trained
on), `weights.safetensors`, and `background.npz`: fingerprints of ordinary dances in this model's
words, a search's background cohort. A network also has `encoder.onnx` and
`decoder.onnx`, made from the weights; the config has their digests.
"""

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from zipfile import BadZipFile

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from dancematch.errors import InputError, ModelError, ModelMismatchError
from dancematch.model.config import NetworkConfig
from dancematch.model.kmeans import KMeansTokeniser, WordMeanings, require_words_of
from dancematch.model.names import describe_model
from dancematch.model.names import shipped_models as shipped_models
from dancematch.model.patches import PatchTokeniser
from dancematch.model.runtime import ONNX_FILES, NetworkTokeniser
from dancematch.types import BONE_NUMBERS, BoneArray, Fingerprint, FloatArray, Motion

FORMAT = 1
DEFAULT_MODEL = "network"
BACKGROUND = ("model_id", "words", "visibility", "bones", "lengths")  # arrays of its file


@runtime_checkable
class Tokeniser(WordMeanings, Protocol):
    """Puts motions into words, and words into motions."""

    def is_long_enough(self, motion: Motion) -> bool:
        """Whether the motion gives at least one word."""

    def fingerprint(self, motion: Motion) -> Fingerprint:
        """Put a motion into words."""

    def turned_fingerprint(self, motion: Motion, words: Fingerprint) -> Fingerprint | None:
        """The same words with bones as seen from another side; None for a dancer filmed from the front."""

    def phases(self, motion: Motion, count: int = 2) -> list[Fingerprint]:
        """Put the motion into words at `count` phases: the first patch begins at different frames."""

    def decode(self, fingerprint: Fingerprint) -> Motion:
        """Return the motion that the words describe, on the canonical skeleton."""


def model_folder(model: str | Path | None = None) -> Path:
    """Return the folder of a model, given by a shipped model's name or a path."""
    name = DEFAULT_MODEL if model is None else str(model)
    if name in shipped_models():
        return Path(str(files("dancematch.model") / "shipped" / name))
    folder = Path(name)
    if not (folder / "config.json").is_file():
        known = ", ".join(shipped_models())
        raise ModelError(f"{name} is neither a shipped model ({known}) nor a folder with a config.json")
    return folder


def load_model(model: str | Path | None = None) -> PatchTokeniser:
    """Load a tokeniser: the default one, a shipped one by name, or one of your own by folder."""
    folder = model_folder(model)
    config = _read_config(folder)
    try:
        arrays = load_file(folder / "weights.safetensors")
        loaded = _build(folder, config, arrays)
    except (OSError, ValueError, KeyError, TypeError, InputError, SafetensorError) as error:
        raise _damaged(folder, _reason(error)) from None
    expected = {"model_id": loaded.model_id, **loaded.config}
    if loaded.files:
        expected["files"] = _digests(loaded.files)
    wrong = [name for name, value in expected.items() if config.get(name) != value]
    if wrong:
        raise _damaged(folder, f"its weights do not fit its {wrong[0]}")
    return loaded


def _read_config(folder: Path) -> dict[str, Any]:
    """Read a model's config; a training run's folder has one of another kind."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise _damaged(folder, "its config.json is not valid JSON") from None
    if not isinstance(config, dict):
        raise _damaged(folder, "its config.json is no table of names and values")
    if "training" in config and "kind" not in config:
        finished = (folder / "model" / "config.json").is_file()
        advice = f"you mean {folder / 'model'}" if finished else "it has no model yet, --resume it"
        raise ModelError(f"{folder} is a training run, not a model; {advice}")
    return config


def _damaged(folder: Path, reason: str) -> ModelError:
    return ModelError(f"the model in {folder} is damaged ({reason}); train or install it again")


def _reason(error: Exception) -> str:
    """Say which file is wrong, and how."""
    if isinstance(error, KeyError):
        return f"its config.json lacks {error}"
    if isinstance(error, SafetensorError | OSError):
        name = Path(getattr(error, "filename", None) or "weights.safetensors").name
        return f"{name} {'is missing' if isinstance(error, FileNotFoundError) else 'cannot be read'}"
    if isinstance(error, InputError):
        return str(error)
    return "its config.json holds a value of the wrong kind"


def _build(folder: Path, config: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> PatchTokeniser:
    """Build a tokeniser of the kind that the config names; its id is not checked yet."""
    known = config["format"] == FORMAT
    if known and config["kind"] == KMeansTokeniser.kind:
        return KMeansTokeniser.from_arrays(config["layout"], arrays, trained_on=config["trained_on"])
    if known and config["kind"] == NetworkTokeniser.kind:
        files = {name: (folder / name).read_bytes() for name in ONNX_FILES}
        network = NetworkConfig.from_json(config)
        return NetworkTokeniser(network, arrays, files, trained_on=config["trained_on"])
    raise ModelError(
        f"{folder} holds a {config['kind']!r} model of format {config['format']}, "
        f"which this version cannot read; upgrade dancematch"
    )


def _digests(contents: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def save_model(model: PatchTokeniser, folder: Path, background: Sequence[Fingerprint]) -> None:
    """Save a tokeniser and its background, which is in its words, in a new folder."""
    if (folder / "config.json").exists():
        raise ModelError(f"{folder} already holds a model; choose another folder or remove it first")
    for fingerprint in background:
        require_words_of(model, fingerprint)
    config = {"format": FORMAT, "model_id": model.model_id, **model.config, "trained_on": model.trained_on}
    if model.files:
        config["files"] = _digests(model.files)
    arrays = {name: np.ascontiguousarray(array) for name, array in model.arrays.items()}
    none = np.zeros((0, len(model.channels)))
    words = np.concatenate([none, *(fingerprint.words for fingerprint in background)])
    visibility = np.concatenate([none, *(fingerprint.visibility for fingerprint in background)])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "weights.safetensors").write_bytes(save(arrays))
        for name, content in model.files.items():
            (folder / name).write_bytes(content)
        np.savez_compressed(
            folder / "background.npz",
            model_id=np.array(model.model_id),
            words=words.astype(np.uint8 if model.vocabulary <= 256 else np.uint16),
            visibility=np.round(255 * visibility).astype(np.uint8),
            bones=np.concatenate([np.zeros((0, BONE_NUMBERS), np.int8), *map(_bones, background)]),
            lengths=np.array([len(fingerprint) for fingerprint in background], dtype=np.uint32),
        )
        # Last and at once, because a folder with a config is a finished one.
        unfinished = folder / "config.json.part"
        unfinished.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        unfinished.replace(folder / "config.json")
    except (OSError, SafetensorError) as error:
        raise ModelError(f"the model cannot be saved in {folder}: {error}") from None


def _bones(fingerprint: Fingerprint) -> BoneArray:
    if fingerprint.bones is None:
        raise ModelError("a background needs dances that were seen, got one of words alone")
    return fingerprint.bones


def load_background(tokeniser: Tokeniser, model: str | Path | None = None) -> list[Fingerprint]:
    """Load the fingerprints of the background cohort; `tokeniser` was loaded from `model`."""
    path = model_folder(model) / "background.npz"
    stored = _read_background(path)
    if str(stored["model_id"]) != tokeniser.model_id:
        raise ModelMismatchError(
            f"{path} holds words of the model {stored['model_id']}, not of "
            f"{describe_model(tokeniser.model_id)}; train or install the model again"
        )
    try:
        ends = np.cumsum(stored["lengths"])
        *words, rest = np.split(stored["words"], ends)
        *visibility, _ = np.split(stored["visibility"] / np.float32(255), ends)
        *bones, _ = np.split(stored["bones"], ends)
        if len(rest):
            raise InputError(f"{len(rest)} words belong to no dance")
        return [
            Fingerprint(
                spelled,
                tokeniser.vocabulary,
                tokeniser.seconds_per_word,
                tokeniser.model_id,
                visibility=seen,
                bones=pointing,
            )
            for spelled, seen, pointing in zip(words, visibility, bones, strict=True)
        ]
    except (ValueError, TypeError, InputError) as error:
        reason = str(error) if isinstance(error, InputError) else "its arrays do not fit together"
        raise _damaged_background(path, reason) from None


def _read_background(path: Path) -> dict[str, Any]:
    """Read the arrays of a background's file and check that none is missing."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        raise _damaged_background(path, "it is missing") from None
    except (OSError, EOFError, ValueError, TypeError, KeyError, BadZipFile, zlib.error):
        raise _damaged_background(path, "it is no archive of arrays") from None
    missing = [name for name in BACKGROUND if name not in arrays]
    if missing:
        raise _damaged_background(path, f"it lacks {missing[0]!r}")
    return arrays


def _damaged_background(path: Path, reason: str) -> ModelError:
    return ModelError(f"{path} is damaged ({reason}); train or install the model again")
