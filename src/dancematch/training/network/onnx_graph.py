"""The network as ONNX graphs, which run without torch and for motions of any length.

Written out rather than traced: torch's exporter takes longer over a network of this size than a
short training does. Each `add_` function is the `forward` of its namesake in `model/network.py` or
`model/quantiser.py`; tests compare the two for every shape of network. The batch is one motion,
so tokens are [V, N, D]; other letters of the shapes are as in `network.py`.
"""

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from dancematch.model.network import (
    FEATURES,
    Attention,
    CodebookAttention,
    Decoder,
    Encoder,
    JointLinear,
    LocalTemporalAttention,
    MotionModel,
    PartHead,
    SpatialAttention,
    Transformer,
    TransformerBlock,
)

OPSET = 18
IR_VERSION = 10  # the oldest supported onnxruntime reads no newer one
END = np.iinfo(np.int64).max  # ends a slice where the axis ends

GraphInput = str | Tensor | NDArray[np.generic] | Sequence[int] | float


class OnnxGraph:
    """An ONNX graph under construction: a call adds a node and returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []

    def __call__(self, operator: str, *inputs: GraphInput, **attributes: Any) -> str:
        """Add an operator with one output; inputs are names of outputs, or constants."""
        return self.add_outputs(operator, 1, *inputs, **attributes)[0]

    def add_outputs(self, operator: str, outputs: int, *inputs: GraphInput, **attributes: Any) -> list[str]:
        """Add an operator with several outputs and return their names."""
        names_in = [value if isinstance(value, str) else self._add_constant(value) for value in inputs]
        names = [f"{operator}_{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(operator, names_in, names, **attributes))
        return names

    def _add_constant(self, value: Tensor | NDArray[np.generic] | Sequence[int] | float) -> str:
        """Add a constant: 64-bit for integers, 32-bit floats like the weights for the rest."""
        array = value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def to_bytes(
        self, source: onnx.ValueInfoProto, outputs: Sequence[tuple[str, onnx.ValueInfoProto]]
    ) -> bytes:
        """The graph as a file from `source` to `outputs`, each given with its name in the graph."""
        for name, info in outputs:
            self.nodes.append(helper.make_node("Identity", [name], [info.name]))
        graph = helper.make_graph(
            self.nodes, "dancematch", [source], [info for _, info in outputs], self.constants
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
        )
        onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))


def build_encoder(model: MotionModel) -> bytes:
    """The encoder as a file: `motion [1, T, V, 3] -> tokens [S, C], latents [S, C, dim]`."""
    config, graph = model.config, OnnxGraph()
    latents = add_encoder(graph, model.encoder, "motion", model.quantiser.codebook)
    tokens = add_nearest_codes(graph, latents, model.quantiser.codebook)
    channels = len(config.channels)
    source = helper.make_tensor_value_info("motion", TensorProto.FLOAT, [1, "frames", config.joints, 3])
    outputs = [
        (tokens, helper.make_tensor_value_info("tokens", TensorProto.INT64, ["steps", channels])),
        (
            latents,
            helper.make_tensor_value_info("latents", TensorProto.FLOAT, ["steps", channels, config.code_dim]),
        ),
    ]
    return graph.to_bytes(source, outputs)


def build_decoder(model: MotionModel) -> bytes:
    """The decoder as a file: `tokens [S, C] -> motion [T, V, 3]`."""
    config, graph = model.config, OnnxGraph()
    motion = add_decoder(graph, model.decoder, add_lookup(graph, "tokens", model.quantiser.codebook))
    source = helper.make_tensor_value_info("tokens", TensorProto.INT64, ["steps", len(config.channels)])
    output = helper.make_tensor_value_info("motion", TensorProto.FLOAT, ["frames", config.joints, 3])
    return graph.to_bytes(source, [(motion, output)])


def add_encoder(graph: OnnxGraph, module: Encoder, motion: str, codebook: Tensor) -> str:
    """[1, T, V, 3] -> [S, C, code dim]."""
    config = module.config
    raw = _add_tokens(graph, module, _add_features(graph, module, _trim_to_patches(graph, module, motion)))
    codes = codebook if config.codebook_attention else None
    x = add_transformer(graph, module.transformer, add_joint_linear(graph, module.embed, raw), codes)
    x, raw = _group_patches(graph, module, x), _group_patches(graph, module, raw)  # [S, V, patch]
    if config.projected:
        heads = [add_part_head(graph, head, x, raw) for head in module.part_heads]
        latents = graph("Concat", *(graph("Unsqueeze", head, [1]) for head in heads), axis=1)
    else:
        by_joint = graph("Reshape", x, [0, 0, -1, config.dim])  # [S, V, tokens per patch, D]
        by_time = graph("Transpose", by_joint, perm=[0, 2, 1, 3])
        latents = graph("Reshape", by_time, [-1, 1, config.code_dim])
    return graph("LpNormalization", latents, axis=-1, p=2) if config.unit else latents


def _trim_to_patches(graph: OnnxGraph, module: Encoder, motion: str) -> str:
    """[1, T, V, 3] -> [T, V, 3] without the frames beyond the last whole patch."""
    size = [module.config.patch_frames]
    frames = graph("Mul", graph("Div", graph("Shape", motion, start=1, end=2), size), size)
    return graph("Squeeze", graph("Slice", motion, [0], frames, [1]), [0])


def _add_features(graph: OnnxGraph, module: Encoder, motion: str) -> str:
    """[T, V, 3] -> [T, V, 4]."""
    if module.config.hung:
        origins = graph("Gather", motion, module.origins, axis=1)
        motion = graph("Where", module.hangs, graph("Sub", motion, origins), motion)
    absent = graph("Cast", graph("IsNaN", motion), to=TensorProto.FLOAT)
    unseen = graph("ReduceMax", absent, [-1])
    normalised = graph("Div", graph("Sub", motion, module.mean), module.scale)
    seen = graph("Where", graph("Cast", unseen, to=TensorProto.BOOL), 0.0, normalised)
    return graph("Concat", seen, unseen, axis=-1)


def _add_tokens(graph: OnnxGraph, module: Encoder, features: str) -> str:
    """[T, V, 4] -> [V, N, token frames * 4]."""
    frames, joints = module.config.token_frames, module.config.joints
    grouped = graph("Reshape", features, [-1, frames, joints, FEATURES])
    return graph("Reshape", graph("Transpose", grouped, perm=[2, 0, 1, 3]), [0, 0, -1])


def _group_patches(graph: OnnxGraph, module: Encoder, x: str) -> str:
    """The tokens of a patch side by side: [V, N, n] -> [S, V, tokens per patch * n]."""
    tokens = module.config.patch_frames // module.config.token_frames
    if tokens > 1:
        width = graph("Mul", graph("Shape", x, start=2, end=3), [tokens])
        x = graph("Reshape", x, graph("Concat", [0, -1], width, axis=0))
    return graph("Transpose", x, perm=[1, 0, 2])


def add_part_head(graph: OnnxGraph, module: PartHead, x: str, raw: str) -> str:
    """[S, V, .] and [S, V, P * 4] -> [S, latent]."""
    mine, coordinates = (
        graph("Flatten", graph("Gather", each, module.places, axis=1), axis=1) for each in (x, raw)
    )
    return graph("Add", add_linear(graph, module.project, mine), add_linear(graph, module.skip, coordinates))


def add_decoder(graph: OnnxGraph, module: Decoder, latents: str) -> str:
    """[S, C, code dim] -> [T, V, 3]."""
    config = module.config
    patches = graph("Flatten", latents, axis=1)
    if isinstance(module.expand, nn.Linear):
        patches = add_linear(graph, module.expand, patches)  # [S, tokens per patch * V * D]
    tokens = graph("Reshape", patches, [-1, config.joints, config.dim])  # [N, V, D]
    x = add_transformer(graph, module.transformer, graph("Transpose", tokens, perm=[1, 0, 2]), None)
    frames = graph("Reshape", add_joint_linear(graph, module.place, x), [config.joints, -1, 3])  # [V, T, 3]
    motion = graph("Transpose", frames, perm=[1, 0, 2])
    return graph("Add", graph("Mul", motion, module.scale), module.mean)


def add_transformer(graph: OnnxGraph, module: Transformer, x: str, codebook: Tensor | None) -> str:
    """[V, N, D] -> [V, N, D]."""
    if module.adds_positions:
        tokens = graph("Squeeze", graph("Shape", x, start=1, end=2))
        clock = graph("Cast", graph("Range", 0, tokens, 1), to=TensorProto.FLOAT)
        angles = graph("Mul", graph("Unsqueeze", clock, [-1]), module.rates)  # [N, D / 2]
        x = graph("Add", x, graph("Concat", graph("Sin", angles), graph("Cos", angles), axis=-1))
    for each in module.blocks:
        x = add_block(graph, cast(TransformerBlock, each), x, codebook)
    return add_norm(graph, module.norm, x)


def add_block(graph: OnnxGraph, module: TransformerBlock, x: str, codebook: Tensor | None) -> str:
    """[V, N, D] -> [V, N, D]."""

    def attend(x: str) -> str:
        seen = [add_attention(graph, module.temporal, x), add_attention(graph, module.spatial, x)]
        if module.codes is not None and codebook is not None:
            seen.append(add_codebook_attention(graph, module.codes, x, codebook))
        return graph("Sum", *seen)

    def feed(x: str) -> str:
        return add_joint_linear(
            graph, module.narrow, add_gelu(graph, add_joint_linear(graph, module.widen, x))
        )

    if module.pre_norm:
        x = graph("Add", x, attend(add_norm(graph, module.attention_norm, x)))
        return graph("Add", x, feed(add_norm(graph, module.feed_norm, x)))
    x = add_norm(graph, module.attention_norm, graph("Add", x, attend(x)))
    return add_norm(graph, module.feed_norm, graph("Add", x, feed(x)))


def add_attention(graph: OnnxGraph, module: Attention, x: str) -> str:
    """[V, N, D] -> [V, N, D], for any kind of attention."""
    split = graph.add_outputs("Split", 3, add_linear(graph, module.inputs, x), axis=-1, num_outputs=3)
    q, k, v = (graph("Reshape", each, [0, 0, module.heads, -1]) for each in split)  # [V, N, H, E]
    q = graph("Mul", q, module.scale)
    if isinstance(module, LocalTemporalAttention):
        mixed = _attend_locally(graph, module, q, k, v)
    elif isinstance(module, SpatialAttention):
        mixed = _attend(graph, (q, k, v), [1, 2, 0, 3], module.bias + module.apart)  # over [N, H, V, E]
    else:
        mixed = _attend(graph, (q, k, v), [0, 2, 1, 3])  # over [V, H, N, E]
    return add_linear(graph, module.output, graph("Reshape", mixed, [0, 0, -1]))


def _attend(graph: OnnxGraph, inputs: Sequence[str], axes: Sequence[int], bias: Tensor | None = None) -> str:
    """Attend over the last axis but one, with the axes [V, N, H, E] in the given order."""
    q, k, v = (graph("Transpose", each, perm=axes) for each in inputs)
    scores = graph("MatMul", q, graph("Transpose", k, perm=[0, 1, 3, 2]))
    if bias is not None:
        scores = graph("Add", scores, bias)
    mixed = graph("MatMul", graph("Softmax", scores, axis=-1), v)
    return graph("Transpose", mixed, perm=np.argsort(axes).tolist())


def _attend_locally(graph: OnnxGraph, module: LocalTemporalAttention, q: str, k: str, v: str) -> str:
    """Attend over the neighbours in time: [V, N, H, E] -> [V, N, H, E]."""
    window = module.window

    def neighbours(padded: str, axis: int) -> list[str]:
        shifts = range(-2 * window, 1)  # how far from the end a shifted view ends
        return [graph("Slice", padded, [2 * window + s], [s or END], [axis]) for s in shifts]

    margin = [0, window, 0, 0, 0, window, 0, 0]
    keys, values = (neighbours(graph("Pad", each, margin), 1) for each in (k, v))
    fits = [graph("ReduceSum", graph("Mul", q, key), [-1]) for key in keys]  # [V, N, H, 1] each
    inside = graph("ConstantOfShape", graph("Shape", q, start=1, end=2))
    outside = graph("Pad", graph("Unsqueeze", inside, [1, 2]), [window, 0, 0, window, 0, 0], -math.inf)
    absent = graph("Concat", *neighbours(outside, 0), axis=-1)  # [N, 1, neighbours]
    scores = graph("Sum", graph("Concat", *fits, axis=-1), module.bias, absent)
    shares = graph("Softmax", scores, axis=-1)  # [V, N, H, neighbours]
    weights = graph.add_outputs("Split", len(values), shares, axis=-1, num_outputs=len(values))
    pairs = zip(weights, values, strict=True)
    return graph("Sum", *(graph("Mul", weight, value) for weight, value in pairs))


def add_codebook_attention(graph: OnnxGraph, module: CodebookAttention, x: str, codebook: Tensor) -> str:
    """[V, N, D] and codes [C, words, code dim] -> [V, N, D]."""
    k, v = module.keys_and_values(codebook)  # [H, C * words, E]
    q = graph("Reshape", add_linear(graph, module.queries, x), [0, 0, module.heads, -1])
    q = graph("Transpose", graph("Mul", q, module.scale), perm=[0, 2, 1, 3])  # [V, H, N, E]
    weights = graph("Softmax", graph("MatMul", q, k.transpose(-1, -2)), axis=-1)
    mixed = graph("Transpose", graph("MatMul", weights, v), perm=[0, 2, 1, 3])
    return add_linear(graph, module.output, graph("Reshape", mixed, [0, 0, -1]))


def add_joint_linear(graph: OnnxGraph, module: JointLinear, x: str) -> str:
    """[V, N, inputs] -> [V, N, outputs]."""
    return graph("Add", graph("MatMul", x, module.weight), module.bias)


def add_linear(graph: OnnxGraph, module: nn.Linear, x: str) -> str:
    """[..., inputs] -> [..., outputs]."""
    product = graph("MatMul", x, module.weight.T)
    return product if module.bias is None else graph("Add", product, module.bias)


def add_norm(graph: OnnxGraph, module: nn.Module, x: str) -> str:
    """A layer norm, or the identity."""
    if not isinstance(module, nn.LayerNorm):
        return x
    return graph("LayerNormalization", x, module.weight, module.bias, axis=-1, epsilon=module.eps)


def add_gelu(graph: OnnxGraph, x: str) -> str:
    """The exact GELU: x (1 + erf(x / sqrt 2)) / 2."""
    erf = graph("Erf", graph("Div", x, math.sqrt(2)))
    return graph("Mul", graph("Mul", x, graph("Add", erf, 1.0)), 0.5)


def add_nearest_codes(graph: OnnxGraph, latents: str, codebook: Tensor) -> str:
    """[S, C, dim] -> [S, C]."""
    rows = graph("Transpose", latents, perm=[1, 0, 2])
    products = graph("MatMul", rows, -2 * codebook.transpose(1, 2))  # [C, S, words]
    offsets = graph("Add", products, codebook.square().sum(dim=-1).unsqueeze(1))
    return graph("Transpose", graph("ArgMin", offsets, axis=-1, keepdims=0), perm=[1, 0])


def add_lookup(graph: OnnxGraph, tokens: str, codebook: Tensor) -> str:
    """[S, C] -> [S, C, dim]."""
    channels, words, _ = codebook.shape
    numbered = graph("Add", tokens, words * np.arange(channels))
    return graph("Gather", codebook.flatten(0, 1), numbered, axis=0)
