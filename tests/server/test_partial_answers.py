"""Answers while a video is still being read: a real server, with a worker that reads on as the test says."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from dance_samples import dance, write_dance
from dancematch.errors import InputError
from dancematch.pipeline.analysis.file_analysis import Analysis, read_analysis, write_analysis
from dancematch.pipeline.analysis.partial_analyses import PartReader, PartWriter
from dancematch.pipeline.analysis.worker_process import WorkerSetup
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.search.confidence.verdict import MAX_EVALUE, PARTIAL_SHARE
from dancematch.server.jobs import worker
from dancematch.server.jobs.child import analyse_upload
from dancematch.server.jobs.partial_answers import PartialAnswers
from dancematch.server.jobs.runner import JobRunner
from dancematch.server.jobs.table import Job, JobTable
from dancematch.server.jobs.work import FileWork
from dancematch.server.options import Options, WorkLimits
from dancematch.server.problems import Redaction
from film_samples import open_gate
from server_samples import GATED_WORKER, PUPPETS, serving, wait_for

OPTIONS = (f"worker={json.dumps(GATED_WORKER)}", "MAX_STREAMS_PER_ADDRESS=2")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that knows four dances; the film is of the one with the number 3."""
    folder = tmp_path_factory.mktemp("parts")
    with open_catalogue(folder / "dances.db") as known:
        for seed in range(4):
            known.add(write_dance(folder / f"dance-{seed}.npz", seed))
    with serving(folder / "dances.db", *OPTIONS, command=PUPPETS) as running:
        yield running


@pytest.fixture
def gates(tmp_path) -> Path:
    """The folder of the gates of one film."""
    folder = tmp_path / "gates"
    folder.mkdir()
    return folder


def search(server, gates: Path, **parameters) -> str:
    answer = server.client.post("/search", content=str(gates).encode(), params=parameters)
    assert 202 == answer.status_code, answer.text
    return answer.json()["job_id"]


def follow(server, job_id: str) -> Iterator[tuple[str, dict]]:
    """The events of a job, each as it comes; closing the iterator leaves the stream."""
    with httpx.stream("GET", f"{server.url}/jobs/{job_id}/events", timeout=180) as stream:
        assert 200 == stream.status_code
        name = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))


def following(events: Iterator[tuple[str, dict]], name: str) -> dict:
    """The data of the next event of that name; only progress comes before it."""
    for one, data in events:
        if one == name:
            return data
        assert "progress" == one
    raise AssertionError(f"the stream ended before there was an event {name}")


def counted(server, metric: str) -> float:
    lines = server.client.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(metric))


def test_answers_come_while_a_video_is_read(server, gates):
    """After four and six seconds, then the answer itself; only that is counted, held and reviewed."""
    before = counted(server, "dancematch_searches_total"), counted(server, "dancematch_searches_held")
    job_id = search(server, gates, filename="film.mp4", review=True, max_evalue=0)
    with closing(follow(server, job_id)) as events:
        name, first = next(events)
        parts = []
        for number in (1, 2):
            open_gate(gates, number)
            parts.append(following(events, "answer"))
            assert parts[-1] == server.client.get(f"/jobs/{job_id}").json()["partial"]
        listed = server.client.get("/jobs").json()["jobs"]
        between = counted(server, "dancematch_searches_total"), counted(server, "dancematch_searches_held")
        reviews = server.client.get("/reviews").json()["waiting"]
        open_gate(gates, 3)
        last = following(events, "done")
        assert [] == list(events)

    assert ("progress", {"state", "progress", "ahead", "seconds_left"}) == (name, set(first))
    assert [4.0, 6.0, None] == [one["read_seconds"] for one in (*parts, last["result"])]
    assert [None, None] == [one["search_id"] for one in parts]
    assert ["dance-3"] * 3 == [
        one["dancers"][0]["candidates"][0]["dance"] for one in (*parts, last["result"])
    ]
    assert (None, "film.mp4") == (last["partial"], last["filename"])
    assert {None} == {job["partial"] for job in listed}
    assert (before, 0) == (between, reviews)
    assert (before[0] + 1, before[1] + 1, 1) == (
        counted(server, "dancematch_searches_total"),
        counted(server, "dancematch_searches_held"),
        server.client.get("/reviews").json()["waiting"],
    )


