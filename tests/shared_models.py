"""Shipped models, loaded once per test process: commands and catalogues of the tests open them very often."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from dancematch.model import tokeniser
from dancematch.model.names import shipped_models
from dancematch.model.tokeniser import DEFAULT_MODEL

Name = str | Path | None


def share_shipped_models() -> None:
    """Have every module that asks for a shipped model get the same object; models in folders are read.

    To be called before those modules are imported. Models are immutable, and their files here do not change.
    """
    load, background = tokeniser.load_model, tokeniser.load_background
    loaded = cache(load)
    cohorts: dict[tuple[str, str], list[Any]] = {}

    def load_shared(model: Name = None) -> Any:
        return loaded(shipped) if (shipped := _shipped_name(model)) else load(model)

    def load_shared_background(of: Any, model: Name = None) -> list[Any]:
        if (shipped := _shipped_name(model)) is None:
            return background(of, model)
        if (shipped, of.model_id) not in cohorts:
            cohorts[shipped, of.model_id] = background(of, shipped)
        return list(cohorts[shipped, of.model_id])

    replacements: dict[str, Callable[..., Any]] = {
        "load_model": load_shared,
        "load_background": load_shared_background,
    }
    for name, function in replacements.items():
        setattr(tokeniser, name, function)


def _shipped_name(model: Name) -> str | None:
    name = DEFAULT_MODEL if model is None else str(model)
    return name if name in shipped_models() else None
