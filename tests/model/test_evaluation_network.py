"""A trained network in the place of the floor; by itself, because exporting one takes a while."""

from test_runtime import trained

from dance_samples import dance
from dancematch.evaluation.measures.word_quality import measure_words
from dancematch.evaluation.methods.word_methods import SEARCHES, WordMethod
from dancematch.evaluation.suites.aist import AistClip
from dancematch.evaluation.suites.retrieval_tasks import make_task
from dancematch.formats.motion_capture.aist_names import AistName
from dancematch.model.tokeniser import save_model
from evaluation_samples import evaluate


def test_a_network_is_evaluated_as_any_words_are(tmp_path):
    """By histogram, in order and softly, in phases; its words are judged too."""
    names = [AistName("BR", "BM", f"{dancer:02}", "BR0", f"{n:02}") for n in range(3) for dancer in range(2)]
    clips = [AistClip(name, dance(int(name.dance), int(name.dancer), 4)) for name in names]
    save_model(trained(), tmp_path / "network", [])
    task = make_task("aist-cross-dancer", clips)
    plain = evaluate(task, WordMethod(tmp_path / "network"))
    every = evaluate(
        task, WordMethod(tmp_path / "network", settings=SEARCHES["two-stage"], phases=2, soft=True)
    )

    assert ("network", "network-two-stage-phases2-soft") == (plain.method, every.method)
    assert trained().model_id == plain.model_id
    assert min(plain.rank1, every.rank1) > plain.chance
    assert set(trained().channels) == set(measure_words(trained(), [clips[0].motion]).usage)
