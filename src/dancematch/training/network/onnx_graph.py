"""The network once more, in ONNX's operators: what runs where torch is not, for motions of any length.

Written out rather than traced: torch's exporter takes longer over a network of this size than a
short training does. Each function here is the `forward` of its namesake in `network.py` or
`quantiser.py`, and tests hold the two together for every shape of network. There is one motion at
a time, so tokens are [V, N, D]; other letters of the shapes are as in `network.py`.
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
    Block,
    CodebookAttention,
    Decoder,
    Encoder,
    JointLinear,
    LocalTemporalAttention,
    MotionModel,
    PartHead,
    SpatialAttention,
    Transformer,
)

OPSET = 18
IR_VERSION = 10  # what the oldest onnxruntime that we run with reads
LAST = np.iinfo(np.int64).max  # ends a slice where the axis does

Given = str | Tensor | NDArray[np.generic] | Sequence[int] | float


class Graph:
    """An ONNX graph in the making: a call adds a node to it and gives the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []

    def __call__(self, operator: str, *inputs: Given, **attributes: Any) -> str:
        """The one output of an operator on what other nodes gave (by name) and on constants."""
        return self.several(operator, 1, *inputs, **attributes)[0]

    def several(self, operator: str, outputs: int, *inputs: Given, **attributes: Any) -> list[str]:
        """All outputs of an operator that has several."""
        given = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        names = [f"{operator}_{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(operator, given, names, **attributes))
        return names

    def _constant(self, value: Tensor | NDArray[np.generic] | Sequence[int] | float) -> str:
        """Whole numbers are ONNX's 64-bit ones, all others are floats like the weights."""
        array = value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def file(self, given: onnx.ValueInfoProto, outputs: Sequence[tuple[str, onnx.ValueInfoProto]]) -> bytes:
        """The graph as a file that turns `given` into `outputs`, each with the name it has in the graph."""
        for name, shown in outputs:
            self.nodes.append(helper.make_node("Identity", [name], [shown.name]))
        graph = helper.make_graph(
            self.nodes, "dancematch", [given], [shown for _, shown in outputs], self.constants
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
        )
        onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))


def build_encoder(model: MotionModel) -> bytes:
    """Motion -> words: `motion [1, T, V, 3] -> tokens [S, C], latents [S, C, dim]`."""
    config, graph = model.config, Graph()
    latents = encoder(graph, model.encoder, "motion", model.quantiser.codebook)
    tokens = nearest_codes(graph, latents, model.quantiser.codebook)
    channels = len(config.channels)
    motion = helper.make_tensor_value_info("motion", TensorProto.FLOAT, [1, "frames", config.joints, 3])
    said = helper.make_tensor_value_info("tokens", TensorProto.INT64, ["steps", channels])
    meant = helper.make_tensor_value_info("latents", TensorProto.FLOAT, ["steps", channels, config.code_dim])
    return graph.file(motion, [(tokens, said), (latents, meant)])


def build_decoder(model: MotionModel) -> bytes:
    """Words -> motion: `tokens [S, C] -> motion [T, V, 3]`."""
    config, graph = model.config, Graph()
    motion = decoder(graph, model.decoder, lookup(graph, "tokens", model.quantiser.codebook))
    said = helper.make_tensor_value_info("tokens", TensorProto.INT64, ["steps", len(config.channels)])
    told = helper.make_tensor_value_info("motion", TensorProto.FLOAT, ["frames", config.joints, 3])
    return graph.file(said, [(motion, told)])


def encoder(graph: Graph, module: Encoder, motion: str, codebook: Tensor) -> str:
    """[1, T, V, 3] -> [S, C, code dim]."""
    config = module.config
    raw = _tokens(graph, module, _features(graph, module, _whole_patches(graph, module, motion)))
    codes = codebook if config.codebook_attention else None
    x = transformer(graph, module.transformer, joint_linear(graph, module.embed, raw), codes)
    x, raw = _patches(graph, module, x), _patches(graph, module, raw)  # [S, V, a patch of the joint]
    if config.projected:
        heads = [part_head(graph, head, x, raw) for head in module.part_heads]
        latents = graph("Concat", *(graph("Unsqueeze", head, [1]) for head in heads), axis=1)
    else:
        by_joint = graph("Reshape", x, [0, 0, -1, config.dim])  # [S, V, tokens a patch, D]
        by_time = graph("Transpose", by_joint, perm=[0, 2, 1, 3])
        latents = graph("Reshape", by_time, [-1, 1, config.code_dim])
    return graph("LpNormalization", latents, axis=-1, p=2) if config.unit else latents


def _whole_patches(graph: Graph, module: Encoder, motion: str) -> str:
    """[1, T, V, 3] -> [T, V, 3] without the frames beyond the last whole patch."""
    size = [module.config.patch_frames]
    frames = graph("Mul", graph("Div", graph("Shape", motion, start=1, end=2), size), size)
    return graph("Squeeze", graph("Slice", motion, [0], frames, [1]), [0])


