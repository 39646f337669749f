"""The suite `real`: the index of a folder of clips, its catalogues, its figures, and the command line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli_samples import run_main
from dance_samples import Puppet, dance, save_small_model, write_dance
from dancematch.errors import InputError
from dancematch.evaluation.methods.angle_warping import AngleMethod, align_within, read_angles, warp
from dancematch.evaluation.methods.recogniser import Candidate, MotionRecording
from dancematch.evaluation.methods.search_recogniser import SearchMethod
from dancematch.evaluation.real.catalogues import copies_of, draw_catalogue
from dancematch.evaluation.real.clip_index import IndexedClip, read_index
from dancematch.evaluation.real.clip_skeletons import default_folder, load_recordings
from dancematch.evaluation.real.figures import apply_threshold, compare_with_truth, measure_parts
from dancematch.evaluation.real.suite import ALL, DISTRACTORS, QueryLine, RealResult, RealSuite
from dancematch.evaluation.suites.registry import REAL_METHODS
from dancematch.evaluation.suites.run import choose_real_methods
from dancematch.motion import excerpt, mirror

HEADER = "file,kind,group,performer,lag_s,note"


def clip(
    file: str, dance_name: str = "", performance: str = "", *, kind: str = "dance", lag: float | None = None
) -> IndexedClip:
    return IndexedClip(file, kind, dance_name or file, performance or file, lag, False)


def unknown(file: str, kind: str = "single") -> IndexedClip:
    return IndexedClip(file, kind, file, "", None, False)


def candidate(
    recording: str, confidence: float = 1.0, verdict: str | None = "match", lag: float | None = 0.0
) -> Candidate:
    return Candidate(recording, confidence, confidence, verdict, lag)


CLIPS = [
    clip("hop-ana", "hop", "ana", lag=0.0),
    clip("hop-ana-mirrored", "hop", "ana"),
    clip("hop-bob", "hop", "bob", lag=0.5),
    clip("step-ana", "step", "ana"),
    clip("step-bob", "step", "bob"),
    unknown("solo"),
    unknown("walk", "no-dance"),
]
DANCES = {one.file: one.dance for one in CLIPS}
LAGS = {"hop-ana": 0.0, "hop-bob": 0.5}


def write_index(folder: Path, *rows: str, header: str = HEADER) -> Path:
    """Write an index, and an empty file for every row that names one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    for row in rows:
        (folder / row.split(",")[0]).touch()
    return folder


PAIR = ("a.mp4,dance,hop,ana,0.0,", "b.mp4,dance,hop,bob,-0.25,Game character")


# The index


def test_an_index_says_what_each_clip_is(tmp_path):
    folder = write_index(tmp_path, *PAIR, "c.mp4,single,,,,", "d.mp4,no-dance,,,,")
    first, second, single, walk = read_index(folder)

    assert ("a.mp4", "dance", "hop", "ana", 0.0) == (
        first.file, first.kind, first.dance, first.performance, first.lag_seconds
    )  # fmt: skip
    assert ["people", "game characters", "unknown", "unknown"] == [
        one.part for one in (first, second, single, walk)
    ]
    assert (-0.25, None) == (second.lag_seconds, single.lag_seconds)
    assert single.dance != walk.dance


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (["a.mp4,dancing,hop,ana,,"], "line 2: kind must be one of dance, single, no-dance, got 'dancing'"),
        (["a.mp4,dance,,ana,,"], "line 2: a clip of the kind dance needs a group and a performer"),
        (["a.mp4,dance,hop,ana,soon,"], "line 2: lag_s must be seconds or empty, got 'soon'"),
        *(
            ([PAIR[0], f"b.mp4,dance,hop,bob,{lag},"], f"line 3: lag_s must be seconds or empty, got '{lag}'")
            for lag in ("nan", "inf", "-inf")
        ),
        ([PAIR[0], PAIR[0]], "names a.mp4 more than once"),
        ([PAIR[0], "b.mp4,dance,hop,ana-x2,,"], "hop has a single performance; two or more were expected"),
        ([*PAIR, "c.mp4,single,hop,,,"], "hop is the group of a dance and of another kind"),
        (["a.mp4,single,,,,"], "has no clip of the kind dance"),
    ],
)
def test_what_is_wrong_in_an_index_is_named(tmp_path, rows, complaint):
    with pytest.raises(InputError, match=r"index\.csv") as raised:
        read_index(write_index(tmp_path, *rows))

    assert complaint in str(raised.value)


