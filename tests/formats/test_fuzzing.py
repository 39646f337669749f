"""Damaged files by the dozen, given to the command line as users give them: `make fuzz` tries thousands.

FUZZ says how many per format, FUZZ_SEED which ones; a failure tells both and keeps the file.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dance_samples import dance, shipped, write_dance
from dancematch import formats
from dancematch.formats import fingerprint
from formats_fuzzing import mutate
from formats_samples import SAMPLES, write_comotion
from formats_trial import Trial, trial_server

COUNT = int(os.environ.get("FUZZ", "10"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
KEPT = Path(tempfile.gettempdir()) / "dancematch-fuzz"
LONG = ("danced.npz", "danced.bvh", "words.npz")  # enough dance to be searched for

Write = Callable[[Path], object]

ALL: dict[str, Write] = SAMPLES | {
    "danced.npz": lambda path: write_dance(path, 1, dancer=4),
    "danced.bvh": lambda path: formats.write(path, [dance(1, dancer=4)]),
    "words.npz": lambda path: fingerprint.write(path, [shipped().fingerprint(dance(1, dancer=4))]),
    "comotion.pt": write_comotion,
}


@pytest.fixture(scope="module")
def explain() -> Iterator[Callable[[Path], Trial]]:
    """Gives `dancematch info`."""
    rooms = ("cli.use.info", "pose.selection", "pipeline.analysis.file_analysis")
    with trial_server(*(f"dancematch.{room}" for room in rooms)) as server:
        yield lambda path: server.run("info", path)


@pytest.fixture(scope="module")
def search(tmp_path_factory) -> Iterator[Callable[[Path], Trial]]:
    """Gives `dancematch search` in a catalogue of two dances."""
    folder = tmp_path_factory.mktemp("known")
    places = [write_dance(folder / f"dance{number}.npz", number) for number in (1, 2)]
    with trial_server("dancematch.pipeline.catalogue", "dancematch.model.runtime") as server:
        assert 0 == server.run("add", folder / "dances.db", *places, "--jobs", 1).code
        yield lambda path: server.run("search", folder / "dances.db", path)


def require_sound(path: Path, seed: str, trial: Trial) -> None:
    """Fail, and keep the file, where the command did not behave."""
    fault = trial.find_fault(path)
    if fault is None:
        return
    KEPT.mkdir(exist_ok=True)
    kept = path.rename(KEPT / f"{seed.replace(' ', '-')}{path.suffix}")
    pytest.fail(f"{fault}; FUZZ_SEED={SEED}, kept as {kept}: {trial.err[-600:]}")


@pytest.mark.parametrize("name", ALL)
def test_no_damage_costs_much_or_shows_a_traceback(tmp_path, explain, search, name):
    """Each mutant is explained and searched for, or refused in one plain line, within seconds and 500 MB."""
    ALL[name](tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    for number in range(COUNT):
        seed = f"{SEED} {name} {number}"
        path = tmp_path / f"mutant{Path(name).suffix}"
        path.write_bytes(mutate(path.suffix, whole, seed))
        require_sound(path, seed, explain(path))
        if number % (20 if name in LONG else 200) == 9:  # takes as long as fifty others
            require_sound(path, seed, search(path))


def test_the_same_seed_makes_the_same_file(tmp_path):
    """A failure can be repeated: what is made of a file depends on the seed alone."""
    SAMPLES["own.npz"](tmp_path / "own.npz")
    whole = (tmp_path / "own.npz").read_bytes()

    assert mutate(".npz", whole, "1 a") == mutate(".npz", whole, "1 a")
    assert mutate(".npz", whole, "1 a") != mutate(".npz", whole, "2 a")
