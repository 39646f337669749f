"""The arrays in a foreign pickle, without unpickling it.

A pickle is a program. Python's interpreter for it calls any function that the program names; the one
here knows only the few instructions of a dictionary of numpy arrays and calls nothing foreign: the
names that numpy's pickles use are mapped to small functions, every other name is refused. Pickles of
numpy 1 and 2, protocols 0 to 5 and Python 2 (whose byte strings arrive as latin-1 text) are understood.
"""

import math
import pickletools
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.formats import limits

_PLAIN_NUMBERS = re.compile(r"[biuf][1248]")
_MARK = object()


@dataclass(frozen=True)
class _Name:
    module: str
    name: str


@dataclass(frozen=True)
class _Dtype:
    code: str
    order: str = "|"


@dataclass(frozen=True)
class _Array:
    dtype: Any = None
    shape: Any = None
    fortran: Any = False
    content: Any = None
    axes: Any = None  # in which order numpy 2.4 keeps the axes of an array that is neither C nor Fortran


class _RefusedError(Exception):
    """The pickle asks for something that plain arrays do not need."""


def read_arrays(file: BinaryIO, size: int, names: Collection[str]) -> dict[str, NDArray[Any]]:
    """Return those of the named entries of the pickled dictionary that are arrays or numbers.

    `size` is that of the file. Other entries are not made: many may share one content.
    """
    try:
        entries = _Machine(size).run(file)
        if not isinstance(entries, dict):
            raise _RefusedError("does not hold a dictionary")
        found = {name: entries[name] for name in names if name in entries}
        return {k: _build_array(v) for k, v in found.items() if isinstance(v, int | float | _Array)}
    except _RefusedError as error:
        raise InputError(f"the pickle {error}; only dictionaries of plain numpy arrays are read") from None
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, DeprecationWarning):
        # The warning, of pickletools about senseless escapes, is an error where warnings are.
        raise InputError("the pickle is damaged or cut short") from None


def _build_array(value: Any) -> NDArray[Any]:
    """Return the numpy array of a recorded one, if its parts fit together."""
    if not isinstance(value, _Array):
        return np.asarray(float(value))
    dtype, shape, content, axes = value.dtype, value.shape, value.content, value.axes
    if isinstance(content, str):  # Python 2 had no other type for bytes
        content = content.encode("latin-1")
    if not isinstance(dtype, _Dtype) or not _PLAIN_NUMBERS.fullmatch(dtype.code):
        raise InputError("the pickle holds an array of something other than plain numbers")
    kind = np.dtype(dtype.code).newbyteorder(">" if dtype.order == ">" else "<")
    if not isinstance(shape, tuple) or not isinstance(content, bytes | bytearray):
        raise InputError("the pickle holds a damaged array")
    limits.require_shape(shape)
    if math.prod(shape) * kind.itemsize != len(content):
        raise InputError(f"the pickle holds {len(content)} bytes for an array of shape {list(shape)}")
    flat = np.frombuffer(content, kind) if content else np.empty(0, kind)
    array = flat.reshape(shape, order="F" if value.fortran is True or value.fortran == 1 else "C")
    if axes is None:
        return array
    if not isinstance(axes, tuple) or not all(isinstance(axis, int) for axis in axes):
        raise InputError("the pickle holds a damaged array")
    return array.transpose(axes)


def _require_text(value: Any) -> str:
    """Return a text. Anything else is not even told: printed, it may be far larger than the file."""
    if not isinstance(value, str):
        raise _RefusedError("has something else where a text was expected")
    return value


def _encode(text: str, encoding: str) -> bytes:
    if _require_text(encoding) not in ("latin1", "latin-1"):
        raise _RefusedError(f"encodes a text as {encoding[:40]!r}")
    return _require_text(text).encode("latin-1")


def _frombuffer(content: Any, dtype: Any, shape: Any, order: Any, axes: Any = None) -> _Array:
    return _Array(dtype, shape, order == "F", content, axes if order == "K" else None)


_NUMPY: dict[str, Callable[..., Any]] = {
    "multiarray._reconstruct": lambda *_: _Array(),
    "multiarray.scalar": lambda dtype, content: _Array(dtype, (), False, content),
    "numeric._frombuffer": _frombuffer,
}
_CALLABLE: dict[_Name, Callable[..., Any]] = {
    _Name("_codecs", "encode"): _encode,
    _Name("numpy", "dtype"): lambda code, *_: _Dtype(_require_text(code)),
}
_CALLABLE |= {
    _Name(f"numpy.{core}.{path.partition('.')[0]}", path.partition(".")[2]): call
    for core in ("core", "_core")
    for path, call in _NUMPY.items()
}
_KNOWN = _CALLABLE.keys() | {_Name("numpy", "ndarray")}


