"""Jobs in a table of their own, so that neither a stop nor a kill loses one."""

import json
import secrets
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from dancematch.server.limits import FINISHED_JOB_DAYS, MAX_ATTEMPTS, MAX_LISTED_JOBS

JobKind = Literal["add", "search", "scan", "camera"]
JobState = Literal["waiting", "running", "done", "failed", "cancelled"]
FINISHED: tuple[JobState, ...] = ("done", "failed", "cancelled")

_TABLE = """
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, job_id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    state TEXT NOT NULL, upload TEXT NOT NULL, digest TEXT NOT NULL, filename TEXT, dance TEXT,
    parameters TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, created TEXT NOT NULL, started TEXT,
    finished TEXT, error TEXT, result TEXT
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, number);
"""


def now() -> str:
    """The time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Job:
    """One file to be analysed, and what for."""

    kind: JobKind
    upload: str  # the file's name in the folder of uploads
    digest: str
    filename: str | None = None  # the sender's name for the file
    dance: str | None = None  # the name of the dance to add to
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the search, or of the new recording
    job_id: str = field(default_factory=lambda: secrets.token_hex(16))
    state: JobState = "waiting"
    attempts: int = 0
    created: str = field(default_factory=now)
    started: str | None = None
    finished: str | None = None
    error: Mapping[str, str] | None = None
    result: Mapping[str, Any] | None = None

    @property
    def is_finished(self) -> bool:
        """Whether its state is final."""
        return self.state in FINISHED


_COLUMNS = tuple(one.name for one in fields(Job))
_NAMES = ", ".join(_COLUMNS)
_JSON = frozenset({"parameters", "error", "result"})


class JobTable:
    """All jobs, first come first served."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA secure_delete=ON")  # a deleted query leaves nothing in the file
        self._connection.executescript(_TABLE)

    def _execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def _select(self, rest: str, *values: object) -> list[Job]:
        return [_read_row(row) for row in self._execute(f"SELECT {_NAMES} FROM jobs {rest}", *values)]  # noqa: S608  (names of ours)

    def add(self, job: Job) -> None:
        """Put a job at the end of the queue."""
        values = [_pack(name, getattr(job, name)) for name in _COLUMNS]
        places = ", ".join("?" * len(_COLUMNS))
        self._execute(f"INSERT INTO jobs ({_NAMES}) VALUES ({places})", *values)  # noqa: S608

    def start_next(self, kinds: Sequence[JobKind]) -> Job | None:
        """Mark the job of these kinds that has waited longest as running."""
        waiting = f"state = 'waiting' AND kind IN ({_listed(kinds)})"
        first = f"(SELECT number FROM jobs WHERE {waiting} ORDER BY number LIMIT 1)"  # noqa: S608  (text of ours)
        rows = self._execute(
            f"UPDATE jobs SET state = 'running', started = ?, attempts = attempts + 1 "  # noqa: S608
            f"WHERE number = {first} RETURNING {_NAMES}",
            now(),
        )
        return _read_row(rows[0]) if rows else None

    def finish(
        self,
        job_id: str,
        state: JobState,
        *,
        result: Mapping[str, Any] | None = None,
        error: Mapping[str, str] | None = None,
    ) -> None:
        """Store the final state of a job; one that failed keeps what it had found."""
        found = "coalesce(?, result)" if state == "failed" else "?"
        self._execute(
            f"UPDATE jobs SET state = ?, finished = ?, result = {found}, error = ? WHERE job_id = ?",  # noqa: S608
            state, now(), _pack("result", result), _pack("error", error), job_id,
        )  # fmt: skip

    def keep_result(self, job_id: str, result: Mapping[str, Any]) -> None:
        """Store what a job has found, or what was corrected in it; its state stays."""
        self._execute("UPDATE jobs SET result = ? WHERE job_id = ?", _pack("result", result), job_id)

    def requeue(self, job_id: str) -> None:
        """Let a running job wait again, as if it had not started."""
        statement = (
            "UPDATE jobs SET state = 'waiting', started = NULL, attempts = attempts - 1 WHERE job_id = ?"
        )
        self._execute(statement, job_id)

    def recover(self) -> list[Job]:
        """Requeue what a killed server was running and delete old jobs; returns jobs out of attempts."""
        before = (datetime.now(UTC) - timedelta(days=FINISHED_JOB_DAYS)).isoformat(timespec="seconds")
        self._execute("DELETE FROM jobs WHERE finished < ?", before)
        # Its camera is gone: what was found before it, or the service, ended is all there is.
        ended = "UPDATE jobs SET state = 'done', finished = ? WHERE kind = 'camera' AND state "
        self._execute(ended + "IN ('waiting', 'running')", now())
        self._execute("UPDATE jobs SET state = 'waiting', started = NULL WHERE state = 'running'")
        return self._select("WHERE state = 'waiting' AND attempts >= ?", MAX_ATTEMPTS)

    def find(self, job_id: str) -> Job | None:
        """The job with that id."""
        return next(iter(self._select("WHERE job_id = ?", job_id)), None)

    def newest(self, state: JobState | None = None) -> list[Job]:
        """The newest jobs, of one state or all."""
        order = f"ORDER BY number DESC LIMIT {MAX_LISTED_JOBS}"
        return self._select(f"WHERE state = ? {order}", state) if state else self._select(order)

    def count_ahead(self, job_id: str, kinds: Sequence[JobKind]) -> int:
        """How many waiting jobs of these kinds come before a waiting one."""
        before = f"SELECT count(*) FROM jobs WHERE state = 'waiting' AND kind IN ({_listed(kinds)}) "  # noqa: S608
        own = "(SELECT number FROM jobs WHERE job_id = ? AND state = 'waiting')"
        return int(self._execute(f"{before} AND number < {own}", job_id)[0][0])

    def count_open(self, kind: JobKind) -> int:
        """How many jobs of a kind wait or run."""
        rows = "SELECT count(*) FROM jobs WHERE state IN ('waiting', 'running') AND kind = ?"
        return int(self._execute(rows, kind)[0][0])

    def job_ids(self) -> set[str]:
        """The ids of all jobs."""
        return {job_id for (job_id,) in self._execute("SELECT job_id FROM jobs")}

    def count_by_state(self) -> dict[str, int]:
        """How many jobs there are in each state."""
        return dict(self._execute("SELECT state, count(*) FROM jobs GROUP BY state"))

    def needed_uploads(self) -> set[str]:
        """The files of jobs that are not finished."""
        rows = self._execute("SELECT upload FROM jobs WHERE state IN ('waiting', 'running')")
        return {name for (name,) in rows}

    def delete(self, job_id: str) -> None:
        """Remove a job from the table."""
        self._execute("DELETE FROM jobs WHERE job_id = ?", job_id)

    def forget(self, digest: str) -> None:
        """Delete finished jobs about a file, and what the log beside the table still has of them."""
        finished = "state NOT IN ('waiting', 'running')"
        self._execute(f"DELETE FROM jobs WHERE digest = ? AND {finished}", digest)  # noqa: S608  (text of ours)
        self._execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


def _listed(kinds: Sequence[JobKind]) -> str:
    return ", ".join(f"'{kind}'" for kind in kinds)


def _pack(name: str, value: Any) -> Any:
    return json.dumps(value, allow_nan=False) if name in _JSON and value is not None else value


def _read_row(row: tuple[Any, ...]) -> Job:
    values = {
        name: json.loads(value) if name in _JSON and value is not None else value
        for name, value in zip(_COLUMNS, row, strict=True)
    }
    return Job(**values)
