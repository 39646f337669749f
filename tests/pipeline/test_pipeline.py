import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dance_samples import LEGS, Puppet, dance, standing, without, write_dance, write_puppets
from dancematch import formats
from dancematch.errors import DanceExistsError, DanceMatchError, InputError, NoDancerError
from dancematch.formats import npz
from dancematch.pipeline.analysis.analyse_files import analyse_files
from dancematch.pipeline.analysis.clip_files import content_hash, find_clips
from dancematch.pipeline.analysis.extract import extract
from dancematch.pipeline.analysis.file_analysis import Analysis, analyse_file, extract_motions
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.pipeline.ingest import Added
from dancematch.pipeline.recording_plan import RecordingPlan
from dancematch.pose.track import Track
from dancematch.skeletons import BODY15
from dancematch.types import Motion

DANCEMATCH = str(Path(sys.executable).with_name("dancematch"))


def same_motion(motion, other) -> bool:
    return np.array_equal(motion.joints, other.joints) and motion.start == other.start


def stories(outcomes: list[Analysis]) -> list[tuple[str, str]]:
    """Each file's name, and what came of it."""
    return [(o.path.stem, type(o.error).__name__ if o.error else f"{len(o.motions)}") for o in outcomes]


def openpose_folder(folder: Path, frames: int = 12) -> Path:
    """Frames of somebody whose whole body sways a little."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    body = rng.uniform(100, 300, (25, 2))
    for number in range(frames):
        points = np.concatenate([body + number, np.ones((25, 1))], axis=1)
        people = [{"pose_keypoints_2d": points.ravel().tolist()}]
        (folder / f"clip_{number:012}_keypoints.json").write_text(json.dumps({"people": people}))
    return folder


def test_a_motion_file_needs_no_estimator(tmp_path):
    path = write_dance(tmp_path / "a.npz", 1)
    (found,) = extract_motions(path)

    assert same_motion(dance(1), found)


def test_a_video_goes_through_the_estimator(tmp_path):
    (path,) = write_puppets(tmp_path, clip=2)
    told: list[float] = []
    (found,) = extract_motions(path, estimator=Puppet(), on_progress=told.append)

    np.testing.assert_allclose(dance(2).joints, found.joints, atol=1e-5)
    assert [0.5] == told


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.mp4 does not exist"):
        extract_motions(tmp_path / "gone.mp4", estimator=Puppet())


def test_folders_are_searched_for_clips(tmp_path):
    """Videos and motion files at any depth, by name; other files are left out, and nothing comes twice."""
    (tmp_path / "notes.txt").write_text("not a clip")
    deep = write_dance(tmp_path / "deep" / "er" / "b.NPZ".lower(), 1)
    videos = write_puppets(tmp_path, c=1, a=1)

    assert [videos[1], videos[0], deep] == find_clips([tmp_path, deep])
    assert [tmp_path / "notes.txt"] == find_clips([tmp_path / "notes.txt"])  # whoever names it means it


def test_a_folder_of_frames_is_one_clip(tmp_path):
    frames = openpose_folder(tmp_path / "shoot" / "take1")
    video = write_puppets(tmp_path / "shoot", zumba=1)[0]

    assert [frames, video] == find_clips([tmp_path])
    assert [frames] == find_clips([frames])
    assert ["1"] == [story for _, story in stories(list(analyse_files([frames])))]


def test_places_without_a_clip_are_named(tmp_path):
    with pytest.raises(InputError, match="there is no video or motion file in"):
        find_clips([tmp_path])
    with pytest.raises(InputError, match="does not exist"):
        find_clips([tmp_path / "gone"])


def test_equal_content_has_an_equal_name_only_then(tmp_path):
    one, two, three = write_puppets(tmp_path, one=1, two=1, three=3)
    frames, twins = openpose_folder(tmp_path / "f"), openpose_folder(tmp_path / "g")
    before = content_hash(frames)
    next(frames.glob("*.json")).write_text("{}")

    assert content_hash(one) == content_hash(two) != content_hash(three)
    assert before == content_hash(twins) != content_hash(frames)
    with pytest.raises(InputError, match="does not exist"):
        content_hash(tmp_path / "gone")


@pytest.mark.parametrize("jobs", [1, 2])
def test_many_files_keep_their_order_and_a_bad_one_spoils_only_itself(tmp_path, jobs):
    paths = write_puppets(tmp_path, d=3, c="nobody", b=1, a=2)
    paths.insert(1, tmp_path / "bad.npz")
    paths[1].write_bytes(b"garbage")
    told: list[float] = []
    found = list(analyse_files(paths, jobs=jobs, make_estimator=Puppet, on_progress=told.append))

    assert [
        ("d", "1"), ("bad", "FormatError"), ("c", "NoDancerError"), ("b", "1"), ("a", "1"),
    ] == stories(found)  # fmt: skip
    np.testing.assert_allclose(dance(2).joints, found[-1].motions[0].joints, atol=1e-5)
    assert not found[-1].motions[0].joints.flags.writeable
    assert 1.0 == told[-1]
    assert all(0 <= share <= 1 for share in told)


def test_a_killed_worker_spoils_only_its_file(tmp_path):
    """The system ends a process for lack of memory: an error for that file, no hang, the others go on."""
    paths = write_puppets(tmp_path, a=1, b="deadly", c=2)
    found = list(analyse_files(paths, jobs=2, make_estimator=Puppet))

    assert [("a", "1"), ("b", "InputError"), ("c", "1")] == stories(found)
    assert "the process that read" in str(found[1].error)


def test_closing_the_iterator_ends_the_work(tmp_path):
    """Files that would never end are left in the middle, and those that wait are never begun."""
    paths = write_puppets(tmp_path, first=1, **{f"v{number}": "endless" for number in range(40)})
    analyses = analyse_files(paths, jobs=2, make_estimator=Puppet)
    assert next(analyses).error is None
    analyses.close()

    assert [] == list(analyses)


@pytest.mark.parametrize("paths", [[], ["a"]])
def test_jobs_must_be_a_number_of_processes(paths):
    with pytest.raises(InputError, match="jobs must be 1 or more, got 0"):
        list(analyse_files(paths, jobs=0))


def test_nothing_to_do_is_done():
    assert [] == list(analyse_files([], jobs=2))


def test_extract_writes_what_was_seen(tmp_path):
    (path,) = write_puppets(tmp_path / "in", clip=1)
    ((outcome, target),) = extract([path], tmp_path / "out", make_estimator=Puppet)
    (read,) = formats.read(target)

    assert tmp_path / "out" / "clip.npz" == target
    assert same_motion(outcome.motions[0], read)
    assert {"name": "clip.mp4", "sha256": content_hash(path)} == npz.read_source(target)


def test_extract_goes_on_where_it_stopped(tmp_path):
    """A clip whose file is there is not looked at again, and its file is not touched."""
    first, second = write_puppets(tmp_path / "in", a=1, b=2)
    list(extract([first], tmp_path / "out", make_estimator=Puppet))
    stamp = (tmp_path / "out" / "a.npz").stat().st_mtime_ns
    looked_at: list[Path] = []

    class Watched(Puppet):
        def tracks(self, path, *, on_frame=None):
            looked_at.append(path)
            return super().tracks(path, on_frame=on_frame)

    found = list(extract([tmp_path / "in"], tmp_path / "out", make_estimator=Watched))

    assert [second] == looked_at
    assert [("a", "1"), ("b", "1")] == stories([outcome for outcome, _ in found])
    assert stamp == (tmp_path / "out" / "a.npz").stat().st_mtime_ns


def test_extract_counts_the_clips_that_give_nothing(tmp_path):
    paths = write_puppets(tmp_path / "in", a="nobody", b=2)
    found = list(extract(paths, tmp_path / "out", make_estimator=Puppet))

    assert [None, tmp_path / "out" / "b.npz"] == [target for _, target in found]
    assert isinstance(found[0][0].error, NoDancerError)
    assert ["b.npz"] == [path.name for path in (tmp_path / "out").iterdir()]


@pytest.mark.parametrize("foreign", ["another clip's", "garbage"])
def test_extract_overwrites_nothing(tmp_path, foreign):
    (path,) = write_puppets(tmp_path / "in", a=1)
    target = tmp_path / "out" / "a.npz"
    target.parent.mkdir()
    target.write_bytes(b"garbage") if foreign == "garbage" else write_dance(target, 5)
    before = target.read_bytes()
    ((outcome, written),) = extract([path], tmp_path / "out", make_estimator=Puppet)

    assert isinstance(outcome.error, InputError)
    assert "a.npz" in str(outcome.error)
    assert (None, before) == (written, target.read_bytes())


def test_a_folder_may_be_extracted_into_itself_twice(tmp_path):
    """What was written last time is not a clip of this time."""
    write_puppets(tmp_path, a=1, b=2)
    for _ in range(2):
        found = list(extract([tmp_path], tmp_path / "out", make_estimator=Puppet))

        assert ["a.npz", "b.npz"] == [target.name for _, target in found]


def test_clips_of_one_name_have_that_of_their_folder(tmp_path):
    """As in a folder of dances with a folder each."""
    clips = write_puppets(tmp_path / "x", a=1, b=3) + write_puppets(tmp_path / "y", a=2)
    found = list(extract(clips, tmp_path / "out", make_estimator=Puppet))

    assert ["x-a.npz", "b.npz", "y-a.npz"] == [target.name for _, target in found]


def test_two_clips_of_one_name_are_refused_before_any_work(tmp_path):
    one, two = write_puppets(tmp_path / "x" / "z", a=1) + write_puppets(tmp_path / "y" / "z", a=2)
    with pytest.raises(InputError, match="would both be written to"):
        list(extract([one, two], tmp_path / "out", make_estimator=Puppet))

    assert not (tmp_path / "out").exists()


def test_a_file_is_no_folder_to_extract_to(tmp_path):
    (path,) = write_puppets(tmp_path, a=1)
    with pytest.raises(InputError, match="choose another"):
        list(extract([path], path, make_estimator=Puppet))


def test_an_interrupted_extract_loses_nothing(tmp_path):
    """Ctrl-C in the middle: the finished files are whole, and the same command does the rest only."""
    (tmp_path / "in").mkdir()
    formats.write(tmp_path / "in" / "c00.bvh", [dance(1, eight_counts=16)])
    for number in range(1, 14):
        shutil.copy(tmp_path / "in" / "c00.bvh", tmp_path / "in" / f"c{number:02}.bvh")
    out = tmp_path / "out"
    command = [DANCEMATCH, "extract", str(tmp_path / "in"), "-o", str(out), "--jobs", "2"]
    running = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Tests in the background ignore Ctrl-C, which would be inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while running.poll() is None and len(list(out.glob("*.npz"))) < 3:
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)  # a terminal tells the whole group
    _, complaints = running.communicate(timeout=180)
    finished = {path.name: path.stat().st_mtime_ns for path in out.glob("*.npz")}

    assert 1 == running.returncode, complaints
    assert 3 <= len(finished) < 14
    assert "Traceback" not in complaints
    assert all(formats.read(out / name) for name in finished)
    subprocess.run(command, check=True, capture_output=True)
    assert [f"c{number:02}.npz" for number in range(14)] == sorted(path.name for path in out.iterdir())
    assert finished == {name: (out / name).stat().st_mtime_ns for name in finished}


@pytest.fixture
def known(tmp_path):
    with Catalogue(tmp_path / "dances.db", make_estimator=Puppet) as catalogue:
        yield catalogue


def told(results: list[Added]) -> list[tuple[str, str]]:
    """Each file's name, and what became of it."""
    return [
        (a.path.name, type(a.error).__name__ if a.error else "skipped" if a.skipped else "added")
        for a in results
    ]


