"""dancematch serve: a catalogue as a service."""

from pathlib import Path

import click

from dancematch.cli.logs import log_option
from dancematch.cli.options import model_option
from dancematch.cli.output import say
from dancematch.errors import MissingExtraError
from dancematch.server.access.tokens import Tokens, is_open_to_others, read_tokens
from dancematch.server.options import MEGABYTE, Options, WorkLimits


@click.command("serve", context_settings={"show_default": True})
@click.argument("catalogue")
@click.option("--host", default=Options.host, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=Options.port, help="0: any that is free.")
@click.option(
    "--token-file", type=click.Path(path_type=Path, dir_okay=False),
    help="Lines 'read SECRET' or 'write SECRET'; needed for an address that others can reach.",
)  # fmt: skip
@click.option("--allow-host", "hosts", multiple=True, help="A further name that this machine goes by.")
@click.option("--cors", "origins", multiple=True, help="An origin whose pages may use the service.")
@click.option(
    "--workers", type=click.IntRange(1), default=Options.workers, help="Videos looked at at a time."
)
@click.option("--queue", type=click.IntRange(1), default=Options.queue, help="Jobs that may wait.")
@click.option(
    "--max-upload", type=click.IntRange(1), default=Options.upload_bytes // MEGABYTE,
    help="Megabytes of an upload.",
)  # fmt: skip
@click.option(
    "--sync-mb", type=click.IntRange(1), default=Options.sync_bytes // MEGABYTE,
    help="Megabytes of a motion file that is answered at once.",
)  # fmt: skip
@click.option(
    "--max-seconds", type=click.FloatRange(1), default=WorkLimits.video_seconds, help="Length of a video."
)
@click.option(
    "--max-pixels", type=click.IntRange(1), default=WorkLimits.video_pixels, help="Pixels of a frame."
)
@click.option(
    "--job-seconds", type=click.FloatRange(1), default=WorkLimits.seconds,
    help="Time that looking at a file may take.",
)  # fmt: skip
@click.option(
    "--job-memory", type=click.IntRange(256), default=WorkLimits.memory_bytes // MEGABYTE,
    help="Megabytes that looking at a file may take.",
)  # fmt: skip
@click.option("--keep-videos", is_flag=True, help="Keep the videos of dances, not only their skeletons.")
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False),
    help="Where jobs and uploads are kept (default: beside the catalogue).",
)  # fmt: skip
@click.option(
    "--cluster", metavar="auto|ADDRESS",
    help="Search in parts on a Ray cluster: the one on this machine, or at an address.",
)  # fmt: skip
@click.option("--shards", type=click.IntRange(1), default=Options.shards, help="With --cluster: parts.")
@model_option
@log_option
def serve_command(
    catalogue: str,
    host: str,
    port: int,
    token_file: Path | None,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    workers: int,
    queue: int,
    max_upload: int,
    sync_mb: int,
    max_seconds: float,
    max_pixels: int,
    job_seconds: float,
    job_memory: int,
    keep_videos: bool,
    folder: Path | None,
    cluster: str | None,
    shards: int,
    model: str | None,
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
    options = Options(
        catalogue=catalogue,
        model=model,
        host=host,
        port=port,
        tokens=read_tokens(token_file) if token_file else Tokens(),
        allowed_hosts=hosts,
        cors_origins=origins,
        folder=folder,
        workers=workers,
        queue=queue,
        upload_bytes=max_upload * MEGABYTE,
        sync_bytes=min(sync_mb, max_upload) * MEGABYTE,
        keep_videos=keep_videos,
        cluster=cluster,
        shards=shards,
        work=WorkLimits(job_seconds, job_memory * MEGABYTE, max_seconds, max_pixels),
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
