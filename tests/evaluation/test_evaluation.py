"""What is asked beyond the paper's protocol, and the methods that answer."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dance_samples import dance, save_small_model, shipped, small_model, write_dance
from dancematch.cli.research.eval import eval_command
from dancematch.errors import DanceMatchError, InputError
from dancematch.evaluation.measures.word_quality import (
    decoding_error,
    edit_similarity,
    measure_words,
    perplexity,
)
from dancematch.evaluation.methods.feature_comparison import (
    DynamicTimeWarping,
    LateInteraction,
    squared_distances,
    usual_square,
    warping_costs,
)
from dancematch.evaluation.methods.word_comparison import SEARCHES, WordComparison, WordMethod, ask
from dancematch.evaluation.suites.aist import AistClip
from dancematch.evaluation.suites.changed_excerpts import EXCERPT_SECONDS, changed_excerpt
from dancematch.evaluation.suites.retrieval import evaluate
from dancematch.evaluation.suites.retrieval_tasks import TaskOptions, make_task
from dancematch.formats.motion_capture.aist_names import AistName
from dancematch.model.kmeans import patch_features
from dancematch.model.parts import LAYOUTS, PARTS7
from dancematch.model.patches import soft_assignment
from dancematch.motion import canonicalise, excerpt
from dancematch.search.stage1.histogram import Histograms, word_counts
from dancematch.training.kmeans import fit_kmeans
from dancematch.types import SEEN_FROM

SEQUENCES = arrays.arrays(np.float32, st.tuples(st.integers(1, 6), st.just(2)), elements=st.integers(-4, 4))
WORDS = st.lists(st.integers(0, 3), min_size=1, max_size=7)


def name(dancer: int = 1, number: int = 1, *, genre: str = "BR", kind: str = "BM") -> AistName:
    return AistName(genre, kind, f"{dancer:02}", f"{genre}0", f"{number:02}")


@pytest.fixture(scope="module")
def clips() -> list[AistClip]:
    """Three dances by two dancers, twelve seconds or more each: long enough to be entered in windows."""
    return [
        AistClip(name(dancer, number), dance(number, dancer, 4)) for number in range(3) for dancer in range(2)
    ]


def slow_warping(query, other) -> float:
    """The cost of every cell from its three neighbours, one after the other."""
    rows, columns = len(query), len(other)
    table = np.full((rows + 1, columns + 1), np.inf)
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            cost = np.linalg.norm(query[i - 1].astype(float) - other[j - 1])
            ways = (table[i - 1, j] + cost, table[i, j - 1] + cost, table[i - 1, j - 1] + 2 * cost)
            table[i, j] = 2 * cost if i == j == 1 else min(ways)
    return table[-1, -1] / (rows + columns)


def slow_edits(first, second) -> int:
    """Levenshtein's distance as it is defined."""
    if not first or not second:
        return len(first) + len(second)
    changed = slow_edits(first[:-1], second[:-1]) + (first[-1] != second[-1])
    return min(changed, slow_edits(first[:-1], second) + 1, slow_edits(first, second[:-1]) + 1)


@given(SEQUENCES, st.lists(SEQUENCES, min_size=1, max_size=4))
def test_two_time_warpings_agree(query, others):
    """Filling the tables of many candidates at once gives what filling each by itself does."""
    expected = [slow_warping(query, other) for other in others]

    np.testing.assert_allclose(expected, warping_costs(query, others), atol=1e-3)


def test_warping_does_not_mind_the_tempo():
    """A sequence in which every row comes twice costs nothing, another one does."""
    rows = np.array([[0, 0], [3, 1], [5, 2]], dtype=np.float32)

    assert [0, 0] == warping_costs(rows, [rows, np.repeat(rows, 2, axis=0)]).tolist()
    assert warping_costs(rows, [rows[::-1]])[0] > 1


@settings(deadline=None)
@given(WORDS, WORDS)
def test_two_edit_distances_agree(first, second):
    expected = 1 - slow_edits(first, second) / max(len(first), len(second))
    found = edit_similarity(np.array(first)[:, None], np.array(second)[:, None])

    assert pytest.approx(expected) == found


