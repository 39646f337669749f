"""The command line on one file in a process of its own, and whether it behaved.

Run as a script, this is a server that forks once per command: everything is imported once, and the process
that forks has no threads, which those of the tests have.
"""

import dataclasses
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from dancematch.cli import main
from dancematch.cli.exit_codes import ExitCode
from dancematch.control_characters import has_controls
from dancematch.formats.limits import MAX_MESSAGE
from dancematch.formats.registry import FORMATS

SECONDS = 5  # of processor time
MEGABYTES = 500  # more than before
_ANSWERS = {ExitCode.DONE, ExitCode.FAILED, ExitCode.NO_MATCH}


@dataclass(frozen=True)
class Trial:
    """What a command did."""

    code: int  # negative: the signal that ended it
    out: str
    err: str
    seconds: float
    megabytes: float

    def find_fault(self, path: Path) -> str | None:
        """What a hostile file must not achieve, if it did."""
        if self.code not in _ANSWERS:
            return f"ended by signal {-self.code}" if self.code < 0 else f"exit code {self.code}"
        if "Traceback" in self.err:
            return "a traceback"
        if len(self.err.splitlines()) > 1 or has_controls(self.err.rstrip("\n")):
            return "more than one plain line on stderr"
        if len(self.err) > MAX_MESSAGE + len(str(path)) + 40:
            return f"a line of {len(self.err)} characters"
        if has_controls(self.out.replace("\n", "")):
            return "control characters on stdout"
        if self.seconds > SECONDS or self.megabytes > MEGABYTES:
            return f"{self.seconds:.1f} s and {self.megabytes:.0f} MB"
        return None


class Server:
    """Runs commands one after the other, each in a child of one small process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, *arguments: object) -> Trial:
        """Run `dancematch` with these arguments."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps([str(argument) for argument in arguments]), file=self._process.stdin, flush=True)
        return Trial(**json.loads(self._process.stdout.readline()))


@contextmanager
def trial_server(*modules: str) -> Iterator[Server]:
    """A server, ended with the block, that has the readers and these modules imported; few, to fork fast."""
    command = [sys.executable, __file__, *modules]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, env=environment) as process:
        yield Server(process)
        process.stdin.close()


def serve() -> None:
    """Answer each line of arguments with a line of what came of them."""
    for module in ["numpy.ma", "numpy.random", *(format_.module for format_ in FORMATS), *sys.argv[1:]]:
        import_module(module)
    gc.freeze()  # otherwise each child would copy the memory that its collector looks at
    for line in sys.stdin:
        arguments = json.loads(line)
        if arguments[-1].endswith(".pt"):
            import_module("torch")
        print(json.dumps(dataclasses.asdict(_try(arguments))), flush=True)


def _try(arguments: list[str]) -> Trial:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        before = _resident_kilobytes()
        child = os.fork()
        if not child:
            _run_and_exit(arguments, out.fileno(), err.fileno())
        _, status, used = os.wait4(child, 0)
        told = []
        for file in (out, err):
            file.seek(0)
            told.append(file.read().decode(errors="replace"))
        seconds, megabytes = used.ru_utime + used.ru_stime, (used.ru_maxrss - before) / 1024
        return Trial(os.waitstatus_to_exitcode(status), *told, seconds, megabytes)


def _resident_kilobytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


def _run_and_exit(arguments: list[str], out: int, err: int) -> NoReturn:
    """What the child does: as the console script, with limits in case the file wins."""
    code = 99
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (2 * SECONDS, 2 * SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        sys.argv = ["dancematch", *arguments]
        try:
            main()
            code = 0
        except SystemExit as left:
            code = int(left.code or 0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve()
