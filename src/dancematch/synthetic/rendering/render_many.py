"""Many clips rendered at once, in several processes."""

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Protocol

from dancematch.errors import InputError
from dancematch.pipeline.analysis import Progress
from dancematch.pipeline.parent_watch import end_with_parent

StageProgress = Callable[[str], Progress]  # names a stage of the work and gives the way to tell its progress


class Renderable(Protocol):
    """Whatever can render itself; it is sent to another process."""

    def film(self, folder: Path) -> Path:
        """Render it into `folder`, unless it is there already."""


def render_all(scenes: Sequence[Renderable], folder: Path, jobs: int, tell: Progress) -> None:
    """Render all scenes, several at a time; the first ones given are the first to begin."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(scenes)), context, _start_renderer)
    try:
        futures = [pool.submit(scene.film, folder) for scene in scenes]
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()
            tell(done / len(scenes))
    except BrokenProcessPool:
        raise InputError("a process that rendered a video died, perhaps for lack of memory") from None
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error}") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start_renderer() -> None:
    end_with_parent()
    # Ctrl-C ends a rendering at once; what it has written so far is written again next time.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
