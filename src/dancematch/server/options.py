"""The options of the service, as its command line gives them."""

import ipaddress
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from dancematch.errors import InputError
from dancematch.pipeline.analysis.limits import MEGABYTE as MEGABYTE
from dancematch.pipeline.analysis.limits import WorkLimits as WorkLimits
from dancematch.server.access.tokens import Tokens
from dancematch.server.limits import MAX_CAMERA_SECONDS, SCAN_PACE

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
    scan_bytes: int = 4096 * MEGABYTE  # of a long video to be scanned
    scan_seconds: float = 4 * 3600.0  # length of such a video
    sync_bytes: int = 8 * MEGABYTE
    connections_per_address: int = 256
    keep_videos: bool = False
    cluster: str | None = None  # the address of a Ray cluster that searches in place of this process
    shards: int = 4  # on the cluster
    work: WorkLimits = field(default_factory=WorkLimits)
    worker: tuple[str, ...] = WORKER  # the command that analyses a file

    @property
    def scan_work(self) -> WorkLimits:
        """What a long video may cost."""
        return replace(self.work, seconds=SCAN_PACE * self.scan_seconds, video_seconds=self.scan_seconds)

    @property
    def camera_work(self) -> WorkLimits:
        """What the pictures of a camera may cost."""
        return replace(self.work, seconds=2 * MAX_CAMERA_SECONDS, video_seconds=MAX_CAMERA_SECONDS)

    def __post_init__(self) -> None:
        if not is_loopback(self.host) and not self.tokens:
            raise InputError(
                f"{self.host} can be reached by others, and there is no token to keep them out; "
                "give --token-file, or stay with 127.0.0.1"
            )
