"""What a compiled kernel depends on in our sources, as one short text."""

import hashlib
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

_CONSTANTS = (bool, int, float, str, tuple, frozenset, np.generic, type, BuiltinFunctionType)


def code_stamp(kernel: Dispatcher) -> str:
    """Return a text that changes with a kernel's code, its options, and the constants and kernels it uses.

    Comments, blank lines and other functions of the file do not count: editing them compiles nothing again.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in _describe_kernel(kernel, set()):
        digest.update(part.encode())
    return digest.hexdigest()


def _describe_kernel(kernel: Dispatcher, seen: set[Any]) -> Iterator[str]:
    if kernel in seen:
        return
    seen.add(kernel)
    function = kernel.py_func
    yield repr(sorted((name, _plain(value)) for name, value in kernel.targetoptions.items()))
    yield repr(function.__defaults__)
    names: list[str] = []
    for code in _codes(function.__code__):
        names += code.co_names
        constants = [value for value in code.co_consts if not isinstance(value, CodeType)]
        yield repr((code.co_name, code.co_code, constants, code.co_names, code.co_varnames))
    for name in names:
        if name in function.__globals__:
            yield name
            yield from _describe_value(name, function.__globals__[name], seen)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of those within it."""
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _codes(value)


def _describe_value(name: str, value: Any, seen: set[Any]) -> Iterator[str]:
    """A global of a kernel: another kernel, a module, or a constant that is compiled into it."""
    if isinstance(value, Dispatcher):
        yield from _describe_kernel(value, seen)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    elif isinstance(value, ModuleType):
        yield value.__name__
    elif isinstance(value, _CONSTANTS):
        yield repr(value)
    else:
        raise TypeError(f"a kernel uses {name}, a {type(value).__name__}, which is no constant")


def _plain(value: Any) -> str:
    """A compiler option; sets have no order of their own."""
    return repr(sorted(value) if isinstance(value, set | frozenset) else value)
