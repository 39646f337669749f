import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.errors import InputError
from dancematch.skeletons import BODY15
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.synthetic.rendering.camera import Camera, CameraView, aim
from dancematch.synthetic.rendering.mannequin import Appearance, build_mannequin
from dancematch.synthetic.rendering.raster import Capsules, build_shade_table, draw_capsules
from dancematch.synthetic.rendering.renderer import (
    prepare_frames,
    project,
    render,
    render_frame,
    side_by_side,
)
from dancematch.types import Motion

SIZE = (320, 240)
RED, BLUE = 1, 2
TABLE = build_shade_table(np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1]], dtype=float))
LENS = CameraView(np.eye(3), np.zeros(3), 200.0, (200, 200))  # looks along +z of the world, y down


def dance(seconds: float = 1.0, seed: int = 3) -> Motion:
    motion = perform(compose_dance(seed, eight_counts=1), Dancer.random(seed))
    return Motion(motion.joints[: int(seconds * motion.fps)], motion.fps, motion.skeleton)


def capsules(*rows: tuple[int, tuple[float, ...], tuple[float, ...], float, float]) -> Capsules:
    """Capsules of (paint, start, end, radius, flatness), flattened along x."""
    paint, start, end, radius, flatness = zip(*rows, strict=True)
    return Capsules(
        start=np.array(start, dtype=float),
        end=np.array(end, dtype=float),
        radii=np.repeat(np.array(radius)[:, None], 2, axis=1),
        thin=np.tile([1.0, 0.0, 0.0], (len(rows), 1)),
        flatness=np.array(flatness),
        paint=np.array(paint),
    )


def picture(capsules: Capsules) -> np.ndarray:
    onto = np.zeros((200, 200, 3), dtype=np.uint8)
    draw_capsules(capsules, LENS, TABLE, onto)
    return onto


def test_a_ball_is_a_disc_of_the_right_size():
    """A ball of radius 1 m at 10 m under a focal length of 200 pixels covers 20 pixels each way."""
    seen = picture(capsules((RED, (0, 0, 10), (0, 0, 10), 1.0, 1.0)))[..., 0] > 60

    assert pytest.approx(np.pi * 20**2, rel=0.02) == seen.sum()
    assert pytest.approx((99.5, 99.5), abs=0.1) == tuple(np.argwhere(seen).mean(axis=0))


def test_a_flat_ball_is_an_ellipse():
    seen = picture(capsules((RED, (0, 0, 10), (0, 0, 10), 1.0, 0.5)))[..., 0] > 60
    down, across = np.argwhere(seen).T

    assert pytest.approx((np.ptp(across) + 1, np.ptp(down) + 1), abs=1) == (20, 40)


@pytest.mark.parametrize("end", [(0.0, 0.0, 14.0), (1.0, 0.5, 13.0), (-2.0, 0.0, 10.0)])
def test_a_bar_is_every_ball_along_it(end):
    """The closed form shows what a hundred balls along the bar show, in every direction."""
    start = np.array([0.0, 0.0, 10.0])
    steps = [tuple(start + (np.array(end) - start) * share) for share in np.linspace(0, 1, 100)]
    bar = picture(capsules((RED, (0, 0, 10), end, 1.0, 1.0))).astype(int)
    balls = picture(capsules(*((RED, step, step, 1.0, 1.0) for step in steps))).astype(int)

    assert (np.abs(bar - balls)[..., 0] > 40).mean() < 0.01


def test_what_is_nearer_hides_what_is_behind():
    near, far = (BLUE, (0, 0, 8), (0, 0, 8), 0.5, 1.0), (RED, (0, 0, 10), (0, 0, 10), 1.0, 1.0)
    for order in ((near, far), (far, near)):
        shown = picture(capsules(*order))

        assert shown[100, 100, 2] > 60 > shown[100, 100, 0]
        assert shown[100, 116, 0] > 60


def test_missing_and_hidden_bars_are_left_out():
    """An unseen joint, a bar behind the lens and one out of the picture draw nothing."""
    gone = capsules(
        (RED, (np.nan, 0, 10), (0, 0, 10), 1.0, 1.0),
        (RED, (0, 0, -5), (0, 0, -5), 1.0, 1.0),
        (RED, (90, 0, 10), (90, 0, 10), 1.0, 1.0),
    )

    assert not picture(gone).any()


def test_sides_appear_where_a_camera_sees_them():
    """From the front the dancer's left is on the picture's right; from behind on its left."""
    motion = perform(compose_dance(3, eight_counts=1))
    left, right = BODY15.index("left_shoulder"), BODY15.index("right_shoulder")
    front, back = (project(motion, Camera(azimuth=azimuth), SIZE)[0] for azimuth in (0, 180))

    assert front[left, 0] > front[right, 0]
    assert back[left, 0] < back[right, 0]
    assert front[BODY15.index("head"), 1] < front[left, 1] < front[BODY15.index("left_ankle"), 1]


@settings(max_examples=30, deadline=None)
@given(azimuth=st.floats(-360, 360), height=st.floats(0.3, 3), focal=st.floats(0.8, 3))
def test_dancers_fit_the_picture(azimuth, height, focal):
    points = project(dance(3), Camera(azimuth=azimuth, height=height, focal=focal), SIZE)

    assert points.min() > 0
    assert (points < SIZE).all()


def test_a_given_distance_is_kept():
    cloud = dance().joints
    view = aim(Camera(distance=7.0, azimuth=30), [cloud], SIZE)
    middle = (cloud.reshape(-1, 3).min(axis=0) + cloud.reshape(-1, 3).max(axis=0)) / 2

    assert pytest.approx(7.0) == float(np.linalg.norm((view.position - middle)[[0, 2]]))


