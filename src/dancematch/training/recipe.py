"""Training recipes: every number that shapes a run but not the network itself.

A config file (TOML or JSON) has up to four tables, `network`, `training`, `weights` and
`views`, each with any fields of that table's class; the preset gives the rest.
"""

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from dancematch.errors import InputError
from dancematch.model.config import PRESETS as NETWORKS
from dancematch.model.config import NetworkConfig

Table = TypeVar("Table")

LARGEST_SEED = (1 << 63) - 1  # torch's limit

CHOICES = {
    "optimiser": ("adamw", "adam"),
    "schedule": ("one-cycle", "constant"),
    "revival": ("step", "epoch", "never"),
    "codebook_start": ("kmeans", "random"),
    "head_start": ("discriminant", "random"),
}


@dataclass(frozen=True)
class LossWeights:
    """Weight of each loss term."""

    reconstruction: float = 0.1  # the paper's lambda
    commitment: float = 0.1
    codebook: float = 0.0  # beta: no effect on a codebook that is a moving average
    entropy: float = 0.0  # gamma
    positions: float = 0.1
    contrastive: float = 1.0
    swapped: float = 0.0
    descriptor: float = 0.0

    def __post_init__(self) -> None:
        for item in fields(self):
            _require(self, item.name, 0 <= getattr(self, item.name) < math.inf, "0 or more")


@dataclass(frozen=True)
class AugmentationSettings:
    """How much augmentation changes a crop; standard deviations unless noted otherwise."""

    amplitude: float = 0.06  # how much wider or narrower a bone swings about its mean
    offset_degrees: float = 2.5  # of a bone's direction, constant over the crop
    drift: float = 0.015  # of a bone's length, slowly varying over the crop
    noise: float = 0.01  # of a bone's length, independent per frame
    tilt_degrees: float = 1.5
    yaw_degrees: float = 2.5
    root_scale: float = 0.1  # of the speeds of travel and turning
    root_noise: float = 0.1  # metres or radians per second
    dropout: float = 0.0  # share of the joints that are hidden for a while

    def __post_init__(self) -> None:
        for item in fields(self):
            _require(self, item.name, 0 <= getattr(self, item.name) < math.inf, "0 or more")
        _require(self, "dropout", self.dropout <= 1, "between 0 and 1")


@dataclass(frozen=True)
class TrainingRecipe:
    """The operational numbers of a run."""

    steps: int = 300
    batch: int = 48  # pairs of crops
    crop_frames: int = 64
    seed: int = 0
    optimiser: str = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 0.05
    schedule: str = "one-cycle"  # a tenth of the steps up, the rest down along a cosine
    head_start: str = "discriminant"  # initial weights of the heads: Fisher's discriminant, or "random"
    head_batches: int = 120  # batches that the discriminant is fitted on
    encoder_rate: float = 0.1  # its learning rate as a share of the decoder's: it over-fits first
    head_rate: float = 0.1  # of the discriminant's weights, as a share of the encoder's rate
    gradient_clip: float = 1.0  # largest norm
    temperature: float = 10.0  # of the contrast, in squared distance
    soft_temperature: float = 0.1  # of soft words in the swapped prediction, in squared distance
    contrast_patches: int = 512  # patches contrasted per step
    decoder_crops: int = 16  # crops decoded per step: all of them would double its cost
    share_itself: float = 0.1  # of pairs of a track with itself; the rest is drawn by the sources' weights
    max_tempo: float = 1.25  # the most by which one of two crops is faster or slower
    balance_commitment: bool = True
    normalise_reconstruction: bool = True  # divide it by the data's variance
    codebook_decay: float = 0.99  # of its moving averages
    warm_up: float = 0.3  # share of the steps in which latents are decoded unquantised
    blend_in: float = 0.1  # share of the steps after the warm-up in which quantisation is blended in
    codebook_start: str = "kmeans"  # after the warm-up
    revival: str = "step"  # when idle words are moved
    revival_stop: float = 0.1  # share of the steps at the end without revival
    refit_codebook: bool = True  # by k-means on all latents after training
    holdout: float = 0.05  # share of the dances held out to measure progress
    check_steps: int = 100  # between two checks, log lines and checkpoints
    patience: int = 0  # checks without progress before training stops early; 0 = never
    weights: LossWeights = field(default_factory=LossWeights)
    views: AugmentationSettings = field(default_factory=AugmentationSettings)

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}")
        for name in (
            "steps",
            "batch",
            "crop_frames",
            "head_batches",
            "contrast_patches",
            "decoder_crops",
            "check_steps",
        ):
            _require(self, name, getattr(self, name) >= 1, "1 or more")
        for name in (
            "share_itself",
            "codebook_decay",
            "warm_up",
            "blend_in",
            "revival_stop",
        ):
            _require(self, name, 0 <= getattr(self, name) <= 1, "between 0 and 1")
        for name in ("learning_rate", "gradient_clip", "temperature", "soft_temperature"):
            _require(self, name, 0 < getattr(self, name) < math.inf, "above 0")
        for name in ("weight_decay", "encoder_rate", "head_rate", "patience"):
            _require(self, name, 0 <= getattr(self, name) < math.inf, "0 or more")
        _require(self, "seed", 0 <= self.seed <= LARGEST_SEED, f"between 0 and {LARGEST_SEED}")
        _require(self, "max_tempo", 1 <= self.max_tempo < math.inf, "1 or more")
        _require(self, "holdout", 0 < self.holdout < 1, "above 0 and below 1")

    @property
    def warm_up_steps(self) -> int:
        """The last step without quantisation."""
        return round(self.steps * self.warm_up)

    @property
    def contrasts(self) -> bool:
        """Whether two crops of a pair are compared at all."""
        return self.weights.contrastive > 0 or self.weights.swapped > 0


