import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_histogram import slow_cosines

from dance_samples import dance
from dancematch.errors import InputError
from dancematch.evaluation.measures.ranking import score_ranks
from dancematch.evaluation.methods.word_comparison import METHODS
from dancematch.evaluation.suites.aist import (
    GENRE_CLIPS,
    GENRE_DRAWS,
    AistClip,
    chance_rank1,
    cross_dancer,
    genre,
    load_clips,
)
from dancematch.evaluation.suites.retrieval import evaluate
from dancematch.evaluation.suites.retrieval_tasks import make_task
from dancematch.formats.motion_capture.aist_names import AistName, list_sequences, parse_name
from dancematch.model.tokeniser import load_model
from dancematch.search.stage1.histogram import word_counts
from dancematch.training.kmeans import fit_kmeans


def name(genre: str = "BR", kind: str = "BM", dancer: str = "01", music: str = "BR0", dance: str = "01"):
    return AistName(genre, kind, dancer, music, dance)


def numbers(ranks: list[int]) -> tuple[float, float, float]:
    found = score_ranks(ranks)
    return found.mean_score, found.match_rate, found.rank1


def slow_numbers(ranks: list[int]) -> tuple[float, float, float]:
    """The paper's table, row by row."""
    table = {1: 1.0, 2: 0.5, 3: 0.25}
    counts = Counter(ranks)
    worth = sum(table.get(rank, 0.0) * times for rank, times in counts.items())
    return worth / len(ranks), sum(counts[r] for r in table) / len(ranks), counts[1] / len(ranks)


def test_a_perfect_ranking():
    assert (1.0, 1.0, 1.0) == numbers([1, 1, 1])


def test_always_second():
    assert (0.5, 1.0, 0.0) == numbers([2, 2])


def test_just_missed():
    """Fourth is as bad as last."""
    assert (0.0, 0.0, 0.0) == numbers([4]) == numbers([4000])


def test_half_perfect_half_lost():
    assert (0.5, 0.5, 0.5) == numbers([1, 99])


def test_one_of_each():
    assert (1.75 / 4, 0.75, 0.25) == numbers([1, 2, 3, 4])
    assert 4 == score_ranks([1, 2, 3, 4]).queries


@given(st.lists(st.integers(1, 8), min_size=1))
def test_two_implementations_agree(ranks):
    assert pytest.approx(slow_numbers(ranks)) == numbers(ranks)


def test_no_query_has_no_score():
    with pytest.raises(ValueError, match="no query"):
        score_ranks([])


def test_a_sequences_name_is_read():
    assert name(dancer="04", dance="10") == parse_name("gBR_sBM_cAll_d04_mBR0_ch10")
    assert parse_name("gBR_sBM_c01_d04_mBR0_ch10") is None
    assert parse_name("holiday") is None


def test_another_dancer_must_dance_it():
    """Not the query's own takes, not advanced clips; dancer 01 of another genre is somebody else."""
    names = [
        name(),  # 0: the query
        name(music="BR1"),  # 1: the same dancer again
        name(dancer="02"),  # 2: right
        name(dancer="02", dance="02"),  # 3: another dance
        name(dancer="02", kind="FM"),  # 4: advanced
        name(genre="PO"),  # 5: dancer 01 of another genre
    ]
    candidates, right, query = next(iter(cross_dancer(names, ["BR"])))

    assert (0, [2, 3, 5], [True, False, False]) == (query, candidates.tolist(), right.tolist())


def test_a_dance_nobody_else_dances_is_no_question():
    names = [name(), name(dancer="02", dance="02")]

    assert [] == list(cross_dancer(names, ["BR"]))


def test_only_the_genres_asked_for_are_queries():
    names = [name(genre=g, dancer=d) for g in ("BR", "PO") for d in ("01", "02")]

    assert [2, 3] == [query for _, _, query in cross_dancer(names, ["PO"])]


def test_the_papers_draws_are_fair_and_seeded():
    """Twenty clips a genre and draw, never the query itself; the same seed draws the same."""
    names = [name(genre=g, dance=f"{i:02}") for g in ("BR", "PO") for i in range(30)]
    drawn = list(genre(names, ["BR", "PO"], 3))

    assert GENRE_DRAWS * 2 * GENRE_CLIPS == len(drawn)
    for candidates, right, query in drawn[::50]:
        assert 2 * GENRE_CLIPS - 1 == len(candidates) == len(set(candidates.tolist()))
        assert query not in candidates
        assert GENRE_CLIPS - 1 == right.sum()
    assert [q for _, _, q in drawn] == [q for _, _, q in genre(names, ["BR", "PO"], 3)]
    assert [q for _, _, q in drawn] != [q for _, _, q in genre(names, ["BR", "PO"], 4)]