def test_missing_files_and_columns_are_named(tmp_path):
    folder = write_index(tmp_path / "clips", *PAIR)
    (folder / "b.mp4").unlink()

    with pytest.raises(InputError, match=r"line 3: there is no file 'b\.mp4'"):
        read_index(folder)
    with pytest.raises(InputError, match=r"there is no .*index\.csv"):
        read_index(tmp_path)
    short = write_index(tmp_path / "short", "a.mp4,dance", header="file,kind")
    with pytest.raises(InputError, match=r"lacks the column.s. group, performer, lag_s, note"):
        read_index(short)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_an_index_that_is_not_utf8_is_one_sentence(tmp_path, encoding):
    rows = [HEADER, "a.mp4,dance,hop,ana,0.0,", "b.mp4,dance,hop,bob,0.0,J\u00fcrgen"]
    (tmp_path / "index.csv").write_text("\n".join(rows), encoding=encoding)
    answer = run_main("eval", "real", "--data", tmp_path)

    assert (1, "") == (answer.code, answer.out)
    assert f"{tmp_path / 'index.csv'} is not UTF-8 text; save it as CSV in UTF-8" == answer.complaint


@pytest.mark.parametrize("outside", ["../x.mp4", "sub/../../x.mp4", "{folder}/x.mp4"])
def test_clips_lie_within_the_folder(tmp_path, outside):
    (tmp_path / "x.mp4").touch()
    folder = write_index(tmp_path / "clips", *PAIR)
    (folder / "sub").mkdir()
    file = outside.format(folder=tmp_path)
    (folder / "index.csv").write_text("\n".join([HEADER, *PAIR, f"{file},single,,,,"]), encoding="utf-8")

    with pytest.raises(InputError, match=r"line 4: file must be a path within .*clips, got "):
        read_index(folder)


def test_copies_are_one_performance(tmp_path):
    """Mirrored, slowed and sped-up copies are told by the performer's name, others by their own column."""
    names = ["ana", "ana-mirrored", "ana-x2", "ana-slow-mirrored", "ana-maria", "bob"]
    rows = [f"{number}.mp4,dance,hop,{name},,," for number, name in enumerate(names)]
    rows += ["9.mp4,dance,hop,carl,,,bob"]
    clips = read_index(write_index(tmp_path, *rows, header=f"{HEADER},performance"))

    assert ["ana", "ana", "ana", "ana", "ana-maria", "bob", "bob"] == [one.performance for one in clips]
    assert {"0.mp4", "1.mp4", "2.mp4", "3.mp4"} == copies_of(clips[2], clips)


def test_pairs_without_dance_are_kept_apart(tmp_path):
    """By the roles in their names, or by a group of their own."""
    rows = ["squat-reference.mp4,no-dance,,,,", "squat-user.mp4,no-dance,,,,", "x.mp4,single,lunge,,,"]
    clips = read_index(
        write_index(tmp_path, *PAIR, *rows, "y.mp4,single,lunge,,,", "z-walk.mp4,no-dance,,,,")
    )

    assert {"squat-reference.mp4", "squat-user.mp4"} == copies_of(clips[2], clips)
    assert {"x.mp4", "y.mp4"} == copies_of(clips[4], clips)
    assert {"z-walk.mp4"} == copies_of(clips[6], clips)


# Catalogues


def test_a_small_catalogue_has_the_dance_but_not_the_performance():
    for query in CLIPS[:5]:
        for draw in range(10):
            known = draw_catalogue(query, CLIPS, 2, [0, draw])

            assert not copies_of(query, CLIPS) & {one.file for one in known}
            assert query.dance in {one.dance for one in known}
            assert 2 == len({one.dance for one in known})


def test_an_unknown_dance_is_searched_among_others():
    """Dances are drawn before clips without dance."""
    for draw in range(10):
        assert "solo" not in {one.file for one in draw_catalogue(CLIPS[5], CLIPS, 3, [0, draw])}
        assert {"hop", "step"} == {one.dance for one in draw_catalogue(CLIPS[5], CLIPS, 2, [0, draw])}


