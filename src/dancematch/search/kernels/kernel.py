"""The decorator of every kernel."""

from collections.abc import Callable
from typing import Any

from numba import njit

from dancematch.search.kernels.kernel_cache import KernelCache


def kernel(function: Callable[..., Any] | None = None, *, fastmath: bool | set[str] = False) -> Any:
    """Return a function that is compiled when it is first called, or loaded if it was compiled before.

    Others run meanwhile: it holds no lock of the interpreter. What a search calls stands in
    `signatures.txt` and is compiled ahead of time.
    """
    if function is None:
        return lambda decorated: kernel(decorated, fastmath=fastmath)
    dispatcher: Any = njit(nogil=True, fastmath=fastmath)(function)
    # In place of numba's own cache, which mixes the files of two processes that compile at once, keeps what
    # a constant or a kernel of another module had been, and is looked for at every import.
    dispatcher._cache = KernelCache(dispatcher)
    return dispatcher
