"""From clips and the information beside them to a release that can be published and read back."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_samples import run_main
from dance_samples import Puppet, dance, write_dance, write_puppets
from dancematch.benchmark import synthetic_edition as synthetic
from dancematch.benchmark.alignment import align_skeleton
from dancematch.benchmark.build import BuildResult, build
from dancematch.benchmark.build_folder import BuildFolder
from dancematch.benchmark.build_plan import Edition
from dancematch.benchmark.clip_info import normalise_licence
from dancematch.benchmark.labels import Label, Labeller
from dancematch.benchmark.release import Release, read_release
from dancematch.benchmark.splits import assign_splits, hash_performers
from dancematch.benchmark.synthetic_edition import EditionSettings, render_edition
from dancematch.errors import FormatError, InputError
from dancematch.model.tokeniser import load_model
from dancematch.motion import clean
from dancematch.pipeline.analysis.info_files import info_path
from dancematch.skeletons import BODY15
from dancematch.types import Motion

LABELS = tuple(
    Label(label_id, name)
    for label_id, name in {
        "EID_GoodVibes": "Orange Justice",
        "EID_Floss": "Floss",
        "EID_Wave": "Wave",
        "EID_Banner": "Banner Wave",
        "EID_TakeTheL": "Take The L",
    }.items()
)


def test_one_performer_under_several_names_is_one():
    """Clips that share any uploader name share the performer, however long the chain."""
    names = {"a": {"ann", "uc1"}, "b": {"uc1"}, "c": {"uc2", "ann"}, "d": {"bob"}, "e": set(), "f": set()}
    found = hash_performers({clip: frozenset(each) for clip, each in names.items()}, "key")

    assert found["a"] == found["b"] == found["c"]
    assert found["e"] == found["f"]
    assert 3 == len(set(found.values()))
    assert found != hash_performers({clip: frozenset(each) for clip, each in names.items()}, "another key")


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), min_size=1, max_size=60), st.randoms())
def test_no_performer_is_in_two_splits(clips, random):
    """Whatever the clips, and the order in which they come changes nothing."""
    who = {f"clip{i}": f"performer{performer}" for i, (performer, _) in enumerate(clips)}
    what = {f"clip{i}": f"label{label}" for i, (_, label) in enumerate(clips)}
    found = assign_splits(who, what)
    shuffled = random.sample(sorted(who), len(who))

    assert len(set(who.values())) == len({(who[clip], found[clip]) for clip in who})
    assert found == assign_splits({clip: who[clip] for clip in shuffled}, what)


def test_even_performers_fill_the_splits_by_their_shares():
    """Ten who dance everything are six, two and two; two are for training and testing."""
    for count, expected in ((10, {"train": 6, "test": 2, "validation": 2}), (2, {"train": 1, "test": 1})):
        who = {f"{p}-{d}": f"p{p}" for p in range(count) for d in range(5)}
        found = assign_splits(who, {clip: clip[-1] for clip in who})
        counts = {name: len({who[clip] for clip in who if found[clip] == name}) for name in found.values()}

        assert expected == counts


@given(st.floats(-3, 3), st.tuples(*[st.floats(-2, 2)] * 3))
@settings(max_examples=20, deadline=None)
def test_alignment_undoes_where_and_which_way_the_dancer_stood(angle, shift):
    motion = dance(3)
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    moved = Motion((motion.joints @ turn.T + shift).astype(np.float32), motion.fps, motion.skeleton)

    np.testing.assert_allclose(align_skeleton(motion).joints, align_skeleton(moved).joints, atol=1e-4)


def test_alignment_only_smooths_and_moves():
    """Every distance within a frame is that of the smoothed dance; the dancer faces +z on the floor at 0."""
    smooth, found = clean(dance(3)).joints, align_skeleton(dance(3)).joints
    sizes = [np.linalg.norm(each[:, :, None] - each[:, None], axis=-1) for each in (smooth, found)]
    left, right = found[:, BODY15.index("left_hip")], found[:, BODY15.index("right_hip")]

    np.testing.assert_allclose(*sizes, atol=1e-5)
    assert 0.0 == pytest.approx(np.linalg.norm(found[0, 0, [0, 2]]), abs=1e-6)
    assert (left - right)[:, 0].mean() > 0.1


def write_info(clip: Path, title: str, uploader: str = "@Ann Example", **more: object) -> None:
    """Write the information that yt-dlp would write beside a clip."""
    info = {"title": title, "tags": None, "uploader_id": uploader, "uploader": "Ann Example", **more}
    info_path(clip).write_text(json.dumps(info), encoding="utf-8")


def write_clips(folder: Path) -> list[Path]:
    """Seven clips: four good ones by three people, one unclear, one twice, one empty, one unknown."""
    clips = write_puppets(folder, a=1, b=2, c=3, d=4, unclear=5, twice=1, empty="nobody", alone=6)
    write_info(clips[0], "Orange Justice by Ann Example", license="CC BY")
    write_info(clips[1], "floss dance", uploader="ann example", license="© Ann Example 2026")
    write_info(clips[2], "Orange Justice", uploader="bob", uploader_id="bob", id="x", extractor_key="Site")
    info_path(clips[3]).write_text(
        json.dumps({"title": "Floss", "uploader_id": "carla", "dancematch": {"by": "carla"}})
    )
    write_info(clips[4], "Floss emote or Orange Justice?")
    write_info(clips[5], "Orange Justice")
    write_info(clips[6], "Take the L")
    return clips


class Blind:
    """An estimator that must not be used."""

    name = "puppet"

    def tracks(self, path: Path, **_: object) -> list[object]:
        """Fail loudly."""
        raise AssertionError(f"{path} was analysed again")


def make(folder: Path, **options: object) -> BuildResult:
    """Build in `folder`/out from the clips in `folder`/clips."""
    build_folder = BuildFolder(folder / "out", secret="key")  # noqa: S106  (no password)
    options = {"make_estimator": Puppet, "model": "floor", **options}
    return build([folder / "clips"], build_folder, Edition("small", LABELS), **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    write_clips(folder / "clips")
    make(folder)
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_clip_is_released_asked_about_or_explained(workplace):
    built = make(workplace)
    out = workplace / "out"

    assert (8, 4, 1, 3) == (
        built.clips_given, len(built.release.entries), built.for_review, built.quarantined,
    )  # fmt: skip
    assert ["unclear.mp4"] == [Path(row["clip"]).name for row in rows(out / "review.csv")]
    assert {
        "alone.mp4": "no usable information beside it",
        "empty.mp4": "no dancer is visible",
        "twice.mp4": "the same video as another",
    } == {Path(row["clip"]).name: row["kind"] for row in rows(out / "quarantine.csv")}


def test_a_release_is_read_back_as_it_was_made(workplace):
    """Each clip has its label; words are those of the skeletons beside them, which are the aligned dance."""
    release = read_release(workplace / "out")
    model = load_model("floor")
    found = {entry.label_id: [] for entry in release.entries}
    for entry in release.entries:
        (motion,), (words,) = release.motions(entry), release.fingerprints(entry)
        found[entry.label_id].append(entry)

        assert (30.0, "body15") == (motion.fps, motion.skeleton.name)
        np.testing.assert_array_equal(model.fingerprint(motion).words, words.words)
        assert (entry.words, entry.dancers) == (len(words), 1)
        assert any(
            np.allclose(align_skeleton(dance(number)).joints[:50], motion.joints[:50], atol=1e-4)
            for number in (1, 2, 3, 4)
        )
    assert {"EID_GoodVibes": 2, "EID_Floss": 2} == {key: len(each) for key, each in found.items()}
    assert {entry.split for entry in release.entries} <= {"train", "test", "validation"}
    assert list(release.entries) == sorted(release.entries, key=lambda entry: entry.clip_id)


def test_no_person_is_named_in_a_release(workplace):
    """No file holds an uploader, a title, a place on disk, a picture, or the joints of a face."""
    release = workplace / "out" / "release"
    files = [path for path in release.rglob("*") if path.is_file()]
    suffixes = {".md", ".json", ".jsonl", ".csv", ".npz", ".sha256"}

    assert suffixes == {path.suffix for path in files}
    for path in files:
        content = path.read_bytes().lower()
        names = [b"ann example", b"carla", b"bob", b"@", b"second try", b".mp4", str(workplace).encode()]
        if path.suffix != ".npz":  # chance writes short words into numbers
            assert [] == [name for name in names if name in content], path.name


def test_datasets_finds_the_splits_by_the_cards_header(workplace):
    """Every split that the header names is a file of rows; together they are the manifest."""
    release = workplace / "out" / "release"
    header = (release / "README.md").read_text(encoding="utf-8").split("---\n")[1].splitlines()
    named = [line.split(": ")[1] for line in header if "path:" in line]
    split_names = [line.split(": ")[1] for line in header if "split:" in line]
    lines = [line for name in named for line in (release / name).read_text().splitlines()]

    assert split_names == [Path(name).stem for name in named]
    assert "config_name: default" in header[header.index("configs:") + 1]
    assert 'pretty_name: "DanceTypesBenchmark (small)"' == header[0]  # quoted: a name may have any sign in it
    assert sorted(lines) == sorted((release / "manifest.jsonl").read_text().splitlines())
    assert 1 == len({tuple(json.loads(line)) for line in lines})  # the same columns in every row


@pytest.mark.parametrize("edition", ["workplace", "rendered"])
def test_the_cards_header_tells_the_type_of_every_column(edition, request):
    """Guessed types differ where a split has nothing in a column; those in the header hold for every row."""
    release = read_release(request.getfixturevalue(edition) / ("out" if edition == "workplace" else ""))
    header = (release.folder / "README.md").read_text(encoding="utf-8").split("---\n")[1]
    columns = header.partition("  features:")[2].split("\n  - name: ")[1:]
    types = {name: kind.strip() for name, kind in (column.split("\n", 1) for column in columns)}
    kinds = {"string": str, "int64": int, "float64": float, "bool": bool}
    for entry in release.entries:
        assert list(types) == list(entry.to_row())
        for name, value in entry.to_row().items():
            if isinstance(value, dict):
                parts = types[name].partition("struct:\n")[2].replace("dtype:", "").split("- name: ")[1:]
                struct = dict(part.split() for part in parts)
                assert {key: type(part) for key, part in value.items()} == {
                    key: kinds[kind] for key, kind in struct.items()
                }
            elif value is not None:
                assert kinds[types[name].removeprefix("dtype: ")] is type(value)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("CC BY", "Creative Commons Attribution license (reuse allowed)"),
        ("CC BY-NC-SA", "cc-by-nc-sa"),
        ("CC BY-NC-ND", "Attribution-NonCommercial-NoDerivs Creative Commons"),
        ("CC0", "Public Domain Mark"),
        ("Apache-2.0", "Apache-2.0"),
        ("Standard YouTube License", "Standard YouTube License"),
        ("another", "Creative Commons"),
        ("another", "all rights reserved by Ann Example"),
        (None, "  "),
    ],
)
def test_a_licence_has_one_of_a_few_names(expected, text):
    """What is published is a name of the list: a free text might hold a person's."""
    assert expected == normalise_licence(text)


