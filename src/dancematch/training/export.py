"""From a trained network to one that runs without torch: ONNX, and the tokeniser around it.

The encoder carries the projection and the nearest code inside, so that who runs it gets words:
`motion [1, T, V, 3] -> tokens [S, C], latents [S, C, dim]`; the decoder goes back from words:
`tokens [S, C] -> motion [T, V, 3]`. Both take any length.
"""

import logging
import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from dancematch.errors import ModelError
from dancematch.model.network import MotionModel
from dancematch.model.quantiser import lookup, nearest_codes
from dancematch.model.runtime import CODEBOOK, NetworkTokeniser
from dancematch.types import FloatArray

OPSET = 18
EXAMPLE_STEPS = 6  # of the motion the export is traced with; lengths stay open


class WordEncoder(nn.Module):
    """Motion -> words, for export."""

    codebook: Tensor

    def __init__(self, model: MotionModel) -> None:
        super().__init__()
        self.encoder = model.encoder
        self.register_buffer("codebook", model.quantiser.codebook.clone())

    def forward(self, motion: Tensor) -> tuple[Tensor, Tensor]:
        """[1, T, V, 3] -> [S, C] and [S, C, dim]."""
        latents = self.encoder(motion, self.codebook)[0]
        return nearest_codes(latents, self.codebook)[0], latents


class WordDecoder(nn.Module):
    """Words -> motion, for export."""

    codebook: Tensor

    def __init__(self, model: MotionModel) -> None:
        super().__init__()
        self.decoder = model.decoder
        self.register_buffer("codebook", model.quantiser.codebook.clone())

    def forward(self, tokens: Tensor) -> Tensor:
        """[S, C] -> [T, V, 3]."""
        return self.decoder(lookup(tokens, self.codebook).unsqueeze(0))[0]


def export_model(model: MotionModel, *, trained_on: Mapping[str, object]) -> NetworkTokeniser:
    """The tokeniser that speaks as `model` does, ready to be saved."""
    config, still = model.config, deepcopy(model).cpu().eval()
    motion = torch.zeros(1, EXAMPLE_STEPS * config.patch_frames, config.joints, 3)
    tokens = torch.zeros(EXAMPLE_STEPS, len(config.channels), dtype=torch.long)
    files = {
        "encoder.onnx": _onnx(WordEncoder(still), "motion", motion, ("tokens", "latents"), open_axis=1),
        "decoder.onnx": _onnx(WordDecoder(still), "tokens", tokens, ("motion",), open_axis=0),
    }
    return NetworkTokeniser(config, arrays_of(still), files, trained_on=trained_on)


def arrays_of(model: MotionModel) -> dict[str, FloatArray]:
    """All arrays that make the words and what they mean, by name; training's own state stays behind."""
    return {
        name: np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=np.float32)
        for name, tensor in model.state_dict().items()
        if not name.startswith("quantiser.") or name == CODEBOOK
    }


def restore_model(tokeniser: NetworkTokeniser) -> MotionModel:
    """The network behind a tokeniser, to look into or to go on training; the inverse of `export_model`."""
    model = MotionModel(tokeniser.network)
    arrays = {name: torch.from_numpy(array.copy()) for name, array in tokeniser.arrays.items()}
    model.quantiser.place(arrays.pop(CODEBOOK))
    model.load_state_dict({**model.state_dict(), **arrays})
    return model.eval()


def _onnx(module: nn.Module, given: str, example: Tensor, outputs: Sequence[str], *, open_axis: int) -> bytes:
    """The module as an ONNX file that takes an input of any length along `open_axis`."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it warns of libraries that nobody needs here
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's, about its own code
        program = torch.onnx.export(
            module.eval(),
            (example,),
            input_names=[given],
            output_names=list(outputs),
            dynamic_shapes=({open_axis: torch.export.Dim.DYNAMIC},),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    if program is None:
        raise ModelError("torch exported nothing; install the version of torch that the extra 'train' names")
    onnx.checker.check_model(program.model_proto)
    return bytes(program.model_proto.SerializeToString(deterministic=True))
