"""Names of models: shipped models have one, and every model has an id that changes with its words."""

import json
from contextlib import suppress
from functools import cache
from importlib.resources import files


def shipped_models() -> list[str]:
    """Return the names that `load_model` takes without a path."""
    root = files("dancematch.model") / "shipped"
    return sorted(entry.name for entry in root.iterdir() if (entry / "config.json").is_file())


@cache
def _names_by_id() -> dict[str, str]:
    """Return the shipped models' names by their ids."""
    root = files("dancematch.model") / "shipped"
    found = {}
    for name in shipped_models():
        # A damaged model has no name here; loading it gives the error.
        with suppress(OSError, ValueError, KeyError, TypeError):
            found[str(json.loads((root / name / "config.json").read_text("utf-8"))["model_id"])] = name
    return found


def describe_model(model_id: str) -> str:
    """Return a model's id, with its name if it is a shipped one."""
    name = _names_by_id().get(model_id)
    return model_id if name is None else f"{model_id} ({name})"
