"""The options of the service, as its command line gives them."""

import ipaddress
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from dancematch.errors import InputError
from dancematch.pipeline.analysis.limits import MEGABYTE as MEGABYTE
from dancematch.pipeline.analysis.limits import WorkLimits as WorkLimits
from dancematch.server.access.tokens import Tokens

WORKER = (sys.executable, "-m", "dancematch.server.jobs.worker")


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class Options:
    """Checked when they are made."""

    catalogue: str
    model: str | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    tokens: Tokens = field(default_factory=Tokens)
    allowed_hosts: tuple[str, ...] = ()  # on loopback, beside this machine's own names
    cors_origins: tuple[str, ...] = ()
    folder: Path | None = None  # for jobs and uploads; beside the catalogue if not given
    workers: int = max(1, (os.cpu_count() or 1) // 2)
    queue: int = 32  # jobs that may wait
    upload_bytes: int = 256 * MEGABYTE
    upload_seconds: float = 600.0  # for receiving one upload
    sync_bytes: int = 8 * MEGABYTE
    connections_per_address: int = 256
    keep_videos: bool = False
    cluster: str | None = None  # the address of a Ray cluster that searches in place of this process
    shards: int = 4  # on the cluster
    work: WorkLimits = field(default_factory=WorkLimits)
    worker: tuple[str, ...] = WORKER  # the command that analyses a file

    def __post_init__(self) -> None:
        if not is_loopback(self.host) and not self.tokens:
            raise InputError(
                f"{self.host} can be reached by others, and there is no token to keep them out; "
                "give --token-file, or stay with 127.0.0.1"
            )
