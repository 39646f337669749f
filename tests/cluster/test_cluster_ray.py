"""A real cluster of two nodes on loopback: what it finds, what it learns, and what it survives.

One play for all tests, in which nodes and processes are killed; each test is a claim about how it went.
"""

import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster_nodes import ENVIRONMENT, Nodes
from dance_samples import save_small_model, write_dance, write_puppets
from dancematch.pipeline.catalogue import open_catalogue

TESTS = Path(__file__).parents[1]

pytest.importorskip("ray", reason="needs the extra `cluster`")
pytestmark = pytest.mark.timeout(600)


def said(process: subprocess.Popen) -> Iterator[dict]:
    for line in process.stdout:
        yield json.loads(line)


def started(script: str, *arguments: object, log: Path) -> subprocess.Popen:
    """A process of the cluster's users; its results come on stdout, JSON alone."""
    with log.open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, TESTS / script, *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=ENVIRONMENT, text=True,
        )  # fmt: skip


def outcome(*arguments: object) -> dict:
    """What the command line did."""
    line = [Path(sys.executable).with_name("dancematch"), *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}


def learn(nodes: Nodes, model: str, folder: Path) -> dict:
    """Clips learnt while a node is killed, then others while the process that writes is killed, then all."""
    for number in range(12):
        write_dance(folder / "one" / f"one{number}.npz", number)
        write_dance(folder / "two" / f"two{number}.npz", 100 + number)
    write_dance(folder / "one" / "far.npz", 200)
    write_puppets(folder / "one", poison="deadly")
    db, log, doomed = folder / "dances.db", folder / "log.txt", nodes.second()

    with started("cluster_learn.py", db, model, nodes.address, folder / "one", log=log) as one:
        first = []
        for told in said(one):
            first.append(told)
            if len(first) == 1:
                nodes.kill(doomed)
    assert 0 == one.returncode, log.read_text(errors="replace")[-3000:]
    with started("cluster_learn.py", db, model, nodes.address, folder / "two", log=log) as two:
        acknowledged = [next(said(two))["dance"] for _ in range(2)]
        two.kill()
    with open_catalogue(db, model=model) as known:
        kept = [dance.name for dance in known.dances()]
    # As little memory as cluster_learn.py gave: with more, the poisonous clip would be looked at again.
    rest = outcome("add", db, folder / "one", folder / "two", "--cluster", nodes.address, "--json",
                   "--model", model, "--clip-memory", 1024)  # fmt: skip
    asked = ("search", db, folder / "one" / "one3.npz", "--json", "--explain")
    alone = outcome(*asked, "--model", model)
    spread = outcome(*asked, "--model", model, "--cluster", nodes.address, "--shards", 2)
    quarantine = db.with_name("dances.db.quarantine.jsonl").read_text()
    return {
        "first": first, "acknowledged": acknowledged, "kept": kept, "rest": rest,
        "quarantine": quarantine, "alone": alone, "spread": spread,
    }  # fmt: skip


def tell(nodes: Nodes, model: str, folder: Path) -> dict[str, dict]:
    """The chapters of cluster_story.py, on the head and a node that is killed when it asks for that."""
    doomed = nodes.second()
    where, log, chapters = folder / "story.db", folder / "log.txt", {}
    with started("cluster_story.py", where, model, nodes.address, log=log) as told:
        for chapter in said(told):
            chapters[chapter["chapter"]] = chapter
            if chapter["chapter"] == "kill a node":
                nodes.kill(doomed)
                told.stdin.write("\n")
                told.stdin.flush()
    assert 0 == told.returncode, log.read_text(errors="replace")[-3000:]
    return chapters