def test_the_seed_decides_what_is_drawn():
    drawn = [draw_catalogue(CLIPS[0], CLIPS, 2, [0, draw]) for draw in range(10)]

    assert drawn == [draw_catalogue(CLIPS[0], CLIPS, 2, [0, draw]) for draw in range(10)]
    assert len({one[-1].file for one in drawn}) > 1


class Listed:
    """Answers with what it knows in order of name, and keeps note of what it was asked."""

    name = "listed"

    def __init__(self) -> None:
        self.searches: list[tuple[str, set[str]]] = []

    def build(self, recordings):
        """All recordings, whatever is in them."""
        outer = self

        class Recogniser:
            def search(self, query, without=frozenset()):
                known = sorted({one.recording_id for one in recordings} - without)
                outer.searches.append((query.recording_id, set(known)))
                return [candidate(name) for name in known]

        return Recogniser()


def test_no_query_meets_its_own_performance():
    """In all clips, with distractors, and in small catalogues."""
    method = Listed()
    recordings = [MotionRecording(one.file, one.dance, ()) for one in CLIPS]
    others = [MotionRecording("other", "other", ())]
    lines = list(RealSuite(CLIPS, recordings, others, sizes=(1, 2), draws=3).evaluate(method))

    by_file = {one.file: one for one in CLIPS}
    assert 2 * 7 + 2 * 3 * 7 == len(method.searches)
    assert not [query for query, known in method.searches if copies_of(by_file[query], CLIPS) & known]
    assert [ALL, DISTRACTORS, "1 dance", "2 dances"] == [
        one.catalogue for one in lines if isinstance(one, RealResult)
    ]
    assert 4 * 7 == sum(isinstance(one, QueryLine) for one in lines)
    assert [5, 6] == [len(known) for query, known in method.searches[:14] if query == "hop-ana"]


def test_sizes_beyond_the_clips_are_left_out():
    recordings = [MotionRecording(one.file, one.dance, ()) for one in CLIPS]
    lines = RealSuite(CLIPS, recordings, sizes=(1, 40)).evaluate(Listed())

    assert [ALL, "1 dance"] == [one.catalogue for one in lines if isinstance(one, RealResult)]


# Figures


def figures(answers: dict[str, list[Candidate]], part: str = "people"):
    outcomes = [compare_with_truth(one, answers.get(one.file, []), DANCES, LAGS) for one in CLIPS]
    return measure_parts(apply_threshold(outcomes))[part]


PERFECT = {
    "hop-ana": [candidate("hop-bob", 9, lag=0.5)],
    "hop-ana-mirrored": [candidate("hop-bob", 9)],
    "hop-bob": [candidate("hop-ana", 9, lag=-0.5)],
    "step-ana": [candidate("step-bob", 9)],
    "step-bob": [candidate("step-ana", 9)],
    "solo": [candidate("hop-ana", 1, "no match")],
}


def test_perfect():
    """All found, accepted and in time; an unknown dance and a clip without a dancer are rejected."""
    found, other = figures(PERFECT), figures(PERFECT, "unknown")

    assert (5, 1, 1, 0, 1) == (
        found.queries, found.rank1, found.right_accepted, found.wrong_accepted, found.lag_right
    )  # fmt: skip
    assert (2, 0) == (found.lag_truths, found.lag_median_error)
    assert (2, 0) == (other.queries, other.wrong_accepted)


def test_right_but_rejected():
    found = figures({**PERFECT, "step-ana": [candidate("step-bob", 9, "possible match")]})

    assert (1, 0.8, 0.2, 0) == (
        found.rank1, found.right_accepted, found.right_possible, found.wrong_accepted
    )  # fmt: skip


def test_wrong_and_accepted():
    """The first candidate is the answer, whatever stands behind it."""
    found = figures({**PERFECT, "step-ana": [candidate("solo", 9), candidate("step-bob", 8)]})

    assert (0.8, 0.8, 0.2) == (found.rank1, found.right_accepted, found.wrong_accepted)


def test_unknown_and_accepted():
    told = {**PERFECT, "solo": [candidate("hop-ana", 2)]}

    assert (1 / 2, 1, 0) == tuple(
        figures(told, part).wrong_accepted for part in ("unknown", "single", "no-dance")
    )


def test_the_copy_of_an_unknown_dance_is_no_right_answer():
    outcome = compare_with_truth(CLIPS[5], [candidate("solo")], DANCES, LAGS)

    assert not outcome.right