def test_the_datasheet_counts(workplace):
    text = (workplace / "out" / "release" / "DATASHEET.md").read_text(encoding="utf-8")

    assert "8 clips were given, 4 are in." in text
    assert "| the same video as another | 1 |" in text
    assert "| label unclear: several labels | 1 |" in text
    assert "| CC BY | 1 |" in text
    assert "| another | 1 |" in text


def test_a_finished_release_is_not_made_again_and_not_replaced_unasked(workplace, tmp_path):
    """The same clips: nothing is looked at. Other clips: refused before the work, done with force."""
    shutil.copytree(workplace, tmp_path, dirs_exist_ok=True)
    before = (tmp_path / "out/release/checksums.sha256").read_bytes()
    make(tmp_path, make_estimator=Blind)
    (new,) = write_puppets(tmp_path / "clips", new=7)
    write_info(new, "Take The L")
    with pytest.raises(InputError, match="--force"):
        make(tmp_path, make_estimator=Blind)

    assert before == (tmp_path / "out/release/checksums.sha256").read_bytes()
    assert 5 == len(make(tmp_path, force=True).release.entries)


def test_a_person_decides_what_is_unclear(workplace, tmp_path):
    """An answer in review.csv, an id or a name, is taken and stays; - leaves a clip out; others are wrong."""
    shutil.copytree(workplace, tmp_path, dirs_exist_ok=True)
    review = tmp_path / "out" / "review.csv"
    asked = review.read_text(encoding="utf-8").rstrip()
    for answer, clips, left_out in (("EID_Wave", 5, 0), ("banner wave", 5, 0), ("-", 4, 1)):
        review.write_text(f"{asked}{answer}\n", encoding="utf-8")
        built = make(tmp_path, force=True)

        assert (clips, left_out, 0) == (len(built.release.entries), built.left_out, built.for_review)
        assert [answer] == [row["label_id"] for row in rows(review)]
    for answer, wrong in (
        ("EID_Nothing", "no label's id or name"),
        ("twins", "the name of A, B; write one id"),
    ):
        review.write_text(f"{asked}{answer}\n", encoding="utf-8")
        build_folder = BuildFolder(tmp_path / "out")
        with pytest.raises(InputError, match=rf"'{answer}' of \S*unclear\.mp4, which is {wrong}"):
            build_folder.read_answers({"A": "Twins", "B": "twins"})


