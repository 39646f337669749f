import pytest

from dancematch.training.run import loop
from training_samples import run_to_the_end, tiny_plan


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """The folder and the learner of a run without interruption, curves included."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return folder, run_to_the_end(folder, tiny_plan())


@pytest.fixture
def without_curves(monkeypatch):
    """Spares a run its picture, which takes longer to draw than the run itself."""
    monkeypatch.setattr(loop, "draw_curves", lambda _rows, _path: None)
