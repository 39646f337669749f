"""From a trained network to a tokeniser that runs without torch, and back."""

from collections.abc import Mapping
from copy import deepcopy

import numpy as np
import torch

from dancematch.model.network import MotionModel
from dancematch.model.runtime import CODEBOOK, NetworkTokeniser
from dancematch.training.network.onnx_graph import build_decoder, build_encoder
from dancematch.types import FloatArray


def export_model(model: MotionModel, *, trained_on: Mapping[str, object]) -> NetworkTokeniser:
    """The tokeniser that speaks as `model` does, ready to be saved."""
    still = deepcopy(model).cpu().eval()
    files = {"encoder.onnx": build_encoder(still), "decoder.onnx": build_decoder(still)}
    return NetworkTokeniser(still.config, arrays_of(still), files, trained_on=trained_on)


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