def _require(recipe: object, name: str, holds: bool, wanted: str) -> None:
    if not holds:
        raise InputError(f"{name} must be {wanted}, got {getattr(recipe, name)!r}")


RECIPES = {
    "default": TrainingRecipe(),
    # Where the paper is silent (steps, crops, beta, gamma, length of the warm-up), plain round numbers.
    "paper": TrainingRecipe(
        steps=20_000,
        batch=16,
        optimiser="adam",
        learning_rate=1e-4,
        weight_decay=0.0,
        schedule="constant",
        share_itself=1.0,
        max_tempo=1.0,
        normalise_reconstruction=False,
        balance_commitment=False,
        head_start="random",
        encoder_rate=1.0,
        codebook_decay=0.5,
        warm_up=0.1,
        blend_in=0.0,
        codebook_start="random",
        revival="epoch",
        revival_stop=0.0,
        refit_codebook=False,
        weights=LossWeights(1.0, 1.0, codebook=1.0, entropy=0.1, positions=0.0, contrastive=0.0),
        views=AugmentationSettings(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ),
}


@dataclass(frozen=True)
class TrainingPlan:
    """A network and the recipe to train it by."""

    network: NetworkConfig
    training: TrainingRecipe

    def to_tables(self) -> dict[str, dict[str, Any]]:
        """The plan as the tables of a config file."""
        training = asdict(self.training)
        weights, views = training.pop("weights"), training.pop("views")
        return {"network": asdict(self.network), "training": training, "weights": weights, "views": views}


def make_plan(preset: str, changes: Mapping[str, Any] | None = None) -> TrainingPlan:
    """The preset of that name, changed by the tables of `changes`."""
    if preset not in RECIPES:
        raise InputError(f"there is no preset {preset!r}; there are {', '.join(RECIPES)}")
    tables = dict(changes or {})
    _require_known(tables, ("network", "training", "weights", "views"), "a config file", "table")
    recipe = RECIPES[preset]
    network = _apply(NETWORKS[preset], tables.get("network", {}), "network")
    weights = _apply(recipe.weights, tables.get("weights", {}), "weights")
    views = _apply(recipe.views, tables.get("views", {}), "views")
    training = _apply(replace(recipe, weights=weights, views=views), tables.get("training", {}), "training")
    if training.crop_frames < 2 * network.patch_frames:
        raise InputError(f"crop_frames must hold two patches of {network.patch_frames} frames or more")
    if training.crop_frames % network.patch_frames:
        raise InputError(
            f"crop_frames must be a multiple of patch_frames, got {training.crop_frames} "
            f"and {network.patch_frames}"
        )
    return TrainingPlan(network, training)


def read_config(path: Path) -> dict[str, Any]:
    """The tables of a config file: JSON by its suffix, else TOML."""
    try:
        text = path.read_text(encoding="utf-8")
        tables = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except FileNotFoundError:
        raise InputError(f"the config file {path} does not exist") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a readable config file in TOML or .json: {error}") from None
    if not isinstance(tables, dict):
        raise InputError(f"{path} must hold tables (network, training, weights, views)")
    return tables


def _apply(base: Table, changes: Any, where: str) -> Table:
    """`base` with the given fields, each of which must exist and keep its type."""
    if not isinstance(changes, Mapping):
        raise InputError(f"{where} must be a table of names and values, got {changes!r}")
    plain = {item.name for item in fields(base) if item.name not in ("weights", "views")}  # type: ignore[arg-type]
    _require_known(changes, sorted(plain), f"the table {where!r}", "key")
    values = {
        name: _convert(getattr(base, name), value, f"{where}.{name}") for name, value in changes.items()
    }
    return replace(base, **values)  # type: ignore[type-var]


def _convert(default: Any, value: Any, where: str) -> Any:
    if isinstance(default, float) and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise InputError(f"{where} is too large a number, got {value!r}") from None
    if type(value) is not type(default):
        raise InputError(f"{where} must be {type(default).__name__}, such as {default!r}, got {value!r}")
    return value


def _require_known(found: Mapping[str, Any], known: Any, where: str, what: str) -> None:
    unknown = [name for name in found if name not in known]
    if unknown:
        raise InputError(f"{where} has no {what} {unknown[0]!r}; it may have {', '.join(known)}")
