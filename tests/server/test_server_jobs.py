"""Jobs of a real server process, with a worker that sees puppets and fails in every way on request."""

import json
import signal
import threading
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from dance_samples import dance, digest, write_dance
from dancematch.errors import NoDancerError
from dancematch.pipeline.analysis.file_analysis import Analysis
from dancematch.pipeline.analysis.worker_process import WorkerSetup
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.server.access.tokens import ALL_SCOPES
from dancematch.server.jobs.child import analyse_upload
from dancematch.server.jobs.runner import JobRunner
from dancematch.server.jobs.table import Job, JobTable
from dancematch.server.jobs.work import FileWork
from dancematch.server.limits import MAX_ATTEMPTS
from dancematch.server.options import Options, WorkLimits
from dancematch.server.problems import Redaction, RefusedError
from dancematch.server.routes.jobs import cancel_job
from dancematch.server.schemas.requests import RecordingRequest
from dancematch.server.service import Service
from server_samples import PUPPET_WORKER, PUPPETS, serving, wait_for


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jobs")
    with open_catalogue(folder / "dances.db") as known:
        for seed in range(3):
            known.add(write_dance(folder / f"dance-{seed}.npz", seed))
    with serving(folder / "dances.db", "queue=2", "keep_videos=true", command=PUPPETS) as running:
        yield running


def begun(server, tale: object, **parameters) -> str:
    answer = server.client.post("/search", content=str(tale).encode(), params=parameters)
    assert 202 == answer.status_code, answer.text
    return answer.json()["job_id"]


def running(server, job_id: str) -> bool:
    return server.client.get(f"/jobs/{job_id}").json()["state"] == "running"


def test_a_video_is_searched_for_in_a_job(server):
    """The job's result is the answer that a motion file gets at once; its query can be asked about."""
    job = server.finished(begun(server, 2, filename="phone.mp4", limit=1))
    result = job["result"]

    assert ("done", "search", "phone.mp4", 1.0) == tuple(
        job[name] for name in ("state", "kind", "filename", "progress")
    )
    (found,) = result["dancers"][0]["candidates"]
    assert ("dance-2", "match", True) == (found["dance"], result["verdict"], result["picture"])
    assert result == server.client.get(f"/searches/{result['search_id']}").json()
    picture = server.client.get(f"/searches/{result['search_id']}/picture").json()["dancers"][0]
    assert [500, 250] == picture["frames"][0][:2]
    assert len(picture["times"]) == len(picture["frames"])


def test_a_video_is_learnt_in_a_job_and_kept_if_that_is_wanted(server):
    """Sent, waited for, looked at with all that was said of it; once it is forgotten, so is its video."""
    said = {
        "dance": "seven", "label": ["odd", "prime"], "filename": "7.mp4", "performer": "Ann",
        "date": "2020", "url": "https://example.org/7", "collection": "numbers", "notes": "a number",
    }  # fmt: skip
    answer = server.client.post("/recordings", content=b"7", params=said)
    job = server.finished(answer.json()["job_id"])
    result, known = job["result"], server.client.get("/dances/seven").json()

    assert ("done", "seven", "7.mp4", True, True) == (
        job["state"], job["dance"], *(result[name] for name in ("file", "motion", "video")),
    )  # fmt: skip
    assert ["Ann", "2020", "https://example.org/7"] == [result[one] for one in ("performer", "date", "url")]
    assert [["odd", "prime"], "numbers", "a number", True] == [
        known[one] for one in ("labels", "collection", "notes", "video")
    ]
    assert round(dance(7).seconds, 1) == result["seconds"]
    again = server.client.post("/recordings", content=b"7", params={"dance": "seven"})
    assert (200, result["recording_id"]) == (again.status_code, again.json()["recording_id"])
    assert b"7" == server.client.get("/recordings/7.mp4/video").content
    assert 204 == server.client.delete("/dances/seven").status_code
    assert 404 == server.client.get("/recordings/7.mp4/video").status_code
    assert [] == list(videos_of(server).iterdir())


def videos_of(server) -> Path:
    return Path(server.process.args[2] + ".service") / "videos"


def test_a_video_goes_with_its_recording_and_stays_through_merges(server):
    """Two dances become one: both videos are there; each recording that is removed takes its own along."""
    for number in (8, 9):
        params = {"filename": f"{number}.mp4"}
        job = server.client.post("/recordings", content=str(number).encode(), params=params).json()
        assert "done" == server.finished(job["job_id"])["state"]
    merged = server.client.patch("/dances/8", json={"merge_into": "9"}).json()

    assert [True, True] == [one["video"] for one in merged["dance"]["recordings"]]
    assert 204 == server.client.delete("/recordings/8.mp4").status_code
    assert [b"9"] == [path.read_bytes() for path in videos_of(server).iterdir()]
    assert 204 == server.client.delete("/recordings/9.mp4").status_code
    assert [] == list(videos_of(server).iterdir())


