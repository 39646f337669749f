"""The numbers that shape a network's words: all of them, and nothing else.

They are kept in a model's `config.json` and hashed into its `model_id`. Numbers that only
matter while training, or that only make it faster, do not belong here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from dancematch.errors import InputError
from dancematch.model.parts import LAYOUTS
from dancematch.motion import CANONICAL

POSITIONS = ("relative", "sinusoid")


@dataclass(frozen=True)
class NetworkConfig:
    """The shape of a spatio-temporal transformer with a quantiser; the default is what works best.

    A token is what the transformer sees of one joint at once: a whole patch with the `stem`,
    a frame without. A step is a patch, and has one word per channel.
    """

    layout: str = "parts14"
    vocabulary: int = 256  # words per channel
    patch_frames: int = 4
    dim: int = 48
    layers: int = 2  # of the encoder, and of the decoder
    heads: int = 4
    window: int = 1  # tokens to each side that attention in time reaches; 0: all that are shown
    positions: str = "relative"  # a learned bias by distance; "sinusoid": by position, as in the paper
    stem: bool = True  # a token is a patch; False: a frame, and frames of a patch meet in the quantiser only
    latent: int = 20  # dimensions of a word's vector, if projected
    projected: bool = True  # False: a word stands for the flattened patch of all joints
    unit: bool = False  # latents have length 1
    hung: bool = True  # the encoder sees a limb from where it hangs; False: from the pelvis
    # The encoder's joints attend to joints of their own limb only. Where all attend to all, the word of every
    # part soon describes the whole body, and such parts cannot recombine.
    limbs_apart: bool = True
    pre_norm: bool = True
    codebook_attention: bool = False  # the last layer of the encoder also attends to the words' vectors
    chunk: int = 32  # steps shown at once to a network whose words depend on all that it is shown

    def __post_init__(self) -> None:
        _require(self.layout in LAYOUTS, f"layout must be one of {', '.join(LAYOUTS)}, got {self.layout!r}")
        _require(
            self.positions in POSITIONS,
            f"positions must be one of {', '.join(POSITIONS)}, got {self.positions!r}",
        )
        for name in ("patch_frames", "dim", "layers", "heads", "latent", "chunk"):
            _require(getattr(self, name) >= 1, f"{name} must be at least 1, got {getattr(self, name)}")
        _require(2 <= self.vocabulary <= 1 << 16, f"vocabulary must be 2 to 65536, got {self.vocabulary}")
        _require(self.dim % self.heads == 0, f"{self.heads} heads cannot share {self.dim} dimensions evenly")
        _require(self.dim % 2 == 0, f"dim must be even, got {self.dim}")
        _require(
            self.window >= (self.positions == "relative"),
            f"{self.positions} positions cannot go with a window of {self.window}",
        )
        _require(
            self.projected or len(self.channels) == 1,
            f"layout {self.layout!r} has {len(self.channels)} channels, which needs projected latents",
        )

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Take the config out of a `config.json`, which holds more; KeyError if it lacks a number."""
        return cls(**{field.name: stored[field.name] for field in fields(cls)})

    @property
    def channels(self) -> tuple[str, ...]:
        """The body parts that have a word of their own."""
        return tuple(LAYOUTS[self.layout])

    @property
    def joints(self) -> int:
        """Joints that the network sees."""
        return len(CANONICAL.joints)

    @property
    def token_frames(self) -> int:
        """Frames per token."""
        return self.patch_frames if self.stem else 1

    @property
    def code_dim(self) -> int:
        """Dimensions of a word's vector."""
        if self.projected:
            return self.latent
        return self.patch_frames // self.token_frames * self.joints * self.dim

    @property
    def reach(self) -> int | None:
        """How many steps to each side can change a word; None: all that are shown at once."""
        if self.positions != "relative":
            return None
        return -(-self.layers * self.window * self.token_frames // self.patch_frames)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)


PRESETS: Mapping[str, NetworkConfig] = {
    "default": NetworkConfig(),
    "paper": NetworkConfig(
        layout="whole",
        vocabulary=512,
        dim=64,
        layers=4,
        heads=4,
        window=0,
        positions="sinusoid",
        stem=False,
        projected=False,
        hung=False,
        limbs_apart=False,
        pre_norm=False,
    ),
}