def test_a_match_in_a_part_needs_a_tenth_of_the_evalue(server, gates):
    """The answer says so itself: its verdicts follow from the limit that it names."""
    job_id = search(server, gates, keep=False)
    with closing(follow(server, job_id)) as events:
        open_gate(gates, 1)
        part = following(events, "answer")
        open_gate(gates, 2)
        open_gate(gates, 3)
        whole = server.finished(job_id)["result"]

    assert (PARTIAL_SHARE * MAX_EVALUE, MAX_EVALUE) == (part["max_evalue"], whole["max_evalue"])
    for answer in (part, whole):
        match = answer["dancers"][0]["candidates"][0]
        assert (match["evalue"] <= answer["max_evalue"]) == (match["verdict"] == "match")


@pytest.mark.parametrize("end", ["failed", "cancelled"])
def test_a_stream_ends_with_its_job_whatever_ends_that(server, gates, end):
    """A worker that dies, or a job that is cancelled, after a first answer, which goes with it."""
    job_id = search(server, gates)
    with closing(follow(server, job_id)) as events:
        open_gate(gates, 1)
        assert 4.0 == following(events, "answer")["read_seconds"]
        if end == "failed":
            open_gate(gates, 2, "deadly")
        else:
            assert 204 == server.client.delete(f"/jobs/{job_id}").status_code
        last = following(events, end)
        assert [] == list(events)

    assert (end, None, None) == (last["state"], last["partial"], last["result"])
    assert last == server.client.get(f"/jobs/{job_id}").json()
    assert ("too_costly" if end == "failed" else None) == (last["error"] and last["error"]["error"])


def test_a_client_that_leaves_makes_room_for_another(server, gates):
    """Of three streams the third is refused until one is left; the job goes on, and no thread stays."""
    job_id = search(server, gates)
    place = f"{server.url}/jobs/{job_id}/events"
    threads = Path(f"/proc/{server.process.pid}/task")
    open_gate(gates, 1)
    with closing(follow(server, job_id)) as stays, closing(follow(server, job_id)) as leaves:
        following(stays, "answer"), next(leaves)
        counts = [len(list(threads.iterdir()))]
        assert (429, "busy") == ((refused := httpx.get(place)).status_code, refused.json()["error"])
        assert int(refused.headers["retry-after"]) > 0
        leaves.close()
        with closing(wait_for(lambda: first_event(server, job_id))) as next_one:
            counts.append(len(list(threads.iterdir())))
            for number in (2, 3):
                open_gate(gates, number)
            assert "done" == following(skip_answers(next_one), "done")["state"]
        assert "done" == following(skip_answers(stays), "done")["state"]

    assert counts[0] >= counts[1]


def first_event(server, job_id: str) -> Iterator[tuple[str, dict]] | None:
    """The rest of a stream, if there was room for it."""
    events = follow(server, job_id)
    try:
        next(events)
    except AssertionError:
        return None
    return events


def skip_answers(events: Iterator[tuple[str, dict]]) -> Iterator[tuple[str, dict]]:
    return (one for one in events if one[0] != "answer")


def test_a_service_that_is_stopped_ends_its_streams(tmp_path, gates):
    """In the middle of a job, after an answer: the stream ends without a last event, the process with 0."""
    with open_catalogue(tmp_path / "dances.db") as known:
        known.add(write_dance(tmp_path / "dance-3.npz", 3))
    with serving(tmp_path / "dances.db", *OPTIONS, command=PUPPETS) as server:
        job_id = search(server, gates)
        with closing(follow(server, job_id)) as events:
            open_gate(gates, 1)
            following(events, "answer")
            server.process.send_signal(signal.SIGTERM)
            rest = [name for name, _ in events]
            code = server.process.wait(60)

    assert (set(), 0) == (set(rest) - {"progress"}, code)


def test_a_worker_tells_parts_only_where_they_are_wanted(gates, tmp_path):
    """As motions that grow, and then the whole, from one process; no file of them stays."""
    clip = tmp_path / "clip.upload"
    clip.write_text(str(gates), encoding="utf-8")
    for number in (1, 2, 3):
        open_gate(gates, number)
    parts: list[Analysis] = []
    setup = WorkerSetup(WorkLimits(), command=GATED_WORKER)
    whole = analyse_upload(clip, setup, on_progress=print, stop=threading.Event(), on_part=parts.append)
    plain = analyse_upload(clip, setup, on_progress=print, stop=threading.Event())

    assert [4.0, 6.0, None, None] == [one.read_seconds for one in (*parts, whole, plain)]
    lengths = [one.motions[0].seconds for one in (*parts, whole)]
    assert sorted(set(lengths)) == lengths
    assert (whole.motions[0].joints == plain.motions[0].joints).all()


