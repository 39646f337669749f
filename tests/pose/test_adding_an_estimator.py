"""A new pose estimator is one class and one row of `ESTIMATORS`: CONTRIBUTING.md, "Add a pose estimator"."""

import sys
from types import ModuleType

import numpy as np
import pytest

import dancematch.cli.use.extract as extract_verb
from cli_samples import run_main
from dancematch import formats
from dancematch.pose import estimators
from dancematch.pose.estimators import EstimatorEntry
from dancematch.pose.track import Track
from formats_samples import dancer
from pose_samples import write_clip


class ToyEstimator:
    """Sees one dancer in every video, whatever it shows."""

    name = "toy"

    def tracks(self, _path, *, on_frame=None):
        """One track of three seconds."""
        motion = dancer(90)
        if on_frame is not None:
            on_frame(1.0)
        times = np.arange(len(motion.joints)) / motion.fps
        return [Track(0, times, motion.joints, None, motion.visibility, motion.skeleton)]


@pytest.fixture
def toy_row(monkeypatch):
    """Add the estimator's module and its row, as a contributor does, before the verb is loaded."""
    module = ModuleType("toy_estimator")
    module.ToyEstimator = ToyEstimator
    monkeypatch.setitem(sys.modules, "toy_estimator", module)
    row = EstimatorEntry("toy", "toy_estimator", "ToyEstimator", "sees one dancer everywhere")
    monkeypatch.setattr(estimators, "ESTIMATORS", (*estimators.ESTIMATORS, row))
    monkeypatch.delitem(sys.modules, extract_verb.__name__)


@pytest.mark.usefixtures("toy_row")
def test_the_command_line_has_an_estimator_once_it_has_a_row(tmp_path):
    """`extract --estimator` takes its name, its help explains it, and its tracks become motions."""
    write_clip(tmp_path / "clip.mp4")

    told = run_main("extract", tmp_path / "clip.mp4", "-o", tmp_path / "out", "--estimator", "toy", "--json")

    assert (0, [1]) == (told.code, [one["dancers"] for one in told.objects])
    (motion,) = formats.read(tmp_path / "out" / "clip.npz")
    np.testing.assert_allclose(dancer(90).joints, motion.joints, atol=1e-6)
    assert "toy sees one dancer everywhere" in " ".join(run_main("extract", "--help").out.split())
