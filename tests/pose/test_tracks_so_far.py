"""What BlazePose tells of a clip that it is still reading."""

import pytest

from dancematch.pose.blazepose import BlazePose, estimator
from pose_samples import Person, Stage, write_clip


@pytest.fixture
def network(monkeypatch):
    """BlazePose; the same person stands in every picture."""
    monkeypatch.setattr(estimator, "load_weights", lambda _: {})
    made = BlazePose()
    made._networks = Stage(Person(lambda _: (32, 24), size=40))
    return made


def test_a_long_clip_is_told_in_few_parts(network, tmp_path):
    """After 4 s, then for half as much more, not just before the end; the last is all of it."""
    clip = write_clip(tmp_path / "clip.mp4", range(0, 25_000, 500))
    *parts, whole = network.tracks_so_far(clip)
    (plain,) = network.tracks(clip)

    assert [4.0, 6.0, 9.0, 13.5] == pytest.approx([part.seconds for part in parts])
    assert [False] * 4 + [True] == [one.complete for one in (*parts, whole)]
    assert [9, 13, 19, 28, 50] == [len(one.tracks[0].times) for one in (*parts, whole)]
    assert plain.times.tolist() == whole.tracks[0].times.tolist()
    assert (plain.world == whole.tracks[0].world).all()


def test_what_is_not_wanted_any_more_is_not_read(network, tmp_path):
    """The file is left when the iterator is closed."""
    shares: list[float] = []
    parts = network.tracks_so_far(
        write_clip(tmp_path / "clip.mp4", range(0, 25_000, 500)), on_frame=shares.append
    )
    next(parts)
    parts.close()

    assert shares[-1] < 0.2