def test_edits_are_counted_by_channel():
    """One channel as before, the other all different."""
    first, second = np.array([[1, 1], [2, 1]]), np.array([[1, 3], [2, 3]])

    assert 0.5 == edit_similarity(first, second)


def test_late_interaction_is_what_its_equation_says(clips):
    """Patch by patch and part by part, against a sum written out."""
    motions = [clip.motion for clip in clips[:3]]
    found = LateInteraction(motions).scores(0, np.arange(3))
    expected = np.zeros(3)
    canonical = [canonicalise(motion) for motion in motions]
    for joints in PARTS7.values():
        features = [patch_features(one, joints) for one in canonical]
        usual = usual_square(np.concatenate(features))
        for other in range(3):
            nearest = [((features[other] - row) ** 2).sum(axis=1).min() for row in features[0]]
            expected[other] += np.exp(-np.array(nearest) / usual).mean() / len(PARTS7)

    np.testing.assert_allclose(expected, found, atol=1e-3)
    assert found[0] == pytest.approx(1, abs=1e-3)


def test_what_is_not_seen_of_a_query_does_not_count(clips):
    """Without legs the arms and the torso decide."""
    motions = [clip.motion for clip in clips[:3]]
    legless = motions[0].joints.copy()
    legless[:, [motions[0].skeleton.index(f"{side}_ankle") for side in ("left", "right")]] = np.nan
    seen = type(motions[0])(legless, motions[0].fps, motions[0].skeleton)
    scores = LateInteraction(motions, lambda _: seen).scores(0, np.arange(3))

    assert scores[0] == pytest.approx(1, abs=1e-3)
    assert scores[0] > scores[2]


@pytest.mark.parametrize("method", ["dtw", "late-interaction"])
def test_references_find_the_other_dancer(clips, method):
    """They use no model, so that every genre is unseen to them."""
    result = evaluate(make_task("aist-cross-dancer", clips), method)

    assert (1.0, "none", ["BR"], method) == (
        result.rank1,
        result.model_id,
        result.unseen,
        result.method,
    )


def test_time_warping_takes_queries_from_elsewhere(clips):
    motions = [clip.motion for clip in clips[:3]]
    scores = DynamicTimeWarping(motions, lambda _: motions[2]).scores(0, np.arange(3))

    assert 2 == scores.argmax()
    assert 0 == pytest.approx(scores[2], abs=1e-3)


def test_distances_are_those_of_the_rows():
    rows = np.array([[0, 0], [3, 4]], dtype=np.float32)

    assert [[0, 25], [25, 0]] == squared_distances(rows, rows).tolist()


def test_phases_count_the_words_of_every_beginning():
    motion = dance(1)
    phases = small_model().phases(motion, 2)
    expected = sum(word_counts(phase).astype(int) for phase in phases)

    assert expected.tolist() == ask(small_model(), motion, WordMethod("", phases=2)).counts.tolist()


def test_soft_words_share_out_each_patch():
    """All that is seen counts once in all, and mostly as the word that it is."""
    motion = dance(1)
    hard, soft = (ask(small_model(), motion, WordMethod("", soft=soft)) for soft in (False, True))
    model = small_model()
    words, weights = soft_assignment(model.latents(canonicalise(motion)), model.vectors, 3)
    expected = np.zeros_like(soft.counts)
    for step, channel, rank in np.ndindex(*words.shape):
        if hard.fingerprint.visibility[step, channel] >= SEEN_FROM:
            expected[channel, words[step, channel, rank]] += weights[step, channel, rank]

    np.testing.assert_allclose(expected, soft.counts, atol=1e-3)
    np.testing.assert_allclose(hard.counts.sum(axis=1), soft.counts.sum(axis=1), rtol=1e-4)
    assert (hard.counts != soft.counts).any()


def test_soft_phases_add_up():
    """A first phase alone counts less than two, and two as much as their patches."""
    motion = dance(1)
    both = ask(small_model(), motion, WordMethod("", phases=2, soft=True)).counts
    patches = sum(len(phase) for phase in small_model().phases(motion, 2))

    np.testing.assert_allclose(np.full(len(both), patches), both.sum(axis=1), rtol=1e-4)