def _require_known(module: Any, name: Any) -> _Name:
    found = _Name(_require_text(module), _require_text(name))
    if found not in _KNOWN:
        called = f"{found.module}.{found.name}"[:80]
        raise _RefusedError(f"names {called!r}")
    return found


def _apply_state(target: Any, state: Any) -> Any:
    """Return `target` after numpy's `__setstate__`."""
    if isinstance(target, _Dtype):
        return _Dtype(target.code, _require_text(state[1]))
    if isinstance(target, _Array):
        _, shape, dtype, fortran, content = state
        return _Array(dtype, shape, fortran, content)
    raise _RefusedError("sets the state of something that is no array")


class _Machine:
    """A stack machine for the instructions that arrays need."""

    def __init__(self, size: int) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._unspent = size  # bytes that calls may still make: each byte of the file, once

    def run(self, file: BinaryIO) -> Any:
        """Return the value the pickle describes."""
        for count, (opcode, argument, _) in enumerate(pickletools.genops(file)):
            if count > limits.MAX_INSTRUCTIONS:
                raise _RefusedError("is longer than a dictionary of arrays can be")
            if opcode.name == "STOP":
                break
            self._step(opcode.name, argument)
        return self._stack.pop()

    def _step(self, name: str, argument: Any) -> None:
        if name in _LITERALS.split():
            self._stack.append(argument)
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name]())
        elif name in _TUPLES:
            size = _TUPLES[name]
            if len(self._stack) < size:
                raise ValueError("stack underflow")
            self._stack[-size:] = [tuple(self._stack[-size:])]
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self._memo[argument] = self._stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            self._stack.append(self._memo[argument])
        elif name in _SPECIAL:
            _SPECIAL[name](self, argument)
        elif name not in ("PROTO", "FRAME"):
            raise _RefusedError(f"uses the instruction {name}")

    def _pop_marked(self) -> list[Any]:
        """Remove and return everything above the last mark."""
        place = len(self._stack) - 1
        while self._stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise ValueError("no mark")
        taken = self._stack[place + 1 :]
        del self._stack[place:]
        return taken

    def _memoize(self, _: Any) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _tuple(self, _: Any) -> None:
        self._stack.append(tuple(self._pop_marked()))

    def _dict(self, _: Any) -> None:
        pairs = self._pop_marked()
        self._stack.append({})
        self._set_all(pairs)

    def _set_items(self, _: Any) -> None:
        self._set_all(self._pop_marked())

    def _set_item(self, _: Any) -> None:
        pair = [self._stack.pop(), self._stack.pop()][::-1]
        self._set_all(pair)

    def _set_all(self, pairs: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict):
            raise _RefusedError("sets items of something that is no dictionary")
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            if not isinstance(key, str):
                raise _RefusedError("has a key that is no text")
            target[key] = value

    def _global(self, argument: Any) -> None:
        module, _, name = argument.partition(" ")
        self._stack.append(_require_known(module, name))

    def _stack_global(self, _: Any) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self._stack.append(_require_known(module, name))

    def _reduce(self, _: Any) -> None:
        arguments, name = self._stack.pop(), self._stack.pop()
        if not isinstance(name, _Name) or name not in _CALLABLE or not isinstance(arguments, tuple):
            raise _RefusedError("calls something that is no array")
        self._unspent -= sum(len(text) for text in arguments if isinstance(text, str))
        if self._unspent < 0:
            raise _RefusedError("makes more of its texts than there is")
        self._stack.append(_CALLABLE[name](*arguments))

    def _build(self, _: Any) -> None:
        state, target = self._stack.pop(), self._stack.pop()
        built = _apply_state(target, state)
        self._stack.append(built)
        for key, value in self._memo.items():  # later references mean the finished object
            if value is target:
                self._memo[key] = built


_LITERALS = """INT BININT BININT1 BININT2 LONG LONG1 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING
    UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8"""
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
    "MARK": lambda: _MARK,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_SPECIAL: dict[str, Callable[[_Machine, Any], None]] = {
    "MEMOIZE": _Machine._memoize,
    "TUPLE": _Machine._tuple,
    "DICT": _Machine._dict,
    "SETITEMS": _Machine._set_items,
    "SETITEM": _Machine._set_item,
    "GLOBAL": _Machine._global,
    "STACK_GLOBAL": _Machine._stack_global,
    "REDUCE": _Machine._reduce,
    "BUILD": _Machine._build,
}