def test_a_part_is_there_only_when_it_is_complete(tmp_path):
    """While it is written it has another name; once it is read it is gone."""
    seen: list[bool] = []

    def write_slowly(folder: Path, part: Analysis) -> None:
        write_analysis(folder, part)
        seen.append((tmp_path / "part-1").exists())

    PartWriter(tmp_path, write_slowly).write(Analysis(Path("clip"), (dance(1),), read_seconds=4.0))
    read = PartReader(tmp_path, partial(read_analysis, path=Path("clip"))).read()

    assert ([False], 4.0, []) == (seen, read.read_seconds, list(tmp_path.iterdir()))


def test_a_part_that_takes_long_to_search_for_is_not_told(tmp_path, monkeypatch):
    """The answer on what was read before stays; the whole is what it always is."""
    motion, told = dance(1), []
    monkeypatch.setattr(worker, "MAX_PART_DANCER_SECONDS", 1.5 * motion.seconds)
    found = [Analysis(Path("clip"), count * (motion,), read_seconds=seconds) for count, seconds in
             ((1, 4.0), (2, 6.0), (2, None))]  # fmt: skip
    analyser = SimpleNamespace(
        analyse_video_progressively=lambda _source: iter(found),
        send_part=lambda _parts, part, _seconds: told.append(part),
    )

    assert found[2] is worker._analyse_in_parts(Path("clip"), tmp_path, analyser)
    assert found[:1] == told


def test_parts_are_searched_for_one_at_a_time_and_go_with_their_job():
    """A second part is passed over meanwhile; an answer that comes after the end of its job is dropped."""
    job, part = Job("search", "clip", "digest"), Analysis(Path("clip"))
    begun, go = threading.Semaphore(0), threading.Semaphore(0)
    searched: list[Job] = []

    def answer(job: Job, _part: Analysis) -> str:
        searched.append(job)
        begun.release()
        assert go.acquire(timeout=180)
        return "answer"

    answers = PartialAnswers(answer, 1)
    answers.search(job, part)
    assert begun.acquire(timeout=180)
    answers.search(job, part)
    go.release()
    assert "answer" == wait_for(lambda: answers.latest(job.job_id))
    wait_for(answers._searches[job.job_id].done)
    answers.search(job, part)
    assert begun.acquire(timeout=180)
    answers.drop(job.job_id)
    go.release()
    answers.close()

    assert (2, None) == (len(searched), answers.latest(job.job_id))
    assert [] == threads_of_jobs()


@pytest.mark.parametrize("error", [InputError("no such label"), ValueError("a mistake of ours")])
def test_a_part_that_cannot_be_searched_for_leaves_the_job_alone(tmp_path, gates, error):
    """Whatever the reason; the job has its own answer, and no thread is left when the runner has stopped."""
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    (uploads / "clip.upload").write_text(str(gates), encoding="utf-8")
    for number in (1, 2, 3):
        open_gate(gates, number)
    tried: list[float | None] = []

    def fail(_job: Job, part: Analysis) -> None:
        tried.append(part.read_seconds)
        raise error

    table, options = JobTable(tmp_path / "jobs.db"), Options("dances.db", workers=1, worker=GATED_WORKER)
    redaction, answers = Redaction("dances.db", str(uploads)), PartialAnswers(fail, 1)
    work = FileWork(uploads, options, lambda *_: {"found": True}, answers)
    runner = JobRunner(table, uploads, options, redaction, {"search": work})
    job = Job("search", "clip.upload", "digest")
    runner.submit(job)
    runner.start()
    wait_for(lambda: table.find(job.job_id).is_finished)
    runner.stop()

    assert ("done", None) == (table.find(job.job_id).state, answers.latest(job.job_id))
    assert tried[0] == 4.0
    assert [] == threads_of_jobs()
    table.close()


def threads_of_jobs() -> list[str]:
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if name.startswith(("dancematch-job", "dancematch-part"))]
