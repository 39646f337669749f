from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dance_samples import LEGS, dance, standing, without, write_dance
from dancematch.errors import InputError
from dancematch.motion import change_tempo, excerpt, mirror, perturb
from dancematch.training.data.batches import BatchSampler, TrainingSet, pair_with_itself, select_long_tracks
from dancematch.training.data.files import find_motion_files, shows_dancer
from dancematch.training.data.pairs import LAG_SLACK, AlignedPair, find_segment, pair_dancers, pair_views
from dancematch.training.data.sources import IndexedFile
from dancematch.training.data.tracks import TrainingTrack, make_track, make_tracks, split_tracks
from dancematch.training.recipe import TrainingRecipe
from dancematch.types import Motion

RECIPE = TrainingRecipe(batch=6, crop_frames=48)
PATCH = 4


def aist(dancer: int, number: int = 1, kind: str = "BM") -> str:
    return f"gBR_s{kind}_cAll_d{dancer:02}_mBR0_ch{number:02}"


def counting(frames: int = 200, name: str = "count") -> TrainingTrack:
    """Every coordinate is the frame's number: what a reading shows says when it was."""
    joints = np.broadcast_to(np.arange(frames, dtype=np.float32)[:, None, None], (frames, 16, 3))
    return TrainingTrack(name, joints, name)


def farthest(found: AlignedPair) -> float:
    """How many frames a match is from where the two lengths put it, at the most but for a twentieth."""
    tempo = len(found.second.joints) / len(found.first.joints)
    return float(np.quantile(np.abs(found.frames[:, 0] * tempo - found.frames[:, 1]), 0.95))


def test_names_say_who_danced_what():
    basic, other = (make_track(aist(dancer), dance(1)) for dancer in (1, 2))
    own = make_track(aist(1, kind="FM"), dance(1))
    view = make_track(f"view_{aist(1)}", dance(1))
    plain = make_track("waltz", dance(1))

    assert "BR/BM/01" == basic.dance == other.dance == view.dance
    assert ("BR01", "BR02", None, None) == (basic.dancer, other.dancer, own.dancer, plain.dancer)
    assert (aist(1, kind="FM"), "waltz") == (own.dance, plain.dance)
    assert (aist(1), None) == (view.view_of, basic.view_of)


def test_every_dancer_of_a_file_is_a_clip():
    assert ["duet", "duet#2"] == [clip.name for clip in make_tracks(Path("duet.npz"), [dance(1), dance(2)])]


def test_genres_are_left_out_with_their_views(tmp_path):
    for name in ("view_gPO_sBM_cAll_d04_mPO0_ch01", "view_gBR_sBM_cAll_d04_mBR0_ch01", "waltz"):
        write_dance(tmp_path / f"{name}.npz", 1)
    kept = find_motion_files([tmp_path], without_genres=["PO"])

    assert ["view_gBR_sBM_cAll_d04_mBR0_ch01", "waltz"] == [path.stem for path in kept]
    (tmp_path / "waltz.npz").unlink()
    with pytest.raises(InputError, match="of the genres left out, BR, PO"):
        find_motion_files([tmp_path], without_genres=["BR", "PO"])


@pytest.mark.parametrize("factor", [0.85, 1.0, 1.2])
def test_two_dancers_are_aligned(factor):
    """Another body and another tempo: matched frames show the same moment to a fifth of a second."""
    first = make_track(aist(1), dance(5, 1))
    second = make_track(aist(2), change_tempo(dance(5, 2), factor))
    (found,) = pair_dancers([first, second])

    assert not found.mirrored
    assert (0, 0) == tuple(found.frames[0])
    assert (np.diff(found.frames, axis=0) >= 0).all()
    assert farthest(found) < 6


def test_a_dancer_who_mirrors_the_other_is_found():
    pair = [make_track(aist(1), mirror(dance(5, 1))), make_track(aist(2), dance(5, 2))]
    (found,) = pair_dancers(pair)

    assert found.mirrored
    assert farthest(found) < 6


