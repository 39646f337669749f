"""A run's whole state in one file: tensors and plain values, exact to the last bit, without pickle.

The file is a safetensors archive; its metadata holds the state as JSON, with names in place of tensors.
"""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from dancematch.errors import ModelError
from dancematch.formats.files import write_bytes

TENSOR = "$tensor"


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write nested dicts and lists of tensors and plain values; an old file is replaced atomically."""
    tensors: dict[str, Tensor] = {}
    outline = _to_outline(state, "state", tensors)
    write_bytes(path, save(tensors, {"state": json.dumps(outline)}), overwrite=True)


def load_state(path: Path) -> dict[str, Any]:
    """The state that `save_state` wrote."""
    try:
        with safe_open(path, framework="pt") as archive:
            tensors = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118  (no mapping)
            outline = json.loads(archive.metadata()["state"])
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"the checkpoint {path} cannot be read ({error}); begin a new run") from None
    return dict(_restore(outline, tensors))


def _to_outline(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors[name] = value.detach().clone().contiguous()  # safetensors refuses shared memory
        return {TENSOR: name}
    if isinstance(value, dict):
        return [[key, _to_outline(item, f"{name}.{key}", tensors)] for key, item in value.items()]
    if isinstance(value, list | tuple):
        return {"list": [_to_outline(item, f"{name}.{place}", tensors) for place, item in enumerate(value)]}
    return {"value": value}


def _restore(outline: Any, tensors: dict[str, Tensor]) -> Any:
    """The value of an outline; a dict is a list of pairs: JSON would turn integer keys into text."""
    if isinstance(outline, list):
        return {key: _restore(item, tensors) for key, item in outline}
    if TENSOR in outline:
        return tensors[outline[TENSOR]]
    if "list" in outline:
        return [_restore(item, tensors) for item in outline["list"]]
    return outline["value"]
