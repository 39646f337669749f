"""What a node does with a clip, without a cluster: limits, poison, quarantine, content instead of a path."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cli_samples import run_main
from dance_samples import dance, save_small_model, small_model, standing, write_dance, write_puppets
from dancematch import formats
from dancematch.cluster import looking
from dancematch.cluster.ingest import Ingest
from dancematch.cluster.looking import Clip, Way, look
from dancematch.cluster.quarantine import Quarantine
from dancematch.errors import InputError, ModelMismatchError, NoDancerError
from dancematch.pipeline.limits import WorkLimits
from dancematch.pipeline.tokenise import put_into_words

PUPPET = (sys.executable, str(Path(__file__).parents[1] / "cluster_puppet.py"))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("model") / "small"
    save_small_model(folder)
    return str(folder)


@pytest.fixture
def way(model):
    limits = WorkLimits(seconds=60, memory_bytes=1 << 30)
    yield Way(model, small_model().model_id, limits, PUPPET)
    looking._let_go()


def clip_of(path: Path) -> Clip:
    return Clip(str(path), path.stat().st_size)


def test_a_clip_comes_back_as_skeletons_and_words(way, tmp_path):
    """A node gives the very words that this process would, of a motion file as of a video."""
    (video,) = write_puppets(tmp_path, one=7)
    expected = put_into_words(small_model(), {1: dance(7)})[1]

    for path in (video, write_dance(tmp_path / "two.npz", 7)):
        looked = look(clip_of(path), way)
        assert looked.error is None
        assert 1 == len(looked.motions) == len(looked.words)
        assert np.array_equal(expected.words, looked.words[0].words)


def test_one_process_looks_at_clip_after_clip(way, tmp_path):
    one, two = write_puppets(tmp_path, one=1, two=2)
    look(clip_of(one), way)
    first = looking._hand[0]

    assert look(clip_of(two), way).error is None
    assert first is looking._hand[0]


def test_a_clip_with_nobody_in_it_fails_by_itself_and_is_no_poison(way, tmp_path):
    (clip,) = write_puppets(tmp_path, empty="nobody")
    looked = look(clip_of(clip), way)

    assert isinstance(looked.error, NoDancerError)
    assert not looked.poisonous


@pytest.mark.parametrize("tale", ["deadly", "hungry"])
def test_a_clip_that_ends_processes_is_poison(way, tale, tmp_path):
    """Whether it kills the process or eats its memory; the next clip is looked at all the same."""
    bad, good = write_puppets(tmp_path, bad=tale, good=3)
    looked = look(clip_of(bad), way)

    assert looked.poisonous
    assert "ended two processes" in str(looked.error)
    assert look(clip_of(good), way).error is None


def test_a_clip_that_takes_too_long_is_poison(model, tmp_path):
    (clip,) = write_puppets(tmp_path, bad="endless")
    way = Way(model, small_model().model_id, WorkLimits(seconds=5, memory_bytes=1 << 30), PUPPET)
    looked = look(clip_of(clip), way)

    assert looked.poisonous
    assert "took more than 5 s" in str(looked.error)


def test_a_path_that_is_not_seen_here_is_looked_at_by_its_content(way, tmp_path):
    """A file that is missing, or is another one of that name, is not taken; its content is."""
    (clip,) = write_puppets(tmp_path, one=7)
    elsewhere = Clip("/nowhere/one.mp4", clip.stat().st_size)

    assert look(elsewhere, way).invisible
    assert look(Clip(str(clip), 10_000), way).invisible
    (expected,), (found,) = look(clip_of(clip), way).words, look(elsewhere, way, clip.read_bytes()).words
    assert np.array_equal(expected.words, found.words)


def test_another_model_on_a_node_is_an_error(way, tmp_path):
    (clip,) = write_puppets(tmp_path, one=7)
    looked = look(clip_of(clip), Way(way.model, "another", way.limits, PUPPET))

    assert isinstance(looked.error, ModelMismatchError)
    assert "on all nodes" in str(looked.error)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (("search", "a.db", "clip.npz", "--shards", "2"), "give --cluster too"),
        (("add", "a.db", "clip.npz", "--retry"), "give --cluster too"),
        (("add", "a.db", "clip.npz", "--id", "a", "--cluster", "auto"), "--cluster is for many"),
    ],
)
def test_options_of_a_cluster_are_refused_where_they_mean_nothing(line, reason):
    answer = run_main(*line)

    assert 2 == answer.code
    assert reason in " ".join(answer.err.split())


def test_quarantine_is_kept_and_let_go(tmp_path):
    path = tmp_path / "dances.db.quarantine.jsonl"
    Quarantine(path).add("abc", "clip.mp4", "it is poison.")
    found = Quarantine(path).find("abc", WorkLimits(1e9, 1 << 60))

    assert ("clip.mp4", "it is poison.") == (found.file, found.reason)
    Quarantine(path).discard("abc")
    assert None is Quarantine(path).find("abc", WorkLimits())


@pytest.mark.parametrize("limit", ["seconds", "memory_bytes"])
def test_more_of_what_a_clip_lacked_lets_it_out_of_quarantine(tmp_path, limit):
    """More of the other does not, nor less of either."""
    path, had = tmp_path / "list", WorkLimits(seconds=60, memory_bytes=1 << 30)
    Quarantine(path).add("abc", "clip.mp4", "it is poison.", limit, getattr(had, limit))
    kept = Quarantine(path)
    other = "seconds" if limit == "memory_bytes" else "memory_bytes"

    assert kept.find("abc", had)
    assert kept.find("abc", replace(had, **{other: 1 << 40}))
    assert kept.find("abc", replace(had, **{limit: 1}))
    assert None is kept.find("abc", replace(had, **{limit: getattr(had, limit) + 1}))


# Stands in for Ray: looks at once, in this process.
ONE_NODE = SimpleNamespace(
    remote=lambda **_: lambda task: SimpleNamespace(remote=lambda *what: (id(what), task(*what))),
    wait=lambda calls, **_: (calls[:1], calls[1:]),
    get=lambda call: call[1],
    put=lambda value: value,
    cluster_resources=lambda: {"CPU": 1},
    exceptions=SimpleNamespace(OutOfMemoryError=KeyError, RayTaskError=KeyError, RayError=KeyError),
)


@pytest.fixture
def ingest(way, tmp_path, monkeypatch):
    """Clips looked at by one node, which is no more than this process."""
    monkeypatch.setattr("dancematch.cluster.ingest.connect", lambda _address: ONE_NODE)
    monkeypatch.chdir(tmp_path)

    def make(limits: WorkLimits = way.limits) -> Ingest:
        return Ingest(replace(way, limits=limits), Quarantine(tmp_path / "list"))

    return make


def test_a_cluster_names_files_as_they_were_given(ingest, tmp_path, monkeypatch):
    """A relative path stays one, whether the node sees the file or gets its content."""
    write_puppets(tmp_path / "clips", empty="nobody")
    formats.write(tmp_path / "clips" / "photo.npz", [standing(90)])
    given = [Path("clips/empty.mp4"), Path("clips/photo.npz")]
    here = [str(outcome.error) for outcome in ingest()(dict.fromkeys(given, "x"), None)]
    monkeypatch.setattr(looking, "_is_seen", lambda _path, _size: False)
    sent = [str(outcome.error) for outcome in ingest()(dict.fromkeys(given, "x"), None)]

    assert [True, True] == [str(path) in said for path, said in zip(given, here, strict=True)]
    assert here == sent
    assert str(tmp_path) not in " ".join(here)


def test_a_larger_limit_looks_again_by_itself(ingest, tmp_path):
    """A clip that took too long is left alone until it is given more time."""
    (clip,) = write_puppets(tmp_path, slow="endless")
    little, more = WorkLimits(3, 1 << 30), WorkLimits(4, 1 << 30)

    def said(limits: WorkLimits) -> str:
        (outcome,) = ingest(limits)({clip: "abc"}, None)
        return str(outcome.error)

    assert "the clip took more than 3 s" in said(little)
    assert "in quarantine since" in said(little)
    assert "the clip took more than 4 s" in said(more)
    assert "in quarantine since" in said(more)


def test_a_damaged_quarantine_is_one_sentence(tmp_path):
    (tmp_path / "list").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="no list of quarantined clips"):
        Quarantine(tmp_path / "list")