def test_a_query_may_count_in_parts():
    """Counts and any multiple of them point the same way."""
    known = [np.array([[3, 0, 1]], np.uint8), np.array([[0, 2, 2]], np.uint8)]
    histograms = Histograms(known, "cosine")
    halves = np.array([[1.5, 0, 0.5]], np.float32)

    np.testing.assert_allclose(histograms.cosines(known[0]), histograms.cosines(halves), atol=1e-6)


def test_methods_are_named_by_what_they_do(clips):
    task = make_task("aist-cross-dancer", clips).sample(2)
    plain = evaluate(task, WordMethod("floor"))
    every = evaluate(task, WordMethod("floor", "cosine", settings=SEARCHES["two-stage"], phases=2, soft=True))
    whole = evaluate(task, WordMethod("floor-whole"))

    assert ("kmeans", "kmeans-cosine-two-stage-phases2-soft") == (plain.method, every.method)
    assert "kmeans-whole" == whole.method
    assert plain.rank1_dance is None


def test_a_model_of_ones_own_is_evaluated(tmp_path, clips):
    model = save_small_model(tmp_path / "own")
    result = evaluate(make_task("aist-cross-dancer", clips), WordMethod(tmp_path / "own"))

    assert (model.model_id, 6) == (result.model_id, result.queries)


def test_known_genres_are_not_unseen(clips, monkeypatch):
    """What a model says it was trained on is believed."""
    taught = fit_kmeans([dance(1)], vocabulary=8, trained_on={"aist_genres": ["BR"]})
    monkeypatch.setattr("dancematch.evaluation.suites.retrieval.load_model", lambda _: taught)

    assert [] == evaluate(make_task("aist-cross-dancer", clips), WordMethod("any")).unseen


def test_a_sample_is_seeded_and_in_order(clips):
    task = make_task("excerpt", clips)
    few = task.sample(3)

    assert 3 == len(few.questions) == len(few.takes)
    assert [q for _, _, q in few.questions] == [q for _, _, q in task.sample(3).questions]
    assert sorted(q for _, _, q in few.questions) == [q for _, _, q in few.questions]
    for (_, right, _), takes in zip(few.questions, few.takes, strict=True):
        assert takes[right].all()
    assert len(task.questions) == len(task.sample(1000).questions)
    with pytest.raises(InputError, match="one query or more"):
        task.sample(0)


def test_an_excerpt_is_short_changed_and_seeded(clips):
    motion = clips[0].motion
    first, again, other = (changed_excerpt(motion, (seed, 0)) for seed in (0, 0, 1))

    np.testing.assert_array_equal(first.joints, again.joints)
    assert first.joints.shape != other.joints.shape or not np.allclose(first.joints, other.joints)
    assert EXCERPT_SECONDS / 1.3 < first.seconds < EXCERPT_SECONDS * 1.3
    brief = dance(1, eight_counts=1)
    assert changed_excerpt(brief, (0, 0)).seconds < 1.3 * brief.seconds


def test_excerpts_are_asked_among_all_clips(clips):
    """One right clip; the other dancer's take is the same dance, an advanced clip is nobody's take."""
    advanced = [AistClip(name(d, 1, kind="FM"), clips[0].motion) for d in (1, 2)]
    task = make_task("excerpt", [*clips, *advanced])
    candidates, right, _ = task.questions[0]

    assert (8, 1, 2) == (len(candidates), right.sum(), task.takes[0].sum())
    assert 1 == task.takes[-1].sum()


@pytest.mark.parametrize("method", ["kmeans", "kmeans-two-stage", "late-interaction"])
def test_excerpts_are_found(clips, method):
    """Their dance always, the very take more often than by chance."""
    result = evaluate(make_task("excerpt", clips), method)

    assert result.rank1_dance == 1.0
    assert 0.5 < result.rank1 <= 1.0
    assert pytest.approx(1 / 6, abs=1e-3) == result.chance