def test_a_recording_that_was_added_right_before_the_end_is_found_again(tmp_path):
    """A job that is done once more adds nothing and has the recording as its result."""
    with open_catalogue(tmp_path / "dances.db") as known:
        service = Service(Options(str(tmp_path / "dances.db")), known)
        new, found = RecordingRequest("a", label=["x"]), Analysis(Path("a"), (dance(1),), kind="motion file")
        results = [
            service._complete(Job("add", "", digest("a"), parameters=asdict(new)), found) for _ in "12"
        ]
        assert results[0] == results[1]
        assert (1, ("x",)) == (len(known.recordings()), known.dance("a").labels)
        service.close()


def test_videos_of_recordings_that_others_removed_go_when_the_service_starts(tmp_path):
    with open_catalogue(tmp_path / "dances.db") as known:
        added = known.add(write_dance(tmp_path / "a.npz", 1))
        (kept,) = known.recordings(added.dance)
        service = Service(Options(str(tmp_path / "dances.db")), known)
        for recording_id in (kept.recording_id, digest("gone")):
            service.folder.videos.joinpath(f"{recording_id}.video").touch()
        service.recordings.delete_videos_of_removed()
        left = [path.stem for path in service.folder.videos.iterdir()]
        service.close()

    assert [kept.recording_id] == left


def test_a_file_that_ends_its_worker_ends_nothing_else(server):
    """The job of a worker that crashed has failed, the next one works."""
    job = server.finished(begun(server, "deadly"))

    assert ("failed", "too_costly", None) == (job["state"], job["error"]["error"], job["result"])
    assert "done" == server.finished(begun(server, 1))["state"]


def test_what_a_worker_ignored_comes_with_the_reason(tmp_path):
    """Dancers, pictures and ignored tracks come through the process; no file of it stays."""
    clip = tmp_path / "clip.video"
    clip.write_text("3")
    setup = WorkerSetup(WorkLimits(), command=PUPPET_WORKER)
    found = analyse_upload(clip, setup, on_progress=print, stop=threading.Event())

    assert (1, 1) == (len(found.motions), len(found.images))
    assert ["1.0 s, too short"] == [one.reason for one in found.ignored]
    assert [clip] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("tale", "seconds", "complaint"),
    [
        ("deadly", 60, "it is damaged, or takes more than the 1024 MB"),
        ("hungry", 60, "it is damaged, or takes more than the 1024 MB"),
        ("endless", 3, "took more than the 3 s"),
        ("empty", 60, "no person was seen"),
    ],
)
def test_a_worker_takes_no_more_than_it_may(tmp_path, tale, seconds, complaint):
    """One that crashes, eats memory, never ends or sees no dancer is reported, and leaves nothing behind."""
    clip = tmp_path / "clip.video"
    clip.write_text(tale)
    limits = WorkLimits(seconds, 1 << 30)
    setup = WorkerSetup(limits, command=PUPPET_WORKER)
    with pytest.raises((RefusedError, NoDancerError), match=complaint):
        analyse_upload(clip, setup, on_progress=print, stop=threading.Event())

    assert [clip] == list(tmp_path.iterdir())


def test_beyond_the_queue_a_file_is_refused_for_now(server):
    """One runs, two wait, the fourth is refused with Retry-After; searches for words go on; all can go."""
    first = begun(server, "endless")
    wait_for(lambda: running(server, first))
    waiting = [begun(server, "endless") for _ in range(2)]
    refused = server.client.post("/search", content=b"endless")

    assert (429, "busy") == (refused.status_code, refused.json()["error"])
    assert int(refused.headers["retry-after"]) > 0
    assert [0, 1] == [server.client.get(f"/jobs/{one}").json()["ahead"] for one in waiting]
    listed = server.client.get("/jobs", params={"state": "waiting"}).json()["jobs"]
    assert waiting == [job["job_id"] for job in reversed(listed)]
    for job_id in (*waiting, first):
        assert 204 == server.client.delete(f"/jobs/{job_id}").status_code
        assert "cancelled" == server.finished(job_id)["state"]
    assert 204 == server.client.delete(f"/jobs/{first}").status_code  # forgotten now
    assert "unknown_job" == server.client.get(f"/jobs/{first}").json()["error"]


