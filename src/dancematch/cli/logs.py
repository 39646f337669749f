"""Logs on stderr: plain text or, by `--log-json` or DANCEMATCH_LOG=json, one JSON object per line."""

import json
import logging
import os
import re
import sys
from datetime import UTC, datetime
from typing import Any

import click

from dancematch.control_characters import escape_controls, escape_json_controls

VARIABLE = "DANCEMATCH_LOG"
_HANDLER = "dancematch-json"

log = logging.getLogger(__name__)


class JsonLines(logging.Formatter):
    """One line per record: time (UTC), level, logger, message, `facts`, and the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_passwords(record.getMessage()),
        }
        line |= getattr(record, "facts", {})
        if record.exc_info:
            line["traceback"] = without_passwords(self.formatException(record.exc_info))
        return escape_json_controls(json.dumps(line, ensure_ascii=True, default=str))


class PlainLines(logging.Formatter):
    """The message alone, its control characters visible, and the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, or lines."""
        lines = [record.getMessage()]
        if record.exc_info:
            lines += self.formatException(record.exc_info).split("\n")
        return "\n".join(escape_controls(without_passwords(line)) for line in lines)


def begin_json() -> None:
    """Log as JSON from now on; a second call changes nothing."""
    if are_json():
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.set_name(_HANDLER)
    handler.setFormatter(JsonLines())
    logging.getLogger().addHandler(handler)
    logging.getLogger("dancematch").setLevel(logging.INFO)


def begin() -> None:
    """Log warnings as plain lines, or everything as JSON if the environment says so."""
    if logging.lastResort is not None:  # what prints warnings where no handler is set
        logging.lastResort.setFormatter(PlainLines())
    if os.environ.get(VARIABLE, "").lower() == "json":
        begin_json()


def are_json() -> bool:
    """Whether logs are JSON."""
    return any(handler.get_name() == _HANDLER for handler in logging.getLogger().handlers)


def without_passwords(text: str) -> str:
    """The text with the passwords of all URLs hidden, for screens and logs."""
    text = re.sub(r"(\w://[^\s:/@]*:)[^\s/@]+@", r"\1***@", text)
    return re.sub(r"([?&](?:ssl)?password=)[^\s&]+", r"\1***", text)


def _begin(_context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        begin_json()


log_option = click.option(
    "--log-json", is_flag=True, is_eager=True, expose_value=False, callback=_begin,
    help=f"Log on stderr as one JSON object per line (also {VARIABLE}=json).",
)  # fmt: skip
