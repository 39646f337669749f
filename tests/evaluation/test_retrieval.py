"""Retrieval tasks and their figures: the same as a slow evaluation, seeded, and complete."""

from collections import Counter

import numpy as np
import pytest

from dance_samples import dance
from dancematch.errors import InputError
from dancematch.evaluation.measures.bootstrap import mean_interval
from dancematch.evaluation.methods.word_methods import WORD_METHODS, WordMethod
from dancematch.evaluation.suites.aist import AistClip
from dancematch.evaluation.suites.changed_excerpts import changed_excerpt, excerpt_span
from dancematch.evaluation.suites.retrieval import EvaluationCache, Evaluator, answer_question
from dancematch.evaluation.suites.retrieval_tasks import TaskOptions, make_task
from dancematch.evaluation.suites.scale import OTHER_DANCER, SAME_DANCER, SAME_RECORDING, split_performances
from dancematch.model.tokeniser import load_model
from dancematch.motion import excerpt
from dancematch.search.settings import DEFAULT_SETTINGS
from dancematch.search.stage1.histogram import word_counts
from dancematch.training.kmeans import fit_kmeans
from evaluation_samples import aist_clips, aist_name, evaluate
from search.test_histogram import slow_cosines


@pytest.fixture(scope="module")
def mislabelled() -> list[AistClip]:
    """Three dances by three dancers, one under a wrong name: not every answer is right."""
    clips = aist_clips(3, 3)
    clips[5] = AistClip(clips[5].name, dance(2, 2))
    return clips


def slow_numbers(ranks: list[int]) -> tuple[float, float, float]:
    """The paper's table, row by row."""
    table = {1: 1.0, 2: 0.5, 3: 0.25}
    counts = Counter(ranks)
    total = sum(table.get(rank, 0.0) * times for rank, times in counts.items())
    return total / len(ranks), sum(counts[r] for r in table) / len(ranks), counts[1] / len(ranks)


def slow_ranks(clips: list[AistClip], weighting: str) -> list[int]:
    """All pairs of clips compared as the equations are written, answers sorted, the first right one found."""
    counts = np.stack([word_counts(load_model("floor").fingerprint(clip.motion)) for clip in clips])
    found = []
    for query, clip in enumerate(clips):
        scores = slow_cosines(counts, counts[query], weighting).mean(axis=0)
        others = [n for n, other in enumerate(clips) if other.name.dancer != clip.name.dancer]
        answers = sorted(others, key=lambda n: -scores[n])
        right = [clips[n].name.choreography == clip.name.choreography for n in answers]
        found.append(1 + right.index(True))
    return found


@pytest.mark.parametrize("method", ["kmeans", "kmeans-cosine"])
def test_a_slow_evaluation_agrees(mislabelled, method):
    ranks = slow_ranks(mislabelled, WORD_METHODS[method].weighting)
    result = evaluate(make_task("aist-cross-dancer", mislabelled), method)

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
    two = [*clips, *(AistClip(aist_name(d, genre="PO"), dance(7, d)) for d in range(2))]

    def refit(motions, like):
        seen.extend(motions)
        return fit_kmeans(motions, layout=like.layout, vocabulary=16)

    task = make_task("aist-cross-dancer", two, query_genres=["PO"])
    result = Evaluator(EvaluationCache(), refit).evaluate(task, "kmeans")

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
        ("video", "kmeans", None, "the suite video needs a folder of views"),
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


def test_scale_with_few_dances(clips):
    """Any subset of the genres is enough; only the first turn of a recording is the recording itself."""
    task = make_task("scale", clips)
    whole = split_performances([clip.name for clip in clips], 0)
    (first, *_), last = whole.references, whole.queries[-1]

    assert {"dances": 4, "references": 40} == task.facts
    assert 160 == len(task.questions)
    assert task.clips[0].motion is clips[first.clip].motion
    assert last.turn > 0
    np.testing.assert_array_equal(task.motion_of(159).joints, task.motion_of(159).joints)
    assert task.motion_of(159).joints.shape != clips[last.clip].motion.joints.shape


def test_scale_is_measured_by_kind_of_query(clips, own_model):
    """The parts add up to the whole."""
    result = evaluate(make_task("scale", clips).sample(20), WordMethod(own_model))

    assert 20 == result.queries == sum(part["queries"] for part in result.parts.values())
    assert {SAME_DANCER, OTHER_DANCER} >= set(result.parts)
    together = sum(part["queries"] * part["rank1"] for part in result.parts.values()) / 20
    assert pytest.approx(result.rank1, abs=1e-3) == together