def test_a_dance_is_added_once_whatever_its_name(tmp_path, known):
    one, twin = write_puppets(tmp_path, one=1, twin=1)
    first, second = known.add(one, labels=["pop"]), known.add(twin)

    assert (False, "one", 1) == (first.skipped, first.dance, first.dancers)
    assert (True, "one") == (second.skipped, second.dance)
    assert [("one", ("pop",), 1)] == [(d.name, d.labels, d.recordings) for d in known.dances()]
    assert [("one", "one.mp4")] == [(r.dance, r.file) for r in known.recordings()]


def test_many_are_added_and_each_is_told_of(tmp_path, known):
    """Known content is skipped, content that comes twice is added once, bad files are told and counted."""
    known.add(write_puppets(tmp_path, known=1)[0])
    write_puppets(tmp_path / "in", again=1, new=2, twin=2, nobody="nobody")
    (tmp_path / "in" / "bad.bvh").write_bytes(b"garbage")
    results = list(known.add_many([tmp_path / "in"]))

    assert [
        ("again.mp4", "skipped"), ("bad.bvh", "FormatError"), ("new.mp4", "added"),
        ("nobody.mp4", "NoDancerError"), ("twin.mp4", "skipped"),
    ] == sorted(told(results))  # fmt: skip
    assert {"known", "new"} == {r.dance for r in results if r.skipped}
    assert ["known", "new"] == [d.name for d in known.dances()]


