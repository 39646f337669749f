"""A dancer who is filmed from a side or from behind is found among dances filmed from the front."""

import numpy as np
import pytest

import dancematch as dm
from dance_samples import dance
from dancematch import formats
from dancematch.motion import face_camera, to_body15
from dancematch.types import Motion


def film_from(degrees: float, motion: Motion) -> Motion:
    angle = np.radians(degrees)
    around = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    return Motion((motion.joints @ around.T).astype(np.float32), motion.fps, motion.skeleton)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    folder = tmp_path_factory.mktemp("known")
    for number in range(5):
        formats.write(folder / f"dance{number}.npz", [face_camera(to_body15(dance(number)))])
    catalogue = dm.Catalogue(folder / "dances.db")
    for path in sorted(folder.glob("*.npz")):
        catalogue.add(path)
    return catalogue


@pytest.mark.parametrize(("degrees", "turned"), [(0, False), (60, True), (-90, True), (180, False)])
def test_the_side_that_is_filmed_does_not_matter(known, tmp_path, degrees, turned):
    """Synchrony is as high as from the front, and an explanation is of the variant that was found."""
    clip = tmp_path / "clip.npz"
    formats.write(clip, [film_from(degrees, face_camera(to_body15(dance(2, dancer=7))))])
    answer = known.search(clip)
    best = answer.candidates[0]

    assert ("dance2", "match") == (best.name, best.verdict)
    assert turned == best.turned
    assert best.parts["synchrony"] > 0.8
    assert turned == answer.query.variant(best).turned