def test_lag_off():
    """Where the reference lags half a second behind, its time minus the query's is half a second."""
    found = figures({**PERFECT, "hop-ana": [candidate("hop-bob", 9, lag=0.1)]})

    assert (1, 0.5, 0.2) == (found.rank1, found.lag_right, found.lag_median_error)


def test_without_verdicts_the_threshold_of_one_percent_decides():
    """It lies above every false answer to the queries of other dances; a query's own dance says nothing."""
    told = {name: [replace(one, verdict=None) for one in some] for name, some in PERFECT.items()}
    found = figures({**told, "step-ana": [candidate("step-bob", 0.5, None), candidate("solo", 0.4, None)]})
    other = figures({**told, "solo": [candidate("hop-ana", 99, None)]}, "unknown")

    assert (1, 0.8) == (found.rank1, found.right_accepted)
    assert 0.5 == other.wrong_accepted
    assert 0 == figures({**told, "solo": [candidate("hop-ana", 99, None)]}).right_accepted


# Methods


def recording(name: str, *motions) -> MotionRecording:
    return MotionRecording(name, name, motions)


def test_angles_are_independent_of_size_place_and_heading():
    """A dancer twice as large, turned about, has the same angles; mirroring swaps left and right."""
    motion = dance(1)
    turned = replace(motion, joints=2 * motion.joints[..., [2, 1, 0]] * np.array([1, 1, -1]))
    same, mirrored = read_angles(turned), read_angles(mirror(motion))

    np.testing.assert_allclose(read_angles(motion).angles, same.angles, atol=1e-3)
    np.testing.assert_allclose(read_angles(motion).mirrored().angles, mirrored.angles, atol=1e-3)


def test_a_part_is_aligned_with_the_segment_it_comes_from():
    long = np.random.default_rng(0).uniform(0, 3, (40, 10)).astype(np.float32)

    assert (0.0, 12, 26) == align_within(long[12:27], long, 3, 0.6)
    cost, first, last = align_within(np.repeat(long[12:20], 2, axis=0)[1:], long, 3, 0.6)
    assert (0.0, 12, 19) == (cost, first, last)


def test_unseen_angles_cost_what_unrelated_ones_do():
    unseen = np.full((5, 10), np.nan, np.float32)

    assert pytest.approx(0.6) == align_within(unseen, np.zeros((5, 10), np.float32), 3, 0.6)[0]


def test_the_lag_is_the_references_time_minus_the_querys():
    whole = read_angles(dance(1))
    part = read_angles(excerpt(dance(1), 2.0, 6.0))
    query = warp(part._replace(start=0.0), whole._replace(start=0.0), mirrored=False)
    reference = warp(whole._replace(start=0.0), part._replace(start=0.0), mirrored=False)

    assert pytest.approx(2.0, abs=0.15) == query.lag_seconds
    assert pytest.approx(-2.0, abs=0.15) == reference.lag_seconds


@pytest.mark.parametrize("method", ["words", "dtw-angles"])
def test_each_method_finds_a_dance_by_another_dancer(method, tmp_path):
    """As seen and mirrored, in a catalogue built once or without some recordings; no dancer, no answer."""
    if method == "words":
        save_small_model(tmp_path / "model")
    made = SearchMethod("words", str(tmp_path / "model")) if method == "words" else AngleMethod()
    known = [recording(f"dance {number}", dance(number, 1)) for number in range(4)] + [recording("empty")]
    recogniser = made.build(known)
    best = recogniser.search(recording("query", mirror(dance(2, 2))))[0]

    assert ("dance 2", True) == (best.recording_id, best.mirrored)
    assert abs(best.lag_seconds) < 0.5
    assert "dance 2" not in {
        one.recording_id
        for one in recogniser.search(recording("query", mirror(dance(2, 2))), frozenset({"dance 2"}))
    }
    assert [] == recogniser.search(recording("empty"))


# Skeletons and the command line