def test_two_clips_of_one_name_cannot_both_be_added(tmp_path, known):
    one, two = write_puppets(tmp_path / "x", a=1) + write_puppets(tmp_path / "y", a=2)

    assert ["added", "DanceExistsError"] == sorted(
        (story for _, story in told(list(known.add_many([one, two])))), reverse=True
    )
    with pytest.raises(
        DanceExistsError,
        match=r"'a' is already the name .* another recording of that dance, say so \(--dance 'a'\)",
    ):
        known.add(two)
    assert "b" == known.add(two, dance="b").dance


def test_a_file_name_may_be_any_bytes(tmp_path, known):
    """Linux allows names that are no text: such a dance is added under a readable one."""
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.mp4"))
    odd.write_text("1")
    known.add(odd)

    assert ["caf\ufffd"] == [d.name for d in known.dances()]


@pytest.mark.parametrize(("frames", "fps"), [(1, 5.0), (2, 12.0), (3, 30.0)])
def test_a_clip_too_short_for_a_word_is_refused(tmp_path, known, frames, fps):
    """Two frames at 12 a second say they last 0.17 s, but show only 0.08 s of movement."""
    path = tmp_path / "short.npz"
    formats.write(path, [standing(frames, fps)])
    with pytest.raises(NoDancerError, match="long enough to give a single word"):
        known.add(path)
    with pytest.raises(DanceMatchError):
        known.search(path)


