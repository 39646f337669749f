"""AIST++ as questions: genres, choreographies, other dancers, leave-K-out, and the scale of the paper."""

import pickle
from collections import Counter

import numpy as np
import pytest

from dancematch.errors import InputError
from dancematch.evaluation.suites.aist import (
    GENRE_CLIPS,
    GENRE_DRAWS,
    RetrievalQuestion,
    ask_choreography,
    ask_cross_dancer,
    ask_genre,
    chance_rank1,
    dance_of,
    load_clips,
)
from dancematch.evaluation.suites.scale import (
    DANCES,
    OTHER_DANCER,
    PERFORMANCES,
    REFERENCES,
    SAME_DANCER,
    SAME_RECORDING,
    split_performances,
)
from dancematch.formats.motion_capture.aist_names import AistName, list_sequences, parse_name
from evaluation_samples import aist_name


def test_a_sequences_name_is_read():
    assert aist_name(4, 10) == parse_name("gBR_sBM_cAll_d04_mBR0_ch10")
    assert parse_name("gBR_sBM_c01_d04_mBR0_ch10") is None
    assert parse_name("holiday") is None


def test_right_answers_are_by_another_dancer():
    """Not the query's own recordings, not advanced clips; dancer 01 of another genre is another person."""
    names = [
        aist_name(),  # 0: the query
        aist_name(music=1),  # 1: the same dancer again
        aist_name(2),  # 2: right
        aist_name(2, 2),  # 3: another dance
        aist_name(2, kind="FM"),  # 4: advanced
        aist_name(genre="PO"),  # 5: dancer 01 of another genre
    ]
    candidates, right, query = next(iter(ask_cross_dancer(names, ["BR"])))

    assert (0, [2, 3, 5], [True, False, False]) == (query, candidates.tolist(), right.tolist())


def test_a_dance_by_one_dancer_is_no_question():
    names = [aist_name(), aist_name(2, 2)]

    assert [] == list(ask_cross_dancer(names, ["BR"]))


def test_only_the_genres_asked_for_are_queries():
    names = [aist_name(dancer, genre=g) for g in ("BR", "PO") for dancer in (1, 2)]

    assert [2, 3] == [query for _, _, query in ask_cross_dancer(names, ["PO"])]


def test_the_papers_draws_are_fair_and_seeded():
    """Twenty clips per genre and draw, never the query itself; the same seed draws the same."""
    names = [aist_name(1, i, genre=g) for g in ("BR", "PO") for i in range(30)]
    drawn = list(ask_genre(names, ["BR", "PO"], 3))

    assert GENRE_DRAWS * 2 * GENRE_CLIPS == len(drawn)
    for candidates, right, query in drawn[::50]:
        assert 2 * GENRE_CLIPS - 1 == len(candidates) == len(set(candidates.tolist()))
        assert query not in candidates
        assert GENRE_CLIPS - 1 == right.sum()
    assert [q for _, _, q in drawn] == [q for _, _, q in ask_genre(names, ["BR", "PO"], 3)]
    assert [q for _, _, q in drawn] != [q for _, _, q in ask_genre(names, ["BR", "PO"], 4)]


def test_the_only_clip_of_its_genre_is_no_question():
    names = [aist_name(genre="PO"), *(aist_name(1, i) for i in range(3))]

    assert 0 not in {query for _, _, query in ask_genre(names, ["BR", "PO"], 0)}


def test_chance_is_the_share_of_right_answers():
    questions = [
        RetrievalQuestion(np.arange(4), np.array([True, False, False, False]), 9),
        RetrievalQuestion(np.arange(2), np.array([True, False]), 9),
    ]

    assert 0.375 == chance_rank1(questions)


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


def test_any_other_recording_is_right():
    """The same dancer's too, unlike across dancers; advanced clips are neither asked nor answers."""
    names = [aist_name(), aist_name(music=1), aist_name(2), aist_name(2, 2), aist_name(kind="FM")]
    candidates, right, query = next(ask_choreography(names, ["BR"], 0))

    assert (0, [1, 2, 3], [True, True, False]) == (query, candidates.tolist(), right.tolist())
    assert [0, 1, 2] == [query for _, _, query in ask_choreography(names, ["BR"], 0)]
    assert [2] == next(ask_cross_dancer(names, ["BR"]))[0][next(ask_cross_dancer(names, ["BR"]))[1]].tolist()


