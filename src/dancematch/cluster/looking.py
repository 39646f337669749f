"""What a node does with one clip: has it looked at in a process of its own, which it keeps for the next."""

import json
import os
import subprocess
import tempfile
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dancematch import errors
from dancematch.cluster.child import COMMAND, IGNORED, MOTIONS, WORDS
from dancematch.errors import DanceMatchError, InputError
from dancematch.formats import fingerprint as words_files
from dancematch.formats import npz
from dancematch.pipeline.extract import named_anew, read_ignored
from dancematch.pipeline.limits import Limit, WorkLimits
from dancematch.types import Fingerprint, IgnoredTrack, Motion

_ENDING_SECONDS = 5.0


@dataclass(frozen=True)
class Way:
    """How clips are looked at, the same for all of them."""

    model: str | None
    model_id: str
    limits: WorkLimits = field(default_factory=WorkLimits)
    command: tuple[str, ...] = COMMAND


@dataclass(frozen=True)
class Clip:
    """A file, by a path that this machine may or may not see."""

    path: str
    bytes: int  # -1 for a folder


@dataclass(frozen=True, eq=False)
class Looked:
    """What came of a clip."""

    motions: tuple[Motion, ...] = ()
    words: tuple[Fingerprint, ...] = ()
    ignored: tuple[IgnoredTrack, ...] = ()
    error: DanceMatchError | None = None
    poisonous: bool = False  # the process that looked at it died or had to be ended
    limit: Limit | None = None  # that it went beyond, or may have
    invisible: bool = False  # this machine does not see the path


def look(clip: Clip, way: Way, content: bytes | None = None) -> Looked:
    """Look at a clip by its path or, if it is given, by its content."""
    path = Path(clip.path)
    with tempfile.TemporaryDirectory(prefix="dancematch-") as made:
        folder = Path(made)
        if content is not None:
            path = folder / path.name
            path.write_bytes(content)
        elif not _is_seen(path, clip.bytes):
            return Looked(invisible=True)
        try:
            answer = _asked_twice(path, folder, way)
        except _TooLongError:
            reason = f"took more than {way.limits.seconds:.0f} s"
            return Looked(error=_poison(reason), poisonous=True, limit="seconds")
        except _DiedError:
            most = way.limits.memory_bytes >> 20
            reason = f"ended two processes: it is damaged, or takes more than {most} MB"
            return Looked(error=_poison(reason), poisonous=True, limit="memory_bytes")
        if "error" in answer:
            return Looked(error=named_anew(_error(answer), path, Path(clip.path)))
        motions, words = npz.read(folder / MOTIONS), words_files.read(folder / WORDS)
        return Looked(tuple(motions), tuple(words), read_ignored(folder / IGNORED))


def _is_seen(path: Path, size: int) -> bool:
    try:
        return path.is_dir() if size < 0 else path.stat().st_size == size
    except OSError:
        return False


def _poison(reason: str) -> InputError:
    return InputError(f"the clip {reason}; try a shorter or smaller one, or other limits")


def _error(answer: dict[str, Any]) -> DanceMatchError:
    kind = getattr(errors, str(answer["error"]), InputError)
    message = str(answer.get("message"))
    return kind(message) if issubclass(kind, DanceMatchError) else InputError(message)


class _DiedError(Exception):
    """The process ended before it answered."""


class _TooLongError(Exception):
    """The process was ended for its slowness."""


_hand: "list[_Hand]" = []  # of this process: none or one


def _asked_twice(path: Path, folder: Path, way: Way) -> dict[str, Any]:
    """What the process says; of one that dies, what another says.

    The first may have died of earlier clips, or of a moment in which the machine was short of memory.
    """
    try:
        return _asked(path, folder, way)
    except _DiedError:
        return _asked(path, folder, way)


def _asked(path: Path, folder: Path, way: Way) -> dict[str, Any]:
    if not _hand or _hand[0].way != way:
        _let_go()
        _hand.append(_Hand(way))
    try:
        return _hand[0].ask({"source": str(path), "target": str(folder)})
    except BaseException:
        _let_go()
        raise


def _let_go() -> None:
    while _hand:
        _hand.pop().end()


class _Hand:
    """A process that looks at clips."""

    def __init__(self, way: Way) -> None:
        self.way = way
        told = {"model": way.model, "model_id": way.model_id, "limits": asdict(way.limits)}
        self._process = subprocess.Popen(  # noqa: S603  (our own interpreter)
            [*way.command, json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer, unless the process dies or is too slow."""
        assert self._process.stdin is not None  # noqa: S101  (it was asked for)
        assert self._process.stdout is not None  # noqa: S101
        late = threading.Event()

        def end_it() -> None:
            late.set()
            self._process.kill()

        watch = threading.Timer(self.way.limits.seconds, end_it)
        watch.start()
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            watch.cancel()
        if late.is_set():
            raise _TooLongError
        if not line.endswith(b"\n"):
            raise _DiedError
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait(_ENDING_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