def test_a_passer_by_spoils_no_dance(tmp_path, known):
    path = tmp_path / "duet.npz"
    formats.write(path, [dance(1), standing(2)])

    assert 1 == known.add(path).dancers


def test_a_dance_is_found_in_video_and_motion_alike(tmp_path, known):
    for number in range(1, 6):
        known.add(write_puppets(tmp_path, **{f"dance{number}": number})[0])
    for query in (write_dance(tmp_path / "q.npz", 3), write_puppets(tmp_path / "q", q=3)[0], dance(3)):
        best = known.search(query, limit=1).candidates
        assert ["dance3"] == [match.name for match in best]
        assert not best[0].mirrored


def test_what_is_removed_is_not_found(tmp_path, known):
    """The engine is built anew when somebody, here another process's connection, changes the catalogue."""
    for number in range(1, 4):
        known.add(write_puppets(tmp_path, **{f"dance{number}": number})[0])
    assert "dance2" == known.search(dance(2)).candidates[0].name
    with open_catalogue(tmp_path / "dances.db") as other:
        other.remove("dance2")

    assert "dance2" not in [match.name for match in known.search(dance(2)).candidates]


def test_an_empty_catalogue_knows_nothing(known):
    assert [] == known.search(dance(1)).candidates


def test_skeletons_are_kept(tmp_path, known):
    known.add(write_puppets(tmp_path, a=1)[0])

    kept, danced = known.motions("a")[0].joints, dance(1).joints
    np.testing.assert_allclose(danced - danced[:1, :1], kept - kept[:1, :1], atol=0.002)


