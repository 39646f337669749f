"""What BlazePose tells of a clip that it is still reading."""

import threading

import pytest

from dancematch.pose.blazepose import BlazePose, estimator
from pose_samples import Person, Stage, write_clip


@pytest.fixture(params=[1, 2])
def network(request, monkeypatch):
    """BlazePose, with and without a decoding thread; the same person stands in every picture."""
    monkeypatch.setattr(estimator, "load_weights", lambda _: {})
    made = BlazePose(threads=request.param)
    made._networks = Stage(Person(lambda _: (32, 24), size=40))
    return made


def test_a_long_clip_is_told_in_few_parts(network, tmp_path):
    """After 4 s, every 2 s, from 8 s on for each quarter more; the last is all of it, as without parts."""
    clip = write_clip(tmp_path / "clip.mp4", range(0, 25_000, 500))
    *parts, whole = network.tracks_so_far(clip)
    (plain,) = network.tracks(clip)

    assert [4.0, 6.0, 8.0, 10.0, 12.5, 16.0, 20.0] == pytest.approx([part.seconds for part in parts])
    assert [False] * 7 + [True] == [one.complete for one in (*parts, whole)]
    assert [9, 13, 17, 21, 26, 33, 41, 50] == [len(one.tracks[0].times) for one in (*parts, whole)]
    assert plain.times.tolist() == whole.tracks[0].times.tolist()
    assert (plain.world == whole.tracks[0].world).all()


def test_what_is_not_wanted_any_more_is_not_read(network, tmp_path):
    """The file is left and the decoding thread ends when the iterator is closed."""
    shares: list[float] = []
    parts = network.tracks_so_far(
        write_clip(tmp_path / "clip.mp4", range(0, 25_000, 500)), on_frame=shares.append
    )
    next(parts)
    parts.close()

    assert shares[-1] < 0.2
    assert [] == [one for one in threading.enumerate() if one.name == "dancematch-decoder"]