@pytest.mark.parametrize("azimuth", [0, 60, 180])
def test_joints_lie_within_the_mannequin(azimuth):
    """Where the truth says a joint is, the dancer hides the room."""
    motion, camera = dance(), Camera(azimuth=azimuth)
    frames = prepare_frames(motion, appearances=[Appearance()], camera=camera, size=SIZE)
    for number in (0, 12, 25):
        changed = (frames.draw(number).astype(int) - frames.room.picture != 0).any(axis=2)
        x, y = project(motion, camera, SIZE)[number].round().astype(int).T

        assert changed[y, x].all()


def test_the_face_is_in_front():
    """Eyes and lips are seen from the front only."""
    look = Appearance(hair=(0, 1, 0), skin=(1, 0, 0), wall=(0, 0, 1), shirt=(0, 0, 1))
    motion = perform(compose_dance(3, eight_counts=1))
    shares = {}
    for azimuth in (0, 180):
        shown = render_frame(
            motion, 0, appearances=[look], camera=Camera(azimuth=azimuth), size=(640, 480)
        ).astype(int)
        x, y = project(motion, Camera(azimuth=azimuth), (640, 480))[0, BODY15.index("head")].astype(int)
        patch = shown[y - 12 : y + 12, x - 8 : x + 8]
        shares[azimuth] = (patch[..., 1] > patch[..., 0]).mean()

    assert shares[0] < 0.4 < 0.9 < shares[180]


def test_dancers_stand_on_the_floor():
    """Wherever the recording's floor was, shoes end at height 0 and a shadow touches them."""
    raised = dance()
    raised = Motion(raised.joints + np.float32(0.65) * np.array([0, 1, 0], np.float32), 30, BODY15)
    frames = prepare_frames(raised, appearances=[Appearance()], size=SIZE)
    lowest = (
        np.minimum(frames.capsules.start, frames.capsules.end)[..., 1] - frames.capsules.radii.max(axis=1)
    ).min()

    assert pytest.approx(0.0, abs=0.06) == lowest
    np.testing.assert_allclose(project(raised, size=SIZE), project(dance(), size=SIZE), atol=0.1)


def test_a_video_holds_every_frame(tmp_path):
    path, heard = tmp_path / "dance.mp4", []
    render(dance(1.0), path, size=SIZE, fps=25, on_frame=lambda done, total: heard.append((done, total)))
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        stream = container.streams.video[0]

        assert (
            stream.codec_context.name,
            stream.codec_context.pix_fmt,
            stream.average_rate,
        ) == ("h264", "yuv420p", 25)
    assert len(frames) == 25
    assert frames[0].shape == (240, 320, 3)
    assert [heard[0], heard[-1]] == [(1, 25), (25, 25)]
    assert np.abs(frames[0].astype(int) - frames[-1]).max() > 50


def test_an_existing_file_is_kept(tmp_path):
    path = tmp_path / "mine.mp4"
    path.write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        render(dance(), path)

    assert path.read_text() == "precious"


def test_a_broken_rendering_leaves_nothing(tmp_path):
    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        render(dance(), tmp_path / "half.mp4", size=SIZE, on_frame=stop)

    assert list(tmp_path.iterdir()) == []


def test_several_dancers_share_the_room():
    """Two dancers side by side are both drawn, in their own colours; the shorter clip stands still."""
    pair = side_by_side([dance(1.0, 3), dance(0.5, 4)])
    appearances = [Appearance(shirt=(1, 0, 0)), Appearance(shirt=(0, 1, 0))]
    frames = prepare_frames(pair, appearances=appearances, size=SIZE)
    shown = frames.draw(20).astype(int)
    red = (shown[..., 0] > 2 * shown[..., 1:].max(axis=2)).nonzero()[1]
    green = (shown[..., 1] > 2 * shown[..., [0, 2]].max(axis=2)).nonzero()[1]

    assert len(frames) == 30
    assert min(len(red), len(green)) > 200
    assert red.mean() + 40 < green.mean()


def test_unseen_joints_are_not_drawn():
    """A wrist that was never seen takes forearm and hand with it, and nothing else."""
    motion = dance()
    joints = motion.joints.copy()
    joints[:, BODY15.index("left_wrist")] = np.nan
    mannequin = build_mannequin(joints.astype(float), Appearance())
    missing = ~np.isfinite(mannequin.start + mannequin.end).all(axis=(0, 2))

    assert missing.sum() == 6
    assert (SIZE[1], SIZE[0], 3) == render_frame(Motion(joints, 30, BODY15), size=SIZE).shape


def test_looks_differ_by_seed_and_only_by_seed():
    assert Appearance.random(5) == Appearance.random(5)
    assert len({Appearance.random(seed) for seed in range(20)}) == 20


def test_impossible_orders_are_refused(tmp_path):
    with pytest.raises(InputError, match="no folder"):
        render(dance(), tmp_path / "missing" / "dance.mp4")
    with pytest.raises(InputError, match="fps must be 1 to 240"):
        render(dance(), tmp_path / "dance.mp4", fps=0)
    with pytest.raises(InputError, match="one of short, bob"):
        Appearance(hair_style="mohawk")
    with pytest.raises(InputError, match="at least one motion"):
        render_frame([])
    with pytest.raises(InputError, match="must be even"):
        render_frame(dance(), size=(321, 240))
    with pytest.raises(InputError, match="frames 0 to 29"):
        render_frame(dance(), 30, size=SIZE)
    with pytest.raises(InputError, match="focal and distance above 0"):
        Camera(distance=-1)
    with pytest.raises(InputError, match="nothing to film"):
        render_frame(Motion(np.full((5, 15, 3), np.nan), 30, BODY15))
