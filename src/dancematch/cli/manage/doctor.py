"""dancematch doctor: is everything here that the work needs?"""

import socket
import sys
from typing import TYPE_CHECKING

import click

from dancematch.cli.output import emit_json, json_option, say

if TYPE_CHECKING:
    from dancematch.pipeline.checkup import Finding

_PATIENCE_SECONDS = 5


@click.command("doctor")
@click.argument("catalogue", required=False)
@click.option("--cluster", metavar="ADDRESS", help="A Ray cluster that must be reached: auto, or an address.")
@json_option
def doctor_command(catalogue: str | None, cluster: str | None, as_json: bool) -> None:
    """Check versions, libraries, codecs, pose networks, models, room on disk and, if named, CATALOGUE.

    A line each: ok, warning or problem, and what to do. Exits with 1 if there is a problem. Nothing is
    fetched or changed.

    \b
    Example:
      dancematch doctor
      dancematch doctor postgresql://me@server/dances --cluster auto
    """
    from dancematch.catalogue.sql.postgresql import is_postgresql
    from dancematch.pipeline.checkup import PROBLEM, look_at_everything

    needed = {"postgres"} if catalogue and is_postgresql(catalogue) else set()
    needed |= {"cluster"} if cluster else set()
    problems = 0
    for finding in look_at_everything(catalogue, needed=frozenset(needed)):
        _tell(finding, as_json)
        problems += finding.state == PROBLEM
    if cluster:
        finding = _reached(cluster)
        _tell(finding, as_json)
        problems += finding.state == PROBLEM
    say(f"{problems} problem(s)" if problems else "all is well")
    if problems:
        sys.exit(1)


def _reached(address: str) -> "Finding":
    from dancematch.cluster.connect import alive_nodes, connect
    from dancematch.errors import DanceMatchError
    from dancematch.pipeline.checkup import OK, PROBLEM, Finding

    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if host and port.isdecimal():  # asked first: Ray itself would try for many minutes
            socket.create_connection((host, int(port)), timeout=_PATIENCE_SECONDS).close()
        nodes = alive_nodes(connect(address))
    except OSError as error:
        says = f"nothing answers at {address}: {error.strerror or error}"
        return Finding("cluster", PROBLEM, says, "start it there with 'ray start --head', or name another")
    except DanceMatchError as error:
        return Finding("cluster", PROBLEM, str(error))
    return Finding("cluster", OK, f"{address}: {len(nodes)} node(s)")


def _tell(finding: "Finding", as_json: bool) -> None:
    if as_json:
        emit_json(finding)
        return
    click.echo(f"{finding.state:8} {finding.what:10} {finding.says}")
    if finding.advice:
        click.echo(f"{'':19} -> {finding.advice}")
