"""A trained network as a tokeniser that runs without torch."""

from collections.abc import Mapping
from copy import deepcopy

import numpy as np

from dancematch.model.network import MotionModel
from dancematch.model.runtime import CODEBOOK, NetworkTokeniser
from dancematch.training.network.onnx_graph import build_decoder, build_encoder


def export_model(model: MotionModel, *, trained_on: Mapping[str, object]) -> NetworkTokeniser:
    """The tokeniser that gives the same words as `model`, ready to be saved."""
    model = deepcopy(model).cpu().eval()
    files = {"encoder.onnx": build_encoder(model), "decoder.onnx": build_decoder(model)}
    arrays = {
        name: np.ascontiguousarray(tensor.detach().numpy(), dtype=np.float32)
        for name, tensor in model.state_dict().items()
        if not name.startswith("quantiser.") or name == CODEBOOK  # moving averages stay behind
    }
    return NetworkTokeniser(model.config, arrays, files, trained_on=trained_on)
