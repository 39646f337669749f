"""A run's folder: how one is begun, taken up again, and kept from being mixed with another.

`config.json` is what was planned; `checkpoints/begun.json` notes with which numbers and motions
the run really began, so that it cannot go on with others.
"""

import contextlib
import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dancematch.errors import InputError, ModelError
from dancematch.formats.files import write_bytes
from dancematch.training.recipe import TrainingPlan, make_plan, read_config


def latest_checkpoint(folder: Path) -> Path:
    """Where a run goes on from, once it is there."""
    return folder / "checkpoints" / "latest.safetensors"


def require_new_run(folder: Path) -> None:
    """Refuse a folder that holds anything to lose; a run that never came to a checkpoint holds nothing."""
    if (folder / "config.json").exists() and not _is_false_start(folder):
        raise ModelError(f"{folder} already holds a run or a model; choose another folder, or --resume it")


def _is_false_start(folder: Path) -> bool:
    """Whether there is a run's plan, and nothing that came of it."""
    try:
        planned = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    ours = isinstance(planned, dict) and {"network", "training"} <= set(planned)
    kept = [*(folder / "checkpoints").glob("*.safetensors"), *folder.glob("model")]
    return ours and not kept


def create_run(plan: TrainingPlan, folder: Path) -> None:
    """Make a new run's folder with its config."""
    require_new_run(folder)
    try:
        (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"the run cannot be kept in {folder}: {error}") from None
    with lock_run(folder):
        _beginning(folder).unlink(missing_ok=True)
        content = json.dumps(plan.tables(), indent=2).encode() + b"\n"
        write_bytes(folder / "config.json", content, overwrite=True)


def read_plan(folder: Path) -> TrainingPlan:
    """The plan of a run that was begun in a folder and is to go on."""
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} holds no run to resume; begin one without --resume")
    if (folder / "model" / "config.json").exists():
        raise InputError(f"the run in {folder} is finished: its model is {folder / 'model'}")
    plan = make_plan("default", read_config(folder / "config.json"))
    if _beginning(folder).exists():
        _require_numbers(folder, _read_beginning(folder), plan)
    return plan


def record_start(folder: Path, plan: TrainingPlan, motions: str) -> None:
    """Note a plan and the digest of its motions as the run's own; refuse if it has others already."""
    if not _beginning(folder).exists():
        noted = {"motions": motions, "plan": plan.tables()}
        write_bytes(_beginning(folder), json.dumps(noted, indent=2).encode() + b"\n")
        return
    begun = _read_beginning(folder)
    _require_numbers(folder, begun, plan)
    if begun["motions"] != motions:
        raise InputError(f"the run in {folder} was trained on other motions; give the same folders as before")


@contextlib.contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Refuse to work in a run's folder while another process does; its claim ends when it does."""
    with (folder / "checkpoints" / "lock").open("a") as file:
        if find_spec("fcntl"):  # not on Windows, where nothing keeps two runs apart
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ModelError(
                    f"another process is training in {folder}; wait for it, or choose another folder"
                ) from None
        yield


def _beginning(folder: Path) -> Path:
    return folder / "checkpoints" / "begun.json"


def _read_beginning(folder: Path) -> dict[str, Any]:
    path = _beginning(folder)
    try:
        begun = json.loads(path.read_text(encoding="utf-8"))
        return {"motions": str(begun["motions"]), "plan": dict(begun["plan"])}
    except (OSError, ValueError, KeyError, TypeError):
        raise ModelError(f"{path} is damaged, which tells what the run began with; begin a new one") from None


def _require_numbers(folder: Path, begun: dict[str, Any], plan: TrainingPlan) -> None:
    for table, numbers in plan.tables().items():
        before = begun["plan"].get(table, {})
        changed = [name for name, value in numbers.items() if before.get(name) != value]
        if changed:
            was, now = before.get(changed[0]), numbers[changed[0]]
            raise InputError(
                f"the run in {folder} was begun with other numbers: {table}.{changed[0]} was {was!r}, "
                f"its config.json now says {now!r}; put it back, or begin a new run"
            )
