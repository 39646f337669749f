"""dancematch serve: a catalogue as a service."""

from dataclasses import dataclass
from pathlib import Path

import click

from dancematch.cli.logs import log_option
from dancematch.cli.options import MODEL_HELP, file_path, option, option_group
from dancematch.cli.output import say
from dancematch.errors import MissingExtraError
from dancematch.server.access.tokens import Tokens, is_open_to_others, read_tokens
from dancematch.server.limits import MAX_CONNECTIONS
from dancematch.server.options import MEGABYTE, Options, WorkLimits


@dataclass(frozen=True)
class NetworkOptions:
    """Where the service listens, and to whom."""

    host: str = option("--host", default=Options.host, help="The address to listen on.")
    port: int = option(
        "--port", type=click.IntRange(0, 65535), default=Options.port, help="0: any that is free."
    )
    token_file: Path | None = option(
        "--token-file", type=file_path(),
        help="Lines 'read SECRET' or 'write SECRET'; needed for an address that others can reach.",
    )  # fmt: skip
    connections: int = option(
        "--max-connections", type=click.IntRange(1, MAX_CONNECTIONS), default=Options.connections_per_address,
        help="Connections of one address; behind a proxy, all have the proxy's.",
    )  # fmt: skip
    hosts: tuple[str, ...] = option(
        "--allow-host", multiple=True, help="A further name that this machine goes by."
    )
    origins: tuple[str, ...] = option(
        "--cors", multiple=True, help="An origin whose pages may use the service."
    )


@dataclass(frozen=True)
class UploadOptions:
    """What may be uploaded, and what becomes of it."""

    max_upload: int = option(
        "--max-upload", type=click.IntRange(1), default=Options.upload_bytes // MEGABYTE,
        help="Megabytes of an upload.",
    )  # fmt: skip
    sync_mb: int = option(
        "--sync-mb", type=click.IntRange(1), default=Options.sync_bytes // MEGABYTE,
        help="Megabytes of a motion file that is answered at once.",
    )  # fmt: skip
    max_seconds: float = option(
        "--max-seconds", type=click.FloatRange(1), default=WorkLimits.video_seconds, help="Length of a video."
    )
    max_pixels: int = option(
        "--max-pixels", type=click.IntRange(1), default=WorkLimits.video_pixels, help="Pixels of a frame."
    )
    max_scan_upload: int = option(
        "--max-scan-upload", type=click.IntRange(1), default=Options.scan_bytes // MEGABYTE,
        help="Megabytes of a long video to be scanned.",
    )  # fmt: skip
    max_scan_seconds: float = option(
        "--max-scan-seconds", type=click.FloatRange(1), default=Options.scan_seconds,
        help="Length of such a video.",
    )  # fmt: skip
    keep_videos: bool = option(
        "--keep-videos", is_flag=True, help="Keep the videos of dances, not only their skeletons."
    )
    folder: Path | None = option(
        "--folder", type=click.Path(path_type=Path, file_okay=False),
        help="Where jobs and uploads are kept (default: beside the catalogue).",
    )  # fmt: skip


@dataclass(frozen=True)
class JobOptions:
    """How files are analysed."""

    workers: int = option(
        "--workers", type=click.IntRange(1), default=Options.workers, help="Videos analysed at a time."
    )
    queue: int = option("--queue", type=click.IntRange(1), default=Options.queue, help="Jobs that may wait.")
    seconds: float = option(
        "--job-seconds", type=click.FloatRange(1), default=WorkLimits.seconds,
        help="Seconds that the analysis of a file may take.",
    )  # fmt: skip
    memory: int = option(
        "--job-memory", type=click.IntRange(256), default=WorkLimits.memory_bytes // MEGABYTE,
        help="Megabytes that the analysis of a file may take.",
    )  # fmt: skip


@dataclass(frozen=True)
class SearchOptions:
    """Where searches run."""

    cluster: str | None = option(
        "--cluster", metavar="auto|ADDRESS",
        help="Search in shards on a Ray cluster: the one on this machine, or at an address.",
    )  # fmt: skip
    shards: int = option(
        "--shards", type=click.IntRange(1), default=Options.shards, help="With --cluster: their number."
    )
    model: str | None = option("--model", help=MODEL_HELP)


@click.command("serve", context_settings={"show_default": True})
@click.argument("catalogue")
@option_group("network", NetworkOptions)
@option_group("upload", UploadOptions)
@option_group("job", JobOptions)
@option_group("search", SearchOptions)
@log_option
def serve_command(
    catalogue: str, network: NetworkOptions, upload: UploadOptions, job: JobOptions, search: SearchOptions
) -> None:
    """Serve CATALOGUE as a page and a REST service, until Ctrl-C.

    CATALOGUE is a file, made if it is not there, or a database URL. Only this machine
    reaches the service unless another address is given, which needs tokens. docs/service.md
    describes the interface.

    \b
    Example:
      dancematch serve dances.db
      dancematch serve dances.db --host 0.0.0.0 --token-file tokens.txt
    """
    token_file = network.token_file
    options = Options(
        catalogue=catalogue,
        model=search.model,
        host=network.host,
        port=network.port,
        tokens=read_tokens(token_file) if token_file else Tokens(),
        connections_per_address=network.connections,
        allowed_hosts=network.hosts,
        cors_origins=network.origins,
        folder=upload.folder,
        workers=job.workers,
        queue=job.queue,
        upload_bytes=upload.max_upload * MEGABYTE,
        sync_bytes=min(upload.sync_mb, upload.max_upload) * MEGABYTE,
        scan_bytes=upload.max_scan_upload * MEGABYTE,
        scan_seconds=upload.max_scan_seconds,
        keep_videos=upload.keep_videos,
        cluster=search.cluster,
        shards=search.shards,
        work=WorkLimits(job.seconds, job.memory * MEGABYTE, upload.max_seconds, upload.max_pixels),
    )
    if token_file and is_open_to_others(token_file):
        say(f"warning: other users of this machine may read or change {token_file}; chmod 600 {token_file}")
    from dancematch.catalogue.sql.connection import shown_address

    try:
        from dancematch.server.app import run
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{error.name} is not installed; the service needs: pip install 'dancematch[serve]'"
        ) from None
    where = shown_address(catalogue)
    run(options, on_start=lambda address: say(f"dancematch serves {where} at {address} (Ctrl-C ends it)"))
