"""Long videos and cameras of a real server process, whose worker sees made-up dancers."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
import pytest

from dance_samples import dance, write_dance
from dancematch.pipeline.analysis.recent_tracks import read_recent_tracks, write_recent_tracks
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pipeline.scan.moments import moments_of_tracks
from dancematch.pose.estimators import TracksSoFar
from dancematch.report.scan_files import SCAN_FORMATS
from dancematch.server.scans.track_folder import TrackFolder
from dancematch.types import Span
from film_samples import long_track, recent
from pose_samples import write_clip
from server_samples import LONG_WORKER, PUPPETS, serving, wait_for

MEDLEY = "3 11 1"  # the second is not known
OPTIONS = (f"worker={json.dumps(LONG_WORKER)}", "CAMERA_SILENCE_SECONDS=3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """What the service writes."""
    return tmp_path_factory.mktemp("scans") / "dances.db.service"


@pytest.fixture(scope="module")
def server(folder):
    catalogue = folder.with_name("dances.db")
    with open_catalogue(catalogue) as known:
        for seed in range(4):
            known.add(write_dance(folder.with_name(f"dance-{seed}.npz"), seed, eight_counts=4))
    with serving(catalogue, *OPTIONS, command=PUPPETS) as running:
        yield running


@pytest.fixture(scope="module")
def scanned(server) -> dict:
    """A scan that is done."""
    return server.finished(scan(server, MEDLEY, filename="évening.mp4"))


def scan(server, script: str, **parameters) -> str:
    answer = server.client.post("/scan", content=script.encode(), params=parameters)
    assert 202 == answer.status_code, answer.text
    return answer.json()["job_id"]


def follow(server, job_id: str) -> Iterator[tuple[str, dict]]:
    with httpx.stream("GET", f"{server.url}/jobs/{job_id}/events", timeout=60) as stream:
        name = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))


def danced(result: dict) -> list[str | None]:
    return [one["dance"] for one in sorted(result["segments"], key=lambda one: one["span"]["start"])]


def test_a_long_video_becomes_segments(scanned):
    """Each dance where it is danced, the unknown one named as none; the names are those of a scan's JSON."""
    result = scanned["result"]
    found = result["segments"][0]

    assert ("done", "scan", "évening.mp4", 1.0) == tuple(
        scanned[name] for name in ("state", "kind", "filename", "progress")
    )
    assert ["dance-3", None, "dance-1"] == danced(result)
    assert (False, True) == (result["live"], abs(result["seconds"] - 51.4) < 1)
    assert {"dancer", "span", "verdict", "dance", "match"} < set(found)
    assert ("match", "dance-3", 1) == (found["verdict"], found["match"]["dance"], found["match"]["dancer"])


def test_segments_are_told_while_the_rest_is_read(server, tmp_path):
    """The first with the time left, before the end is read; a correction has to wait for that."""
    job_id = scan(server, f"3 1 11 gate={tmp_path / 'go'} 2")
    with closing(follow(server, job_id)) as events:
        seen = []
        for name, data in events:
            seen.append((name, data))
            if name == "segment":
                break
        partial = server.client.get(f"/jobs/{job_id}").json()["partial"]
        early = server.client.patch(f"/scans/{job_id}/segments/0", json={"dance": "x"})
        (tmp_path / "go").touch()
        rest = list(events)

    assert ("dance-3", 0) == (seen[-1][1]["dance"], seen[-1][1]["number"])
    assert any(data["seconds_left"] is not None for name, data in seen if name == "progress")
    assert "dance-3" == danced(partial)[0]
    assert partial["read_seconds"] < partial["seconds"]
    assert (409, "not_finished") == (early.status_code, early.json()["error"])
    assert ("done", "dance-2") == (rest[-1][0], danced(rest[-1][1]["result"])[-1])


def test_a_video_that_kills_its_worker_keeps_what_was_found(server):
    """The job fails with a sentence, its result has the dances before; they can be written and corrected."""
    job = server.finished(scan(server, "3 11 deadly 1"))

    assert ("failed", "too_costly") == (job["state"], job["error"]["error"])
    assert ["dance-3", None] == danced(job["result"])
    assert 200 == server.client.get(f"/scans/{job['job_id']}/files/srt").status_code