def test_the_only_clip_of_its_genre_is_no_question():
    names = [name(genre="PO"), *(name(dance=f"{i:02}") for i in range(3))]

    assert 0 not in {query for _, _, query in genre(names, ["BR", "PO"], 0)}


def test_chance_is_the_share_of_right_answers():
    questions = [
        (np.arange(4), np.array([True, False, False, False]), 9),
        (np.arange(2), np.array([True, False]), 9),
    ]

    assert 0.375 == chance_rank1(questions)


@pytest.fixture(scope="module")
def clips() -> list[AistClip]:
    """Three dances by three dancers, and one that is called by the wrong name: not every answer is right."""
    made = []
    for number in range(3):
        for dancer in range(3):
            shown = 2 if (number, dancer) == (1, 2) else number
            label = name(dancer=f"{dancer:02}", dance=f"{number:02}")
            made.append(AistClip(label, dance(shown, dancer)))
    return made


def slow_ranks(clips: list[AistClip], weighting: str) -> list[int]:
    """Every two clips compared as the equations are written, answers sorted, the first right one sought."""
    counts = np.stack([word_counts(load_model("floor").fingerprint(clip.motion)) for clip in clips])
    found = []
    for query, clip in enumerate(clips):
        alike = slow_cosines(counts, counts[query], weighting).mean(axis=0)
        others = [n for n, other in enumerate(clips) if other.name.dancer != clip.name.dancer]
        answers = sorted(others, key=lambda n: -alike[n])
        right = [clips[n].name.choreography == clip.name.choreography for n in answers]
        found.append(1 + right.index(True))
    return found


@pytest.mark.parametrize("method", ["kmeans", "kmeans-cosine"])
def test_a_slow_evaluation_agrees(clips, method):
    ranks = slow_ranks(clips, METHODS[method].weighting)
    result = evaluate(make_task("aist-cross-dancer", clips), method)

    assert len(set(ranks)) > 1  # else any implementation would agree
    assert pytest.approx(slow_numbers(ranks), abs=1e-4) == (
        result.mean_score,
        result.match_rate,
        result.rank1,
    )
    assert (9, 1 / 3, 0) == (result.queries, pytest.approx(result.chance, abs=1e-3), *result.seeds)
    assert load_model("floor").model_id == result.model_id


def test_a_refitted_model_has_not_seen_the_queries(clips):
    """It is fitted on the other genres only, and the result says so."""
    seen = []
    two = [*clips, *(AistClip(name(genre="PO", dancer=f"{d:02}"), dance(7, d)) for d in range(2))]

    def refit(motions, like):
        seen.extend(motions)
        return fit_kmeans(motions, layout=like.layout, vocabulary=16)

    task = make_task("aist-cross-dancer", two, query_genres=["PO"])
    result = evaluate(task, "kmeans", refit=refit)

    assert [clip.motion for clip in clips] == seen
    assert ("kmeans-refitted", ["PO"], ["PO"], 2) == (
        result.method,
        result.query_genres,
        result.unseen,
        result.queries,
    )


@pytest.mark.parametrize(
    ("suite", "method", "genres", "complaint"),
    [
        ("aist-magic", "kmeans", None, "suites: aist-genre"),
        ("video", "kmeans", None, "video with a folder of views"),
        ("aist-genre", "magic", None, "methods: stage1"),
        ("aist-genre", "kmeans", ["XX"], r"no clip of the genre\(s\) XX; there are BR"),
        ("excerpt", "dtw", None, "dtw compares whole clips"),
    ],
)
def test_impossible_evaluations_are_refused(clips, suite, method, genres, complaint):
    with pytest.raises(InputError, match=complaint):
        evaluate(make_task(suite, clips, query_genres=genres), method)


def test_no_question_is_no_result(clips):
    with pytest.raises(InputError, match="has no query among the genres BR"):
        make_task("aist-cross-dancer", clips[:1])


def test_the_ignore_list_is_honoured(tmp_path):
    """Beside the sequences or above them; other pickles are left out too."""
    folder = tmp_path / "keypoints3d"
    folder.mkdir()
    content = pickle.dumps({"keypoints3d_optim": np.random.default_rng(0).normal(size=(8, 17, 3))})
    kept, ignored = "gBR_sBM_cAll_d04_mBR0_ch01", "gBR_sBM_cAll_d04_mBR0_ch02"
    for stem in (kept, ignored, "notes"):
        (folder / f"{stem}.pkl").write_bytes(content)
    (tmp_path / "ignore_list.txt").write_text(f"{ignored}\n")

    assert [f"{kept}.pkl"] == [path.name for path in list_sequences(folder)]
    assert [parse_name(kept)] == [clip.name for clip in load_clips(tmp_path)]
    with pytest.raises(InputError, match="there is no folder"):
        load_clips(tmp_path / "elsewhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no AIST\+\+ sequence"):
        load_clips(tmp_path / "empty")