def test_scale_counts_single_recordings_apart(own_model):
    """Advanced dances have one recording: each query is a changed reference, and counted as such."""
    alone = [AistClip(aist_name(1, number, kind="FM"), dance(number)) for number in range(3)]
    result = evaluate(make_task("scale", alone).sample(6), WordMethod(own_model))

    assert [SAME_RECORDING] == list(result.parts)
    assert 1.0 == result.rank1


def test_the_figures_of_a_result_are_those_of_its_answers(clips, own_model):
    """The figures agree with each other and with the answers one by one."""
    task, evaluator = make_task("aist-choreography", clips), Evaluator(EvaluationCache())
    result = evaluator.evaluate(task, WordMethod(own_model))
    comparison = evaluator.prepare(task, WordMethod(own_model)).comparison
    answers = [answer_question(comparison, task, number) for number in range(len(task.questions))]
    ranks = [one.rank for one in answers]

    assert pytest.approx(np.mean([rank == 1 for rank in ranks]), abs=1e-4) == result.rank1
    assert result.rank1 == result.recall["1"] == result.rank_distribution["1"]
    assert result.match_rate == result.recall["3"]
    assert pytest.approx(np.mean([one.precision for one in answers]), abs=1e-4) == (
        result.mean_average_precision
    )
    expected = mean_interval([rank == 1 for rank in ranks], [about.dance for about in task.about])
    assert pytest.approx(expected, abs=1e-4) == result.intervals["rank1"]
    assert {"BR": {"BR": 1.0}} == result.confusion
    assert ([], {"leave_out": 1}) == (list(result.parts), result.facts)


def test_suites_share_words_and_comparisons(clips, own_model, monkeypatch):
    """Words and comparisons of the same clips serve every suite and search; the figures do not change."""
    evaluator, made = Evaluator(EvaluationCache()), []
    tasks = [make_task(suite, clips) for suite in ("aist-choreography", "aist-cross-dancer")]
    methods = [WordMethod(own_model), WordMethod(own_model, settings=DEFAULT_SETTINGS), "dtw"]
    from dancematch.model.kmeans import KMeansTokeniser

    plain = KMeansTokeniser.fingerprint

    def counted(self, motion):
        made.append(motion)
        return plain(self, motion)

    monkeypatch.setattr(KMeansTokeniser, "fingerprint", counted)
    together = [evaluator.evaluate(task, method) for task in tasks for method in methods]
    assert len(clips) == len(made)
    apart = [evaluate(task, method) for task in tasks for method in methods]

    assert [r.rank_distribution for r in apart] == [r.rank_distribution for r in together]


def test_several_threads_give_the_same_figures(clips, own_model):
    task, method = make_task("aist-choreography", clips), WordMethod(own_model, settings=DEFAULT_SETTINGS)
    one, two = (Evaluator(EvaluationCache(), jobs=jobs).evaluate(task, method) for jobs in (1, 2))

    assert one.rank_distribution == two.rank_distribution
    assert one.mean_average_precision == two.mean_average_precision


def test_the_segment_of_an_excerpt_is_measured(clips, own_model):
    """By order; histograms alone give none. Unchanged excerpts are located all but exactly."""
    task = make_task("excerpt", clips, options=TaskOptions(seconds=4, strength=0))
    ordered = evaluate(task, WordMethod(own_model, settings=DEFAULT_SETTINGS))
    plain = evaluate(task, WordMethod(own_model))

    assert plain.temporal_iou is None
    assert ordered.temporal_iou > 0.8
    assert {"excerpt_seconds": 4, "strength": 0} == ordered.facts
    assert {"queries", "mean_score", "match_rate", "rank1", "temporal_iou", "place_found"} == set(
        ordered.parts["basic"]
    )


def test_an_excerpt_is_cut_at_its_span(clips):
    motion = clips[0].motion
    span = excerpt_span(motion, (0, 3), seconds=3)
    cut = changed_excerpt(motion, (0, 3), seconds=3, strength=0)

    assert 3 == pytest.approx(span.seconds)
    np.testing.assert_allclose(
        excerpt(motion, span.start, span.end).joints[: len(cut.joints)], cut.joints, atol=1e-6
    )


def test_more_change_is_harder(clips, own_model):
    weak, strong = (
        evaluate(make_task("excerpt", clips, options=TaskOptions(strength=strength)), WordMethod(own_model))
        for strength in (0, 6)
    )

    assert weak.mean_score > strong.mean_score


def test_an_excerpt_longer_than_every_clip_is_refused(clips):
    """As long as the longest clip is possible; a moment more is said to be in no clip."""
    longest = max(clip.motion.seconds for clip in clips)

    assert len(clips) == len(make_task("excerpt", clips, options=TaskOptions(seconds=longest)).questions)
    with pytest.raises(InputError, match=r"no clip lasts 200 s, the longest [\d.]+ s: ask for shorter"):
        make_task("excerpt", clips, options=TaskOptions(seconds=200))
