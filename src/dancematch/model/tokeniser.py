"""Tokenisers in general: the contract, and the folder one is kept in.

A folder holds `config.json` (kind, numbers that shape the words, what it was trained
on), `weights.safetensors`, and `background.npz`: fingerprints of ordinary dances, which
tell a search how alike unrelated dances are. A network also has `encoder.onnx` and
`decoder.onnx`, made of the weights; the config knows what they must contain.
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
from safetensors.numpy import load_file, save_file

from dancematch.errors import InputError, ModelError
from dancematch.model.config import NetworkConfig
from dancematch.model.kmeans import KMeansTokeniser
from dancematch.model.patches import PatchTokeniser
from dancematch.model.runtime import ONNX_FILES, NetworkTokeniser
from dancematch.types import Codebook, Fingerprint, FloatArray, Motion, WordArray

FORMAT = 1
DEFAULT_MODEL = "network"


@runtime_checkable
class Tokeniser(Protocol):
    """Puts motions into words, and words into motions."""

    @property
    def model_id(self) -> str:
        """A name that changes with everything that can change a word."""

    @property
    def vocabulary(self) -> int:
        """Words a channel."""

    @property
    def seconds_per_word(self) -> float:
        """How much time a word covers."""

    @property
    def codebook(self) -> Codebook:
        """What the words mean."""

    def is_long_enough(self, motion: Motion) -> bool:
        """Whether the motion gives at least one word."""

    def fingerprint(self, motion: Motion) -> Fingerprint:
        """Put a motion into words."""

    def phases(self, motion: Motion, count: int = 2) -> list[Fingerprint]:
        """The motion in words, with the first patch beginning at `count` different moments."""

    def soft_words(self, motion: Motion, count: int = 3) -> tuple[WordArray, FloatArray]:
        """The `count` nearest words of each patch and how much each is meant: [steps, channels, count]."""

    def decode(self, fingerprint: Fingerprint) -> Motion:
        """The motion that the words tell of, on the canonical skeleton."""


def shipped_models() -> list[str]:
    """The names `load_model` knows without a path."""
    root = files("dancematch.model") / "shipped"
    return sorted(entry.name for entry in root.iterdir() if (entry / "config.json").is_file())


def model_folder(model: str | Path | None = None) -> Path:
    """The folder of a shipped model's name, or of a path."""
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
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        arrays = load_file(folder / "weights.safetensors")
        loaded = _build(folder, config, arrays)
    except (OSError, ValueError, KeyError, TypeError, InputError, SafetensorError) as error:
        raise ModelError(f"the model in {folder} is damaged ({error}); train or install it again") from None
    expected = {"model_id": loaded.model_id, **loaded.config}
    if loaded.files:
        expected["files"] = _digests(loaded.files)
    wrong = [name for name, value in expected.items() if config.get(name) != value]
    if wrong:
        raise ModelError(f"the model in {folder} is damaged (its weights do not fit its {wrong[0]})")
    return loaded


def _build(folder: Path, config: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> PatchTokeniser:
    """The tokeniser of the kind that the config names; whether it is that very one remains to be seen."""
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
    """Keep a tokeniser and its background in a new folder."""
    if (folder / "config.json").exists():
        raise ModelError(f"{folder} already holds a model; choose another folder or remove it first")
    config = {"format": FORMAT, "model_id": model.model_id, **model.config, "trained_on": model.trained_on}
    if model.files:
        config["files"] = _digests(model.files)
    arrays = {name: np.ascontiguousarray(array) for name, array in model.arrays.items()}
    none = np.zeros((0, len(model.channels)))
    words = np.concatenate([none, *(fingerprint.words for fingerprint in background)])
    visibility = np.concatenate([none, *(fingerprint.visibility for fingerprint in background)])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_file(arrays, folder / "weights.safetensors")
        for name, content in model.files.items():
            (folder / name).write_bytes(content)
        np.savez_compressed(
            folder / "background.npz",
            words=words.astype(np.uint8 if model.vocabulary <= 256 else np.uint16),
            visibility=np.round(255 * visibility).astype(np.uint8),
            lengths=np.array([len(fingerprint) for fingerprint in background], dtype=np.uint32),
        )
        # Last and at once, because a folder with a config is a finished one.
        unfinished = folder / "config.json.part"
        unfinished.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        unfinished.replace(folder / "config.json")
    except (OSError, SafetensorError) as error:
        raise ModelError(f"the model cannot be kept in {folder}: {error}") from None


def load_background(tokeniser: Tokeniser, model: str | Path | None = None) -> list[Fingerprint]:
    """Fingerprints of ordinary dances in the words of `tokeniser`, which was loaded from `model`."""
    path = model_folder(model) / "background.npz"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            ends = np.cumsum(stored["lengths"])
            *words, rest = np.split(stored["words"], ends)
            *visibility, _ = np.split(stored["visibility"] / np.float32(255), ends)
        if len(rest):
            raise ValueError(f"{len(rest)} words belong to no dance")
        return [
            Fingerprint(
                spoken, tokeniser.vocabulary, tokeniser.seconds_per_word, tokeniser.model_id, visibility=seen
            )
            for spoken, seen in zip(words, visibility, strict=True)
        ]
    except (OSError, EOFError, ValueError, TypeError, KeyError, BadZipFile, zlib.error, InputError) as error:
        raise ModelError(f"{path} is damaged ({error}); train or install the model again") from None