def test_a_failed_clip_is_tried_again_when_asked(workplace, tmp_path):
    """A clip in quarantine is looked at again by `retry` only."""
    shutil.copytree(workplace, tmp_path, dirs_exist_ok=True)
    make(tmp_path, force=True, make_estimator=Blind)
    with pytest.raises(AssertionError, match=r"empty\.mp4 was analysed again"):
        make(tmp_path, force=True, retry=True, make_estimator=Blind)


def test_the_same_clips_give_the_same_bytes(workplace, tmp_path):
    shutil.copytree(workplace / "clips", tmp_path / "clips")
    make(tmp_path, jobs=2)
    sums = [folder / "out/release/checksums.sha256" for folder in (workplace, tmp_path)]

    assert sums[0].read_text() == sums[1].read_text()


KILLED = """
from pathlib import Path
from test_build import make
make(Path({folder!r}))
"""


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    """Killed in the third clip: two are kept, nothing is released, and only the third is done later."""
    clips = write_puppets(tmp_path / "clips", a=1, b=2, c="deadly")
    for clip in clips:
        write_info(clip, "Orange Justice")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[:2]))}
    code = KILLED.format(folder=str(tmp_path))
    killed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)

    assert -signal.SIGKILL == killed.returncode, killed.stderr
    assert 2 == len(list((tmp_path / "out/clips").rglob("*.npz")))
    assert not (tmp_path / "out/release").exists()

    (tmp_path / "out/clips/puppet/.x.npz.1.part").write_text("half")
    (tmp_path / "out/release.part").mkdir()
    clips[2].write_text("3")
    looked: list[str] = []

    class Watched(Puppet):
        def tracks(self, path: Path, **how: object) -> list[object]:
            looked.append(path.name)
            return super().tracks(path, **how)  # type: ignore[arg-type, return-value]

    assert 3 == len(make(tmp_path, make_estimator=Watched).release.entries)
    assert ["c.mp4"] == looked
    assert [] == list((tmp_path / "out").rglob("*.part"))