def test_only_other_dancers_of_the_same_choreography_pair():
    names = [aist(1, 1), aist(1, 1), aist(2, 1), aist(2, 2), aist(3, 1, "FM"), f"view_{aist(3)}", "waltz"]
    shares: list[float] = []
    found = pair_dancers([make_track(name, dance(1)) for name in names], shares.append)

    assert [(aist(1), aist(2))] * 2 == [(pair.first.name, pair.second.name) for pair in found]
    assert [0.5, 1.0] == shares
    assert [] == pair_dancers([make_track("waltz", dance(1))])


def view_of(name: str, motion: Motion, first: int, frames: int = 90) -> TrainingTrack:
    """What an unsure estimator sees of a stretch."""
    part = excerpt(motion, first / motion.fps, (first + frames) / motion.fps)
    return make_track(f"view_{name}", perturb(perturb(part, "noise"), "drift"))


@pytest.mark.parametrize("first", [0, 31, 90])
def test_a_view_is_found_in_its_source(first):
    source = make_track("waltz", dance(3))
    (found,) = pair_views([view_of("waltz", dance(3), first), source])

    assert found.second is source
    np.testing.assert_array_equal(np.arange(90), found.frames[:, 0])
    assert abs(first - found.frames[0, 1]) <= 1
    assert {1} == set(np.diff(found.frames, axis=0).ravel())


def test_views_that_show_nothing_of_their_source_are_passed_over():
    """A view that is far off everywhere, one of which too little is seen, and one without a source."""
    source = make_track("polka", dance(3))
    view = view_of("polka", dance(3), 10)
    upside_down = TrainingTrack(view.name, -view.joints, view.dance, view_of="polka")
    hardly_seen = make_track("view_polka", without(dance(3), (*LEGS, "left_shoulder", "right_shoulder")))

    assert 10 == pytest.approx(find_segment(view.joints, source.joints), abs=1)
    assert [] == pair_views([upside_down, hardly_seen, view_of("tango", dance(3), 10), source])


def test_held_out_dances_are_never_trained_on():
    clips = [make_track(aist(dancer, number), dance(1)) for dancer in (1, 2) for number in range(1, 9)]
    learned, apart = split_tracks(clips, 0.3, seed=0)

    assert len(clips) == len(learned) + len(apart)
    assert 2 == len({clip.dance for clip in apart})
    assert not {clip.dance for clip in apart} & {clip.dance for clip in learned}
    assert apart == split_tracks(clips, 0.3, seed=0)[1]
    assert apart != split_tracks(clips, 0.3, seed=1)[1]
    with pytest.raises(InputError, match="two of them held out to measure progress, got 2"):
        split_tracks(clips[:2], 0.3, seed=0)


def shown_at(crops: np.ndarray, patches: np.ndarray) -> np.ndarray:
    """The mean time that numbered patches of counted crops show."""
    times = np.abs(crops[:, :, 5, 1])  # y: the same in a looking glass
    return times.reshape(-1, PATCH).mean(axis=1)[patches]


def test_matched_patches_show_the_same_moment():
    """At any tempo and phase a patch's match is the one nearest in the dance's own time."""
    batches = BatchSampler(TrainingSet([counting(), counting(name="other")]), RECIPE, PATCH)
    rng = np.random.default_rng(0)
    for _ in range(10):
        batch = batches.draw(rng)
        apart = shown_at(batch.first, batch.matches[:, 0]) - shown_at(batch.second, batch.matches[:, 1])
        assert len(batch.matches) > 30
        assert np.abs(apart).max() <= RECIPE.max_tempo * PATCH / 2 + 0.5
        assert np.abs(apart).max() > 0


def test_tempo_stays_within_bounds():
    batches = BatchSampler(TrainingSet([counting(400)]), RECIPE, PATCH)
    batch = batches.draw(np.random.default_rng(0))
    speeds = np.diff(batch.second[:, 10:30, 5, 1], axis=1).mean(axis=1)

    assert (speeds >= 1 / RECIPE.max_tempo - 1e-3).all()
    assert (speeds <= RECIPE.max_tempo + 1e-3).all()
    assert speeds.std() > 0.02