def _features(graph: Graph, module: Encoder, motion: str) -> str:
    """[T, V, 3] -> [T, V, 4]."""
    if module.config.hung:
        origins = graph("Gather", motion, module.origins, axis=1)
        motion = graph("Where", module.hangs, graph("Sub", motion, origins), motion)
    absent = graph("Cast", graph("IsNaN", motion), to=TensorProto.FLOAT)
    unseen = graph("ReduceMax", absent, [-1])
    normalised = graph("Div", graph("Sub", motion, module.mean), module.scale)
    seen = graph("Where", graph("Cast", unseen, to=TensorProto.BOOL), 0.0, normalised)
    return graph("Concat", seen, unseen, axis=-1)


def _tokens(graph: Graph, module: Encoder, features: str) -> str:
    """[T, V, 4] -> [V, N, token frames * 4]."""
    frames, joints = module.config.token_frames, module.config.joints
    grouped = graph("Reshape", features, [-1, frames, joints, FEATURES])
    return graph("Reshape", graph("Transpose", grouped, perm=[2, 0, 1, 3]), [0, 0, -1])


def _patches(graph: Graph, module: Encoder, x: str) -> str:
    """The tokens of a patch side by side: [V, N, n] -> [S, V, tokens a patch * n]."""
    tokens = module.config.patch_frames // module.config.token_frames
    if tokens > 1:
        width = graph("Mul", graph("Shape", x, start=2, end=3), [tokens])
        x = graph("Reshape", x, graph("Concat", [0, -1], width, axis=0))
    return graph("Transpose", x, perm=[1, 0, 2])


def part_head(graph: Graph, module: PartHead, x: str, raw: str) -> str:
    """[S, V, .] and [S, V, P * 4] -> [S, latent]."""
    mine, coordinates = (
        graph("Flatten", graph("Gather", each, module.places, axis=1), axis=1) for each in (x, raw)
    )
    return graph("Add", linear(graph, module.project, mine), linear(graph, module.skip, coordinates))


def decoder(graph: Graph, module: Decoder, latents: str) -> str:
    """[S, C, code dim] -> [T, V, 3]."""
    config = module.config
    patches = graph("Flatten", latents, axis=1)
    if isinstance(module.expand, nn.Linear):
        patches = linear(graph, module.expand, patches)  # [S, tokens a patch * V * D]
    tokens = graph("Reshape", patches, [-1, config.joints, config.dim])  # [N, V, D]
    x = transformer(graph, module.transformer, graph("Transpose", tokens, perm=[1, 0, 2]), None)
    frames = graph("Reshape", joint_linear(graph, module.place, x), [config.joints, -1, 3])  # [V, T, 3]
    motion = graph("Transpose", frames, perm=[1, 0, 2])
    return graph("Add", graph("Mul", motion, module.scale), module.mean)


def transformer(graph: Graph, module: Transformer, x: str, codebook: Tensor | None) -> str:
    """[V, N, D] -> [V, N, D]."""
    if module.placed:
        tokens = graph("Squeeze", graph("Shape", x, start=1, end=2))
        clock = graph("Cast", graph("Range", 0, tokens, 1), to=TensorProto.FLOAT)
        angles = graph("Mul", graph("Unsqueeze", clock, [-1]), module.rates)  # [N, D / 2]
        x = graph("Add", x, graph("Concat", graph("Sin", angles), graph("Cos", angles), axis=-1))
    for each in module.blocks:
        x = block(graph, cast(Block, each), x, codebook)
    return norm(graph, module.norm, x)


def block(graph: Graph, module: Block, x: str, codebook: Tensor | None) -> str:
    """[V, N, D] -> [V, N, D]."""

    def attend(x: str) -> str:
        seen = [attention(graph, module.temporal, x), attention(graph, module.spatial, x)]
        if module.codes is not None and codebook is not None:
            seen.append(codebook_attention(graph, module.codes, x, codebook))
        return graph("Sum", *seen)

    def feed(x: str) -> str:
        return joint_linear(graph, module.narrow, gelu(graph, joint_linear(graph, module.widen, x)))

    if module.pre_norm:
        x = graph("Add", x, attend(norm(graph, module.attention_norm, x)))
        return graph("Add", x, feed(norm(graph, module.feed_norm, x)))
    x = norm(graph, module.attention_norm, graph("Add", x, attend(x)))
    return norm(graph, module.feed_norm, graph("Add", x, feed(x)))


def attention(graph: Graph, module: Attention, x: str) -> str:
    """[V, N, D] -> [V, N, D], of whichever kind the module is."""
    split = graph.several("Split", 3, linear(graph, module.inputs, x), axis=-1, num_outputs=3)
    q, k, v = (graph("Reshape", each, [0, 0, module.heads, -1]) for each in split)  # [V, N, H, E]
    q = graph("Mul", q, module.scale)
    if isinstance(module, LocalTemporalAttention):
        mixed = _look_about(graph, module, q, k, v)
    elif isinstance(module, SpatialAttention):
        mixed = _look(graph, (q, k, v), [1, 2, 0, 3], module.bias + module.apart)  # over [N, H, V, E]
    else:
        mixed = _look(graph, (q, k, v), [0, 2, 1, 3])  # over [V, H, N, E]
    return linear(graph, module.output, graph("Reshape", mixed, [0, 0, -1]))