def test_what_is_no_video_or_of_no_such_label_is_refused(server, tmp_path):
    """A motion file says what to do instead; a label is refused before anything is read."""
    motion = write_dance(tmp_path / "a.npz", 3).read_bytes()
    job_id = server.client.post("/scan", content=motion).json()["job_id"]
    label = server.client.post("/scan", content=b"3", params={"label": "none"})

    assert "a motion file was sent" in server.finished(job_id)["error"]["message"]
    assert (422, "input") == (label.status_code, label.json()["error"])
    assert 404 == server.client.get(f"/scans/{job_id}/files/csv").status_code


@pytest.mark.parametrize("kind", SCAN_FORMATS)
def test_a_scan_is_written_for_other_programs(server, scanned, kind):
    """By the scanned file's name, whatever letters it has."""
    answer = server.client.get(f"/scans/{scanned['job_id']}/files/{kind}")

    assert SCAN_FORMATS[kind].media_type == answer.headers["content-type"].partition(";")[0]
    assert f"%C3%A9vening.{kind}" in answer.headers["content-disposition"]
    assert "dance-3" in answer.text


def test_the_table_is_in_the_order_of_the_video(server, scanned):
    text = server.client.get(f"/scans/{scanned['job_id']}/files/csv").text
    rows = list(csv.DictReader(io.StringIO(text)))

    assert ["dance-3", "", "dance-1"] == [row["dance"] for row in rows]
    assert 404 == server.client.get(f"/scans/{scanned['job_id']}/files/docx").status_code


def test_the_skeletons_of_a_segment_can_be_drawn(server, scanned):
    """Those of the span that is asked for, on the video's clock."""
    place = f"/scans/{scanned['job_id']}/motion"
    (dancer,) = server.client.get(place, params={"start": 20, "end": 22, "dancer": 1}).json()["dancers"]
    nobody = server.client.get(place, params={"dancer": 7})

    assert (20.0, 61) == (
        pytest.approx(dancer["start"], abs=0.05),
        pytest.approx(len(dancer["frames"]), abs=2),
    )
    assert (404, "not_found") == (nobody.status_code, nobody.json()["error"])


def test_a_corrected_segment_becomes_a_recording_that_is_found_from_then_on(server):
    """First of a new dance, then moved to a known one; the scan and its files show the name."""
    job = server.finished(scan(server, "11", filename="class.mp4"))
    place = f"/scans/{job['job_id']}/segments/0"
    first = server.client.patch(place, json={"dance": "bolero"}).json()
    again = server.client.patch(place, json={"dance": "bolero"}).json()
    found = server.finished(scan(server, "11"))["result"]
    moved = server.client.patch(place, json={"dance": "dance-2"}).json()
    subtitles = server.client.get(f"/scans/{job['job_id']}/files/srt").text
    known = server.client.get("/dances/dance-2").json()

    assert [None] == danced(job["result"])
    assert ("bolero", True, "match") == tuple(
        first["segment"][one] for one in ("dance", "corrected", "verdict")
    )
    assert (first, ["bolero"]) == (again, danced(found))
    assert "class.mp4 0:00-0:16" == first["recording"]["file"]
    assert ("dance-2", 2) == (moved["segment"]["dance"], len(known["recordings"]))
    assert "dance-2" in subtitles
    assert ["dance-2"] == danced(server.client.get(f"/jobs/{job['job_id']}").json()["result"])
    assert 404 == server.client.patch(f"/scans/{job['job_id']}/segments/9", json={"dance": "x"}).status_code
    assert 422 == server.client.patch(place, json={"dance": ""}).status_code
    server.client.delete(f"/recordings/{first['recording']['recording_id']}")


def test_a_deleted_scan_leaves_nothing(server, folder, tmp_path):
    """Neither one that is cancelled while it runs nor one that was done: no skeletons, no upload."""
    running = scan(server, f"3 gate={tmp_path / 'never'} 1")
    wait_for(lambda: (folder / "scans" / running).is_dir())
    codes = [server.client.delete(f"/jobs/{running}").status_code]
    done = server.finished(scan(server, "1"))["job_id"]
    kept = (folder / "scans" / done).is_dir()
    codes.append(server.client.delete(f"/jobs/{done}").status_code)

    assert ([204, 204], True) == (codes, kept)
    assert [] == [one for one in (running, done) if (folder / "scans" / one).exists()]
    assert [] == list((folder / "uploads").iterdir())


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> bytes:
    """A recording of sixteen seconds as a browser makes it."""
    path = tmp_path_factory.mktemp("camera") / "camera.webm"
    return write_clip(path, range(0, 16000, 200), codec="libvpx", rate=5).read_bytes()


