"""A TensorFlow Lite network as a function from an array to arrays."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import WeightsError
from dancematch.pose.blazepose.cutting import remove_output

Floats = NDArray[np.float32]


class Network:
    """A network with one input, on the CPU.

    `unwanted` is the shape of an output that is not used: operators that serve only it are cut out.
    """

    def __init__(self, weights: Path, *, threads: int = 1, unwanted: tuple[int, ...] | None = None) -> None:
        from ai_edge_litert.interpreter import Interpreter

        try:
            model = weights.read_bytes()
            model = remove_output(model, unwanted) if unwanted else model
            with _silence_stderr():
                self._interpreter: Any = Interpreter(model_content=model, num_threads=threads)
                self._interpreter.allocate_tensors()
        except (OSError, ValueError, RuntimeError) as error:
            raise WeightsError(f"{weights} cannot be loaded as a network: {error}") from error
        self._input = self._interpreter.get_input_details()[0]["index"]
        self._outputs = [detail["index"] for detail in self._interpreter.get_output_details()]

    def __call__(self, values: Floats) -> list[Floats]:
        """Return the outputs of one run, as copies."""
        self._interpreter.set_tensor(self._input, values)
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(index) for index in self._outputs]


@contextmanager
def _silence_stderr() -> Iterator[None]:
    """Keep the runtime's greeting off the terminal: it has no switch and bypasses Python."""
    try:
        kept = os.dup(2)
    except OSError:  # a service without a standard error has nothing to keep clean
        yield
        return
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