def test_a_bad_file_does_not_take_the_name_from_a_good_one(tmp_path, known):
    (tmp_path / "a.bvh").write_bytes(b"garbage")
    write_puppets(tmp_path, a=1)
    results = {added.path.suffix: added for added in known.add_many([tmp_path])}

    assert results[".bvh"].error is not None
    assert ("a", None) == (results[".mp4"].dance, results[".mp4"].error)


def test_a_twin_of_a_file_that_failed_fails_too(tmp_path, known):
    write_puppets(tmp_path, a="nobody", b="nobody")
    results = list(known.add_many([tmp_path]))

    assert [(True, False), (True, False)] == [(r.error is not None, r.skipped) for r in results]


def test_a_twin_of_a_bad_file_is_called_by_its_own_name(tmp_path, known):
    """Two empty files: each complaint names its own file; of another kind of file, both are named."""
    first, second, other = (tmp_path / name for name in ("a.bvh", "b.bvh", "c.mp4"))
    for path in (first, second, other):
        path.touch()
    told = {added.path: str(added.error) for added in known.add_many([tmp_path])}

    assert {first, second, other} == set(told)
    assert told[first].startswith(f"{first} is empty")
    assert told[second] == told[first].replace(str(first), str(second))
    assert told[other] == f"{other} has the very content of another file: {told[first]}"


def test_workers_do_not_outlive_a_killed_parent(tmp_path):
    """Kill -9 of the process that started them leaves nobody behind."""
    script = (
        "import multiprocessing, time\n"
        "from dancematch.pipeline.analysis.parent_watch import end_with_parent\n"
        "def wait():\n    end_with_parent()\n    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    child = multiprocessing.get_context('spawn').Process(target=wait)\n"
        "    child.start()\n    print(child.pid, flush=True)\n    time.sleep(60)\n"
    )
    file = tmp_path / "parent.py"
    file.write_text(script, encoding="utf-8")
    with subprocess.Popen([sys.executable, file], stdout=subprocess.PIPE, text=True) as parent:
        worker = int(parent.stdout.readline())
        parent.kill()  # perhaps before the worker has come to life
    deadline = time.monotonic() + 50
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.2)

    assert not alive(worker)


def alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text(encoding="utf-8")


def test_content_that_somebody_else_adds_meanwhile_is_skipped(tmp_path):
    """Two who add the same folder at once: what the other was quicker with is known, not a failure."""
    npz.write(tmp_path / "one.npz", [dance(1)])
    with open_catalogue(tmp_path / "dances.db") as other, open_catalogue(tmp_path / "dances.db") as known:

        def add_meanwhile(contents, _on_progress):
            for path in contents:
                other.add(path)
                yield analyse_file(path)

        (added,) = known.add_planned({tmp_path / "one.npz": RecordingPlan()}, analyser=add_meanwhile)

        assert (True, "one", None) == (added.skipped, added.dance, added.error)


def collapsed(motion: Motion) -> Motion:
    """All joints where the pelvis is."""
    return Motion(np.repeat(motion.joints[:, :1], 15, axis=1), motion.fps, BODY15)


def scaled(motion: Motion, factor: float) -> Motion:
    """A dancer of another size."""
    return Motion(motion.joints * factor, motion.fps, motion.skeleton)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (standing(120), r"4\.0 s, does not move"),
        (collapsed(dance(1)), r"8\.7 s, all joints lie on one point"),
        (scaled(dance(1), 1e5), r"8\.7 s, the body is some \d+,\d{3} times as large as a person"),
    ],
)
def test_a_body_that_cannot_dance_is_refused_like_nobody(tmp_path, known, body, reason):
    """Neither a photograph's skeleton nor a point is learnt or recognised, and the file says why."""
    formats.write(tmp_path / "odd.npz", [body])
    expected = rf"no dancer in .*odd\.npz: {reason}"

    for use in (known.add, known.search):
        with pytest.raises(NoDancerError, match=expected):
            use(tmp_path / "odd.npz")
    assert [] == known.dances()


