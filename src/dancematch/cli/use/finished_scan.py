"""What `dancematch scan --resume` does with a table that is finished."""

import sys
from collections.abc import Sequence

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.output import say
from dancematch.cli.use.scan_options import ScanOutputOptions
from dancematch.control_characters import escape_controls
from dancematch.errors import InputError

_NAMED = 3  # videos that a message names; more are only counted


def end_if_finished(videos: Sequence[str], output: ScanOutputOptions) -> None:
    """Exit as the run did that finished the table of these videos, if one did; the table is left alone."""
    from dancematch.pipeline.csv_table import parse_table, read_table_text
    from dancematch.pipeline.search_table import find_part
    from dancematch.report.scan_files import CSV_COLUMNS

    table = output.csv
    if table is None or not output.resume or output.force:
        return
    if not table.exists() or find_part(table).exists():
        return
    try:
        lines = parse_table(read_table_text(table), str(table), CSV_COLUMNS).lines
    except InputError as error:
        raise InputError(f"{error}; --resume goes on with a table that scan wrote: name another") from None
    scanned = {line.cells.get("file") for line in lines}
    missing = [name for name in videos if escape_controls(name).strip() not in scanned]
    if missing:
        names = ", ".join(missing[:_NAMED]) + (", ..." if missing[_NAMED:] else "")
        raise InputError(
            f"{table} is finished and says nothing of {len(missing)} of {len(videos)} videos ({names}): "
            "they are new, could not be read or show no dancer; scan them into another table"
        )
    say(f"{table} is finished: nothing is left to scan, nothing was written; --force scans all again")
    known = {line.cells.get("verdict") for line in lines} & {"match", "possible match"}
    sys.exit(ExitCode.DONE if known else ExitCode.NO_MATCH)
