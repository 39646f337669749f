import sys
from pathlib import Path

import pytest

from dancematch.errors import InputError, MissingExtraError, VideoError
from dancematch.pose.comotion import CoMotion
from dancematch.pose.estimators import make_estimator
from dancematch.pose.selection import select_dancers
from pose_samples import write_clip

UNEVEN = (0, 40, 80, 300, 340, 700, 900, 1000)

DEMO = """
import shutil, sys
from pathlib import Path
video, folder = Path(sys.argv[sys.argv.index("-i") + 1]), Path(sys.argv[sys.argv.index("-o") + 1])
assert "--skip-visualization" in sys.argv
shutil.copy("tracks.pt", folder / f"{video.stem}.pt")
"""


@pytest.fixture
def checkout(tmp_path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "demo.py").write_text(DEMO)
    return folder


def write_tracks(folder: Path) -> None:
    """Save what CoMotion is to find: one person in every frame, and one in the last six."""
    torch = pytest.importorskip("torch", reason="CoMotion's files are read with torch")
    pose = torch.zeros(14, 72)
    pose[:8, 50], pose[8:, 50] = torch.linspace(0, 2, 8), torch.linspace(0, 1, 6)
    content = {"id": torch.tensor([0] * 8 + [4] * 6), "frame_idx": torch.tensor([*range(8), *range(2, 8)])}
    content |= {"pose": pose, "trans": torch.zeros(14, 3), "betas": torch.ones(14, 10)}
    torch.save(content, folder / "tracks.pt")


@pytest.fixture
def clip(tmp_path) -> Path:
    return write_clip(tmp_path / "clip.mkv", UNEVEN)


def test_comotion_is_run_and_its_tracks_are_read_on_the_video_s_clock(checkout, clip):
    """Frame numbers become the video's own times, and the livelier of two people is the first dancer."""
    write_tracks(checkout)
    told: list[float] = []
    tracks = CoMotion(checkout=checkout, python=sys.executable).tracks(clip, on_frame=told.append)
    first, second = select_dancers(tracks).dancers

    assert [stamp / 1000 for stamp in UNEVEN] == pytest.approx(first.times.tolist())
    assert [stamp / 1000 for stamp in UNEVEN[2:]] == pytest.approx(second.times.tolist())
    assert (first.dancer, second.dancer, first.skeleton.name) == (1, 2, "smpl24")
    assert pytest.approx(second.motion().start) == 0.08
    assert told == [0.0, 1.0]


def test_the_environment_names_the_checkout(checkout, monkeypatch):
    monkeypatch.setenv("DANCEMATCH_COMOTION", str(checkout))

    assert CoMotion().name == "comotion"


def test_a_run_that_writes_nothing_gives_no_track(checkout, clip):
    (checkout / "demo.py").write_text("")

    assert CoMotion(checkout=checkout, python=sys.executable).tracks(clip) == []


def test_a_missing_part_is_named(checkout, clip, tmp_path, monkeypatch):
    monkeypatch.delenv("DANCEMATCH_COMOTION", raising=False)
    with pytest.raises(MissingExtraError, match="let DANCEMATCH_COMOTION name"):
        CoMotion()
    with pytest.raises(MissingExtraError, match=r"no demo\.py"):
        CoMotion(checkout=tmp_path)
    with pytest.raises(MissingExtraError, match="cannot be started"):
        CoMotion(checkout=checkout, python=tmp_path / "no_python").tracks(clip)


def test_a_failing_run_is_reported_with_its_last_line(checkout, clip):
    (checkout / "demo.py").write_text("raise SystemExit('no SMPL file here')")
    with pytest.raises(MissingExtraError, match="no SMPL file here"):
        CoMotion(checkout=checkout, python=sys.executable).tracks(clip)


def test_a_file_that_is_no_video_starts_nothing(checkout, tmp_path):
    (tmp_path / "text.mp4").write_text("hello")
    with pytest.raises(VideoError):
        CoMotion(checkout=checkout, python="never-started").tracks(tmp_path / "text.mp4")


def test_an_estimator_without_weights_refuses_them(tmp_path):
    with pytest.raises(InputError, match="takes no weights"):
        make_estimator("comotion", tmp_path)