def test_leaving_one_out_leaves_the_query_out():
    names = [aist_name(dancer, number) for number in range(3) for dancer in range(4)]

    for candidates, right, query in ask_choreography(names, ["BR"], 0, leave_out=1):
        assert sorted({*range(12)} - {query}) == candidates.tolist()
        assert 3 == right.sum()


def test_leaving_more_out_leaves_fewer_right_answers():
    """K clips of the query's own class are left out, no others; the seed draws them."""
    names = [aist_name(dancer, number) for number in range(3) for dancer in range(4)]
    asked = list(ask_choreography(names, ["BR"], 0, leave_out=3))

    for candidates, right, query in asked:
        gone = {*range(12)} - set(candidates.tolist())
        assert query in gone
        assert (3, {query // 4}) == (len(gone), {place // 4 for place in gone})
        assert 1 == right.sum()
    again, other = (list(ask_choreography(names, ["BR"], seed, leave_out=3)) for seed in (0, 1))
    assert [c.tolist() for c, _, _ in asked] == [c.tolist() for c, _, _ in again]
    assert [c.tolist() for c, _, _ in asked] != [c.tolist() for c, _, _ in other]


def test_with_its_whole_class_left_out_there_is_no_question():
    names = [aist_name(dancer, number) for number in range(3) for dancer in range(4)]

    assert [] == list(ask_choreography(names, ["BR"], 0, leave_out=4))
    with pytest.raises(InputError, match="at least one clip"):
        next(ask_choreography(names, ["BR"], 0, leave_out=0))


def test_the_papers_draws_stay_the_same_whatever_is_left_out():
    """Leave-K-out asks the same queries of the same draws, with K - 1 clips fewer."""
    names = [aist_name(1, number, genre=g) for g in ("BR", "PO") for number in range(30)]
    one, five = (list(ask_genre(names, ["BR"], 3, leave_out)) for leave_out in (1, 5))

    assert [query for _, _, query in one] == [query for _, _, query in five]
    assert {(39, 19)} == {(len(c), int(r.sum())) for c, r, _ in one}
    assert {(35, 15)} == {(len(c), int(r.sum())) for c, r, _ in five}


def test_advanced_clips_are_dances_of_their_own():
    assert dance_of(aist_name(1)) == dance_of(aist_name(2, music=3))
    assert dance_of(aist_name(1, kind="FM")) != dance_of(aist_name(2, kind="FM"))


def aist_like() -> list[AistName]:
    """Seventy basic choreographies of twelve recordings and fifty advanced clips, as seven genres have."""
    genres = ["AA", "BB", "CC", "DD", "EE", "FF", "GG"]
    basic = [
        aist_name(dancer, number, music=music, genre=g)
        for g in genres for number in range(10) for dancer in range(3) for music in range(4)
    ]  # fmt: skip
    return [*basic, *(aist_name(1, number, genre="AA", kind="FM") for number in range(50))]


def test_the_papers_scale():
    """A hundred dances of fifty performances, ten of them known: 4,000 queries."""
    whole = split_performances(aist_like(), 0)
    dances = Counter(one.dance for one in whole.references)

    assert (DANCES, {REFERENCES}) == (len(dances), set(dances.values()))
    assert 4000 == len(whole.queries) == len(whole.relations)
    assert {PERFORMANCES - REFERENCES} == set(Counter(one.dance for one in whole.queries).values())
    assert whole == split_performances(aist_like(), 0)
    assert whole != split_performances(aist_like(), 1)


def test_no_performance_is_both_known_and_asked():
    """Every recording and turn is used once; the recordings of a dance are split if it has several."""
    names = aist_like()
    whole = split_performances(names, 0)
    every = [*whole.references, *whole.queries]
    known = {one.clip for one in whole.references}
    dancers = {(one.dance, names[one.clip].dancer) for one in whole.references}

    assert len(every) == len(set(every))
    for query, related in zip(whole.queries, whole.relations, strict=True):
        assert (related == SAME_RECORDING) == (query.clip in known)
        if related != SAME_RECORDING:
            shared = (query.dance, names[query.clip].dancer) in dancers
            assert shared == (related == SAME_DANCER)
    assert {SAME_RECORDING: 1200} == {
        k: n for k, n in Counter(whole.relations).items() if k == SAME_RECORDING
    }
    assert OTHER_DANCER in whole.relations