def _look(graph: Graph, inputs: Sequence[str], axes: Sequence[int], bias: Tensor | None = None) -> str:
    """Mix over the last axis but one, once the axes [V, N, H, E] are in the given order."""
    q, k, v = (graph("Transpose", each, perm=axes) for each in inputs)
    scores = graph("MatMul", q, graph("Transpose", k, perm=[0, 1, 3, 2]))
    if bias is not None:
        scores = graph("Add", scores, bias)
    mixed = graph("MatMul", graph("Softmax", scores, axis=-1), v)
    return graph("Transpose", mixed, perm=np.argsort(axes).tolist())


def _look_about(graph: Graph, module: LocalTemporalAttention, q: str, k: str, v: str) -> str:
    """Mix over the neighbours in time: [V, N, H, E] each, and so the result."""
    window = module.window

    def neighbours(padded: str, axis: int) -> list[str]:
        shifts = range(-2 * window, 1)  # how far from the end a shifted view ends
        return [graph("Slice", padded, [2 * window + s], [s or LAST], [axis]) for s in shifts]

    margin = [0, window, 0, 0, 0, window, 0, 0]
    keys, values = (neighbours(graph("Pad", each, margin), 1) for each in (k, v))
    fits = [graph("ReduceSum", graph("Mul", q, key), [-1]) for key in keys]  # [V, N, H, 1] each
    inside = graph("ConstantOfShape", graph("Shape", q, start=1, end=2))
    outside = graph("Pad", graph("Unsqueeze", inside, [1, 2]), [window, 0, 0, window, 0, 0], -math.inf)
    absent = graph("Concat", *neighbours(outside, 0), axis=-1)  # [N, 1, neighbours]
    scores = graph("Sum", graph("Concat", *fits, axis=-1), module.bias, absent)
    shares = graph("Softmax", scores, axis=-1)  # [V, N, H, neighbours]
    weights = graph.several("Split", len(values), shares, axis=-1, num_outputs=len(values))
    pairs = zip(weights, values, strict=True)
    return graph("Sum", *(graph("Mul", weight, value) for weight, value in pairs))


def codebook_attention(graph: Graph, module: CodebookAttention, x: str, codebook: Tensor) -> str:
    """[V, N, D] and codes [C, words, code dim] -> [V, N, D]."""
    k, v = module.keys_and_values(codebook)  # [H, C * words, E]
    q = graph("Reshape", linear(graph, module.queries, x), [0, 0, module.heads, -1])
    q = graph("Transpose", graph("Mul", q, module.scale), perm=[0, 2, 1, 3])  # [V, H, N, E]
    weights = graph("Softmax", graph("MatMul", q, k.transpose(-1, -2)), axis=-1)
    mixed = graph("Transpose", graph("MatMul", weights, v), perm=[0, 2, 1, 3])
    return linear(graph, module.output, graph("Reshape", mixed, [0, 0, -1]))


def joint_linear(graph: Graph, module: JointLinear, x: str) -> str:
    """[V, N, inputs] -> [V, N, outputs]."""
    return graph("Add", graph("MatMul", x, module.weight), module.bias)


def linear(graph: Graph, module: nn.Linear, x: str) -> str:
    """[..., inputs] -> [..., outputs]."""
    product = graph("MatMul", x, module.weight.T)
    return product if module.bias is None else graph("Add", product, module.bias)


def norm(graph: Graph, module: nn.Module, x: str) -> str:
    """A layer norm, or nothing at all."""
    if not isinstance(module, nn.LayerNorm):
        return x
    return graph("LayerNormalization", x, module.weight, module.bias, axis=-1, epsilon=module.eps)


def gelu(graph: Graph, x: str) -> str:
    """The exact one: x (1 + erf(x / sqrt 2)) / 2."""
    erf = graph("Erf", graph("Div", x, math.sqrt(2)))
    return graph("Mul", graph("Mul", x, graph("Add", erf, 1.0)), 0.5)


def nearest_codes(graph: Graph, latents: str, codebook: Tensor) -> str:
    """[S, C, dim] -> [S, C]."""
    rows = graph("Transpose", latents, perm=[1, 0, 2])
    products = graph("MatMul", rows, -2 * codebook.transpose(1, 2))  # [C, S, words]
    offsets = graph("Add", products, codebook.square().sum(dim=-1).unsqueeze(1))
    return graph("Transpose", graph("ArgMin", offsets, axis=-1, keepdims=0), perm=[1, 0])


def lookup(graph: Graph, tokens: str, codebook: Tensor) -> str:
    """[S, C] -> [S, C, dim]."""
    channels, words, _ = codebook.shape
    numbered = graph("Add", tokens, words * np.arange(channels))
    return graph("Gather", codebook.flatten(0, 1), numbered, axis=0)
