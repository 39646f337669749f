"""How to train: every number that shapes a run but not the network itself.

A config file (TOML or JSON) has up to four tables, `network`, `training`, `weights` and
`views`, each with any of the fields of the class of that table; the rest is the preset's.
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

LARGEST_SEED = (1 << 63) - 1  # torch takes no larger one

CHOICES = {
    "optimiser": ("adamw", "adam"),
    "schedule": ("one-cycle", "constant"),
    "revival": ("step", "epoch", "never"),
    "start": ("kmeans", "random"),
    "heads": ("discriminant", "random"),
}


@dataclass(frozen=True)
class LossWeights:
    """How much each loss counts."""

    reconstruction: float = 0.1  # the paper's lambda
    commitment: float = 0.1
    codebook: float = 0.0  # beta: without effect on a codebook that is a moving average
    entropy: float = 0.0  # gamma
    places: float = 0.1
    contrastive: float = 1.0
    swapped: float = 0.0
    descriptor: float = 0.0

    def __post_init__(self) -> None:
        for item in fields(self):
            _require(self, item.name, 0 <= getattr(self, item.name) < math.inf, "0 or more")


@dataclass(frozen=True)
class AugmentationSettings:
    """How far a view may be from the motion it shows; standard deviations unless it says otherwise."""

    amplitude: float = 0.06  # how much wider or narrower a bone swings about its mean
    offset_degrees: float = 2.5  # how a bone is held, for the whole crop
    drift: float = 0.015  # of a bone's length, wandering over the crop
    noise: float = 0.01  # of a bone's length, anew in every frame
    tilt_degrees: float = 1.5
    yaw_degrees: float = 2.5
    root_scale: float = 0.1  # of the speeds of travel and turning
    root_noise: float = 0.1  # metres or radians a second
    dropout: float = 0.0  # share of the joints that go out of sight for a while

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
    heads: str = "discriminant"  # how the heads start: by what other dancers keep of a moment, or "random"
    encoder_rate: float = 0.1  # its learning rate as a share of the decoder's: it over-fits soonest
    head_rate: float = 0.1  # of what the discriminant began, as a share of the rest of the encoder's
    clip: float = 1.0  # longest gradient
    temperature: float = 10.0  # of the contrast, in squared distance
    soft_temperature: float = 0.1  # of soft words in the swapped prediction, in squared distance
    contrasted: int = 512  # patches contrasted at once
    decoded: int = 16  # crops decoded in a step: all would double its cost
    share_dancers: float = (
        0.4  # of the pairs that show two dancers; taken from self pairs where there are none
    )
    share_estimator: float = 0.5  # of the pairs that show a pose estimator's view
    fastest: float = 1.25  # how much faster or slower one of two readings may be
    balanced_commitment: bool = True
    normalised: bool = True  # reconstruction divided by the data's variance
    decay: float = 0.99  # of the codebook's moving averages
    warm_up: float = 0.3  # share of the steps in which latents are decoded unquantised, the codebook at rest
    blend_in: float = 0.1  # share of the steps after it in which the codebook comes into use
    start: str = "kmeans"  # the codebook after the warm-up
    revival: str = "step"  # when idle words start anew
    settled: float = 0.1  # share of the steps at the end without revival
    refit_codebook: bool = True  # k-means on all latents once training is over
    holdout: float = 0.05  # share of the dances kept apart to judge by
    check_steps: int = 100  # between two checks, log lines and checkpoints
    patience: int = 0  # checks without progress before training stops early; 0 = never
    weights: LossWeights = field(default_factory=LossWeights)
    views: AugmentationSettings = field(default_factory=AugmentationSettings)

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}")
        for name in ("steps", "batch", "crop_frames", "contrasted", "decoded", "check_steps"):
            _require(self, name, getattr(self, name) >= 1, "1 or more")
        for name in ("share_dancers", "share_estimator", "decay", "warm_up", "blend_in", "settled"):
            _require(self, name, 0 <= getattr(self, name) <= 1, "between 0 and 1")
        for name in ("learning_rate", "clip", "temperature", "soft_temperature"):
            _require(self, name, 0 < getattr(self, name) < math.inf, "above 0")
        for name in ("weight_decay", "encoder_rate", "head_rate", "patience"):
            _require(self, name, 0 <= getattr(self, name) < math.inf, "0 or more")
        _require(self, "seed", 0 <= self.seed <= LARGEST_SEED, f"between 0 and {LARGEST_SEED}")
        _require(
            self, "share_dancers", self.share_dancers + self.share_estimator <= 1, "1 with share_estimator"
        )
        _require(self, "fastest", 1 <= self.fastest < math.inf, "1 or more")
        _require(self, "holdout", 0 < self.holdout < 1, "above 0 and below 1")

    @property
    def warm_up_steps(self) -> int:
        """The last step before the codebook is in use."""
        return round(self.steps * self.warm_up)

    @property
    def contrasts(self) -> bool:
        """Whether two views are compared at all."""
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
        share_dancers=0.0,
        share_estimator=0.0,
        fastest=1.0,
        normalised=False,
        balanced_commitment=False,
        heads="random",
        encoder_rate=1.0,
        decay=0.5,
        warm_up=0.1,
        blend_in=0.0,
        start="random",
        revival="epoch",
        settled=0.0,
        refit_codebook=False,
        weights=LossWeights(1.0, 1.0, codebook=1.0, entropy=0.1, places=0.0, contrastive=0.0),
        views=AugmentationSettings(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ),
}


@dataclass(frozen=True)
class TrainingPlan:
    """A network and how to train it."""

    network: NetworkConfig
    training: TrainingRecipe

    def tables(self) -> dict[str, dict[str, Any]]:
        """The plan as a config file has it."""
        training = asdict(self.training)
        weights, views = training.pop("weights"), training.pop("views")
        return {"network": asdict(self.network), "training": training, "weights": weights, "views": views}


def make_plan(preset: str, changes: Mapping[str, Any] | None = None) -> TrainingPlan:
    """The preset of that name, with the tables of `changes` laid over it."""
    if preset not in RECIPES:
        raise InputError(f"there is no preset {preset!r}; there are {', '.join(RECIPES)}")
    tables = dict(changes or {})
    known = ("network", "training", "weights", "views")
    _refuse_unknown(tables, known, "a config file", "table")
    recipe = RECIPES[preset]
    network = _changed(NETWORKS[preset], tables.get("network", {}), "network")
    weights = _changed(recipe.weights, tables.get("weights", {}), "weights")
    views = _changed(recipe.views, tables.get("views", {}), "views")
    training = _changed(replace(recipe, weights=weights, views=views), tables.get("training", {}), "training")
    if training.crop_frames < 2 * network.patch_frames:
        raise InputError(f"crop_frames must hold two patches of {network.patch_frames} frames or more")
    if training.crop_frames % network.patch_frames:
        raise InputError(
            f"crop_frames must be a multiple of patch_frames, got {training.crop_frames} "
            f"and {network.patch_frames}"
        )
    return TrainingPlan(network, training)


def read_config(path: Path) -> dict[str, Any]:
    """The tables of a config file: JSON if it is called so, else TOML."""
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


def _changed(base: Table, changes: Any, where: str) -> Table:
    """`base` with the given fields, each checked to be there and of the same type as before."""
    if not isinstance(changes, Mapping):
        raise InputError(f"{where} must be a table of names and values, got {changes!r}")
    plain = {item.name for item in fields(base) if item.name not in ("weights", "views")}  # type: ignore[arg-type]
    _refuse_unknown(changes, sorted(plain), f"the table {where!r}", "key")
    values = {name: _like(getattr(base, name), value, f"{where}.{name}") for name, value in changes.items()}
    return replace(base, **values)  # type: ignore[type-var]


def _like(usual: Any, value: Any, where: str) -> Any:
    if isinstance(usual, float) and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise InputError(f"{where} is too large a number, got {value!r}") from None
    if type(value) is not type(usual):
        raise InputError(f"{where} must be {type(usual).__name__}, such as {usual!r}, got {value!r}")
    return value


def _refuse_unknown(found: Mapping[str, Any], known: Any, where: str, what: str) -> None:
    unknown = [name for name in found if name not in known]
    if unknown:
        raise InputError(f"{where} has no {what} {unknown[0]!r}; it may have {', '.join(known)}")
