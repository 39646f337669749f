"""Lists of sources: read, refused, and used by `dancematch train`."""

import json

import pytest

from cli_samples import run_main
from dance_samples import write_dance
from dancematch.errors import InputError
from dancematch.training.data.files import find_motion_files
from dancematch.training.data.sources import IndexedFile, TrainingSource, read_index, read_sources

LISTED = """
[[sources]]
name = "studio"
folder = "motions"
weight = 3
licence = "CC BY 4.0"
commercial = true

[[sources]]
name = "phones"
folder = "clips"
"""


def test_a_list_is_read(tmp_path):
    path = tmp_path / "sources.toml"
    path.write_text(LISTED)

    assert [
        TrainingSource("studio", tmp_path / "motions", 3, "CC BY 4.0", commercial=True),
        TrainingSource("phones", tmp_path / "clips", 1.0, "not stated", commercial=False),
    ] == read_sources(path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "must hold tables"),
        ("sources = 3", "must hold tables"),
        ("[[sources]]\nname = 'a'", "a source has name, folder, and may have weight, licence, commercial"),
        ("[[sources]]\nname = 'a'\nfolder = 'b'\ncolour = 1", "a source has name, folder"),
        ("[[sources]]\nname = 'a'\nfolder = 'b'\nweight = 0", "weight of the source a must be above 0"),
        ("[[sources]]\nname = 'a'\nfolder = 'b'\nweight = nan", "weight of the source a must be above 0"),
        (
            "[[sources]]\nname = 'a'\nfolder = 'b'\ncommercial = 'yes'",
            "commercial of a source cannot be 'yes'",
        ),
        ("[[sources]]\nname = 'a'\nfolder = 'b'\n" * 2, "several sources of the name a"),
        ("[[", "not a readable list of sources"),
    ],
)
def test_a_list_that_is_wrong_is_refused(tmp_path, text, complaint):
    path = tmp_path / "sources.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=complaint.replace("[", r"\[")):
        read_sources(path)


def test_a_list_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_sources(tmp_path / "none.toml")


def test_an_index_says_who_moves_in_which_file(tmp_path):
    for number in range(3):
        write_dance(tmp_path / f"clip{number}.npz", number)
    index = tmp_path / "index.csv"
    index.write_text("file,group,performer,lag_s\nclip0.npz,jive,ann,\nclip2.npz,jive,ben,-1.5\n")

    assert {
        tmp_path / "clip0.npz": IndexedFile("jive", "ann", None),
        tmp_path / "clip2.npz": IndexedFile("jive", "ben", -1.5),
    } == read_index(tmp_path)
    assert ["clip0.npz", "clip2.npz"] == [path.name for path in find_motion_files([tmp_path])]
    (tmp_path / "clip2.npz").unlink()
    with pytest.raises(InputError, match=r"names clip2.npz, which is not there"):
        find_motion_files([tmp_path])


def test_an_index_of_another_kind_is_none(tmp_path):
    (tmp_path / "index.csv").write_text("file,title\na.bvh,jive\n")

    assert read_index(tmp_path) is None
    assert read_index(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("file,group,dancer\na.npz,jive,ann\n", "has no column performer; it needs file, group, performer"),
        ("file,group,performer,lag\na.npz,jive,ann,1\n", "lags in seconds is called lag_s, not lag"),
        ("file;group;performer\na.npz;jive;ann\n", "is not separated by commas"),
        ("file,group,performer\na.npz,jive,ann\na.npz,jive,ben\n", "line 3: a.npz stands in the index twice"),
    ],
)
def test_an_index_that_is_nearly_right_is_refused(tmp_path, text, complaint):
    (tmp_path / "index.csv").write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_index(tmp_path)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("a.npz,,ann,", "group and performer are needed"),
        ("a.npz,jive,ann,soon", "lag_s must be seconds or empty"),
    ],
)
def test_a_row_that_is_wrong_is_named_by_its_line(tmp_path, row, complaint):
    (tmp_path / "index.csv").write_text(f"file,group,performer,lag_s\n{row}\n")
    with pytest.raises(InputError, match=f"line 2: .*{complaint}"):
        read_index(tmp_path)


def test_training_from_a_list_writes_its_licences_beside_the_model(tmp_path):
    for folder, numbers in (("motions", range(3)), ("clips", (4, 5))):
        for number in numbers:
            write_dance(tmp_path / folder / f"dance{number}.npz", number)
    rows = "dance4.npz,jive,ann,\ndance5.npz,jive,ben,\n"
    (tmp_path / "clips" / "index.csv").write_text(f"file,group,performer,lag_s\n{rows}")
    listed, config = tmp_path / "sources.toml", tmp_path / "small.toml"
    listed.write_text(LISTED)
    config.write_text(
        "[training]\nbatch = 2\ncrop_frames = 32\nhead_batches = 2\n[network]\ndim = 8\nlayers = 1\n"
    )
    options = ["--steps", 2, "--vocabulary", 8, "--config", config]
    answer = run_main("train", "--sources", listed, "-o", tmp_path / "run", *options)
    told = json.loads((tmp_path / "run" / "model" / "config.json").read_text())["trained_on"]

    assert 0 == answer.code, answer.err
    assert [
        {"name": "studio", "weight": 3.0, "licence": "CC BY 4.0", "commercial": True, "files": 3},
        {"name": "phones", "weight": 1.0, "licence": "not stated", "commercial": False, "files": 2},
    ] == told["sources"]


def test_folders_or_a_list_but_not_both(tmp_path):
    for arguments in ([], [tmp_path, "--sources", tmp_path / "sources.toml"]):
        answer = run_main("train", *arguments, "-o", tmp_path / "run")
        assert (2, True) == (answer.code, "give FOLDERS or --sources" in answer.err)