def test_events_report_progress_and_end_with_the_job(server):
    """The stream begins with how far the job is and ends with its result."""
    job_id = begun(server, 0)
    with server.client.stream("GET", f"/jobs/{job_id}/events") as stream:
        assert "text/event-stream" == stream.headers["content-type"].partition(";")[0]
        lines = list(stream.iter_lines())
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    *before, last = [line for line in lines if line.startswith("event")]

    assert (set(before), last) == ({"event: progress"}, "event: done")
    assert ("done", 1.0) == (events[-1]["state"], events[-1]["progress"])
    assert server.client.get(f"/jobs/{job_id}").json() == events[-1]
    assert (200, b"") == ((only := server.client.head(f"/jobs/{job_id}/events")).status_code, only.content)
    assert sorted(job["progress"] for job in events) == [job["progress"] for job in events]


@pytest.mark.parametrize(("kind", "state", "status"), [("search", "cancelled", None), ("add", "done", 409)])
def test_a_job_cancelled_in_its_last_step_says_what_became_of_it(tmp_path, kind, state, status):
    """The answer of a search is dropped; a dance that is added by then stays, and the error says so."""
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    (uploads / "clip.video").write_text("3")
    table, last_step = JobTable(tmp_path / "jobs.db"), threading.Event()

    def complete(job, _analysis):
        last_step.set()
        wait_for(lambda: job.job_id in runner._cancelled)  # nothing public shows that a cancel has begun
        return {"dance": "waltz"}

    options = Options("dances.db", workers=1, worker=PUPPET_WORKER)
    redaction, work = Redaction("dances.db", str(uploads)), FileWork(uploads, options, complete)
    runner = JobRunner(table, uploads, options, redaction, {"add": work, "search": work})
    job = Job(kind, "clip.video", "digest", dance="waltz")
    runner.submit(job)
    runner.start()
    assert last_step.wait(60)
    try:
        refusal = None
        try:
            cancel_job(SimpleNamespace(table=table, runner=runner), job.job_id, ALL_SCOPES)
        except RefusedError as error:
            refusal = error.answer
        assert status == (refusal and refusal.status)
        assert refusal is None or refusal.message.startswith("'waltz' was learnt, or is being learnt")
        assert state == table.find(job.job_id).state
    finally:
        runner.stop()
        table.close()


def test_a_server_that_ends_goes_on_with_its_jobs_when_it_is_back(tmp_path):
    """Stopped, then killed, in the middle of one job with another waiting: none is lost or done twice."""
    catalogue, uploads = tmp_path / "dances.db", tmp_path / "dances.db.service" / "uploads"
    with serving(catalogue, command=PUPPETS) as server:
        first = begun(server, "endless")
        second = server.client.post("/recordings?dance=four", content=b"4").json()["job_id"]
        wait_for(lambda: running(server, first))
        assert 0 == server.stop(signal.SIGTERM)
    with serving(catalogue, command=PUPPETS) as server:
        wait_for(lambda: running(server, first))
        server.stop(signal.SIGKILL)
    kept = sorted(upload.read_text() for upload in uploads.glob("*.upload"))
    for upload in uploads.glob("*.upload"):  # the endless one has an end now
        upload.write_text(upload.read_text().replace("endless", "5"))
    with serving(catalogue, command=PUPPETS) as server:
        states = [server.finished(job_id)["state"] for job_id in (first, second)]
        known = server.client.get("/dances").json()

    assert ["4", "endless"] == kept
    assert ["done", "done"] == states
    assert ["four"] == [one["name"] for one in known["dances"]]
    assert [] == list(uploads.iterdir())


def test_a_job_over_which_the_server_dies_again_and_again_is_given_up(tmp_path):
    """A table that is opened anew three times with the job still running names it; a stop does not count."""
    deaths = []
    JobTable(tmp_path / "jobs.db").add(Job("search", "a.video", "0"))
    for _ in range(MAX_ATTEMPTS + 1):
        table = JobTable(tmp_path / "jobs.db")
        deaths.append(len(table.recover()))
        job = table.start_next(("search",))
        table.requeue(job.job_id)
        table.start_next(("search",))
        table.close()

    assert [0] * MAX_ATTEMPTS + [1] == deaths


def test_one_address_that_sends_slowly_keeps_only_half_of_the_queue(tmp_path):
    """Its third of four places is refused, another address gets one, and a place that is given up is free."""
    options = Options("dances.db", workers=1, queue=4, worker=PUPPET_WORKER)
    table = JobTable(tmp_path / "jobs.db")
    redaction, work = Redaction("dances.db", str(tmp_path)), FileWork(tmp_path, options, lambda *_: {})
    runner = JobRunner(table, tmp_path, options, redaction, {"search": work})
    for _ in range(2):
        runner.reserve("198.51.100.1")
    with pytest.raises(RefusedError, match="2 large files of this address"):
        runner.reserve("198.51.100.1")
    runner.reserve("198.51.100.2")
    runner.release("198.51.100.1")
    runner.reserve("198.51.100.1")
    table.close()
