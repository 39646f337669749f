"""Clips and a model that several tests of the evaluation share; neither is changed."""

from pathlib import Path

import pytest

from dance_samples import save_small_model
from dancematch.evaluation.suites.aist import AistClip
from evaluation_samples import aist_clips


@pytest.fixture(scope="session")
def clips() -> list[AistClip]:
    """Four dances by three dancers."""
    return aist_clips(4, 3)


@pytest.fixture(scope="session")
def long_clips() -> list[AistClip]:
    """Three dances by two dancers, twelve seconds or more each: long enough to be entered in windows."""
    return aist_clips(3, 2, 4)


@pytest.fixture(scope="session")
def own_model(tmp_path_factory) -> Path:
    """A model fitted in a moment, with a background."""
    folder = tmp_path_factory.mktemp("models") / "own"
    save_small_model(folder)
    return folder
