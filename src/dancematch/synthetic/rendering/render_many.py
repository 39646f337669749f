"""Many clips rendered at once, in several processes."""

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Protocol

from dancematch.errors import InputError
from dancematch.pipeline.analysis.file_analysis import Progress
from dancematch.pipeline.analysis.parent_watch import end_with_parent

StageProgress = Callable[[str], Progress]  # begins a named stage and returns its progress callback


class Renderable(Protocol):
    """A clip that renders itself; it is pickled for another process."""

    def render_to(self, folder: Path) -> Path:
        """Render into `folder`, unless the video exists."""


def render_all(clips: Sequence[Renderable], folder: Path, jobs: int, on_progress: Progress) -> None:
    """Render all clips, `jobs` at a time, in the order given."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(clips)), context, _start_worker)
    try:
        futures = [pool.submit(clip.render_to, folder) for clip in clips]
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()
            on_progress(done / len(clips))
    except BrokenProcessPool:
        raise InputError("a process that rendered a video died, perhaps for lack of memory") from None
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error}") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    end_with_parent()
    # Ctrl-C ends a worker at once; an unfinished video is rendered again next time.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
