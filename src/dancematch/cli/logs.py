"""What is told of the work: for people as it is, for programs as one JSON object a line, always on stderr.

`--log-json`, or DANCEMATCH_LOG=json for every verb, turns to the second.
"""

import json
import logging
import os
import re
import sys
from datetime import UTC, datetime
from typing import Any

import click

VARIABLE = "DANCEMATCH_LOG"
_HANDLER = "dancematch-json"

log = logging.getLogger(__name__)


class JsonLines(logging.Formatter):
    """A record as a line: time (UTC), level, logger, message, its `facts`, and a traceback if it has one."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_passwords(record.getMessage()),
        }
        told |= getattr(record, "facts", {})
        if record.exc_info:
            told["traceback"] = without_passwords(self.formatException(record.exc_info))
        return json.dumps(told, ensure_ascii=True, default=str)


def begin_json() -> None:
    """From now on log as JSON; whoever does so twice changes nothing."""
    if are_json():
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.set_name(_HANDLER)
    handler.setFormatter(JsonLines())
    logging.getLogger().addHandler(handler)
    logging.getLogger("dancematch").setLevel(logging.INFO)


def begin_if_asked() -> None:
    """Log as the environment says."""
    if os.environ.get(VARIABLE, "").lower() == "json":
        begin_json()


def are_json() -> bool:
    """Whether programs are to read the logs."""
    return any(handler.get_name() == _HANDLER for handler in logging.getLogger().handlers)


def without_passwords(text: str) -> str:
    """The text, the passwords of all URLs in it hidden: it goes to screens and logs."""
    text = re.sub(r"(\w://[^\s:/@]*:)[^\s/@]+@", r"\1***@", text)
    return re.sub(r"([?&](?:ssl)?password=)[^\s&]+", r"\1***", text)


def _begin(_context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        begin_json()


log_option = click.option(
    "--log-json", is_flag=True, is_eager=True, expose_value=False, callback=_begin,
    help=f"Log on stderr as one JSON object a line (also {VARIABLE}=json).",
)  # fmt: skip