def test_a_release_between_two_renames_is_found_again(workplace, tmp_path):
    """Killed while a new release takes the place of the old one, the old one is there still."""
    shutil.copytree(workplace, tmp_path, dirs_exist_ok=True)
    (tmp_path / "out/release").rename(tmp_path / "out/release.old")

    assert 4 == len(make(tmp_path, make_estimator=Blind).release.entries)
    assert not (tmp_path / "out/release.old").exists()


@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        (lambda folder: (folder / "labels.csv").write_text("id,name\n"), r"labels\.csv is not as"),
        (lambda folder: next(folder.glob("words/*.npz")).unlink(), r"\.npz is not as"),
        (lambda folder: (folder / "extra.txt").write_text("?"), r"extra\.txt is not as"),
        (lambda folder: (folder / "release.json").write_text('{"format": 99}'), "another format"),
        (lambda folder: (folder / "release.json").write_text("{"), "cannot be read"),
        (lambda folder: (folder / "release.json").unlink(), "holds no release"),
    ],
)
def test_a_damaged_release_is_refused(workplace, tmp_path, harm, complaint):
    folder = tmp_path / "release"
    shutil.copytree(workplace / "out" / "release", folder)
    harm(folder)
    with pytest.raises((FormatError, InputError), match=complaint):
        read_release(folder)


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("precious")
    with pytest.raises(InputError, match="not empty and not a benchmark's"):
        BuildFolder(tmp_path)


def test_the_command_line_builds_from_motion_files(tmp_path):
    """Motion files are clips too and need no estimator; usage errors are said as such."""
    clips = tmp_path / "clips"
    for number, name in enumerate(("Floss", "Floss", "Wave", "who knows")):
        write_info(write_dance(clips / f"{number}.npz", number), name, uploader=f"u{number}")
    labels = tmp_path / "labels.csv"
    labels.write_text("id,name\n" + "".join(f"{label.label_id},{label.name}\n" for label in LABELS[:4]))
    line = ("benchmark", clips, "-o", tmp_path / "out", "--labels", labels, "--model", "floor", "--json")
    (summary,) = run_main(*line).objects

    assert (3, 2, 1) == (summary["clips"], summary["labels"], summary["for_review"])
    assert 2 == run_main("benchmark", "-o", tmp_path / "out").code
    assert 2 == run_main("benchmark", "--synthetic", "--labels", labels, "-o", tmp_path / "out").code


