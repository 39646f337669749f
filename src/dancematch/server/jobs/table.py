"""Jobs in a table of their own, so that neither a stop nor a kill loses one."""

import json
import secrets
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

Kind = Literal["add", "search"]
State = Literal["waiting", "running", "done", "failed", "cancelled"]
OVER: tuple[State, ...] = ("done", "failed", "cancelled")
MOST_ATTEMPTS = 3  # a job over which the server dies so often is given up
KEPT_DAYS = 7  # after it is over
LISTED = 100

_TABLE = """
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, job_id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    state TEXT NOT NULL, upload TEXT NOT NULL, digest TEXT NOT NULL, filename TEXT, dance_id TEXT,
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
    """One file to be looked at, and what for."""

    kind: Kind
    upload: str  # the file's name in the folder of uploads
    digest: str
    filename: str | None = None  # what whoever sent it calls it
    dance_id: str | None = None  # to be added as
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the search, or label and collection
    job_id: str = field(default_factory=lambda: secrets.token_hex(16))
    state: State = "waiting"
    attempts: int = 0
    created: str = field(default_factory=now)
    started: str | None = None
    finished: str | None = None
    error: Mapping[str, str] | None = None
    result: Mapping[str, Any] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in OVER


_NAMES = (
    "job_id", "kind", "state", "upload", "digest", "filename", "dance_id", "parameters", "attempts",
    "created", "started", "finished", "error", "result",
)  # fmt: skip
_JSON = frozenset({"parameters", "error", "result"})


class JobTable:
    """All jobs, first come first served."""

    def __init__(self, path: Path) -> None:
        self._turn = threading.Lock()
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA secure_delete=ON")  # a query that was forgotten leaves nothing
        self._connection.executescript(_TABLE)

    def _run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self._turn:
            return self._connection.execute(statement, values).fetchall()

    def add(self, job: Job) -> None:
        """Put a job at the end of the queue."""
        values = [_packed(name, getattr(job, name)) for name in _NAMES]
        places = ", ".join("?" * len(_NAMES))
        self._run(f"INSERT INTO jobs ({', '.join(_NAMES)}) VALUES ({places})", *values)  # noqa: S608  (names of ours)

    def take(self) -> Job | None:
        """Begin the job that has waited longest."""
        first = "(SELECT number FROM jobs WHERE state = 'waiting' ORDER BY number LIMIT 1)"
        found = self._run(
            f"UPDATE jobs SET state = 'running', started = ?, attempts = attempts + 1 "  # noqa: S608
            f"WHERE number = {first} RETURNING {', '.join(_NAMES)}",
            now(),
        )
        return _job(found[0]) if found else None

    def end(
        self,
        job_id: str,
        state: State,
        *,
        result: Mapping[str, Any] | None = None,
        error: Mapping[str, str] | None = None,
    ) -> None:
        """Note what became of a job."""
        self._run(
            "UPDATE jobs SET state = ?, finished = ?, result = ?, error = ? WHERE job_id = ?",
            state, now(), _packed("result", result), _packed("error", error), job_id,
        )  # fmt: skip

    def put_back(self, job_id: str) -> None:
        """Let a job that was begun wait again, as if it had not been."""
        statement = (
            "UPDATE jobs SET state = 'waiting', started = NULL, attempts = attempts - 1 WHERE job_id = ?"
        )
        self._run(statement, job_id)

    def recover(self) -> list[Job]:
        """Put back what a killed server was at, and forget what is long over; returns jobs to give up."""
        before = (datetime.now(UTC) - timedelta(days=KEPT_DAYS)).isoformat(timespec="seconds")
        self._run("DELETE FROM jobs WHERE finished < ?", before)
        self._run("UPDATE jobs SET state = 'waiting', started = NULL WHERE state = 'running'")
        names = ", ".join(_NAMES)
        hopeless = f"SELECT {names} FROM jobs WHERE state = 'waiting' AND attempts >= ?"  # noqa: S608
        return [_job(row) for row in self._run(hopeless, MOST_ATTEMPTS)]

    def find(self, job_id: str) -> Job | None:
        """The job of that name."""
        rows = self._run(f"SELECT {', '.join(_NAMES)} FROM jobs WHERE job_id = ?", job_id)  # noqa: S608
        return _job(rows[0]) if rows else None

    def listed(self, state: State | None = None) -> list[Job]:
        """The newest jobs, of one state or all."""
        chosen, values = ("WHERE state = ?", [state]) if state else ("", [])
        statement = f"SELECT {', '.join(_NAMES)} FROM jobs {chosen} ORDER BY number DESC LIMIT {LISTED}"  # noqa: S608
        return [_job(row) for row in self._run(statement, *values)]

    def ahead(self, job_id: str) -> int:
        """How many waiting jobs come before a waiting one."""
        before = "SELECT count(*) FROM jobs WHERE state = 'waiting' AND number < (SELECT number FROM jobs "
        return int(self._run(before + "WHERE job_id = ? AND state = 'waiting')", job_id)[0][0])

    def counts(self) -> dict[str, int]:
        """How many jobs there are of each state."""
        return dict(self._run("SELECT state, count(*) FROM jobs GROUP BY state"))

    def uploads(self) -> set[str]:
        """The files that jobs still need."""
        rows = self._run("SELECT upload FROM jobs WHERE state IN ('waiting', 'running')")
        return {name for (name,) in rows}

    def forget(self, job_id: str) -> None:
        """Delete a job from the table."""
        self._run("DELETE FROM jobs WHERE job_id = ?", job_id)

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            self._connection.close()


def _packed(name: str, value: Any) -> Any:
    return json.dumps(value, allow_nan=False) if name in _JSON and value is not None else value


def _job(row: tuple[Any, ...]) -> Job:
    values = {
        name: json.loads(value) if name in _JSON and value is not None else value
        for name, value in zip(_NAMES, row, strict=True)
    }
    return Job(**values)
