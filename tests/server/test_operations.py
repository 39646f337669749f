"""The commands of docs/operations.md do what the page says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli_samples import run_main
from dance_samples import write_dance
from dancematch.cache_folder import CACHE_VARIABLE
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.search.kernels.kernel_folder import FOLDER_VARIABLE
from databases import BINARIES, contents

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
BLOCKS = re.findall(r"<!-- run( postgresql)? -->\n```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("operations")
    with open_catalogue(folder / "dances.db", model="floor") as known:
        for seed in range(3):
            known.add(write_dance(folder / f"dance{seed}.npz", seed), labels=["class"])
    return folder / "dances.db"


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_commands_work_as_they_are(filled, tmp_path, number, request):
    """One after the other in a folder with a catalogue (and its backup); none fails."""
    server, script = BLOCKS[number]
    for name in ("dances.db", "backup.db"):
        if name != "backup.db" or "copy dances.db backup.db" not in script:
            shutil.copy(filled, tmp_path / name)
    path = [Path(sys.executable).parent, *([BINARIES] if BINARIES else []), os.environ["PATH"]]
    environment = {"PATH": os.pathsep.join(map(str, path)), CACHE_VARIABLE: str(tmp_path / "cache")}
    environment[FOLDER_VARIABLE] = os.environ[FOLDER_VARIABLE]
    if server:
        postgresql = request.getfixturevalue("postgresql")
        environment["CATALOGUE"] = postgresql.new_database()
        environment["RESTORED"] = postgresql.url("restored")
        if "copy dances.db" not in script:
            assert 0 == run_main("copy", filled, environment["CATALOGUE"]).code
    done = subprocess.run(
        ["sh", "-e", "-c", script], cwd=tmp_path, env=os.environ | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (0, "") == (done.returncode, "".join(re.findall("(?m)^dancematch: .*", done.stderr))), done.stderr
    if "dancematch copy" in script:
        assert contents(filled) == contents(environment.get("CATALOGUE", tmp_path / "backup.db"))


def test_there_are_commands_to_run():
    assert 5 == len(BLOCKS)
    assert 2 == len([server for server, _ in BLOCKS if server])