def test_sources_are_drawn_by_their_weights():
    """Pairs of a source come as often as its weight says, tracks with themselves as the recipe says."""
    recipe = TrainingRecipe(crop_frames=48, share_itself=0.2)
    clips = [
        replace(make_track(aist(1), dance(5, 1)), source="studio"),
        replace(make_track(aist(2), dance(5, 2)), source="studio"),
        replace(view_of(aist(1), dance(5, 1), 9), source="videos"),
    ]
    material = TrainingSet.from_tracks(clips, {"studio": 3.0, "videos": 1.0})
    batches = BatchSampler(material, recipe, PATCH)
    rng = np.random.default_rng(0)
    drawn = [batches.draw_pair(rng) for _ in range(1000)]

    for source, share in (("studio", 0.6), ("videos", 0.2)):
        assert share == pytest.approx(np.mean([pair in material.pairs[source] for pair in drawn]), abs=0.05)
    alone = BatchSampler(TrainingSet(clips), RECIPE, PATCH)
    assert all((pair := alone.draw_pair(rng)).first is pair.second for _ in range(50))


@pytest.mark.parametrize("mirrored", [False, True])
def test_two_clips_are_aligned_by_their_known_lag(mirrored):
    """One clip begins half a second later in the dance, and its dancer comes into view after a second."""
    whole = dance(5, 2)
    late = excerpt(whole, 1.5, whole.seconds)
    second = replace(late, start=1.0)
    first = mirror(dance(5, 1)) if mirrored else dance(5, 1)
    tracks = [
        *make_tracks(Path("a.npz"), [first], "phones", IndexedFile("jive", "ann", 2.0)),
        *make_tracks(Path("b.npz"), [second], "phones", IndexedFile("jive", "ben", 1.5)),
    ]
    (found,) = pair_dancers(tracks)

    assert mirrored == found.mirrored
    assert ("phones/jive", "phones") == (found.first.dance, found.first.source)
    assert np.abs(np.diff(found.frames, axis=1) + 45).max() <= LAG_SLACK


def test_dancers_of_one_file_are_paired_if_they_dance_the_same():
    """Whatever the file is called; somebody who dances something else beside them is not."""
    same = [dance(5, 1), dance(5, 2)]
    (found,) = pair_dancers(make_tracks(Path("duet.npz"), [*same, dance(8)]))

    assert ("duet", "duet#2") == (found.first.name, found.second.name)
    assert np.abs(np.diff(found.frames, axis=1)).max() <= LAG_SLACK


def test_batches_follow_their_generator():
    clips = [make_track(str(number), dance(number)) for number in range(3)]
    first, again, other = (
        BatchSampler(TrainingSet(clips), RECIPE, PATCH).draw(np.random.default_rng(seed))
        for seed in (0, 0, 1)
    )

    for one, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, same)
    assert not np.array_equal(first.first, other.first)


def test_matches_are_no_more_than_asked_and_know_their_dance():
    clips = [counting(), counting(name="other")]
    batch = BatchSampler(
        TrainingSet(clips), TrainingRecipe(batch=6, crop_frames=48, contrast_patches=20), PATCH
    ).draw(np.random.default_rng(1))

    assert (20, 2) == batch.matches.shape
    assert {0, 1} == set(batch.dances.tolist())


def test_a_clip_that_does_not_fill_a_crop_is_left_out():
    short = make_track("short", standing(20))

    assert ["count"] == [clip.name for clip in select_long_tracks([short, counting()], RECIPE)]
    with pytest.raises(InputError, match=r"no motion lasts as long as a crop, 1\.6 s"):
        BatchSampler(TrainingSet([short]), RECIPE, PATCH)


def test_a_clip_pairs_with_itself_from_end_to_end():
    assert [[0, 0], [199, 199]] == pair_with_itself(counting()).frames.tolist()


def test_a_body_without_a_pelvis_is_not_visible():
    """The canonical frame starts there: without it no joint has a place."""
    assert shows_dancer(dance(1))
    assert not shows_dancer(without(dance(1), ("pelvis", "left_hip", "right_hip")))
