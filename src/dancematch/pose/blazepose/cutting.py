"""A TensorFlow Lite file without the operators that only an unwanted output needs.

The interpreter runs every operator of a file, whether its output is read or not. The file is a FlatBuffer:
tables whose fields are vectors, of numbers or of offsets to other tables. Two vectors are shortened where
they stand and nothing else is touched, which takes some milliseconds; to load the library that reads such
files whole, to unpack the network and to pack it again takes a third of a second.
"""

import struct
from typing import Any

import numpy as np
from flatbuffers.table import Table  # type: ignore[import-untyped]
from numpy.typing import NDArray

# Numbers of fields in TensorFlow Lite's schema.
_MODEL_GRAPHS = 2
_GRAPH_TENSORS, _GRAPH_OUTPUTS, _GRAPH_OPERATORS = 0, 2, 3
_TENSOR_SHAPE = 0
_OPERATOR_INPUTS, _OPERATOR_OUTPUTS = 1, 2


def remove_output(model: bytes, shape: tuple[int, ...]) -> bytes:
    """Return a network file without the output of this shape and the operators that serve only it.

    The other outputs stay identical. A file that is no network is a ValueError.
    """
    buffer = bytearray(model)
    try:
        (graph,) = _tables(Table(buffer, int.from_bytes(buffer[:4], "little")), _MODEL_GRAPHS)
        tensors, operators = _tables(graph, _GRAPH_TENSORS), _tables(graph, _GRAPH_OPERATORS)
        outputs = _numbers(graph, _GRAPH_OUTPUTS)
        wanted = [i for i in outputs.tolist() if tuple(_numbers(tensors[i], _TENSOR_SHAPE)) != shape]
        kept = _operators_for(set(wanted), operators)
    except (IndexError, ValueError, TypeError, OverflowError, struct.error) as error:
        raise ValueError("not a network") from error
    _shorten(graph, _GRAPH_OUTPUTS, np.array(wanted))
    # An offset counts from the place where it stands.
    places = graph.Vector(_offset(graph, _GRAPH_OPERATORS)) + 4 * np.arange(len(kept))
    _shorten(graph, _GRAPH_OPERATORS, np.array([operator.Pos for operator in kept]) - places)
    return bytes(buffer)


def _operators_for(needed: set[int], operators: list[Any]) -> list[Any]:
    """Return the operators that these tensors need, in their order."""
    kept = []
    for operator in reversed(operators):
        if needed.intersection(_numbers(operator, _OPERATOR_OUTPUTS).tolist()):
            needed.update(_numbers(operator, _OPERATOR_INPUTS).tolist())
            kept.append(operator)
    return kept[::-1]


def _offset(table: Any, field: int) -> int:
    return int(table.Offset(4 + 2 * field))


def _numbers(table: Any, field: int) -> NDArray[np.int32]:
    """Return a vector of numbers of a table; empty if the table has none."""
    offset = _offset(table, field)
    count, start = (table.VectorLen(offset), table.Vector(offset)) if offset else (0, 0)
    return np.frombuffer(table.Bytes, "<i4", count, start)


def _tables(table: Any, field: int) -> list[Any]:
    """Return the tables that a vector of a table points to."""
    offset = _offset(table, field)
    places = table.Vector(offset) + 4 * np.arange(table.VectorLen(offset))
    return [Table(table.Bytes, int(table.Indirect(place))) for place in places.tolist()]


def _shorten(table: Any, field: int, values: NDArray[np.integer]) -> None:
    """Overwrite a vector by fewer values; its length stands before it."""
    start = table.Vector(_offset(table, field))
    written = np.concatenate([[len(values)], values]).astype("<i4").tobytes()
    table.Bytes[start - 4 : start - 4 + len(written)] = written