@pytest.fixture(scope="session")
def played(tmp_path_factory) -> dict:
    """How it went; where tests run in several processes, one of them plays for all."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if os.environ.get("PYTEST_XDIST_WORKER") else shared
    script = shared / "played.json"
    with (shared / "played.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not script.exists():
            folder = tmp_path_factory.mktemp("cluster")
            save_small_model(folder / "small")
            nodes = Nodes()
            try:
                made = {
                    "learnt": learn(nodes, str(folder / "small"), folder),
                    "story": tell(nodes, str(folder / "small"), folder),
                }
            finally:
                nodes.close()
            script.write_text(json.dumps(made), encoding="utf-8")
    return json.loads(script.read_text(encoding="utf-8"))


@pytest.fixture
def learnt(played) -> dict:
    return played["learnt"]


@pytest.fixture
def story(played) -> dict:
    return played["story"]


def test_a_node_killed_during_ingest_costs_no_clip(learnt):
    """All are learnt, also one that no node sees, but the one that kills whatever looks at it."""
    failed = [told for told in learnt["first"] if told["error"]]
    expected = {*(f"one{number}" for number in range(12)), "far"}

    assert expected == {told["dance"] for told in learnt["first"] if not told["error"]}
    assert ["the clip ended two processes"] == [told["error"][:28] for told in failed]


def test_what_was_acknowledged_is_kept_when_the_writer_is_killed(learnt):
    assert set(learnt["acknowledged"]) <= set(learnt["kept"])
    assert {f"one{number}" for number in range(12)} <= set(learnt["kept"])


def test_the_next_run_goes_on_and_leaves_the_poison_alone(learnt):
    """What is known is skipped, the rest is added, and the clip in quarantine is named with the reason."""
    states = {
        line["file"].rpartition(os.sep)[2]: line["state"]
        for line in map(json.loads, learnt["rest"]["out"].splitlines())
    }

    assert 1 == learnt["rest"]["code"]
    assert "failed" == states.pop("poison.mp4")
    assert {"added", "skipped"} >= set(states.values())
    assert len(learnt["kept"]) == list(states.values()).count("skipped")
    assert 25 == len(states)
    assert "in quarantine since" in learnt["rest"]["err"]
    reasons = [json.loads(line)["reason"] for line in learnt["rest"]["out"].splitlines()]
    assert ["in quarantine since"] == [reason[:19] for reason in reasons if reason]
    assert "ended two processes" in learnt["quarantine"]


def test_two_nodes_and_four_parts_answer_as_one_process(story):
    """Entry by entry: the same dances, scores, spans, chances; with filters, too."""
    assert {"nodes": 2, "used": 2, "tracks": 300}.items() <= story["spread"].items()
    assert {"whole": True, "collection": True, "but": True}.items() <= story["same"].items()
    assert story["loaded"]["first"]


def test_what_is_added_removed_and_merged_is_so_for_the_next_search(story):
    assert {"first": True, "gone": True, "merged": True, "same": True}.items() <= story["changed"].items()


def test_a_killed_shard_is_started_again_and_answers_exactly(story):
    assert story["lost actor"]["same"]


def test_searches_wait_while_a_killed_nodes_shards_start_again(story):
    """After kill -9 of everything on a node during searches: none fails, none is wrong or partial."""
    lost = story["lost node"]

    assert 0 == lost["wrong"]
    assert lost["same"]
    assert lost["answers"] > 3


def test_a_shard_that_cannot_start_is_an_error(story):
    assert "did not start again within 3 s" in story["no hope"]["reason"]


def test_the_command_line_searches_on_the_cluster(learnt):
    """Same lines as without, explanation included, but for rarity: that would ask every shard."""
    alone, spread = learnt["alone"], learnt["spread"]
    without_rarity = re.sub(r'"rarity": \[[^]]+\]', '"rarity": []', alone["out"])

    assert alone["code"] == spread["code"] != 1, spread["err"]
    assert without_rarity == spread["out"] != alone["out"]
    assert "one3" == json.loads(spread["out"])["dancers"][0]["candidates"][0]["dance"]


def test_no_cluster_is_one_sentence(tmp_path):
    """An address at which there is none: what was tried, and what to do; at once."""
    clip = write_dance(tmp_path / "clip.npz", 3)
    done = outcome("add", tmp_path / "a.db", clip, "--cluster", "127.0.0.1:1")

    assert 1 == done["code"]
    assert (
        done["err"].splitlines()[-1].startswith("dancematch: no Ray cluster can be reached at '127.0.0.1:1'")
    )