def test_a_photograph_in_a_folder_is_counted_with_its_reason(tmp_path, known):
    write_dance(tmp_path / "clips" / "a.npz", 1)
    formats.write(tmp_path / "clips" / "b.npz", [standing(90)])
    one, other = known.add_many([tmp_path / "clips"])

    assert ("a", None) == (one.dance, one.error)
    assert "3.0 s, does not move" in str(other.error)


def test_a_dancer_who_never_moves_is_left_out(tmp_path, known):
    """Somebody painted on the wall spoils no dance, and keeps the others' numbers as they are."""
    formats.write(tmp_path / "duet.npz", [standing(120), dance(1), collapsed(dance(2))])

    added, read = known.add(tmp_path / "duet.npz"), known.read_query(tmp_path / "duet.npz")

    assert (1, [2]) == (added.dancers, [one.dancer for one in read.dancers])
    assert added.ignored == read.ignored
    assert ["8.7 s, all joints lie on one point", "4.0 s, does not move"] == [
        one.reason for one in read.ignored
    ]


def test_one_joint_far_away_does_not_spoil_a_catalogue(tmp_path, known):
    """A hundred kilometres in one frame, as estimators and files do it: kept as unseen there."""
    joints = dance(1).joints.copy()
    joints[40, 7] = 1e5
    formats.write(tmp_path / "odd.npz", [Motion(joints, 30.0, BODY15)])
    known.add(tmp_path / "odd.npz")

    assert [] == list(known.verify())
    (kept,) = known.motions("odd")
    assert np.isnan(kept.joints[40, 7]).all()
    assert np.isfinite(kept.joints[39]).all()


class _EndScreen(Puppet):
    """Sees the avatar of an end screen after the dancer of that number."""

    def tracks(self, path, *, on_frame=None):
        (dancer,) = super().tracks(path, on_frame=on_frame)
        avatar = without(standing(60), (*LEGS, "left_elbow", "left_wrist", "right_elbow", "right_wrist"))
        times = dancer.times[-1] + 0.5 + np.arange(60) / 30
        seen = Track(0, times, np.nan_to_num(avatar.joints), None, avatar.visibility, BODY15)
        return [seen, dancer]


def test_an_end_screen_is_named_wherever_a_clip_is_read(tmp_path):
    """Added, searched or extracted: one dancer, and what was ignored with the reason."""
    (clip,) = write_puppets(tmp_path, a=1)
    with open_catalogue(tmp_path / "dances.db", make_estimator=_EndScreen) as known:
        added, read = known.add(clip), known.read_query(clip)
    ((outcome, _),) = extract([clip], tmp_path / "out", make_estimator=_EndScreen)

    assert (1, 1, 1) == (added.dancers, len(read.dancers), len(outcome.motions))
    assert added.ignored == read.ignored == outcome.ignored
    assert ["2.0 s, head and shoulders only"] == [one.reason for one in added.ignored]


def test_a_match_names_the_recording_and_the_track_that_won(tmp_path):
    """Of a duet, the dancer whom the query shows; explain and report read it from the match."""
    formats.write(tmp_path / "duet.npz", [dance(3), dance(4)])
    with open_catalogue(tmp_path / "dances.db") as known:
        known.add(write_dance(tmp_path / "solo.npz", 5))
        known.add(tmp_path / "duet.npz", dance="two of us")
        best = known.search(dance(4)).candidates[0]
        (track,) = [one for one in known.tracks(["two of us"]) if one.dancer == 2]

    assert ("two of us", "duet.npz", 2) == (best.name, best.recording, best.reference_dancer)
    assert track.key == best.track