def test_windows_help_to_find_an_excerpt(clips):
    """A clip's best window is often more like five seconds of it than the whole is, and never less."""
    task = make_task("excerpt", clips)
    motions, method = [clip.motion for clip in clips], WordMethod("floor", "cosine")  # without rarity
    every = np.arange(len(clips))
    plain, windowed = (
        WordComparison(shipped(), motions, method, motion_of=task.motion_of, windowed=windowed)
        for windowed in (False, True)
    )
    gains = np.array([windowed.scores(query, every) - plain.scores(query, every) for query in every])

    assert gains.min() > -1e-6
    assert (np.diag(gains) > 0.01).sum() > len(clips) / 2


@pytest.mark.parametrize("phases", [1, 2])
def test_a_query_is_asked_with_its_bones(clips, phases):
    """As a search reads it: without bones there is no synchrony."""
    motion = clips[0].motion
    expected, asked = (
        shipped().fingerprint(motion),
        ask(shipped(), motion, WordMethod("network", phases=phases)),
    )

    np.testing.assert_array_equal(expected.bones, asked.fingerprint.bones)
    np.testing.assert_array_equal(expected.words, asked.fingerprint.words)


def test_by_likelihood_a_suite_ranks_as_a_search_does(clips, monkeypatch):
    """Two seconds, which say too little for any ratio: the score decides; what is not proposed comes last."""
    monkeypatch.setattr("dancematch.search.settings.CAP", 3)
    motions, every = [clip.motion for clip in clips], np.arange(len(clips))
    two_seconds = [excerpt(motion, 1.0, 2.8) for motion in motions]
    for search in ("likelihood", "two-stage"):
        method = WordMethod("network", settings=SEARCHES[search])
        compared = WordComparison(
            shipped(), motions, method, motion_of=two_seconds.__getitem__, windowed=True
        )
        scores = np.array([compared.scores(query, every) for query in every])

        assert 3 * len(clips) == np.isfinite(scores).sum()
        assert every.tolist() == scores.argmax(axis=1).tolist()


def test_views_are_asked_for_their_source(tmp_path, clips):
    """By the name of the sequence; views of unknown sequences or of other genres are no questions."""
    write_dance(tmp_path / "view_gBR_sBM_cAll_d01_mBR0_ch02.npz", 2, 1, 4)
    write_dance(tmp_path / "view_gPO_sBM_cAll_d01_mPO0_ch02.npz", 1)
    write_dance(tmp_path / "view_party.npz", 1)
    task = make_task("video", clips, plan=TaskOptions(views=tmp_path))
    result = evaluate(task, "kmeans")

    assert (1, 1.0, 1.0) == (result.queries, result.rank1, result.rank1_dance)
    assert [5] == np.flatnonzero(task.questions[0][1]).tolist()
    with pytest.raises(InputError, match=r"no view_<sequence>\.npz of a known clip of BR"):
        make_task("video", clips, plan=TaskOptions(views=tmp_path / "elsewhere"))


def test_perplexity_counts_equal_words():
    assert pytest.approx(4) == perplexity([5, 5, 5, 5, 0])
    assert pytest.approx(1) == perplexity([9, 0])
    assert 1 < perplexity([9, 1]) < 2


def test_words_are_judged_on_what_they_say():
    """Used at most wholly; changes leave something; the decoded motion is near, but not the same."""
    motions = [dance(number) for number in range(3)]
    found = measure_words(small_model(), motions)
    again = measure_words(small_model(), motions)

    assert found == again
    assert set(small_model().channels) == set(found.usage) == set(found.perplexity)
    assert all(0 < share <= 1 for share in found.usage.values())
    assert all(1 <= value <= small_model().vocabulary for value in found.perplexity.values())
    assert {"tilt", "noise", "drift", "dropout", "tempo", "phase"} == set(found.agreement)
    assert all(0 < share < 1 for share in found.agreement.values())
    assert 0 < found.error_cm < 40
    assert sum(len(small_model().fingerprint(motion)) for motion in motions) == found.words


