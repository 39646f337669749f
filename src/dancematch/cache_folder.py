"""The folder on this computer for what can be fetched or computed again."""

import os
from pathlib import Path

CACHE_VARIABLE = "DANCEMATCH_CACHE"
"""Environment variable that names the folder, instead of the platform's own place."""


def cache_folder() -> Path:
    """Return the folder for weights, index caches and the service's working files; it may not exist yet."""
    import platformdirs

    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("dancematch", appauthor=False)