def test_skeletons_are_estimated_once(tmp_path):
    """What is kept is read back, a clip without anybody too; one whose content changed is estimated anew."""
    folder = write_index(tmp_path / "clips", *PAIR)
    for name, tale in (("a.mp4", "1"), ("b.mp4", "nobody")):
        (folder / name).write_text(tale, encoding="utf-8")
    asked = []

    class Counting(Puppet):
        def tracks(self, path, *, on_frame=None):
            asked.append(path.name)
            return super().tracks(path, on_frame=on_frame)

    def load():
        return load_recordings(folder, read_index(folder), tmp_path / "kept", make_estimator=Counting)

    assert [1, 0] == [len(one.motions) for one in load()]
    assert [1, 0] == [len(one.motions) for one in load()]
    (folder / "b.mp4").write_text("2", encoding="utf-8")
    assert [1, 1] == [len(one.motions) for one in load()]
    assert ["a.mp4", "b.mp4", "b.mp4"] == asked


def test_the_usual_folder_of_skeletons_is_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DANCEMATCH_CACHE", str(tmp_path))
    default_folder.cache_clear()

    assert tmp_path == default_folder().parent
    default_folder.cache_clear()


@pytest.fixture
def folder(tmp_path) -> Path:
    """Three dances by two dancers, one single and another motion, as motion files."""
    rows = [
        f"{number}-{who}.npz,dance,dance-{number},{who},0.0,{'game character' if number == 2 else ''}"
        for number in range(3)
        for who in ("ana", "bob")
    ]
    made = write_index(tmp_path / "clips", *rows, "solo.npz,single,,,,", "walk.npz,no-dance,,,,")
    for file in sorted(made.glob("*.npz")):
        file.unlink()
        number, _, who = file.stem.partition("-")
        numbers = {"solo": 7, "walk": 8}
        write_dance(file, numbers.get(number) or int(number), {"ana": 1, "bob": 2}.get(who, 3))
    save_small_model(tmp_path / "model")
    return made


def test_the_suite_runs_on_motion_files(folder, tmp_path):
    """A line per query, and one per method and catalogue; -o keeps the same lines."""
    told = run_main(
        "eval", "real", "--data", folder, "--model", tmp_path / "model", "--json", "--method", "words",
        "--method", "dtw-angles", "-o", tmp_path / "lines.jsonl", "--skeletons", tmp_path / "stored",
    )  # fmt: skip
    queries = [one for one in told.objects if one["line"] == "query"]
    summaries = [one for one in told.objects if one["line"] == "summary"]

    assert 0 == told.code
    assert told.out == (tmp_path / "lines.jsonl").read_text(encoding="utf-8")
    assert {("words-model", "all clips"), ("words-model", "3 dances"), ("dtw-angles", "1 dance")} <= {
        (one["method"], one["catalogue"]) for one in summaries
    }
    assert 8 * len(summaries) == len(queries)
    for one in summaries:
        assert {"people", "game characters", "unknown", "single", "no-dance"} == set(one["parts"])
        assert one["parts"]["people"]["rank1"] >= 0.75
    first = queries[0]
    assert ("0-ana.npz", "0-bob.npz") == (first["query"], first["answer"]["recording"])


def test_without_a_choice_all_methods_run():
    """Those with words once per model."""
    chosen = choose_real_methods((), ()), choose_real_methods(("words",), ("floor", "network"))

    assert [list(REAL_METHODS), ["words-floor", "words-network"]] == [
        [one.name for one in some] for some in chosen
    ]


def test_the_suite_prints_tables(folder):
    told = run_main("eval", "real", "--data", folder, "--method", "dtw-angles")

    assert 0 == told.code
    assert "people           all clips  dtw-angles  4 of 4 (100%)" in told.out
    assert "unknown  all clips  dtw-angles" in told.out


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ["--method", "dtw"],
            "the suite real has no method 'dtw'; it has words, synchrony, both, dtw-angles",
        ),
        (["--method", "dtw-angles", "--model", "floor"], "--model is for words, synchrony and both"),
        (["--soft"], "--soft is not for the suite real"),
        (["--query-genres", "PO"], "--query-genres is not for the suite real"),
        (["scale"], "real has data of its own"),
    ],
)
def test_options_of_other_suites_are_refused(folder, options, complaint):
    told = run_main("eval", "real", "--data", folder, *options)

    assert 2 == told.code
    assert complaint in told.err


def test_distractors_belong_to_the_suite(folder):
    told = run_main("eval", "scale", "--data", folder, "--distractors", folder)

    assert "--distractors belongs to the suite real" in told.err
