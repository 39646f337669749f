import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dance_samples import dance
from dancematch import write_motions
from dancematch.search.kernels import kernel_cache, preparation
from dancematch.search.kernels.code_stamp import code_stamp
from dancematch.search.kernels.kernel import kernel
from dancematch.search.kernels.kernel_cache import SUFFIX, KernelCache, read_own_file
from dancematch.search.kernels.kernel_folder import FOLDER_VARIABLE
from dancematch.search.kernels.table import read_lines, read_signature

TESTS = Path(__file__).parents[1]
SMALL = [line for line in read_lines() if ".norms._invert " in line or ".distinct_keys " in line]
SOURCE = """
UNIT = 3

def twice(x):
    return 2 * x
twice = kernel(twice)

def scaled(x):
    return twice(x) * UNIT
scaled = kernel(scaled)
"""


def stamp_of(source: str) -> str:
    """The stamp of the kernel `scaled` in a module of this source."""
    module = {"kernel": kernel, "__name__": "module"}
    exec(source, module)  # noqa: S102  (written above)
    return code_stamp(module["scaled"])


def compiling(folder: Path) -> subprocess.Popen:
    """A process that compiles into a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "dancematch.search.kernels.compile_kernels"],
        env={**os.environ, FOLDER_VARIABLE: str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(code: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def kernels_in(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*/*{SUFFIX}"))


def test_searches_of_all_kinds_compile_nothing_that_was_not_prepared():
    """With every shipped model; and nothing is prepared that no search uses."""
    preparation.prepare_kernels()
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, TESTS / "kernel_trial.py"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "" == done.stdout


def test_a_clip_is_read_before_the_compiler_is_loaded(tmp_path):
    """The catalogue is open and the query in words, and numba is not there: it takes half a second."""
    write_motions(tmp_path / "a.npz", [dance(1)])
    done = run(
        "import sys\n"
        "from dancematch.pipeline.catalogue import open_catalogue\n"
        "from dancematch.pipeline.query import read_query\n"
        f"known = open_catalogue({str(tmp_path / 'dances.db')!r})\n"
        f"read_query({str(tmp_path / 'a.npz')!r}, known.tokeniser)\n"
        "print('numba' in sys.modules)"
    )

    assert "False" == done.stdout.strip()


@pytest.mark.parametrize(
    "changed",
    [
        SOURCE.replace("UNIT = 3", "UNIT = 4"),
        SOURCE.replace("2 * x", "x * 2"),
        SOURCE.replace("kernel(twice)", "kernel(twice, fastmath=True)"),
        SOURCE.replace("twice(x) * UNIT", "twice(x) + UNIT"),
    ],
    ids=["a constant", "a kernel that it calls", "an option of that", "its own code"],
)
def test_a_kernel_is_compiled_again_when_what_it_is_made_of_changes(changed):
    assert stamp_of(SOURCE) != stamp_of(changed)


def test_a_kernel_is_not_compiled_again_when_other_lines_change():
    """Comments, other functions and the place in the file do not count."""
    assert stamp_of(SOURCE) == stamp_of("# More\nOTHER = 7\n\n\n" + SOURCE)


def test_a_kernel_that_uses_what_may_change_is_refused():
    """A list may be another one when the kernel is loaded."""
    with pytest.raises(TypeError, match="UNIT, a list, which is no constant"):
        stamp_of(SOURCE.replace("UNIT = 3", "UNIT = [3]"))


def test_a_file_is_of_one_kind_of_processor(monkeypatch):
    one = read_signature(SMALL[0])
    before = one.kernel._cache.path(one.types)
    monkeypatch.setattr(kernel_cache, "describe_processor", lambda: "another")

    assert before != one.kernel._cache.path(one.types)


def test_a_damaged_file_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "kernel_folder", lambda: tmp_path / "kernels")
    values = np.arange(3)
    first, again = kernel(_add_one), kernel(_add_one)
    assert [1, 2, 3] == first(values).tolist()
    (path,) = (tmp_path / "kernels").iterdir()
    path.write_bytes(path.read_bytes()[:1000])

    assert [1, 2, 3] == again(values).tolist()
    assert 1 == sum(again.stats.cache_misses.values())
    assert path.stat().st_size > 1000


def _add_one(values):
    return values + 1


def test_code_of_another_user_is_not_run(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"code")
    assert b"code" == read_own_file(path)
    with monkeypatch.context() as patched:
        patched.setattr(kernel_cache.os, "fstat", lambda _: SimpleNamespace(st_uid=os.geteuid() + 4711))
        with pytest.raises(PermissionError, match="belongs to another user"):
            read_own_file(path)


def test_two_processes_may_compile_the_same_at_once(tmp_path):
    """Both say yes, and there is one file per kernel, which loads."""
    both = [compiling(tmp_path) for _ in range(2)]
    answers = [one.communicate("\n".join(SMALL) + "\n")[0].split() for one in both]

    assert [["yes"] * len(SMALL)] * 2 == answers
    assert len(SMALL) == len(kernels_in(tmp_path))
    assert [] == list(tmp_path.glob("*/*.part"))


def test_a_killed_process_leaves_nothing_broken(tmp_path):
    """Killed at any moment; what is there by then is whole, and the next one compiles the rest."""
    chance = np.random.default_rng(0)
    for _ in range(4):
        process = compiling(tmp_path)
        process.stdin.write("\n".join(SMALL) + "\n")
        process.stdin.flush()
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    with compiling(tmp_path) as last:
        answers = last.communicate("\n".join(SMALL) + "\n")[0].split()

    assert ["yes"] * len(SMALL) == answers
    code = (
        "from dancematch.search.kernels.table import read_signature\n"
        f"for line in {SMALL!r}:\n"
        "    one = read_signature(line)\n"
        "    one.kernel.compile(one.types)\n"
        "    print(sum(one.kernel.stats.cache_hits.values()), sum(one.kernel.stats.cache_misses.values()))"
    )
    assert {"1 0"} == set(run(code, **{FOLDER_VARIABLE: str(tmp_path)}).stdout.splitlines())


def test_where_nothing_can_be_written_it_works_and_says_once_what_is_slow():
    code = (
        "import numpy as np\n"
        "from dancematch.search.kernels.preparation import prepare_kernels, start_preparing\n"
        "from dancematch.search.stage1.norms import _invert\n"
        "start_preparing()\n"
        "prepare_kernels()\n"
        "sums, norms = np.array([4]), np.zeros(1, np.float32)\n"
        "sums.flags.writeable = False\n"
        "_invert(sums, 1.0, norms)\n"
        "print(norms[0])"
    )
    done = run(code, **{FOLDER_VARIABLE: "/proc/nowhere"})

    assert "0.5" == done.stdout.strip()
    (line,) = done.stderr.splitlines()
    assert "/proc/nowhere" in line
    assert "cannot be kept" in line
    assert FOLDER_VARIABLE in line


def test_preparing_starts_once_and_only_where_it_was_not_done(tmp_path, monkeypatch):
    """The first recording that is added starts it; neither the second nor what is prepared does."""
    started, mark = [], tmp_path / "complete"
    monkeypatch.setattr(preparation, "_started", [])
    monkeypatch.setattr(preparation, "kernel_folder", lambda: tmp_path)
    monkeypatch.setattr(preparation, "mark_path", lambda: mark)
    monkeypatch.setattr(preparation, "_run", lambda *told, **_: started.append(told) or object())
    preparation.start_preparing()
    preparation.start_preparing()

    assert [("preparation", preparation.LOW_PRIORITY)] == started
    mark.touch()
    monkeypatch.setattr(preparation, "_started", [])
    preparation.start_preparing()
    assert 1 == len(started)


def test_the_kernel_cache_is_what_numba_asks():
    """If numba ever asks something else, kernels are compiled at every start: this fails then."""
    one = read_signature(SMALL[0]).kernel

    assert isinstance(one._cache, KernelCache)
    assert "kernels" in one._cache.cache_path or FOLDER_VARIABLE in os.environ
