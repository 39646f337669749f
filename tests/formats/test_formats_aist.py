import os
import pickle
import pickletools

import numpy as np
import pytest

from dancematch import formats
from dancematch.errors import FormatError
from dancematch.skeletons import COCO17, SMPL24
from formats_samples import coco_joints, write_aist


class Call:
    """Pickles as a call of `function` with `arguments`."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f8"])
def test_centimetres_become_metres(tmp_path, protocol, dtype):
    """Every protocol and precision gives the same dancer, in metres, 60 frames per second."""
    path = tmp_path / "gBR.pkl"
    path.write_bytes(pickle.dumps({"keypoints3d_optim": (coco_joints() * 100).astype(dtype)}, protocol))
    (motion,) = formats.read(path)

    assert (motion.skeleton, motion.fps) == (COCO17, 60.0)
    np.testing.assert_allclose(coco_joints(), motion.joints, atol=2e-3 if dtype == "<f2" else 1e-6)


def test_fortran_order_is_honoured(tmp_path):
    write_aist(tmp_path / "a.pkl", keypoints3d_optim=np.asfortranarray(coco_joints() * 100))

    np.testing.assert_allclose(coco_joints(), formats.read(tmp_path / "a.pkl")[0].joints, atol=1e-6)


def test_numpy_1_and_python_2_names_are_known(tmp_path):
    """A pickle by Python 2 and numpy 1 has byte strings and other module names, and is read."""
    array = np.arange(51, dtype="<f8").reshape(1, 17, 3)
    raw = array.tobytes()
    text = b"".join(
        [
            b"\x80\x02}U\x0bkeypoints3dcnumpy.core.multiarray\n_reconstruct\n",
            b"cnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01K\x01K\x11K\x03\x87cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R",
            b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89",
            b"T" + len(raw).to_bytes(4, "little") + raw + b"tbs.",
        ]
    )
    np.testing.assert_array_equal(array, pickle.loads(text, encoding="latin1")["keypoints3d"])  # noqa: S301
    (tmp_path / "a.pkl").write_bytes(text)

    np.testing.assert_allclose(array / 100, formats.read(tmp_path / "a.pkl")[0].joints, rtol=1e-6)


def test_optimised_keypoints_are_preferred(tmp_path):
    write_aist(tmp_path / "a.pkl", keypoints3d=coco_joints() * 0)

    assert np.ptp(formats.read(tmp_path / "a.pkl")[0].joints[..., 1]) > 1.5


def test_smpl_motion_stands_upright_in_metres(tmp_path):
    """An AIST++ SMPL pickle at rest is a person of natural height whose left is at +x."""
    arrays = {
        "smpl_poses": np.zeros((5, 72)),
        "smpl_trans": np.tile([0.0, 90.0, 0.0], (5, 1)),
        "smpl_scaling": np.array([95.0]),
        "smpl_loss": 0.3,
    }
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(arrays))
    (motion,) = formats.read(tmp_path / "a.pkl")
    height = motion.joints[0, SMPL24.index("head"), 1] - motion.joints[0, SMPL24.index("left_foot"), 1]

    assert (motion.skeleton, motion.fps) == (SMPL24, 60.0)
    assert 1.3 < height < 1.7
    assert motion.joints[0, SMPL24.index("left_hip"), 0] > motion.joints[0, SMPL24.index("right_hip"), 0]


@pytest.mark.parametrize(
    "trap",
    [
        lambda mark: Call(os.system, f"touch {mark}"),
        lambda mark: Call(eval, f"open({str(mark)!r}, 'w')"),
        lambda mark: {"keypoints3d": Call(exec, f"open({str(mark)!r}, 'w')")},
        lambda mark: {"keypoints3d": np.array([Call(open, str(mark), "w")], dtype=object)},
        lambda mark: {"keypoints3d": Call(getattr, Call(__import__, "os"), "system"), "b": str(mark)},
        lambda mark: {Call(os.mkdir, str(mark)): 1},
        lambda _: {"keypoints3d": Call(bytes.__class__, "x", (), {})},
    ],
)
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_nothing_in_a_malicious_pickle_runs(tmp_path, trap, protocol):
    """Whatever a pickle wants to call, nothing is called and the file is refused."""
    mark = tmp_path / "ran"
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(trap(mark), protocol))
    with pytest.raises(FormatError, match=r"a\.pkl.*only dictionaries of plain numpy arrays"):
        formats.read(tmp_path / "a.pkl")

    assert not mark.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02)" + b"2\x86" * 60 + b"}q\x00h\x00N\x86.",  # DUP doubles a tuple sixty times
        b"\x80\x04}\x96" + (1 << 40).to_bytes(8, "little") + b"x.",  # a terabyte of bytes announced
        b"\x80\x02}r\xff\xff\xff\xff.",  # a note at place four billion
        b"\x80\x02" + b"(" * 50_000 + b".",
        b"\x80\x02\x8c\x02a\n\x8c\x01b\x93.",  # a name with a line break
        b"\x80\x02R.",
        b"\x80\x02\x87.",
        b"\x80\x02K\x01K\x02s.",
        pickle.dumps([1, 2]),
        pickle.dumps({"keypoints3d": "text"}),
        pickle.dumps({"other": np.zeros(3)}),
    ],
)
def test_senseless_pickles_are_refused_at_once(tmp_path, content):
    (tmp_path / "a.pkl").write_bytes(content)
    with pytest.raises(FormatError, match=r"a\.pkl[^\n]*\Z"):
        formats.read(tmp_path / "a.pkl")


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 17, 3)),
        np.zeros((4, 16, 3)),
        np.full((4, 17, 3), np.nan),
        np.full((4, 17, 3), np.inf),
        np.full((4, 17, 3), 1e300),
        np.array(["a"]),
        np.zeros((4, 17, 3), complex),
    ],
    ids=["no frames", "16 joints", "unseen", "infinite", "enormous", "text", "complex"],
)
def test_unusable_keypoints_are_refused(tmp_path, array):
    write_aist(tmp_path / "a.pkl", keypoints3d_optim=array)
    with pytest.raises(FormatError, match=r"a\.pkl: "):
        formats.read(tmp_path / "a.pkl")


def test_a_size_that_does_not_fit_the_bytes_is_refused(tmp_path):
    """An array whose shape claims more than its bytes is refused, not allocated."""
    content = pickle.dumps({"keypoints3d": np.zeros((2, 17, 3))}, 2)
    assert content.count(b"K\x02K\x11K\x03") == 1
    (tmp_path / "a.pkl").write_bytes(content.replace(b"K\x02K\x11K\x03", b"J\xff\xff\xff\x7fK\x11K\x03"))
    assert any(op.name == "BININT" for op, _, _ in pickletools.genops((tmp_path / "a.pkl").read_bytes()))
    with pytest.raises(FormatError, match="an array has at most 8 dimensions"):
        formats.read(tmp_path / "a.pkl")


def test_unseen_keypoints_stay_unseen(tmp_path):
    joints = coco_joints() * 100
    joints[3, 5] = np.nan
    write_aist(tmp_path / "a.pkl", keypoints3d_optim=joints)
    (motion,) = formats.read(tmp_path / "a.pkl")

    assert np.isnan(motion.joints[3, 5]).all()
    assert motion.visibility[3, 5] == 0
    assert motion.visibility.sum() == 12 * 17 - 1