def test_more_words_keep_more_of_the_motion():
    motions = [dance(number) for number in range(3)]
    few, many = (
        np.mean([decoding_error(model, m, model.fingerprint(m)) for m in motions])
        for model in (small_model(vocabulary=4), small_model(vocabulary=64))
    )

    assert many < few


@pytest.fixture
def ask_eval(clips, monkeypatch):
    """The command on these clips, with a second genre to fit on: its result lines, or its complaint."""
    others = [AistClip(name(d, n, genre="PO"), dance(10 + n, d, 4)) for n in range(5) for d in range(2)]
    monkeypatch.setattr("dancematch.evaluation.suites.aist.load_clips", lambda _: [*clips, *others])

    def run(*arguments: object) -> list[dict] | str:
        told = ["aist-cross-dancer", "--data", "any", "--query-genres", "BR", "--json", *map(str, arguments)]
        answer = CliRunner().invoke(eval_command, told)
        return answer.stderr if answer.exit_code else list(map(json.loads, answer.stdout.splitlines()))

    return run


def test_a_model_stands_beside_the_methods(ask_eval, tmp_path):
    """It is taken as it is, also where the floor is fitted anew; the options hold for all words alike."""
    model = save_small_model(tmp_path / "own")
    own, floor, wordless = ask_eval(
        "--model", tmp_path / "own", "--method", "kmeans", "--method", "dtw", "--refit", "--max-queries", 2
    )
    soft = ask_eval("--model", tmp_path / "own", "--method", "kmeans", "--soft", "--phases", 2)

    assert ["kmeans", "kmeans-refitted", "dtw"] == [r["method"] for r in (own, floor, wordless)]
    assert [2, 2, 2] == [r["queries"] for r in (own, floor, wordless)]
    assert model.model_id == own["model_id"] != floor["model_id"]
    assert ["kmeans-phases2-soft"] * 2 == [r["method"] for r in soft]


def test_options_that_make_no_sense_together_are_refused(ask_eval):
    assert "--refit fits the k-means of a --method" in ask_eval("--model", "floor", "--refit")
    assert "dtw has none" in ask_eval("--method", "dtw", "--soft")
    assert "--views belongs to the suites video and open-set" in ask_eval("--views", "folder")


def test_what_cannot_be_asked_is_said_before_the_clips_are_read(monkeypatch):
    def unread(_: object) -> None:
        pytest.fail("the clips were read")

    monkeypatch.setattr("dancematch.evaluation.suites.aist.load_clips", unread)
    told = ["excerpt", "--data", "any"]
    for arguments, complaint in [
        (["--model", "no-such-model"], "neither a shipped model"),
        (["--model", "network", "--phases", "5"], "a patch has 4 frames to begin at, not 5"),
    ]:
        with pytest.raises(DanceMatchError, match=complaint):
            CliRunner().invoke(eval_command, [*told, *arguments], catch_exceptions=False)
    assert 2 == CliRunner().invoke(eval_command, [*told, "--seed", "-1"]).exit_code


def test_a_table_row_tells_unseen_genres_and_other_takes(clips):
    tables = runpy.run_path(str(Path(__file__).parents[2] / "eval" / "tables.py"))
    result = evaluate(make_task("excerpt", clips).sample(1), "late-interaction")

    assert ["excerpt", "*BR*", "late-interaction", "1.000", "100.0%", "100.0% (100.0%)", "1"] == tables[
        "network_row"
    ](vars(result), true=False)


def test_another_layout_is_told_by_name(clips, monkeypatch):
    """The name of a method says so wherever the body is cut up otherwise than the floor does it."""
    other = next(layout for layout in LAYOUTS if layout not in (shipped().layout, "whole"))
    model = fit_kmeans([dance(1)], layout=other, vocabulary=8)
    monkeypatch.setattr(
        "dancematch.evaluation.suites.retrieval.load_model",
        lambda name: shipped() if name == "floor" else model,
    )
    result = evaluate(make_task("aist-cross-dancer", clips), WordMethod("other"))

    assert f"kmeans-{other}" == result.method
