"""The suites beyond the paper's table: choreographies, leave-K-out, scale, places, and who is let in."""

import json
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner

from dance_samples import dance, save_small_model, write_dance
from dancematch.cli.research.eval import eval_command
from dancematch.errors import InputError
from dancematch.evaluation.measures.bootstrap import mean_interval
from dancematch.evaluation.methods.word_comparison import WordMethod
from dancematch.evaluation.suites.aist import AistClip, choreography, cross_dancer, dance_of, genre
from dancematch.evaluation.suites.changed_excerpts import changed_excerpt, excerpt_span
from dancematch.evaluation.suites.open_set import OpenSetSuite, outside_cohort, stretches
from dancematch.evaluation.suites.retrieval import EvaluationCache, Evaluator, answer, evaluate
from dancematch.evaluation.suites.retrieval_tasks import TaskOptions, make_task
from dancematch.evaluation.suites.scale import (
    DANCES,
    OTHER_DANCER,
    PERFORMANCES,
    REFERENCES,
    SAME_DANCER,
    SAME_TAKE,
    cast,
)
from dancematch.formats.motion_capture.aist_names import AistName
from dancematch.model.tokeniser import load_model
from dancematch.motion import excerpt
from dancematch.search.settings import DEFAULT_SETTINGS


def name(
    dancer: int = 1, number: int = 1, *, music: int = 0, genre: str = "BR", kind: str = "BM"
) -> AistName:
    return AistName(genre, kind, f"{dancer:02}", f"{genre}{music}", f"{number:02}")


@pytest.fixture(scope="module")
def clips() -> list[AistClip]:
    """Four dances by three dancers."""
    return [
        AistClip(name(dancer, number), dance(number, dancer)) for number in range(4) for dancer in range(3)
    ]


@pytest.fixture(scope="module")
def own_model(tmp_path_factory):
    """A model fitted in a moment, with a background."""
    folder = tmp_path_factory.mktemp("models") / "own"
    save_small_model(folder)
    return folder


def test_any_other_take_is_right():
    """The same dancer's too, unlike across dancers; advanced clips are neither asked nor answers."""
    names = [name(), name(music=1), name(2), name(2, 2), name(kind="FM")]
    candidates, right, query = next(choreography(names, ["BR"], 0))

    assert (0, [1, 2, 3], [True, True, False]) == (query, candidates.tolist(), right.tolist())
    assert [0, 1, 2] == [query for _, _, query in choreography(names, ["BR"], 0)]
    assert [2] == next(cross_dancer(names, ["BR"]))[0][next(cross_dancer(names, ["BR"]))[1]].tolist()


def test_leaving_one_out_leaves_the_query_out():
    names = [name(dancer, number) for number in range(3) for dancer in range(4)]

    for candidates, right, query in choreography(names, ["BR"], 0, leave_out=1):
        assert sorted({*range(12)} - {query}) == candidates.tolist()
        assert 3 == right.sum()