def test_nothing_to_release_is_said(tmp_path):
    for clip in write_puppets(tmp_path / "clips", a=1, b="nobody"):
        write_info(clip, "who knows" if clip.stem == "a" else "Floss")
    with pytest.raises(InputError, match=r"no clip of 2 can be released: 1 wait in .* 1 stand in"):
        make(tmp_path)


def test_every_rendered_clip_is_labelled_rightly():
    """Titles, hashtags, descriptions and misspellings all lead to the choreography that is danced."""
    settings = EditionSettings(choreographies=60, performances=4, seed=3)
    labeller = Labeller(settings.labels())
    infos = [(recording.number, recording.info()) for recording in settings.recordings()]
    found = [labeller.find(i["title"], i["tags"], i["description"]) for _, i in infos]  # type: ignore[arg-type]

    assert [f"DM{number:04}" for number, _ in infos] == [decision.label_id for decision in found]
    assert 4 == len({decision.reason for decision in found})


def test_recordings_differ_in_everything_that_is_promised():
    recordings = EditionSettings(choreographies=10, performances=10, seconds=3).recordings()

    assert {"alone", "partner", "onlooker"} == {recording.company for recording in recordings}
    assert {True, False} == {recording.mirrored for recording in recordings}
    assert 100 == len({(recording.azimuth, recording.tempo) for recording in recordings})
    assert recordings == EditionSettings(choreographies=10, performances=10, seconds=3).recordings()
    for recording in [
        next(each for each in recordings if each.company == company) for company in ("alone", "partner")
    ]:
        assert [3.0] * (1 + (recording.company == "partner")) == [
            motion.seconds for motion in recording.motions()
        ]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two choreographies by two performers, rendered and built by the command line."""
    folder = tmp_path_factory.mktemp("rendered") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic, "EditionSettings", partial(EditionSettings, size=(320, 240)))
        numbers = ("--choreographies", 2, "--performances", 2, "--seconds", 2)
        answer = run_main("benchmark", "--synthetic", *numbers, "-o", folder, "--jobs", 1)
    assert 0 == answer.code, answer.err
    return folder


def test_rendered_clips_go_the_way_of_recorded_ones(rendered):
    """Four videos become four clips of two labels by two performers, one of them for testing."""
    release: Release = read_release(rendered)
    entries = release.entries

    assert (4, 2) == (len(entries), len({entry.label_id for entry in entries}))
    assert {"train": 2, "test": 2} == Counter(entry.split for entry in entries)
    assert {1.9 < entry.seconds < 2.2 for entry in entries} == {True}
    assert all(
        entry.conditions and {"tempo", "mirrored", "company"} <= set(entry.conditions) for entry in entries
    )
    assert [] == [path for path in release.folder.rglob("*") if path.suffix == ".mp4"]
    assert not (rendered / "quarantine.csv").exists() or [] == rows(rendered / "quarantine.csv")


def test_another_script_does_not_replace_rendered_videos(rendered):
    with pytest.raises(InputError, match="holds other videos"):
        render_edition(EditionSettings(3, 2), rendered / "videos", on_progress=lambda _share: None)

    assert 4 == len(list((rendered / "videos").glob("*.mp4")))


def test_a_release_is_evaluated_as_it_is_read_back(rendered, tmp_path):
    """Two dances by two performers: each test clip asks; a changed file is refused before that."""
    (found,) = run_main("eval", "benchmark", "--data", rendered, "--method", "kmeans", "--json").objects
    shutil.copytree(rendered / "release", tmp_path / "release")
    next((tmp_path / "release" / "skeletons").glob("*.npz")).write_bytes(b"")

    assert ("benchmark", 2, 0.5) == (found["suite"], found["queries"], found["chance"])
    assert {"labels": 2, "references": 2, "unanswerable": 0} == found["facts"]
    assert "is not as its checksum says" in run_main("eval", "benchmark", "--data", tmp_path).err
    assert 2 == run_main("eval", "benchmark", "excerpt", "--data", rendered).code
