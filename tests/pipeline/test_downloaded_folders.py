"""Folders as a downloader leaves them: only the clips are taken, named by their titles; no web address is."""

import json
import os
from pathlib import Path

import pytest

from cli_samples import run_main
from dance_samples import save_small_model, write_dance
from dancematch import formats
from dancematch.catalogue.records import MAX_NAME_LENGTH, find_name_problem
from dancematch.errors import InputError
from dancematch.formats import json_detection
from dancematch.pipeline.analysis.clip_files import content_hash, find_clips
from dancematch.pipeline.analysis.file_analysis import analyse_file
from dancematch.pipeline.analysis.info_files import info_path
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pipeline.ingest import propose_names
from formats_samples import SAMPLES
from pose_samples import write_clip

ADDRESS = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
JSON_SAMPLES = sorted(name for name in SAMPLES if name.endswith(".json"))


def write_download(folder: Path, video_id: str, seed: int = 1, **info: object) -> Path:
    """Write a dance, called by its id, with the information beside it that a downloader writes."""
    clip = write_dance(folder / f"{video_id}.npz", seed)
    info_path(clip).write_text(json.dumps({"id": video_id, **info}), encoding="utf-8")
    return clip


def write_leftovers(folder: Path, video_id: str) -> None:
    """Write all else that a downloader leaves beside a video."""
    for suffix in ("description", "webp", "jpg", "png", "en.vtt", "srt", "mp4.part", "part", "ytdl"):
        (folder / f"{video_id}.{suffix}").write_bytes(b"WEBVTT or anything")
    (folder / f"{video_id}.live_chat.json").write_text('{"people": []}\n{"people": []}\n')
    (folder / "My playlist.info.json").write_text('{"_type": "playlist", "title": "My playlist"}')
    (folder / "archive.json").write_text('["youtube dQw4w9WgXcQ"]')


