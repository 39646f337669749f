"""Posters: one small picture of a recording, cut where the video is decoded anyway."""

import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from dance_samples import write_dance
from dancematch.catalogue.records import require_poster
from dancematch.errors import InputError
from dancematch.pipeline.analysis.analyse_files import analyse_files
from dancematch.pipeline.analysis.file_analysis import (
    Analysis,
    ImageTrack,
    analyse_video,
    read_analysis,
    write_analysis,
)
from dancematch.pipeline.analysis.poster import choose_moment, cut_poster, read_poster_size
from dancematch.pipeline.analysis.worker_process import Worker, WorkerSetup
from film_samples import FilmedDancer
from pose_samples import EVEN, corner_names, quarters, write_clip

FILM_WORKER = (sys.executable, str(Path(__file__).parents[1] / "film_samples.py"))


def track(visibility: list[float], image: float = 0.5) -> ImageTrack:
    """One dancer, ten times a second, seen so well in each frame."""
    count = len(visibility)
    places = np.full((count, 15, 2), image, np.float32)
    return ImageTrack(np.arange(count) / 10, places, np.tile(np.float32(visibility)[:, None], (1, 15)))


def jpeg(width: int, height: int, *, seed: int | None = None) -> bytes:
    pixels = np.zeros((height, width, 3), np.uint8)
    if seed is not None:
        pixels = np.random.default_rng(seed).integers(0, 256, pixels.shape, dtype=np.uint8)
    return cv2.imencode(".jpg", pixels)[1].tobytes()


@pytest.fixture(scope="module")
def film(tmp_path_factory) -> Path:
    """A second of a picture that is 800 pixels wide."""
    return write_clip(tmp_path_factory.mktemp("film") / "film.mp4", image=quarters(800, 600))


