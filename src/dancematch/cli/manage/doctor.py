"""dancematch doctor: is everything here that the work needs, and is a catalogue whole?"""

import dataclasses
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import json_option
from dancematch.cli.output import emit, emit_json, emit_table, say

if TYPE_CHECKING:
    from dancematch.catalogue.stats import CatalogueStats
    from dancematch.pipeline.checkup import Finding

_TIMEOUT_SECONDS = 5


@click.command("doctor")
@click.argument("catalogue", required=False)
@click.option("--quick", is_flag=True, help="Do not read every recording of CATALOGUE.")
@click.option("--prepare", is_flag=True, help="Compile the search for this computer now, and nothing else.")
@click.option("--cluster", metavar="ADDRESS", help="A Ray cluster that must be reached: auto, or an address.")
@json_option
def doctor_command(
    catalogue: str | None, quick: bool, prepare: bool, cluster: str | None, as_json: bool
) -> None:
    """Check versions, libraries, codecs, pose networks, models, room on disk and, if named, CATALOGUE.

    One line each: ok, warning or problem, and what to do. Of CATALOGUE every recording is read and compared
    with its checksums, and it is said what the catalogue holds, in numbers; what is ok with the
    installation is left out then. Exits with 1 if there is a problem. Nothing is fetched or changed.

    With --prepare, the search is compiled for this computer instead, which takes about a minute and happens
    once per version. Without, the first 'dancematch add' does it beside its work, or the first search.

    \b
    Example:
      dancematch doctor
      dancematch doctor --prepare
      dancematch doctor dances.db
      dancematch doctor postgresql://me@server/dances --quick --cluster auto --json
    """
    from dancematch.pipeline.checkup import OK, PROBLEM

    if prepare:
        _prepare()
        return
    problems = 0
    for finding in _check(catalogue, quick, cluster):
        problems += finding.state == PROBLEM
        if as_json:
            emit_json(finding)
        elif catalogue is None or finding.state != OK or finding.what in ("catalogue", "cluster"):
            _print_finding(finding)
    if catalogue is not None:
        _show_numbers(catalogue, as_json)
    say(f"{problems} problem(s)" if problems else "all is well")
    if problems:
        sys.exit(ExitCode.FAILED)


def _prepare() -> None:
    """Compile the search; exits with 1 if it cannot be kept."""
    from dancematch.search.kernels.kernel_folder import kernel_folder
    from dancematch.search.kernels.preparation import is_prepared, prepare_kernels

    began = time.perf_counter()
    prepare_kernels()
    if not is_prepared():
        say(f"the search is not prepared: its compiled code is not in {kernel_folder()}")
        sys.exit(ExitCode.FAILED)
    say(f"the search is prepared, after {time.perf_counter() - began:.0f} s: {kernel_folder()}")


def _check(catalogue: str | None, quick: bool, cluster: str | None) -> "Iterator[Finding]":
    from dancematch.catalogue.sql.postgresql import is_postgresql
    from dancematch.pipeline.checkup import check_everything

    needed = {"postgres"} if catalogue and is_postgresql(catalogue) else set()
    needed |= {"cluster"} if cluster else set()
    yield from check_everything(catalogue, needed=frozenset(needed), quick=quick)
    if cluster:
        yield _check_cluster(cluster)


def _check_cluster(address: str) -> "Finding":
    from dancematch.cluster.connect import alive_nodes, connect
    from dancematch.errors import DanceMatchError
    from dancematch.pipeline.checkup import OK, PROBLEM, Finding

    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if host and port.isdecimal():  # first, because Ray itself would try for many minutes
            socket.create_connection((host, int(port)), timeout=_TIMEOUT_SECONDS).close()
        nodes = alive_nodes(connect(address))
    except OSError as error:
        says = f"nothing answers at {address}: {error.strerror or error}"
        return Finding("cluster", PROBLEM, says, "start it there with 'ray start --head', or name another")
    except DanceMatchError as error:
        return Finding("cluster", PROBLEM, str(error))
    return Finding("cluster", OK, f"{address}: {len(nodes)} node(s)")


def _print_finding(finding: "Finding") -> None:
    of_dance = "" if finding.dance is None else f"{finding.dance}: "
    emit(f"{finding.state:8} {finding.what:10} {of_dance}{finding.says}")
    if finding.advice:
        emit(f"{'':19} -> {finding.advice}")


def _show_numbers(catalogue: str, as_json: bool) -> None:
    """Print what a catalogue holds; nothing if it cannot be read, which is among the findings."""
    from dancematch.catalogue.stats import count_stats
    from dancematch.catalogue.store import Store
    from dancematch.errors import DanceMatchError

    try:
        store = Store(catalogue, None, create=False)
        try:
            found = count_stats(store)
        finally:
            store.close()
    except (DanceMatchError, TypeError, ValueError):  # such as a number that is none
        return
    if as_json:
        emit_json({"what": "numbers", "state": "ok"} | dataclasses.asdict(found))
    else:
        _print_numbers(found)


def _print_numbers(found: "CatalogueStats") -> None:
    size, share = found.bytes_on_disk, found.periodic_share
    emit()
    for name, value in {
        "dances": f"{found.dances:,}",
        "recordings": f"{found.recordings:,}",
        "dancers": f"{found.dancers:,}, {found.with_skeletons:,} with skeletons",
        "seconds": f"{found.seconds:,.1f}",
        "periodic": "no dancers" if share is None else f"{share:.0%} of dancers",
        "excluded": f"{found.exclusions:,} segment(s)",
        "on disk": "not known" if size is None else f"{size / 1e6:,.1f} MB",
        "version": f"{found.version}, generation {found.generation:,}",
    }.items():
        emit(f"{name}: {value}")
    _print_counts("collection", found.by_collection)
    _print_counts("label", found.by_label)


def _print_counts(what: str, counts: Mapping[str, int]) -> None:
    if set(counts) - {""}:
        emit()
        emit_table([what, "dances"], [[name or "(none)", f"{count:,}"] for name, count in counts.items()])
