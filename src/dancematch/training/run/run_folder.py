"""A run's folder: creating it, resuming from it, and refusing to mix it with another run.

`config.json` is the plan; `checkpoints/start.json` records the numbers and motions that the run
really started with, so that it cannot continue with others; `checkpoints/sources.json` what is said of them.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dancematch.errors import InputError, ModelError
from dancematch.formats.files import write_bytes
from dancematch.training.recipe import TrainingPlan, make_plan, read_config


def latest_checkpoint(folder: Path) -> Path:
    """The file that a stopped run continues from; it need not exist yet."""
    return folder / "checkpoints" / "latest.safetensors"


def best_checkpoint(folder: Path) -> Path:
    """The file that a run's model is made of; there is none before the first check of words."""
    return folder / "checkpoints" / "best.safetensors"


def require_check(folder: Path) -> None:
    """Refuse a run of which no model can be made yet."""
    if not best_checkpoint(folder).exists():
        raise InputError(f"the run in {folder} has no check with words yet; go on with --resume first")


def require_new_run(folder: Path) -> None:
    """Refuse a folder with a run or a model; a run without a checkpoint may be replaced."""
    if (folder / "config.json").exists() and not _has_plan_only(folder):
        raise ModelError(f"{folder} already holds a run or a model; choose another folder, or --resume it")


def _has_plan_only(folder: Path) -> bool:
    try:
        plan = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    is_plan = isinstance(plan, dict) and {"network", "training"} <= set(plan)
    return is_plan and not [*(folder / "checkpoints").glob("*.safetensors"), *folder.glob("model")]


def create_run(plan: TrainingPlan, folder: Path) -> None:
    """Make a new run's folder with its config."""
    require_new_run(folder)
    try:
        (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"the run cannot be kept in {folder}: {error}") from None
    with lock_run(folder):
        _start_file(folder).unlink(missing_ok=True)
        write_bytes(folder / "config.json", _to_json(plan.to_tables()), overwrite=True)


def read_plan(folder: Path) -> TrainingPlan:
    """The plan of a run that is to be resumed."""
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} holds no run to go on with; begin one without --resume or --finish")
    if (folder / "model" / "config.json").exists():
        raise InputError(f"the run in {folder} is finished: its model is {folder / 'model'}")
    plan = make_plan("default", read_config(folder / "config.json"))
    if _start_file(folder).exists():
        _require_same_plan(folder, _read_start(folder), plan)
    return plan


def record_start(folder: Path, plan: TrainingPlan, motions: str) -> None:
    """Write down a run's plan and the digest of its motions; refuse others than those recorded."""
    if not _start_file(folder).exists():
        write_bytes(_start_file(folder), _to_json({"motions": motions, "plan": plan.to_tables()}))
        return
    start = _read_start(folder)
    _require_same_plan(folder, start, plan)
    if start["motions"] != motions:
        raise InputError(f"the run in {folder} was trained on other motions; give the same folders as before")


def record_sources(folder: Path, sources: Sequence[Mapping[str, Any]]) -> None:
    """Write down a run's sources, with their weights and licences; refuse others than those recorded."""
    path, said = folder / "checkpoints" / "sources.json", [dict(source) for source in sources]
    if not path.exists():
        write_bytes(path, _to_json({"sources": said}))
        return
    try:
        recorded = json.loads(path.read_text(encoding="utf-8"))["sources"]
    except (OSError, ValueError, KeyError, TypeError):
        raise ModelError(
            f"{path}, which records what the run learns from, is damaged; begin a new run"
        ) from None
    if recorded != said:
        raise InputError(
            f"the run in {folder} was begun with other sources, weights or licences; give them as before, "
            f"or begin a new run"
        )


@contextlib.contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Hold the run's folder for this process; refuse it while another process holds it."""
    with (folder / "checkpoints" / "lock").open("a") as file:
        if find_spec("fcntl"):  # missing on Windows, where two runs are not kept apart
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ModelError(
                    f"another process is training in {folder}; wait for it, or choose another folder"
                ) from None
        yield


def _start_file(folder: Path) -> Path:
    return folder / "checkpoints" / "start.json"


def _to_json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=2).encode() + b"\n"


def _read_start(folder: Path) -> dict[str, Any]:
    path = _start_file(folder)
    try:
        start = json.loads(path.read_text(encoding="utf-8"))
        return {"motions": str(start["motions"]), "plan": dict(start["plan"])}
    except (OSError, ValueError, KeyError, TypeError):
        raise ModelError(
            f"{path}, which records what the run started with, is damaged; begin a new run"
        ) from None


def _require_same_plan(folder: Path, start: dict[str, Any], plan: TrainingPlan) -> None:
    for table, values in plan.to_tables().items():
        recorded = start["plan"].get(table, {})
        for name, value in values.items():
            if recorded.get(name) != value:
                raise InputError(
                    f"the run in {folder} was begun with other numbers: {table}.{name} was "
                    f"{recorded.get(name)!r}, its config.json now says {value!r}; put it back, "
                    f"or begin a new run"
                )