def test_a_poster_is_the_whole_frame_small_and_without_metadata(film):
    poster = cut_poster(film, [track([1.0] * 9)])
    pixels = cv2.imdecode(np.frombuffer(poster, np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]

    assert (320, 240) == read_poster_size(poster) == pixels.shape[1::-1]
    assert "rgbw" == corner_names(pixels)
    assert len(poster) <= 30_000
    require_poster(poster)


def test_a_restless_picture_is_made_smaller_until_it_fits(tmp_path):
    """Noise is what JPEG can compress least."""
    noise = np.random.default_rng(1).integers(0, 256, (640, 640, 3), dtype=np.uint8)
    clip = write_clip(
        tmp_path / "noise.avi", EVEN[:3], image=noise, codec="mjpeg",
        prepare=lambda stream: setattr(stream, "pix_fmt", "yuvj420p"),
    )  # fmt: skip
    poster = cut_poster(clip, ())

    assert 10_000 < len(poster) <= 30_000
    require_poster(poster)


@pytest.mark.parametrize(
    ("visibility", "expected"),
    [
        ([1.0] * 11, 0.5),
        ([1.0, 1.0, 1.0, 0.2, 0.2, 0.2, 0.2, 0.9, 0.2, 1.0, 1.0], 0.7),
        ([1.0, 1.0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 1.0, 1.0], 0.5),
    ],
    ids=["all alike: the middle", "best seen, in the middle part", "its ends do not count"],
)
def test_the_moment_is_one_at_which_the_dancer_is_well_seen(visibility, expected):
    assert expected == pytest.approx(choose_moment(track(visibility)))


def test_a_dancer_beyond_the_edge_of_the_picture_is_not_well_seen():
    """However sure the estimator is of joints that it cannot see."""
    seen = track([1.0] * 11)
    seen.image[4:7] = 1.2

    assert choose_moment(seen) in (pytest.approx(0.3), pytest.approx(0.7))


def test_the_moment_is_that_of_the_picture(tmp_path):
    """A frame is red until half a second, blue from then on."""
    import av

    path = tmp_path / "two.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(20):
            picture = np.zeros((48, 64, 3), np.uint8)
            picture[..., 0 if number < 10 else 2] = 255
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    late = track([0.3] * 12 + [1.0] * 2 + [0.3] * 6)
    colour = cv2.imdecode(np.frombuffer(cut_poster(path, [late]), np.uint8), cv2.IMREAD_COLOR)[24, 32]

    assert 0 == colour.argmax()  # blue, green, red


def test_what_has_no_frames_has_no_poster(tmp_path):
    (tmp_path / "damaged.mp4").write_bytes(b"\0" * 1000)

    assert cut_poster(write_dance(tmp_path / "motion.npz", 1), ()) is None
    assert cut_poster(tmp_path / "damaged.mp4", [track([1.0] * 9)]) is None


def test_posters_are_cut_only_if_they_are_wanted(film):
    assert analyse_video(film, estimator=FilmedDancer()).poster is None
    assert (320, 240) == read_poster_size(analyse_video(film, estimator=FilmedDancer(), posters=True).poster)


def test_posters_come_from_this_process_and_from_workers_alike(film, tmp_path):
    """As bytes; a motion file among the videos has none."""
    files = [film, write_dance(tmp_path / "motion.npz", 1)]
    found = {
        jobs: [
            one.poster for one in analyse_files(files, jobs=jobs, make_estimator=FilmedDancer, posters=True)
        ]
        for jobs in (1, 2)
    }

    assert found[1] == found[2]
    assert [(320, 240), None] == [poster and read_poster_size(poster) for poster in found[2]]


@pytest.mark.parametrize("task", [None, {"task": "upload", "quick": False, "max_seconds": 600}])
def test_the_service_and_nodes_get_posters_from_their_worker(film, task):
    """The process that decodes the video cuts it, whether a node or the service asks."""
    with Worker(WorkerSetup(command=FILM_WORKER, posters=True)) as worker:
        found = worker.analyse(film, task=task)
    with Worker(WorkerSetup(command=FILM_WORKER)) as worker:
        plain = worker.analyse(film, task=task)

    assert (320, 240) == read_poster_size(found.poster)
    assert (None, 1) == (plain.poster, len(plain.motions))


def test_a_poster_that_a_worker_could_not_have_cut_is_refused(tmp_path):
    """A video may have misled the worker: what it wrote is checked before it is used."""
    write_analysis(tmp_path, Analysis(Path("x.mp4"), poster=jpeg(1000, 10)))

    with pytest.raises(InputError, match="640 pixels a side at most, got 1000 x 10"):
        read_analysis(tmp_path, Path("x.mp4"))


# ---- the gate


def with_segment(content: bytes, kind: int, body: bytes) -> bytes:
    """A JPEG with one more segment after its beginning."""
    return content[:2] + bytes([0xFF, kind]) + (len(body) + 2).to_bytes(2, "big") + body + content[2:]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "must be a whole JPEG"),
        (b"<html>", "must be a whole JPEG"),
        (cv2.imencode(".png", np.zeros((8, 8, 3), np.uint8))[1].tobytes(), "must be a whole JPEG"),
        (jpeg(8, 8)[:-2], "must be a whole JPEG"),
        (jpeg(8, 8) + b"<script>", "must be a whole JPEG"),
        (jpeg(8, 8)[:60] + b"\xff\xd9", "this one is damaged"),
        (b"\xff\xd8" + bytes(50) + b"\xff\xd9", "this one is damaged"),
        (jpeg(641, 8), "640 pixels a side at most, got 641 x 8"),
        (jpeg(8, 641), "640 pixels a side at most, got 8 x 641"),
        (jpeg(400, 400, seed=1), "65,536 bytes at most"),
        (with_segment(jpeg(8, 8), 0xE1, b"Exif\0\0" + bytes(20)), "must hold no metadata"),
        (with_segment(jpeg(8, 8), 0xFE, b"by the sea"), "must hold no metadata"),
    ],
)  # fmt: skip
def test_what_is_no_poster_is_refused(content, complaint):
    with pytest.raises(InputError, match=complaint):
        require_poster(content)


def test_a_poster_within_the_limits_is_taken():
    require_poster(jpeg(640, 480))

    assert (640, 480) == read_poster_size(jpeg(640, 480))
