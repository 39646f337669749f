"""Tokenisers in general: the contract, and the folder one is kept in.

A folder holds `config.json` (kind, numbers that shape the words, what it was trained
on), `weights.safetensors`, and `background.npz`: fingerprints of ordinary dances, which
tell a search how alike unrelated dances are.
"""

import json
import zlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Protocol, runtime_checkable
from zipfile import BadZipFile

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from dancematch.errors import InputError, ModelError
from dancematch.model.kmeans import KMeansTokeniser
from dancematch.types import Codebook, Fingerprint, Motion

FORMAT = 1
DEFAULT_MODEL = "floor"


@runtime_checkable
class Tokeniser(Protocol):
    """Puts motions into words."""

    @property
    def model_id(self) -> str:
        """A name that changes with everything that can change a word."""

    @property
    def vocabulary(self) -> int:
        """Words a channel."""

    @property
    def codebook(self) -> Codebook:
        """What the words mean."""

    def is_long_enough(self, motion: Motion) -> bool:
        """Whether the motion gives at least one word."""

    def fingerprint(self, motion: Motion) -> Fingerprint:
        """Put a motion into words."""


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


def load_model(model: str | Path | None = None) -> KMeansTokeniser:
    """Load a tokeniser: the default one, a shipped one by name, or one of your own by folder."""
    folder = model_folder(model)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        arrays = load_file(folder / "weights.safetensors")
        if config["format"] != FORMAT or config["kind"] != KMeansTokeniser.kind:
            raise ModelError(
                f"{folder} holds a {config['kind']!r} model of format {config['format']}, "
                f"which this version cannot read; upgrade dancematch"
            )
        loaded = KMeansTokeniser.from_arrays(config["layout"], arrays, trained_on=config["trained_on"])
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ModelError(f"the model in {folder} is damaged ({error}); train or install it again") from None
    expected = {"model_id": loaded.model_id, **loaded.config}
    wrong = [name for name, value in expected.items() if config.get(name) != value]
    if wrong:
        raise ModelError(f"the model in {folder} is damaged (its weights do not fit its {wrong[0]})")
    return loaded


def save_model(model: KMeansTokeniser, folder: Path, background: Sequence[Fingerprint]) -> None:
    """Keep a tokeniser and its background in a new folder."""
    if (folder / "config.json").exists():
        raise ModelError(f"{folder} already holds a model; choose another folder or remove it first")
    config = {"format": FORMAT, "model_id": model.model_id, **model.config, "trained_on": model.trained_on}
    arrays = {name: np.ascontiguousarray(array) for name, array in model.arrays.items()}
    none = np.zeros((0, len(model.parts)))
    words = np.concatenate([none, *(fingerprint.words for fingerprint in background)])
    visibility = np.concatenate([none, *(fingerprint.visibility for fingerprint in background)])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_file(arrays, folder / "weights.safetensors")
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


def load_background(tokeniser: KMeansTokeniser, model: str | Path | None = None) -> list[Fingerprint]:
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
