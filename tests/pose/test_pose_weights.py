import hashlib
import logging
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from dancematch.cache_folder import CACHE_VARIABLE
from dancematch.errors import WeightsError
from dancematch.pose.blazepose import weights
from dancematch.pose.blazepose.weights import load_weights, pip_download


class Shop:
    """Provides a wheel with these contents and counts how often."""

    def __init__(self, contents: dict[str, bytes]) -> None:
        self.contents = contents
        self.visits = 0

    def __call__(self, folder: Path) -> Path:
        """Write the wheel."""
        self.visits += 1
        with zipfile.ZipFile(folder / "mediapipe-0.whl", "w") as wheel:
            for name, content in self.contents.items():
                wheel.writestr(name, content)
        return folder / "mediapipe-0.whl"


@pytest.fixture
def shop(monkeypatch, tmp_path) -> Shop:
    """Two stand-in networks that are as expected, and an empty cache."""
    contents = {file.member: file.name.encode() for file in weights.FILES}
    hashes = {member: hashlib.sha256(content).hexdigest() for member, content in contents.items()}
    monkeypatch.setattr(weights, "FILES", tuple(replace(f, sha256=hashes[f.member]) for f in weights.FILES))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return Shop(contents)


def contents(paths: dict[weights.WeightsFile, Path]) -> list[bytes]:
    return [path.read_bytes() for path in paths.values()]


def test_weights_are_fetched_once_and_said_to_be(shop, caplog):
    """The first use fetches and says so; every later one works offline."""
    with caplog.at_level(logging.INFO):
        first = load_weights(fetch=shop)
    second = load_weights(fetch=shop)

    assert shop.visits == 1
    assert list(shop.contents.values()) == contents(first) == contents(second)
    assert "fetching" in caplog.text


def test_a_damaged_file_is_fetched_again(shop):
    path = next(iter(load_weights(fetch=shop).values()))
    path.write_bytes(b"half a")

    assert list(shop.contents.values()) == contents(load_weights(fetch=shop))
    assert shop.visits == 2


def test_a_file_that_is_not_the_expected_one_is_refused(shop, tmp_path):
    """Something else under the right name is neither used nor kept."""
    shop.contents = dict.fromkeys(shop.contents, b"something else")
    with pytest.raises(WeightsError, match="SHA-256"):
        load_weights(fetch=shop)

    assert list((tmp_path / "cache").iterdir()) == []


def test_a_wheel_without_the_files_is_refused(shop):
    shop.contents = {"other": b""}
    with pytest.raises(WeightsError, match="does not hold"):
        load_weights(fetch=shop)


def test_several_may_fetch_at_once(shop, tmp_path):
    """All get good files, and nothing is left behind."""
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: contents(load_weights(fetch=shop)), range(4)))

    assert [list(shop.contents.values())] * 4 == found
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_a_folder_of_the_user_s_is_used_as_it_is(shop, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    with pytest.raises(WeightsError, match="does not exist"):
        load_weights(folder, fetch=shop)
    for file in weights.FILES:
        (folder / file.name).write_bytes(shop.contents[file.member])

    assert list(shop.contents.values()) == contents(load_weights(folder, fetch=shop))
    assert shop.visits == 0


def test_a_wrong_file_in_the_user_s_folder_is_named_and_left_alone(shop, tmp_path):
    for file in weights.FILES:
        (tmp_path / file.name).write_bytes(b"mine")
    with pytest.raises(WeightsError, match="not the expected file"):
        load_weights(tmp_path, fetch=shop)

    assert (tmp_path / weights.FILES[0].name).read_bytes() == b"mine"


def test_a_cache_that_cannot_be_written_is_an_expected_error(shop, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(WeightsError, match="cannot be kept"):
        load_weights(fetch=shop)


def test_pip_s_failure_is_one_clear_sentence(monkeypatch, tmp_path):
    """Without a place to download from, the error says what to do."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(WeightsError, match=r"could not download mediapipe.*connect to the internet once"):
        pip_download(tmp_path)