@pytest.fixture
def model(tmp_path):
    save_small_model(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def downloads(tmp_path):
    folder = tmp_path / "downloads"
    write_download(folder, "aaa", 1, title="Thriller dance", uploader="anna")
    write_download(folder, "bbb", 2, title="Thriller dance", uploader="anna")
    write_download(folder, "ccc", 3, title="Thriller dance", uploader="anna")
    write_leftovers(folder, "aaa")
    return folder


def names_in(where: Path, model: Path) -> list[str]:
    with open_catalogue(where, model=model) as known:
        return [one.name for one in known.dances()]


def test_of_a_downloaders_files_only_clips_are_found(tmp_path):
    """Videos and motion; information, chat, playlists, pictures, subtitles and unfinished files are none."""
    clips = [tmp_path / "dQw4w9WgXcQ.mp4", write_download(tmp_path, "xyz", title="Waltz")]
    write_clip(clips[0])
    info_path(clips[0]).write_text('{"title": "Thriller", "formats": [{"url": "x"}]}')
    write_leftovers(tmp_path, "dQw4w9WgXcQ")

    assert clips == find_clips([tmp_path])


def test_leftovers_of_other_downloads_are_left_out_where_all_is_named(tmp_path):
    """As a shell names all with "downloads/*"; one that is named alone is kept, and refused when read."""
    clip = write_dance(tmp_path / "a.npz", 1)
    for name in ("b.f137.mp4.part", "b.mp4.ytdl", "have.txt"):
        (tmp_path / name).write_text("youtube dQw4w9WgXcQ\n")
    (tmp_path / "notes.txt").write_text("Of the summer class\n")

    assert [clip, tmp_path / "notes.txt"] == find_clips(sorted(tmp_path.iterdir()))
    assert [tmp_path / "have.txt"] == find_clips([tmp_path / "have.txt"])


def test_a_folder_of_leftovers_has_no_clip(tmp_path):
    write_leftovers(tmp_path, "dQw4w9WgXcQ")

    with pytest.raises(InputError, match="there is no video or motion file in"):
        find_clips([tmp_path])


@pytest.mark.parametrize("name", JSON_SAMPLES)
def test_every_json_of_motion_in_a_folder_is_found(tmp_path, name, monkeypatch):
    """Whole, longer than its beginning, or cut short: a damaged recording is reported and not passed over."""
    whole, cut = tmp_path / name, tmp_path / "cut.json"
    SAMPLES[name](whole)
    cut.write_bytes(whole.read_bytes()[:-2])

    assert sorted([whole, cut]) == find_clips([tmp_path])
    monkeypatch.setattr(json_detection, "_HEAD_BYTES", whole.stat().st_size * 9 // 10)
    assert sorted([whole, cut]) == find_clips([tmp_path])


OTHER = {
    "settings": '{"fps": 30, "folder": "clips"}',
    "list": '["a", "b"]',
    "nothing": "",
    "null": "null",
    "text": "not JSON at all",
    "cut": '{"fps": 30, "folder": "cl',
    "escape": '{"folder": "clips\\',
    "deep": "[" * 5000,
    "lines": '{"a": 1}\n{"b": 2}\n',
    "closed": "]}",
}


@pytest.mark.parametrize("text", OTHER.values(), ids=OTHER)
def test_other_json_in_a_folder_is_left_alone(tmp_path, text):
    """But one that is named is read, or refused with the reason."""
    other = tmp_path / "other.json"
    other.write_text(text)

    assert not formats.holds_motion(other)
    assert [other] == find_clips([other])
    with pytest.raises(InputError, match=r"other\.json"):
        formats.read(other)


def test_a_large_json_is_told_by_its_beginning(tmp_path, monkeypatch):
    """Motion is parsed once, on reading; a larger one that begins with something else is read to be sure."""
    frames = [{"people": [{"pose_keypoints_2d": [1.0] * 75}]}] * 500
    motion, later, other = (tmp_path / f"{name}.json" for name in ("motion", "later", "other"))
    motion.write_text(json.dumps(frames))
    later.write_text(json.dumps({"images": [{"id": one} for one in range(20_000)], "annotations": []}))
    other.write_text(json.dumps({"images": [{"id": one} for one in range(20_000)]}))
    read: list[Path] = []
    whole = json_detection.read_json
    monkeypatch.setattr(json_detection, "read_json", lambda path: read.append(path) or whole(path))

    assert [True, True, False] == [formats.holds_motion(path) for path in (motion, later, other)]
    assert [later, other] == read
    monkeypatch.setattr(json_detection, "_WHOLE_BYTES", 1 << 17)
    assert formats.holds_motion(other)  # too large to be read twice: reading it says what it is


def test_dances_are_named_by_their_titles(downloads, model, tmp_path):
    """The second of one title has the uploader in brackets, the third the id; the output says so."""
    catalogue = tmp_path / "dances.db"
    answer = run_main("add", catalogue, downloads, "--model", model, "--jobs", 1)

    names = ["Thriller dance", "Thriller dance (anna)", "Thriller dance (ccc)"]
    assert names == names_in(catalogue, model)
    assert 0 == answer.code
    shown = [line.split(":")[1].rsplit(",", 2)[0] for line in answer.err.splitlines()[:3]]
    assert [f" {name}" for name in names] == shown
    assert "3 added, 0 skipped, 0 failed" == answer.err.splitlines()[-1]


def test_adding_again_skips_what_is_known_by_content(downloads, model, tmp_path):
    """Also where it has another title by now; a new video of a known title gets the next free name."""
    catalogue = tmp_path / "dances.db"
    run_main("add", catalogue, downloads, "--model", model)
    (downloads / "aaa.info.json").write_text('{"title": "Another title"}')
    write_download(downloads, "abc", 4, title="Thriller dance", uploader="ben")
    answer = run_main("add", catalogue, downloads, "--model", model, "--json")

    expected = {
        "aaa.npz": ("skipped", "Thriller dance"),
        "abc.npz": ("added", "Thriller dance (ben)"),
        "bbb.npz": ("skipped", "Thriller dance (anna)"),
        "ccc.npz": ("skipped", "Thriller dance (ccc)"),
    }
    assert expected == {Path(one["file"]).name: (one["state"], one["dance"]) for one in answer.objects}


def test_a_name_that_is_given_wins(downloads, model, tmp_path):
    """Even that of the file; given again, it is one more recording of that dance."""
    catalogue, clips = tmp_path / "dances.db", sorted(downloads.glob("*.npz"))
    for clip, name in zip(clips, ("mine", "bbb", "mine"), strict=True):
        assert 0 == run_main("add", catalogue, clip, "--dance", name, "--model", model).code

    with open_catalogue(catalogue, model=model) as known:
        assert {"bbb": ["bbb.npz"], "mine": ["aaa.npz", "ccc.npz"]} == {
            dance.name: [one.file for one in known.recordings(dance.name)] for dance in known.dances()
        }


def test_files_give_the_names_where_that_is_asked_for(downloads, model, tmp_path):
    """A bad file spoils no other, as by title."""
    catalogue = tmp_path / "dances.db"
    (downloads / "bad.npz").write_bytes(b"no archive")
    answer = run_main("add", catalogue, downloads, "--dance-from", "file", "--model", model)

    assert ["aaa", "bbb", "ccc"] == names_in(catalogue, model)
    assert (1, "3 added, 0 skipped, 1 failed") == (answer.code, answer.err.splitlines()[-1])


@pytest.mark.parametrize("text", ['{"id": "aa', "[1, 2]", '{"id": "aaa"}', '{"artist": "Anna"}', ""])
def test_useless_information_is_ignored_and_said(tmp_path, model, text):
    clip = write_dance(tmp_path / "in" / "aaa.npz", 1)
    info_path(clip).write_text(text)
    answer = run_main("add", tmp_path / "dances.db", clip.parent, "--model", model)

    assert (0, ["aaa"]) == (answer.code, names_in(tmp_path / "dances.db", model))
    line = answer.err.splitlines()[1]
    assert "aaa.info.json" in line
    assert line.endswith("; the dance is named by its file")


@pytest.mark.parametrize(
    ("name", "info"),
    [
        ("Thriller", {"title": " Thriller\n", "fulltitle": "Thriller (full)"}),
        ("Thriller (full)", {"title": "", "fulltitle": "Thriller (full)", "track": "T"}),
        ("Thriller - Michael Jackson", {"track": "Thriller", "artist": "Michael Jackson"}),
        ("Thriller", {"track": "Thriller"}),
        ("1983", {"title": 1983}),
        ("踊り 👩‍🎤", {"title": "踊り 👩‍🎤"}),
        ("red\ufffd[31m", {"title": "red\x1b[31m"}),
        ("half \ufffd", {"title": "half \ud800"}),
    ],
)
def test_the_title_is_the_first_that_is_there(tmp_path, name, info):
    """Cleaned like a file's name: one line without control characters."""
    assert name == propose_names(write_download(tmp_path, "aaa", **info))[0]


def test_long_titles_that_begin_alike_stay_two(tmp_path):
    names = [
        propose_names(write_download(tmp_path, video_id, title="x" * 300 + video_id))[0]
        for video_id in ("aaa", "bbb")
    ]

    assert 2 == len(set(names))
    assert [(MAX_NAME_LENGTH, None)] * 2 == [(len(one), find_name_problem("name", one)) for one in names]


def test_videos_of_one_title_and_nothing_else_have_their_files_in_brackets(tmp_path, model):
    for seed, name in enumerate(("aaa", "bbb")):
        clip = write_dance(tmp_path / "in" / f"{name}.npz", seed)
        info_path(clip).write_text('{"title": "Waltz"}')
    with open_catalogue(tmp_path / "dances.db", model=model) as known:
        added = [one.dance for one in known.add_many([tmp_path / "in"])]

    assert ["Waltz", "Waltz (bbb)"] == added


def test_a_title_that_cannot_be_seen_is_none(tmp_path):
    assert [] == propose_names(write_download(tmp_path, "aaa", title="\u200b"))


def test_a_file_without_information_is_named_by_itself(tmp_path):
    """Also where the name of the information would be too long for the file system."""
    assert [] == propose_names(write_dance(tmp_path / "aaa.npz", 1))
    assert [] == propose_names(write_dance(tmp_path / f"{'x' * 251}.npz", 1))


@pytest.mark.parametrize("take", [lambda path: find_clips([path]), analyse_file, content_hash])
def test_a_web_address_is_refused_with_the_way_to_download_it(take):
    with pytest.raises(InputError) as refused:
        take(Path(ADDRESS))

    assert str(refused.value).startswith(f"{ADDRESS} is a web address")
    assert str(refused.value).endswith(f'-o "clips/%(id)s.%(ext)s" "{ADDRESS}"')


def test_an_address_that_a_shell_would_obey_is_not_part_of_the_command():
    with pytest.raises(InputError, match=r'%\(ext\)s" URL$'):
        find_clips(["https://example.org/`reboot`"])


@pytest.mark.parametrize("place", ["http.mp4", "https", "c:/clips/a.mp4", "https-clips/a.mp4"])
def test_other_paths_are_no_addresses(place):
    with pytest.raises(InputError, match="does not exist"):
        find_clips([place])


def test_every_verb_that_takes_a_clip_refuses_an_address(tmp_path, model):
    catalogue = tmp_path / "dances.db"
    clip = write_dance(tmp_path / "a.npz", 1)
    run_main("add", catalogue, clip, "--model", model)
    out = os.fspath(tmp_path / "out")
    lines = [
        ("add", catalogue, ADDRESS, "--model", model),
        ("search", catalogue, ADDRESS, "--model", model),
        ("info", ADDRESS),
        ("info", "https://example.org/dance.npz"),
        ("extract", ADDRESS, "-o", out),
        ("extract", ADDRESS, "--words", "-o", out, "--model", model),
        ("compare", ADDRESS, clip, "--model", model),
        ("compare", clip, ADDRESS, "--catalogue", catalogue, "--model", model),
    ]

    for line in lines:
        answer = run_main(*line)
        assert (1, True) == (answer.code, "yt-dlp" in answer.complaint), line
        assert answer.complaint.startswith("https://"), line
