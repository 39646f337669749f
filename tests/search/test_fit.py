"""Learning how much each metric counts."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import dance
from dancematch.cli import dancematch
from dancematch.errors import InputError
from dancematch.formats import npz
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pipeline.fitting import _questions, learn_weights
from dancematch.search.metrics.weight_fitting import RankingQuestion, fit_weights
from dancematch.search.metrics.weights import checked_weights, read_weights


def questions(count: int, seed: int, *, candidates: int = 30) -> list[RankingQuestion]:
    """Questions that the metric "order" answers, about which "late" knows nothing."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        right = np.arange(candidates) < 2
        order = np.where(right, 0.5, 0.3) + 0.05 * rng.standard_normal(candidates)
        late = 0.5 + 0.2 * rng.standard_normal(candidates)
        parts = {"order": order.astype(np.float32), "late": late.astype(np.float32)}
        made.append(RankingQuestion(f"dance{number % 6}", parts, right))
    return made


def test_the_metric_that_knows_gets_the_weight():
    """A metric that tells right from wrong outweighs one that guesses."""
    fitted = fit_weights(questions(60, 0), ["order", "late"])

    assert fitted.weights["order"] > 0.9
    assert fitted.rank1 > 0.9
    assert 60 == fitted.questions


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_learnt_weights_are_weights(seed):
    """Whatever the questions, weights are not negative and sum to 1: they can be written and read."""
    fitted = fit_weights(questions(6, seed, candidates=8), ["order", "late"])

    assert fitted.weights == checked_weights(fitted.weights)


def test_knowing_nothing_is_judged_as_chance():
    """Groups are judged by weights learnt from others: noise does not look like knowledge."""
    rng = np.random.default_rng(3)
    noise = [
        RankingQuestion(
            f"dance{n % 8}",
            {"order": rng.random(20, np.float32), "late": rng.random(20, np.float32)},
            np.arange(20) < 1,
        )
        for n in range(160)
    ]  # fmt: skip

    assert fit_weights(noise, ["order", "late"]).rank1 < 0.15


def test_one_dance_is_not_enough():
    """One dance cannot be judged by another; a question without a right answer asks nothing."""
    alone = [RankingQuestion("only", one.parts, one.right) for one in questions(4, 0)]
    empty = [RankingQuestion("other", one.parts, one.right & False) for one in questions(4, 0)]

    with pytest.raises(InputError, match="two dances or more"):
        fit_weights([*alone, *empty], ["order", "late"])


def danced(path, dances: int, recordings: int) -> None:
    """A catalogue of dances, each by several dancers."""
    with open_catalogue(path) as known:
        for number in range(dances):
            for dancer in range(1, recordings + 1):
                clip = path.parent / f"dance{number}-{dancer}.npz"
                npz.write(clip, [dance(number, dancer=dancer)])
                known.add(clip, dance=f"dance{number}")


def test_weights_are_learnt_from_a_catalogue_and_used_by_a_search(tmp_path):
    """What 'eval weights' writes, 'search --weights' takes; nothing is overwritten unasked."""
    catalogue, weights = tmp_path / "dances.db", tmp_path / "weights.json"
    danced(catalogue, dances=3, recordings=2)
    asked = [
        "eval",
        "weights",
        str(catalogue),
        "-o",
        str(weights),
        "--metrics",
        "histogram,order,late",
        "--json",
    ]

    done = CliRunner().invoke(dancematch, asked)

    assert 0 == done.exit_code, done.stderr
    assert 6 == json.loads(done.stdout)["questions"]
    assert {"histogram", "order", "late"} >= set(read_weights(weights))
    assert isinstance(CliRunner().invoke(dancematch, asked).exception, InputError)
    clip = str(tmp_path / "dance1-2.npz")
    found = CliRunner().invoke(
        dancematch, ["search", str(catalogue), clip, "--weights", str(weights), "--json"]
    )
    best = json.loads(found.stdout)["dancers"][0]["candidates"][0]
    assert ("dance1", "dance1-2.npz") == (best["dance"], best["recording"])


def test_learnt_weights_stand_beside_the_default_ones(tmp_path):
    """The same questions; where the default weights answer all of them, nothing is gained, and said so."""
    catalogue = tmp_path / "dances.db"
    danced(catalogue, dances=3, recordings=2)
    asked = ["eval", "weights", str(catalogue), "--metrics", "late", "-o", str(tmp_path / "weights.json")]
    done = CliRunner().invoke(dancematch, asked)
    with open_catalogue(catalogue) as known:
        learnt = learn_weights(known, ["late"])

    assert ({"late": 1.0}, 1.0) == (learnt.weights, learnt.default_rank1)
    assert f"{learnt.rank1:.1%} of 6 questions" in done.stderr
    assert "with the default weights 100.0%" in done.stderr
    assert "nothing was gained" in done.stderr


def test_no_metric_is_nothing_to_learn(tmp_path):
    danced(tmp_path / "dances.db", dances=1, recordings=1)
    asked = ["eval", "weights", str(tmp_path / "dances.db"), "-o", str(tmp_path / "w.json"), "--metrics", ""]

    with pytest.raises(InputError, match=r"weights can be learnt of histogram, .*; got none"):
        CliRunner().invoke(dancematch, asked, catch_exceptions=False)


def test_the_dancers_of_one_recording_do_not_ask_for_each_other(tmp_path):
    """Two who dance together are no second recording: only the other file of their dance is an answer."""
    with open_catalogue(tmp_path / "dances.db") as known:
        for number in range(2):
            for first in (1, 3):
                clip = tmp_path / f"{number}-{first}.npz"
                npz.write(clip, [dance(number, first), dance(number, first + 1)])
                known.add(clip, dance=f"dance{number}")
        asked = list(_questions(known, ["histogram"], None))

    assert [("dance0", 1)] * 4 + [("dance1", 1)] * 4 == [(one.group, one.right.sum()) for one in asked]


def test_a_catalogue_of_single_recordings_teaches_nothing(tmp_path):
    """Dances of one label are not one dance; metrics that do not exist are named."""
    with open_catalogue(tmp_path / "dances.db") as known:
        for number in (1, 2):
            npz.write(tmp_path / f"{number}.npz", [dance(number)])
            known.add(tmp_path / f"{number}.npz", labels=["waltz"])
        with pytest.raises(InputError, match=r"two recordings or more each; .*dances.db has 0 such"):
            learn_weights(known)
        with pytest.raises(InputError, match="magic"):
            learn_weights(known, ["histogram", "magic"])


def test_too_few_dances_say_how_to_give_more(tmp_path):
    """Before any search: how many dances would do, and the command that gives a second recording."""
    danced(tmp_path / "dances.db", dances=1, recordings=2)
    with (
        open_catalogue(tmp_path / "dances.db") as known,
        pytest.raises(InputError, match=r"has 1 such: .*'dancematch add .* --dance NAME'"),
    ):
        learn_weights(known)
