"""Excerpts and views: short, changed, and found among all clips."""

import numpy as np
import pytest

from dance_samples import dance, shipped, write_dance
from dancematch.errors import InputError
from dancematch.evaluation.methods.word_comparison import WordComparison
from dancematch.evaluation.methods.word_methods import WordMethod
from dancematch.evaluation.suites.aist import AistClip
from dancematch.evaluation.suites.changed_excerpts import EXCERPT_SECONDS, changed_excerpt
from dancematch.evaluation.suites.retrieval_tasks import TaskOptions, make_task
from evaluation_samples import aist_name, evaluate, load_script


def test_a_sample_is_seeded_and_in_order(long_clips):
    task = make_task("excerpt", long_clips)
    few = task.sample(3)

    assert 3 == len(few.questions) == len(few.same_dance)
    assert [q for _, _, q in few.questions] == [q for _, _, q in task.sample(3).questions]
    assert sorted(q for _, _, q in few.questions) == [q for _, _, q in few.questions]
    for (_, right, _), same in zip(few.questions, few.same_dance, strict=True):
        assert same[right].all()
    assert len(task.questions) == len(task.sample(1000).questions)
    with pytest.raises(InputError, match="at least one query"):
        task.sample(0)


def test_an_excerpt_is_short_changed_and_seeded(long_clips):
    motion = long_clips[0].motion
    first, again, other = (changed_excerpt(motion, (seed, 0)) for seed in (0, 0, 1))

    np.testing.assert_array_equal(first.joints, again.joints)
    assert first.joints.shape != other.joints.shape or not np.allclose(first.joints, other.joints)
    assert EXCERPT_SECONDS / 1.3 < first.seconds < EXCERPT_SECONDS * 1.3
    brief = dance(1, eight_counts=1)
    assert changed_excerpt(brief, (0, 0)).seconds < 1.3 * brief.seconds


def test_excerpts_are_asked_among_all_clips(long_clips):
    """One right clip; the other dancer's recording is the same dance, an advanced clip has none."""
    advanced = [AistClip(aist_name(d, 1, kind="FM"), long_clips[0].motion) for d in (1, 2)]
    task = make_task("excerpt", [*long_clips, *advanced])
    candidates, right, _ = task.questions[0]

    assert (8, 1, 2) == (len(candidates), right.sum(), task.same_dance[0].sum())
    assert 1 == task.same_dance[-1].sum()


@pytest.mark.parametrize("method", ["kmeans", "kmeans-two-stage", "late-interaction"])
def test_excerpts_are_found(long_clips, method):
    """Their dance always, the very recording more often than by chance."""
    result = evaluate(make_task("excerpt", long_clips), method)

    assert result.rank1_dance == 1.0
    assert 0.5 < result.rank1 <= 1.0
    assert pytest.approx(1 / 6, abs=1e-3) == result.chance


def test_windows_help_to_find_an_excerpt(long_clips):
    """A clip's best window is often more like five seconds of it than the whole is, and never less."""
    task = make_task("excerpt", long_clips)
    motions, method = [clip.motion for clip in long_clips], WordMethod("floor", "cosine")  # without idf
    every = np.arange(len(long_clips))
    plain, windowed = (
        WordComparison(shipped(), motions, method, motion_of=task.motion_of, windowed=windowed)
        for windowed in (False, True)
    )
    gains = np.array([windowed.scores(query, every) - plain.scores(query, every) for query in every])

    assert gains.min() > -1e-6
    assert (np.diag(gains) > 0.01).sum() > len(long_clips) / 2


def test_views_are_asked_for_their_source(tmp_path, long_clips):
    """By the name of the sequence; views of unknown sequences or of other genres are no questions."""
    write_dance(tmp_path / "view_gBR_sBM_cAll_d01_mBR0_ch02.npz", 2, 1, 4)
    write_dance(tmp_path / "view_gPO_sBM_cAll_d01_mPO0_ch02.npz", 1)
    write_dance(tmp_path / "view_party.npz", 1)
    task = make_task("video", long_clips, options=TaskOptions(views=tmp_path))
    result = evaluate(task, "kmeans")

    assert (1, 1.0, 1.0) == (result.queries, result.rank1, result.rank1_dance)
    assert [5] == np.flatnonzero(task.questions[0][1]).tolist()
    with pytest.raises(InputError, match=r"no view_<sequence>\.npz of a known clip of BR"):
        make_task("video", long_clips, options=TaskOptions(views=tmp_path / "elsewhere"))


def test_a_table_row_shows_unseen_genres_and_the_dance(long_clips):
    tables = load_script("suite_tables.py")
    result = evaluate(make_task("excerpt", long_clips).sample(1), "late-interaction")

    assert ["excerpt", "*BR*", "late-interaction", "1.000", "100.0%", "100.0% (100.0%)", "1"] == tables[
        "network_row"
    ](vars(result), true=False)