def switch_on(server) -> str:
    """The job of a camera, as soon as there is room for it."""
    answer = wait_for(
        lambda: opened if (opened := server.client.post("/cameras")).status_code == 202 else None
    )
    return answer.json()["job_id"]


def send(server, job_id: str, pictures: bytes, elapsed: float) -> None:
    """The recording, in pieces that begin anywhere."""
    for first in range(0, len(pictures), 3000):
        piece = pictures[first : first + 3000]
        answer = server.client.post(f"/cameras/{job_id}/pictures", content=piece, params={"elapsed": elapsed})
        assert 204 == answer.status_code, answer.text


def test_a_dance_before_a_camera_is_named_while_it_is_danced(server, folder, pictures):
    """With the delay since it began; what was found is kept when the camera is switched off."""
    job_id = switch_on(server)
    second = server.client.post("/cameras")
    with closing(follow(server, job_id)) as events:
        send(server, job_id, pictures, elapsed=20.0)
        named = next(data for name, data in events if name == "recognised")
        still = server.client.get(f"/jobs/{job_id}").json()
        off = server.client.delete(f"/cameras/{job_id}")
        last = list(events)[-1]

    assert (429, "busy") == (second.status_code, second.json()["error"])
    assert ("running", "dance-3", 1) == (still["state"], named["dance"], named["dancer"])
    assert 20.0 - named["span"]["start"] <= named["delay_seconds"] < 60
    assert (204, "done", ["dance-3"]) == (off.status_code, last[0], danced(last[1]["result"]))
    assert [named] == last[1]["result"]["recognised"]
    assert [] == list((folder / "uploads").iterdir())
    gone = server.client.post(f"/cameras/{job_id}/pictures", content=b"x", params={"elapsed": 1})
    assert (404, "unknown_camera") == (gone.status_code, gone.json()["error"])


def test_a_camera_that_falls_silent_ends_its_job(server, pictures):
    """A tab that is closed says nothing: what was found is kept, also from half a piece."""
    job_id = switch_on(server)
    send(server, job_id, pictures[: len(pictures) * 9 // 10], elapsed=16.0)
    job = server.finished(job_id)

    assert ("done", ["dance-3"], True) == (job["state"], danced(job["result"]), job["result"]["live"])


def test_a_camera_without_pictures_fails_with_a_sentence(server):
    job_id = switch_on(server)
    empty = server.client.post(f"/cameras/{job_id}/pictures", content=b"", params={"elapsed": 1})
    server.client.delete(f"/cameras/{job_id}")
    job = server.finished(job_id)

    assert (422, "failed", "video") == (empty.status_code, job["state"], job["error"]["error"])
    assert job["error"]["message"].startswith("the camera cannot be read as a video")


def test_skeletons_are_kept_as_they_were_seen(tmp_path):
    """Each pose once, whatever overlaps in what the estimator tells; nobody else's, nothing out of view."""
    whole, _ = long_track("3")
    parts = [recent(whole, seconds, 6.0, None) for seconds in (4.0, 8.0, 12.0)]
    folder = TrackFolder(tmp_path)
    moments = list(folder.begin("job").record(moments_of_tracks(parts)))
    motion = folder.read("job", 1, Span(2.0, 10.0))

    assert 3 == len(moments)
    assert (2.0, 241) == (pytest.approx(motion.start), pytest.approx(len(motion.joints), abs=1))
    np.testing.assert_allclose(dance(3, 4, 4).joints[60:300], motion.joints[:240], atol=1e-4)
    assert [1] == list(folder.dancers("job"))
    assert [None, None] == [folder.read("job", 2, Span(0, 1)), folder.read("job", 1, Span(50, 60))]


def test_recent_tracks_come_out_of_a_worker_as_they_went_in(tmp_path):
    """Also without a picture, and when nobody is seen."""
    track = long_track("3")[0]
    for read in (
        TracksSoFar([track], 4.0, complete=False, total_seconds=9.0),
        TracksSoFar([], 1.0, complete=True),
    ):
        write_recent_tracks(tmp_path, read)
        back = read_recent_tracks(tmp_path)

        assert (read.seconds, read.complete, read.total_seconds) == (
            back.seconds, back.complete, back.total_seconds,
        )  # fmt: skip
        assert len(read.tracks) == len(back.tracks)
        for own, other in zip(read.tracks, back.tracks, strict=True):
            assert (own.world == other.world).all()
            assert (own.skeleton, own.aspect, own.clip_seconds) == (
                other.skeleton,
                other.aspect,
                other.clip_seconds,
            )
