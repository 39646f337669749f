"""The list of possible matches that wait for a decision, and the decisions.

There is one review per clip (by content), dancer of it, and recording. It is erased with its recording.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from dancematch.catalogue.records import find_name_problem
from dancematch.catalogue.review_records import (
    DECISIONS,
    Decision,
    NewReview,
    Recalibration,
    Review,
    ReviewState,
    find_recalibration_problems,
    review_of,
    row_of,
)
from dancematch.catalogue.sql.bulk_insert import is_among
from dancematch.catalogue.sql.database import WRITE, Database
from dancematch.catalogue.sql.outage import repeated
from dancematch.catalogue.sql.references import require_dances
from dancematch.catalogue.sql.schema import REVIEW_COLUMNS, dances, recordings, reviews
from dancematch.errors import AlreadyDecidedError, CatalogueError, InputError, UnknownReviewError

_LEAST_OF_ID = 4  # characters of a review's id that name it
_RECALIBRATION = "recalibration"  # a fact
_ONCE = ("query_id", "dancer", "recording")
# What another search of the same clip says anew.
_SAID = [name for name in REVIEW_COLUMNS if name not in ("review_id", "query_id", "dancer")]
_STATES = {"waiting": [reviews.c.decision.is_(None)], "decided": [reviews.c.decision.is_not(None)], "all": []}


class ReviewStore:
    """The reviews of a catalogue, and the recalibration that was fitted on them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.outage = database.outage

    @repeated
    def add(self, found: Sequence[NewReview]) -> int:
        """Put possible matches on the list; return how many of them wait.

        Of one that is there and waits, the numbers are replaced; one that was decided is left alone, and so
        is what is about a recording that has been removed since.
        """
        asked = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [(new.recording_id, row_of(new, asked)) for new in found]
        with self._database.transaction(WRITE) as connection:
            keys = _lock_recordings(connection, [recording_id for recording_id, _ in rows])
            known = [{**row, "recording": keys[name]} for name, row in rows if name in keys]
            return sum(_put(connection, row) for row in known)

    @repeated
    def read(
        self,
        state: ReviewState = "waiting",
        *,
        dance: str | None = None,
        query_id: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[Review]:
        """Return the reviews of a state, the oldest first.

        Only those of a `dance`, by name or id, of a clip by its content hash, or, of a long list, at most
        `limit` that come `after` a review's id.
        """
        with self._database.transaction() as connection:
            query = _select().where(*_STATES[state]).order_by(reviews.c.key).limit(limit)
            if dance is not None:
                key = require_dances(connection, self._database.where, [dance])[dance]
                query = query.where(recordings.c.dance == key)
            if query_id is not None:
                query = query.where(reviews.c.query_id == query_id)
            if after is not None:
                query = query.where(reviews.c.key > self._require(connection, after))
            return self._fetch(connection, query)

    def find(self, review: str) -> Review:
        """Return one review, by its id or the beginning of it."""
        with self._database.transaction() as connection:
            key = self._require(connection, review)
            return self._fetch(connection, _select().where(reviews.c.key == key))[0]

    @repeated
    def count_waiting(self) -> int:
        """Return how many wait."""
        query = sa.select(sa.func.count()).select_from(reviews).where(*_STATES["waiting"])
        with self._database.transaction() as connection:
            return int(connection.execute(query).scalar_one())

    @repeated
    def decide(
        self, review: str, decision: Decision | None, by: str | None = None, note: str | None = None
    ) -> Review:
        """Keep what was decided of a review, by its id, with who and when; None lets it wait again."""
        if decision is None:
            values: dict[str, Any] = dict.fromkeys(("decision", "decided_by", "decided", "note"))
        else:
            _require_decision(decision, by, note)
            moment = datetime.now(UTC).isoformat(timespec="seconds")
            values = {"decision": decision, "decided_by": by, "decided": moment, "note": note}
        with self._database.transaction(WRITE) as connection:
            key = self._require(connection, review)
            (known,) = self._fetch(connection, _select().where(reviews.c.key == key))
            if decision is not None and known.decision not in (None, decision):
                raise AlreadyDecidedError(
                    f"{review} is {known.decision} already, by {known.decided_by} on "
                    f"{(known.decided or '')[:10]}; open it again first if that is to be changed"
                )
            connection.execute(sa.update(reviews).where(reviews.c.key == key).values(values))
            return self._fetch(connection, _select().where(reviews.c.key == key))[0]

    @property
    @repeated
    def recalibration(self) -> Recalibration | None:
        """What is added to the ratios of this catalogue's searches; None if nothing is."""
        with self._database.transaction() as connection:
            text = self._database.fact(connection, _RECALIBRATION)
        try:
            return Recalibration.from_json(text) if text else None
        except (ValueError, TypeError, RecursionError) as error:
            raise CatalogueError(
                f"the recalibration of {self._database.where} is damaged: {error}; 'dancematch review "
                f"{self._database.where} --refit --reset' takes it back"
            ) from None

    @repeated
    def recalibrate(self, wanted: Recalibration | None) -> None:
        """Add an offset to all ratios from now on, or nothing; what was derived of them is out of date."""
        for problem in find_recalibration_problems(wanted) if wanted is not None else ():
            raise InputError(f"the verdicts were not recalibrated: {problem}")
        with self._database.transaction(WRITE) as connection:
            self._database.next_generation(connection)
            text = "" if wanted is None else wanted.to_json()
            self._database.set_fact(connection, _RECALIBRATION, text)

    @repeated
    def copy_into(self, target: "ReviewStore") -> None:
        """Copy all reviews, with what was decided, whose recording is in another catalogue too."""
        of_recording = sa.select(recordings.c.recording_id, *(reviews.c[name] for name in REVIEW_COLUMNS))
        with self._database.transaction() as connection:
            rows = connection.execute(of_recording.select_from(reviews.join(recordings))).mappings().all()
        with target._database.transaction(WRITE) as connection:
            keys = _lock_recordings(connection, [row["recording_id"] for row in rows])
            for row in rows:
                if row["recording_id"] in keys:
                    own = {name: row[name] for name in REVIEW_COLUMNS}
                    _insert_new(connection, {**own, "recording": keys[row["recording_id"]]})

    def _require(self, connection: sa.Connection, review: str) -> int:
        """Return the key of a review, by its id or the beginning of it; an unknown one is refused."""
        begins = reviews.c.review_id.startswith(review, autoescape=True)
        which = begins if len(review) >= _LEAST_OF_ID else reviews.c.review_id == review
        keys = connection.execute(sa.select(reviews.c.key).where(which)).scalars().all()
        if not keys:
            raise UnknownReviewError(f"{self._database.where} has no review {review!r}")
        if len(keys) > 1:
            raise InputError(
                f"the ids of {len(keys)} reviews in {self._database.where} begin with {review!r}; give more "
                f"of it"
            )
        return int(keys[0])

    def _fetch(self, connection: sa.Connection, query: "sa.Select[Any]") -> list[Review]:
        try:
            return [review_of(row) for row in connection.execute(query).mappings()]
        except (InputError, TypeError, ValueError) as error:  # of a database that was edited by hand
            raise CatalogueError(
                f"a review in {self._database.where} is damaged: {error}; 'dancematch doctor' says more"
            ) from None


def _select() -> "sa.Select[Any]":
    """Build the query for every field of `Review`, to be narrowed down."""
    named = (
        dances.c.name.label("dance"), dances.c.dance_id, recordings.c.file.label("recording"),
        recordings.c.recording_id,
    )  # fmt: skip
    own = [reviews.c[name] for name in REVIEW_COLUMNS]
    return sa.select(*own, *named).select_from(reviews.join(recordings).join(dances))


def _lock_recordings(connection: sa.Connection, ids: Sequence[str]) -> dict[str, int]:
    """Return the keys of recordings by id; until the transaction ends none of them is removed."""
    wanted = is_among(connection, recordings.c.recording_id, list(dict.fromkeys(ids)))
    query = sa.select(recordings.c.recording_id, recordings.c.key).where(wanted)
    found = connection.execute(query.with_for_update(read=True, key_share=True))
    return {recording_id: key for recording_id, key in found}  # noqa: C416  (a row is no plain pair)


def _put(connection: sa.Connection, row: dict[str, Any]) -> bool:
    """Insert a review, or replace the numbers of one that waits; return whether it waits."""
    _insert_new(connection, row)
    same = [reviews.c[name] == row[name] for name in _ONCE]
    said = {name: row[name] for name in _SAID}
    return bool(
        connection.execute(sa.update(reviews).where(*same, *_STATES["waiting"]).values(said)).rowcount
    )


def _insert_new(connection: sa.Connection, row: dict[str, Any]) -> None:
    """Insert a review unless it is there."""
    from sqlalchemy.dialects import postgresql, sqlite  # here, since they are long in loading

    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    connection.execute(insert(reviews).values(row).on_conflict_do_nothing())


def _require_decision(decision: object, by: str | None, note: str | None) -> None:
    if decision not in DECISIONS:
        raise InputError(f"a decision is one of {', '.join(DECISIONS)}, got {decision!r}")
    if by is None:
        raise InputError("a decision is kept with who made it; give a name")
    problems = [find_name_problem("person", by), None if note is None else find_name_problem("note", note)]
    for problem in filter(None, problems):
        raise InputError(f"nothing was decided: {problem}")
