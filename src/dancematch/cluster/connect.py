"""Reaching a Ray cluster: the one place where Ray is started up in this process."""

import logging
import os
import socket
import tempfile
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

from dancematch.errors import ClusterError, MissingExtraError

AUTO = "auto"

_PATIENCE_SECONDS = 10.0
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is reported
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else it warns of a change that does not matter here
}


def ray_module() -> ModuleType:
    """Ray, if it is installed."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingExtraError(
            "ray is not installed; --cluster needs: pip install 'dancematch[cluster]'"
        ) from None
    return ray


def connect(address: str) -> ModuleType:
    """Ray, connected to the cluster at an address; "auto" is the one that runs on this machine.

    A process is connected to one cluster; to connect again is to do nothing.
    """
    ray = ray_module()
    if ray.is_initialized():
        return ray
    _require_listener(address)
    # Else Ray reports every lost process on stdout, where results go; it has no public way to stop that.
    ray._private.worker._worker_logs_enabled = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError, TimeoutError, ImportError) as error:
            raise _unreachable(address, str(error).strip().splitlines()[0]) from None
    return ray


def _require_listener(address: str) -> None:
    """Fail at once if nothing listens there: Ray itself would try for minutes."""
    where = _last_started() if address == AUTO else address
    host, _, port = where.rpartition("//")[2].rpartition(":")
    if not port.isdigit():
        raise _unreachable(address, "no address, expected HOST:PORT" if where else "none was started here")
    try:
        with socket.create_connection((host, int(port)), timeout=_PATIENCE_SECONDS):
            return
    except OSError as error:
        raise _unreachable(address, error.strerror or str(error)) from None


def _last_started() -> str:
    """The address of this machine's cluster, where Ray itself looks for it."""
    file = Path(os.environ.get("RAY_TMPDIR", tempfile.gettempdir())) / "ray" / "ray_current_cluster"
    if os.environ.get("RAY_ADDRESS"):
        return os.environ["RAY_ADDRESS"]
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


def _unreachable(address: str, reason: str) -> ClusterError:
    return ClusterError(
        f"no Ray cluster can be reached at {address!r} ({reason}); 'ray start --head' starts one"
    )


def alive_nodes(ray: ModuleType) -> list[dict[str, Any]]:
    """The nodes of the cluster that can work."""
    return [node for node in ray.nodes() if node["Alive"]]
