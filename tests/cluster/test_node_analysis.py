"""What a node does with a clip, without a cluster: limits, quarantine, content instead of a path."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cli_samples import run_main
from dance_samples import dance, save_small_model, small_model, standing, write_dance, write_puppets
from dancematch import formats
from dancematch.cluster import node_analysis
from dancematch.cluster.ingest import ClusterAnalyser
from dancematch.cluster.node_analysis import NodeClip, NodeResult, analyse_clip, end_worker
from dancematch.errors import InputError, ModelMismatchError, NoDancerError
from dancematch.pipeline.analysis.limits import WorkLimits
from dancematch.pipeline.analysis.quarantine import Quarantine
from dancematch.pipeline.analysis.worker_process import WorkerSetup
from dancematch.pipeline.tokenise import tokenise_motions

PUPPET = (sys.executable, str(Path(__file__).parents[1] / "cluster_puppet.py"))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("model") / "small"
    save_small_model(folder)
    return str(folder)


@pytest.fixture
def setup(model):
    limits = WorkLimits(seconds=60, memory_bytes=1 << 30)
    yield WorkerSetup(limits, model, small_model().model_id, command=PUPPET)
    end_worker()


def clip_of(path: Path) -> NodeClip:
    return NodeClip(str(path), path.stat().st_size)


def analyse(path: Path, setup: WorkerSetup) -> NodeResult:
    return analyse_clip(clip_of(path), setup)


def test_a_clip_comes_back_as_skeletons_and_words(setup, tmp_path):
    """A node gives the very words that this process would, of a motion file as of a video."""
    (video,) = write_puppets(tmp_path, one=7)
    expected = tokenise_motions(small_model(), {1: dance(7)})[1]

    for path in (video, write_dance(tmp_path / "two.npz", 7)):
        found = analyse(path, setup).analysis
        assert found.error is None
        assert 1 == len(found.motions) == len(found.words)
        assert np.array_equal(expected.words, found.words[0].words)


def test_one_worker_analyses_clip_after_clip(setup, tmp_path, monkeypatch):
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)) or started[-1])
    for path in write_puppets(tmp_path, one=1, two=2):
        assert analyse(path, setup).analysis.error is None

    assert 1 == len(started)


def test_a_clip_without_a_dancer_fails_by_itself_and_is_not_quarantined(setup, tmp_path):
    (clip,) = write_puppets(tmp_path, empty="nobody")
    result = analyse(clip, setup)

    assert isinstance(result.analysis.error, NoDancerError)
    assert not result.quarantined


@pytest.mark.parametrize("tale", ["deadly", "hungry"])
def test_a_clip_that_kills_workers_is_quarantined(setup, tale, tmp_path):
    """Whether it kills the process or takes all its memory; the next clip is analysed all the same."""
    bad, good = write_puppets(tmp_path, bad=tale, good=3)
    result = analyse(bad, setup)

    assert result.quarantined
    assert "ended two processes" in str(result.analysis.error)
    assert analyse(good, setup).analysis.error is None


def test_a_clip_that_takes_too_long_is_quarantined(setup, tmp_path):
    (clip,) = write_puppets(tmp_path, bad="endless")
    result = analyse(clip, replace(setup, limits=WorkLimits(seconds=5, memory_bytes=1 << 30)))

    assert result.quarantined
    assert "took more than 5 s" in str(result.analysis.error)


def test_a_path_that_is_not_visible_here_is_analysed_by_its_content(setup, tmp_path):
    """A file that is missing, or is another one of that name, is not taken; its content is."""
    (clip,) = write_puppets(tmp_path, one=7)
    elsewhere = NodeClip("/nowhere/one.mp4", clip.stat().st_size)

    assert analyse_clip(elsewhere, setup).analysis is None
    assert analyse_clip(NodeClip(str(clip), 10_000), setup).analysis is None
    (expected,) = analyse(clip, setup).analysis.words
    (found,) = analyse_clip(elsewhere, setup, clip.read_bytes()).analysis.words
    assert np.array_equal(expected.words, found.words)


def test_another_model_on_a_node_is_an_error(setup, tmp_path):
    (clip,) = write_puppets(tmp_path, one=7)
    found = analyse(clip, replace(setup, model_id="another")).analysis

    assert isinstance(found.error, ModelMismatchError)
    assert "on all nodes" in str(found.error)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (("search", "a.db", "clip.npz", "--shards", "2"), "give --cluster too"),
        (("add", "a.db", "clip.npz", "--retry"), "give --cluster too"),
    ],
)
def test_options_of_a_cluster_are_refused_where_they_mean_nothing(line, reason):
    answer = run_main(*line)

    assert 2 == answer.code
    assert reason in " ".join(answer.err.split())


def test_quarantine_is_kept_and_discarded(tmp_path):
    path = tmp_path / "dances.db.quarantine.jsonl"
    Quarantine(path).add("abc", "clip.mp4", "it is damaged.")
    found = Quarantine(path).find("abc", WorkLimits(1e9, 1 << 60))

    assert ("clip.mp4", "it is damaged.") == (found.file, found.reason)
    Quarantine(path).discard("abc")
    assert None is Quarantine(path).find("abc", WorkLimits())


@pytest.mark.parametrize("limit", ["seconds", "memory_bytes"])
def test_more_of_what_a_clip_lacked_lets_it_out_of_quarantine(tmp_path, limit):
    """More of the other does not, nor less of either."""
    path, had = tmp_path / "list", WorkLimits(seconds=60, memory_bytes=1 << 30)
    Quarantine(path).add("abc", "clip.mp4", "it is damaged.", limit, getattr(had, limit))
    kept = Quarantine(path)
    other = "seconds" if limit == "memory_bytes" else "memory_bytes"

    assert kept.find("abc", had)
    assert kept.find("abc", replace(had, **{other: 1 << 40}))
    assert kept.find("abc", replace(had, **{limit: 1}))
    assert None is kept.find("abc", replace(had, **{limit: getattr(had, limit) + 1}))


# Stands in for Ray: runs a task at once, in this process.
ONE_NODE = SimpleNamespace(
    remote=lambda **_: lambda task: SimpleNamespace(remote=lambda *what: (id(what), task(*what))),
    wait=lambda calls, **_: (calls[:1], calls[1:]),
    get=lambda call: call[1],
    put=lambda value: value,
    cluster_resources=lambda: {"CPU": 1},
    exceptions=SimpleNamespace(OutOfMemoryError=KeyError, RayTaskError=KeyError, RayError=KeyError),
)


@pytest.fixture
def ingest(setup, tmp_path, monkeypatch):
    """Clips analysed by one node, which is this process."""
    monkeypatch.setattr("dancematch.cluster.ingest.connect", lambda _address: ONE_NODE)
    monkeypatch.chdir(tmp_path)

    def make(limits: WorkLimits = setup.limits) -> ClusterAnalyser:
        return ClusterAnalyser(replace(setup, limits=limits), Quarantine(tmp_path / "list"))

    return make


def test_a_cluster_names_files_as_they_were_given(ingest, tmp_path, monkeypatch):
    """A relative path stays one, whether the node sees the file or gets its content."""
    write_puppets(tmp_path / "clips", empty="nobody")
    formats.write(tmp_path / "clips" / "photo.npz", [standing(90)])
    given = [Path("clips/empty.mp4"), Path("clips/photo.npz")]
    here = [str(found.error) for found in ingest()(dict.fromkeys(given, "x"), None)]
    monkeypatch.setattr(node_analysis, "_is_visible", lambda _path, _size: False)
    sent = [str(found.error) for found in ingest()(dict.fromkeys(given, "x"), None)]

    assert [True, True] == [str(path) in said for path, said in zip(given, here, strict=True)]
    assert here == sent
    assert str(tmp_path) not in " ".join(here)


def test_a_larger_limit_ends_the_quarantine(ingest, tmp_path):
    """A clip that took too long is left alone until it is given more time."""
    (clip,) = write_puppets(tmp_path, slow="endless")
    little, more = WorkLimits(3, 1 << 30), WorkLimits(4, 1 << 30)

    def said(limits: WorkLimits) -> str:
        (found,) = ingest(limits)({clip: "abc"}, None)
        return str(found.error)

    assert "the clip took more than 3 s" in said(little)
    assert "in quarantine since" in said(little)
    assert "the clip took more than 4 s" in said(more)
    assert "in quarantine since" in said(more)


def test_a_damaged_quarantine_is_one_sentence(tmp_path):
    (tmp_path / "list").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="no list of quarantined clips"):
        Quarantine(tmp_path / "list")
