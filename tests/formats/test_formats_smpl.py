import builtins
import sys

import numpy as np
import pytest

from dancematch import formats
from dancematch.errors import FormatError, MissingExtraError
from dancematch.skeletons import SMPL24
from formats_samples import write_amass, write_comotion


def place(motion, joint, frame=0):
    return motion.joints[frame, SMPL24.index(joint)]


def upright_in_z(frames=10, width=156):
    """Poses that stand upright where z is up: SMPL's own y up, turned a quarter about x."""
    poses = np.zeros((frames, width))
    poses[:, 0] = np.pi / 2
    return poses


@pytest.mark.parametrize("width", [66, 72, 156, 165])
def test_amass_is_turned_y_up(tmp_path, width):
    """A body standing along z in the file stands along y here, facing +z, left at +x."""
    write_amass(tmp_path / "a.npz", poses=upright_in_z(width=width))
    (motion,) = formats.read(tmp_path / "a.npz")

    assert (motion.skeleton, motion.fps) == (SMPL24, 120.0)
    assert 1.4 < place(motion, "head")[1] - place(motion, "left_foot")[1] < 1.7
    assert place(motion, "left_wrist")[0] > 0.5 > -0.5 > place(motion, "right_wrist")[0]
    assert place(motion, "left_foot")[2] > place(motion, "left_ankle")[2]


def test_an_elbow_bends_by_its_angle(tmp_path):
    """A quarter turn of one elbow moves its wrist and hand and nothing else."""
    poses = upright_in_z(2)
    poses[1, 3 * SMPL24.index("left_elbow") + 1] = -np.pi / 2
    write_amass(tmp_path / "a.npz", poses=poses, trans=np.zeros((2, 3)))
    (motion,) = formats.read(tmp_path / "a.npz")
    moved = np.linalg.norm(motion.joints[1] - motion.joints[0], axis=-1) > 1e-4
    upper = place(motion, "left_elbow", 1) - place(motion, "left_shoulder", 1)
    lower = place(motion, "left_wrist", 1) - place(motion, "left_elbow", 1)

    assert {SMPL24.joints[i] for i in np.flatnonzero(moved)} == {"left_wrist", "left_hand"}
    assert lower[2] > 0.2
    assert abs(upper @ lower) < 0.02


def test_the_translation_moves_the_body(tmp_path):
    """One metre up (z) in the file is one metre up (y) here."""
    write_amass(tmp_path / "a.npz", poses=upright_in_z(2), trans=np.array([[0, 0, 0], [0, 0, 1.0]]))
    (motion,) = formats.read(tmp_path / "a.npz")

    np.testing.assert_allclose(motion.joints[1] - motion.joints[0], np.tile([0, 1, 0], (24, 1)), atol=1e-6)


@pytest.mark.parametrize("name", ["mocap_framerate", "mocap_frame_rate"])
def test_both_spellings_of_the_rate_are_known(tmp_path, name):
    np.savez(tmp_path / "a.npz", poses=np.zeros((2, 72)), trans=np.zeros((2, 3)), **{name: 59.94})

    assert formats.read(tmp_path / "a.npz")[0].fps == pytest.approx(59.94)


def test_without_a_rate_it_is_the_given_one(tmp_path):
    np.savez(tmp_path / "a.npz", poses=np.zeros((2, 72)), trans=np.zeros((2, 3)))

    assert [m.fps for m in formats.read(tmp_path / "a.npz")] == [30]
    assert [m.fps for m in formats.read(tmp_path / "a.npz", fps=50)] == [50]


@pytest.mark.parametrize(
    "changes",
    [
        {"poses": np.zeros((10, 70))},
        {"poses": np.zeros((0, 72)), "trans": np.zeros((0, 3))},
        {"poses": np.full((10, 72), np.nan)},
        {"poses": np.array(["a"])},
        {"trans": np.zeros((9, 3))},
        {"trans": np.full((10, 3), 1e300)},
        {"mocap_framerate": np.array(0.0)},
        {"mocap_framerate": np.zeros(3)},
        {"mocap_framerate": np.array("fast")},
    ],
)
def test_unusable_poses_are_refused(tmp_path, changes):
    write_amass(tmp_path / "a.npz", **changes)
    with pytest.raises(FormatError, match=r"a\.npz"):
        formats.read(tmp_path / "a.npz")


def test_comotion_tracks_are_dancers(tmp_path):
    """Each id is a dancer on the video's clock; frames without it are unseen, padding is left out."""
    write_comotion(tmp_path / "a.pt")
    first, second = formats.read(tmp_path / "a.pt", fps=10)

    assert (len(first.joints), first.start, first.fps) == (6, 0.0, 10.0)
    assert (len(second.joints), second.start) == (2, 0.2)
    assert first.visibility[:, 0].tolist() == [1, 1, 1, 0, 1, 1]
    assert place(first, "head")[1] > place(first, "left_ankle")[1]
    assert place(first, "pelvis")[2] < -3.5


@pytest.mark.parametrize(
    "changes",
    [{"pose": None}, {"id": 3}, {"trans": "x"}, {"frame_idx": [0, 1]}, {"betas": {}}, {"pose": "big"}],
)
def test_comotion_files_of_another_shape_are_refused(tmp_path, changes):
    torch = pytest.importorskip("torch")
    if changes == {"pose": "big"}:
        changes = {"pose": torch.zeros(1).expand(10**9, 72), "id": torch.zeros(1).expand(10**9)}
    write_comotion(tmp_path / "a.pt", **changes)
    with pytest.raises(FormatError, match=r"a\.pt"):
        formats.read(tmp_path / "a.pt")


def test_nothing_in_a_malicious_pt_runs(tmp_path):
    class Trap:
        def __reduce__(self):
            return open, (str(tmp_path / "ran"), "w")

    write_comotion(tmp_path / "a.pt", id=Trap())
    with pytest.raises(FormatError, match=r"a\.pt"):
        formats.read(tmp_path / "a.pt")

    assert not (tmp_path / "ran").exists()


def test_without_torch_the_remedy_is_said(tmp_path, monkeypatch):
    (tmp_path / "a.pt").write_bytes(b"x")
    ordinary = builtins.__import__

    def without_torch(name, *arguments, **options):
        if name == "torch":
            raise ImportError(name)
        return ordinary(name, *arguments, **options)

    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_torch)
    with pytest.raises(MissingExtraError, match=r"pip install 'dancematch\[train\]'"):
        formats.read(tmp_path / "a.pt")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_pt_is_refused(tmp_path, share):
    write_comotion(tmp_path / "a.pt")
    whole = (tmp_path / "a.pt").read_bytes()
    (tmp_path / "a.pt").write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(FormatError, match=r"a\.pt"):
        formats.read(tmp_path / "a.pt")
