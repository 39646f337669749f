"""Starts servers without delay: a process that has imported all that a server needs forks once per server.

Each is a process of its own that runs the console script's `main`; only its imports were done before.
"""

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO

IMPORTED = ("dancematch.cli.manage.serve", "dancematch.server.app", "dancematch.pipeline.catalogue")


class ForkedServer:
    """What tests use of a `subprocess.Popen`, for a process that the starter forked."""

    def __init__(self, args: list[str]) -> None:
        self.args, self._code = args, None
        self._folder = tempfile.TemporaryDirectory(prefix="dm-server-")
        errors = Path(self._folder.name) / "stderr"
        os.mkfifo(errors)
        self._starter = _starter()
        self.pid = int(self._starter({"args": args, "errors": str(errors)}))
        self.stderr: IO[str] = errors.open(encoding="utf-8", errors="replace")  # waits for the other end

    def poll(self) -> int | None:
        """How it ended, if it has."""
        if self._code is None:
            self._code = self._starter({"poll": self.pid})
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """How it ends."""
        deadline = time.monotonic() + (timeout or float("inf"))
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            time.sleep(0.02)
        self._folder.cleanup()
        return code

    def send_signal(self, which: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, which)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@cache
def _starter() -> Callable[[dict], int | None]:
    """Gives the answers of one starter, which ends with this process."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, __file__], env=environment, **pipes)

    def ask(request: dict) -> int | None:
        print(json.dumps(request), file=process.stdin, flush=True)
        return json.loads(process.stdout.readline())

    def end() -> None:
        process.stdin.close()
        process.wait()
        process.stdout.close()

    atexit.register(end)
    return ask


def _serve_requests() -> list[str]:
    """Answer each line; in a forked process return what it is to run."""
    for line in sys.stdin:
        request = json.loads(line)
        if "poll" in request:
            ended, status = os.waitpid(request["poll"], os.WNOHANG)
            print(json.dumps(os.waitstatus_to_exitcode(status) if ended else None), flush=True)
            continue
        child = os.fork()
        if not child:
            _leave_the_pipes(request["errors"])
            return request["args"]
        print(child, flush=True)
    os._exit(0)


def _leave_the_pipes(errors: str) -> None:
    """Have an empty stdin, the starter's stdout for nobody, and stderr where it was asked for."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    told = os.open(errors, os.O_WRONLY)
    for source, target in ((nowhere, 0), (nowhere, 1), (told, 2)):
        os.dup2(source, target)
    os.close(nowhere)
    os.close(told)


def main() -> None:
    """Import, fork when asked, and be a server."""
    import server_samples
    from dancematch.cli import main as run_command_line

    for module in IMPORTED:
        import_module(module)
    gc.freeze()  # otherwise each child would copy the memory that its collector looks at
    program, *rest = _serve_requests()
    if program == sys.executable:
        server_samples._serve_puppets(rest[1:])
    else:
        sys.argv = [program, *rest]
        run_command_line()


if __name__ == "__main__":
    main()
