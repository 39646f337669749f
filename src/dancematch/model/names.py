"""What models are called: those that come along have names, each has an id that changes with its words."""

import json
from contextlib import suppress
from functools import cache
from importlib.resources import files


def shipped_models() -> list[str]:
    """The names `load_model` knows without a path."""
    root = files("dancematch.model") / "shipped"
    return sorted(entry.name for entry in root.iterdir() if (entry / "config.json").is_file())


@cache
def _names() -> dict[str, str]:
    """The shipped models' names by their ids."""
    root = files("dancematch.model") / "shipped"
    found = {}
    for name in shipped_models():
        # One that is damaged has no name here: whoever loads it is told.
        with suppress(OSError, ValueError, KeyError, TypeError):
            found[str(json.loads((root / name / "config.json").read_text("utf-8"))["model_id"])] = name
    return found


def called(model_id: str) -> str:
    """A model's id, with its name if it is a shipped one."""
    name = _names().get(model_id)
    return model_id if name is None else f"{model_id} ({name})"