def test_leaving_more_out_leaves_fewer_right_answers():
    """K clips of the query's own class are gone, nobody else; which ones, the seed says."""
    names = [name(dancer, number) for number in range(3) for dancer in range(4)]
    asked = list(choreography(names, ["BR"], 0, leave_out=3))

    for candidates, right, query in asked:
        gone = {*range(12)} - set(candidates.tolist())
        assert query in gone
        assert (3, {query // 4}) == (len(gone), {place // 4 for place in gone})
        assert 1 == right.sum()
    again, other = (list(choreography(names, ["BR"], seed, leave_out=3)) for seed in (0, 1))
    assert [c.tolist() for c, _, _ in asked] == [c.tolist() for c, _, _ in again]
    assert [c.tolist() for c, _, _ in asked] != [c.tolist() for c, _, _ in other]


def test_with_all_of_its_class_out_there_is_no_question():
    names = [name(dancer, number) for number in range(3) for dancer in range(4)]

    assert [] == list(choreography(names, ["BR"], 0, leave_out=4))
    with pytest.raises(InputError, match="one clip or more"):
        next(choreography(names, ["BR"], 0, leave_out=0))


def test_the_papers_draws_stay_the_same_whatever_is_left_out():
    """Leave-K-out asks the same queries of the same draws, with K - 1 clips fewer."""
    names = [name(1, number, genre=g) for g in ("BR", "PO") for number in range(30)]
    one, five = (list(genre(names, ["BR"], 3, leave_out)) for leave_out in (1, 5))

    assert [query for _, _, query in one] == [query for _, _, query in five]
    assert {(39, 19)} == {(len(c), int(r.sum())) for c, r, _ in one}
    assert {(35, 15)} == {(len(c), int(r.sum())) for c, r, _ in five}


def test_advanced_clips_are_dances_of_their_own():
    assert dance_of(name(1)) == dance_of(name(2, music=3))
    assert dance_of(name(1, kind="FM")) != dance_of(name(2, kind="FM"))


def aist_like() -> list[AistName]:
    """Seventy basic choreographies of twelve takes and fifty advanced clips, as seven genres have."""
    genres = ["AA", "BB", "CC", "DD", "EE", "FF", "GG"]
    basic = [
        name(dancer, number, music=music, genre=g)
        for g in genres for number in range(10) for dancer in range(3) for music in range(4)
    ]  # fmt: skip
    return [*basic, *(name(1, number, genre="AA", kind="FM") for number in range(50))]


def test_the_papers_scale():
    """A hundred dances of fifty performances, ten of them known: 4,000 queries."""
    whole = cast(aist_like(), 0)
    dances = Counter(one.dance for one in whole.references)

    assert (DANCES, {REFERENCES}) == (len(dances), set(dances.values()))
    assert 4000 == len(whole.queries) == len(whole.related)
    assert {PERFORMANCES - REFERENCES} == set(Counter(one.dance for one in whole.queries).values())
    assert whole == cast(aist_like(), 0)
    assert whole != cast(aist_like(), 1)


def test_no_performance_is_both_known_and_asked():
    """Every take and turn is used once; a dance's takes are split if it has several, and said so if not."""
    names = aist_like()
    whole = cast(names, 0)
    every = [*whole.references, *whole.queries]
    known = {one.take for one in whole.references}
    dancers = {(one.dance, names[one.take].dancer) for one in whole.references}

    assert len(every) == len(set(every))
    for query, related in zip(whole.queries, whole.related, strict=True):
        assert (related == SAME_TAKE) == (query.take in known)
        if related != SAME_TAKE:
            shared = (query.dance, names[query.take].dancer) in dancers
            assert shared == (related == SAME_DANCER)
    assert {SAME_TAKE: 1200} == {k: n for k, n in Counter(whole.related).items() if k == SAME_TAKE}
    assert OTHER_DANCER in whole.related


def test_few_dances_are_all_there_are(clips):
    """Any subset of the genres will do; only the first turn of a take is the take itself."""
    task = make_task("scale", clips)
    whole = cast([clip.name for clip in clips], 0)
    (first, *_), last = whole.references, whole.queries[-1]

    assert {"dances": 4, "references": 40} == task.facts
    assert 160 == len(task.questions)
    assert task.known[0].motion is clips[first.take].motion
    assert last.turn > 0
    np.testing.assert_array_equal(task.motion_of(159).joints, task.motion_of(159).joints)
    assert task.motion_of(159).joints.shape != clips[last.take].motion.joints.shape


def test_scale_is_measured_by_kind_of_query(clips, own_model):
    """The parts add up to the whole."""
    result = evaluate(make_task("scale", clips).sample(20), WordMethod(own_model))

    assert 20 == result.queries == sum(part["queries"] for part in result.parts.values())
    assert {SAME_DANCER, OTHER_DANCER} >= set(result.parts)
    together = sum(part["queries"] * part["rank1"] for part in result.parts.values()) / 20
    assert pytest.approx(result.rank1, abs=1e-3) == together


def test_scale_with_single_takes_says_so(own_model):
    """Advanced dances are danced once: each query is a changed reference, and counted as such."""
    alone = [AistClip(name(1, number, kind="FM"), dance(number)) for number in range(3)]
    result = evaluate(make_task("scale", alone).sample(6), WordMethod(own_model))

    assert [SAME_TAKE] == list(result.parts)
    assert 1.0 == result.rank1


def test_a_result_says_all_that_is_known_of_a_ranking(clips, own_model):
    """The figures agree with each other and with the answers one by one."""
    task, judge = make_task("aist-choreography", clips), Evaluator(EvaluationCache())
    result = judge.evaluate(task, WordMethod(own_model))
    comparison = judge.contend(task, WordMethod(own_model)).comparison
    answers = [answer(comparison, task, number) for number in range(len(task.questions))]
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


def test_what_suites_share_is_made_once(clips, own_model, monkeypatch):
    """Words and comparisons of the same clips serve every suite and search; the figures do not change."""
    judge, made = Evaluator(EvaluationCache()), []
    tasks = [make_task(suite, clips) for suite in ("aist-choreography", "aist-cross-dancer")]
    methods = [WordMethod(own_model), WordMethod(own_model, settings=DEFAULT_SETTINGS), "dtw"]
    from dancematch.model.kmeans import KMeansTokeniser

    plain = KMeansTokeniser.fingerprint

    def counted(self, motion):
        made.append(motion)
        return plain(self, motion)

    monkeypatch.setattr(KMeansTokeniser, "fingerprint", counted)
    together = [judge.evaluate(task, method) for task in tasks for method in methods]
    assert len(clips) == len(made)
    apart = [evaluate(task, method) for task in tasks for method in methods]

    assert [r.rank_distribution for r in apart] == [r.rank_distribution for r in together]


def test_several_hands_find_the_same(clips, own_model):
    task, method = make_task("aist-choreography", clips), WordMethod(own_model, settings=DEFAULT_SETTINGS)
    one, two = (Evaluator(EvaluationCache(), jobs=jobs).evaluate(task, method) for jobs in (1, 2))

    assert one.rank_distribution == two.rank_distribution
    assert one.mean_average_precision == two.mean_average_precision


def test_an_excerpts_place_is_measured(clips, own_model):
    """By order; histograms alone know of none. Unchanged excerpts are placed all but exactly."""
    task = make_task("excerpt", clips, plan=TaskOptions(seconds=4, strength=0))
    ordered = evaluate(task, WordMethod(own_model, settings=DEFAULT_SETTINGS))
    plain = evaluate(task, WordMethod(own_model))

    assert plain.temporal_iou is None
    assert ordered.temporal_iou > 0.8
    assert {"excerpt_seconds": 4, "strength": 0} == ordered.facts
    assert {"queries", "mean_score", "match_rate", "rank1", "temporal_iou", "place_found"} == set(
        ordered.parts["basic"]
    )


def test_an_excerpt_is_cut_where_it_is_said_to_be(clips):
    motion = clips[0].motion
    span = excerpt_span(motion, (0, 3), seconds=3)
    cut = changed_excerpt(motion, (0, 3), seconds=3, strength=0)

    assert 3 == pytest.approx(span.seconds)
    np.testing.assert_allclose(
        excerpt(motion, span.start, span.end).joints[: len(cut.joints)], cut.joints, atol=1e-6
    )


def test_more_change_is_harder(clips, own_model):
    weak, strong = (
        evaluate(make_task("excerpt", clips, plan=TaskOptions(strength=strength)), WordMethod(own_model))
        for strength in (0, 6)
    )

    assert weak.mean_score > strong.mean_score


def silent(things, *_):
    return things


def test_friends_are_let_in_and_strangers_not(clips, own_model):
    """Another origin, other dances: the known are named and sure; the figures are those of the answers."""
    strangers = [dance(number, 9) for number in range(50, 54)]
    asked = OpenSetSuite(clips, strangers, queries=8)
    results = {
        r.query: r
        for r in asked.evaluate(WordMethod(own_model, settings=DEFAULT_SETTINGS), EvaluationCache(), silent)
    }
    friends = results["excerpt"]

    assert {"excerpt", "another dancer", "another dancer, 3 s", "several takes"} == set(results)
    assert friends.rank1 > 0.8 > 3 * friends.chance
    assert (8, len(list(stretches(strangers, np.random.default_rng(0))))) == (
        friends.queries,
        friends.strangers,
    )
    for result in results.values():
        assert sorted(result.true_accepts.values()) == list(result.true_accepts.values())
        assert max(result.true_accepts.values()) <= result.rank1
        assert result.curve["true_accepts"][-1] <= result.rank1
    assert 8 == results["another dancer"].queries == results["another dancer"].strangers


def test_an_unknown_dance_in_the_background_is_not_asked(own_model):
    """Whole or only its beginning; a dance that merely begins like a shorter member is asked."""
    model, motions = load_model(own_model), [dance(number, 9) for number in range(50, 54)]
    words = [model.fingerprint(motion) for motion in motions]
    least = min(map(len, words))
    cut = [words[0].segment(0, least - 1), words[1].segment(0, least - 1), words[2].segment(0, 2)]

    assert motions[2:] == outside_cohort(motions, model, cut)
    assert motions == outside_cohort(motions, model, [])


def test_without_strangers_the_missing_dance_is_the_stranger(clips, own_model):
    results = list(
        OpenSetSuite(clips, []).evaluate(
            WordMethod(own_model, settings=DEFAULT_SETTINGS), EvaluationCache(), silent
        )
    )

    kinds = ["another dancer", "another dancer, 3 s", "several takes"]

    assert kinds == [result.query for result in results]


def test_views_are_strangers_friends_too(clips, own_model, tmp_path):
    write_dance(tmp_path / "view_gBR_sBM_cAll_d01_mBR0_ch02.npz", 2, 1)
    asked = OpenSetSuite(clips, [dance(50)], views=tmp_path, queries=2)
    results = {
        r.query: r
        for r in asked.evaluate(WordMethod(own_model, settings=DEFAULT_SETTINGS), EvaluationCache(), silent)
    }

    assert (1, 1.0) == (results["video"].queries, results["video"].rank1)


def test_views_are_no_more_than_was_asked_for(clips, tmp_path):
    """Three views, two queries: two of them, the same ones for the same seed."""
    for number in range(3):
        write_dance(tmp_path / f"view_gBR_sBM_cAll_d01_mBR0_ch{number:02}.npz", number, 1)
    dances = [dance_of(clip.name) for clip in clips]
    drawn = [
        [one for one, _ in OpenSetSuite(clips, [], views=tmp_path, queries=2)._seen(dances)] for _ in range(2)
    ]

    assert 2 == len(set(drawn[0]))
    assert drawn[0] == drawn[1]


def test_an_excerpt_longer_than_every_clip_is_refused(clips):
    """As long as the longest clip is possible; a moment more is said to be in no clip."""
    longest = max(clip.motion.seconds for clip in clips)

    assert len(clips) == len(make_task("excerpt", clips, plan=TaskOptions(seconds=longest)).questions)
    with pytest.raises(InputError, match=r"no clip lasts 200 s, the longest [\d.]+ s: ask for shorter"):
        make_task("excerpt", clips, plan=TaskOptions(seconds=200))


@pytest.mark.parametrize(("genres", "warned"), [(("BR",), 1), (("BR", "PO"), 0)])
def test_figures_that_say_nothing_are_called_so(own_model, monkeypatch, genres, warned):
    """Among clips of one genre each is of the right genre: said once, whatever the number of methods."""
    some = [AistClip(name(1, n, genre=g), dance(n)) for n, g in enumerate(genres * 2)]
    monkeypatch.setattr("dancematch.evaluation.suites.aist.load_clips", lambda _: some)
    line = ["aist-genre", "--data", "any", "--model", str(own_model), "--method", "dtw"]
    result = CliRunner().invoke(eval_command, line)

    assert 0 == result.exit_code
    assert warned == result.stderr.count("aist-genre: every answer is right here")


@pytest.mark.parametrize("suite", ["excerpt", "benchmark"])
def test_data_that_are_not_there_are_called_so(suite, own_model, tmp_path):
    line = [suite, "--data", str(tmp_path / "none"), "--model", str(own_model)]

    with pytest.raises(InputError, match=r"there is no folder .*none; one "):
        CliRunner().invoke(eval_command, line, catch_exceptions=False)


def test_one_stage_is_not_sure_of_anything(clips):
    with pytest.raises(InputError, match="kmeans has one, say two-stage"):
        next(OpenSetSuite(clips, []).evaluate("kmeans", EvaluationCache(), silent))


@pytest.fixture
def ask(clips, own_model, monkeypatch):
    """The command on these clips: its result lines, or its complaint."""
    monkeypatch.setattr("dancematch.evaluation.suites.aist.load_clips", lambda _: clips)

    def run(*arguments: object) -> list[dict] | str:
        told = [*map(str, arguments), "--data", "any", "--model", str(own_model), "--json"]
        result = CliRunner().invoke(eval_command, told)
        if result.exception and result.exit_code == 1:
            return str(result.exception)
        return result.stderr if result.exit_code else list(map(json.loads, result.stdout.splitlines()))

    return run


def test_several_suites_in_one_run(ask):
    lines = ask("aist-choreography", "excerpt", "--search", "histogram", "--search", "two-stage",
                "--seconds", 2, "--seconds", 3, "--strength", 0, "--max-queries", 3)  # fmt: skip

    assert ["aist-choreography"] * 2 + ["excerpt"] * 4 == [line["suite"] for line in lines]
    assert ["kmeans", "kmeans-two-stage"] * 3 == [line["method"] for line in lines]
    assert [2, 2, 3, 3] == [line["facts"]["excerpt_seconds"] for line in lines[2:]]


def test_strangers_on_the_command_line(ask, tmp_path):
    """A folder of motions, and made-up dances beside them."""
    write_dance(tmp_path / "in" / "odd.npz", 77)
    lines = ask("open-set", "--unknown", tmp_path / "in", "--max-queries", 4)

    kinds = ["excerpt", "another dancer", "another dancer, 3 s", "several takes"]

    assert kinds == [line["query"] for line in lines]
    assert {"kmeans-two-stage"} == {line["method"] for line in lines}
    assert lines[0]["strangers"] > 20


def test_lines_are_kept_in_a_file(ask, tmp_path):
    """All of them; what is there is not replaced unless that is asked for, and said before the work."""
    target = tmp_path / "results.jsonl"
    lines = ask("aist-choreography", "-o", target)

    assert lines == [json.loads(line) for line in target.read_text().splitlines()]
    assert "exists already" in ask("aist-choreography", "-o", target)
    assert 2 == ask("aist-choreography", "-o", target, "--force", "--max-queries", 2)[0]["queries"]
    assert 2 == json.loads(target.read_text())["queries"]
    assert ["results.jsonl"] == [path.name for path in tmp_path.iterdir()]


def test_a_method_of_its_own_takes_no_orders(ask):
    assert "stage1 is always the same" in ask("aist-genre", "--method", "stage1", "--soft")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["video"], "the suite video needs --views"),
        (["aist-genre", "--seconds", 2], "--seconds belongs to the suite excerpt"),
        (["excerpt", "--unknown", "."], "--unknown belongs to the suite open-set"),
        (["excerpt", "--leave-out", 3], "--leave-out belongs to the suites aist-genre and aist-choreography"),
        (["open-set", "--refit", "--query-genres", "BR"], "which open-set needs"),
        (["aist-genre", "benchmark"], "run it by itself"),
    ],
)
def test_what_would_be_asked_in_vain_is_refused(ask, arguments, complaint):
    assert complaint in ask(*arguments)
