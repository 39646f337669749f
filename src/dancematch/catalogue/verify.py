"""Verification of a catalogue: everything is read, and every problem reported."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from dancematch.catalogue.editing.images import parse_log
from dancematch.catalogue.records import (
    Dance,
    Recording,
    find_dance_problems,
    find_exclusion_problems,
    find_name_problem,
    find_recording_problems,
    find_track_problems,
    require_poster,
)
from dancematch.catalogue.review_records import Recalibration, find_review_problems
from dancematch.catalogue.sql.checksums import skeletons_checksum, words_checksum
from dancematch.catalogue.sql.connection import check_integrity
from dancematch.catalogue.sql.database import Database
from dancematch.catalogue.sql.rows import fingerprint_of, motion_of, read_labels
from dancematch.catalogue.sql.schema import (
    DANCE_COLUMNS,
    RECORDING_COLUMNS,
    dances,
    edits,
    exclusions,
    labels,
    recordings,
    removals,
    reviews,
    states,
    tracks,
)
from dancematch.catalogue.word_kinds import WordKind, find_kind_problem, read_kind
from dancematch.errors import CatalogueError, InputError

MAX_METRES = 200  # metres from the middle of a motion: no stage is larger
_FETCHED = 64  # tracks in memory
_SHOWN = 60  # characters of a wrong value that a problem repeats


@dataclass(frozen=True)
class CatalogueProblem:
    """One problem of a catalogue, and the dance that has it."""

    problem: str
    dance: str | None = None  # its name


def find_problems(database: Database) -> Iterator[CatalogueProblem]:
    """Read everything and yield every problem, those of the database's own files first."""
    try:
        with database.transaction() as connection:
            damaged = check_integrity(connection)
            yield from (CatalogueProblem(f"the database is damaged: {line}") for line in damaged)
            if damaged:
                return  # what is read from such a file is not reliable
            yield from _check_facts(database, connection)
            yield from _check_dances(connection)
            yield from _check_orphans(connection)
            yield from _check_tracks(database, connection)
            yield from _check_exclusions(connection)
            yield from _check_reviews(connection)
            yield from _check_posters(connection)
            yield from _check_edits(connection)
    except CatalogueError as error:
        yield CatalogueProblem(str(error))
    except (TypeError, ValueError) as error:  # SQLite keeps any text where a number should be
        yield CatalogueProblem(f"a value is not of its column's kind: {error}")


def find_problems_quickly(database: Database) -> Iterator[CatalogueProblem]:
    """Yield the problems that show without reading words and skeletons: those of names and lengths, too."""
    with database.transaction() as connection:
        yield from (
            CatalogueProblem(f"the database is damaged: {line}")
            for line in check_integrity(connection, quick=True)
        )
        yield from _check_facts(database, connection)
        yield from _check_dances(connection)
        yield from _check_orphans(connection)


def _check_facts(database: Database, connection: sa.Connection) -> Iterator[CatalogueProblem]:
    for name in ("generation", "log_start"):
        value = database.fact(connection, name)
        if not value.isdecimal():
            yield CatalogueProblem(f"the {name} is {value!r}, not a number")
            return
    unnamed = find_name_problem("model_id", database.fact(connection, "model_id"))
    if unnamed is not None:
        yield CatalogueProblem(f"no model is named whose words these are: {unnamed}")
    yield from _check_recalibration(database.fact(connection, "recalibration"))
    now = int(database.fact(connection, "generation"))
    if int(database.fact(connection, "log_start")) > now:
        yield CatalogueProblem(f"the log of removals starts after generation {now}, which is the latest")
    if not database.token(connection, now):
        yield CatalogueProblem(f"generation {now}, the latest, has no token")
    for table in (tracks, removals, states):
        ahead = sa.select(sa.func.count()).select_from(table).where(table.c.generation > now)
        count = connection.execute(ahead).scalar_one()
        if count:
            yield CatalogueProblem(
                f"{count} row(s) of {table.name} are of a later generation than {now}, the latest"
            )


def _check_recalibration(text: str) -> Iterator[CatalogueProblem]:
    try:
        if text:
            Recalibration.from_json(text)
    except (ValueError, TypeError, RecursionError) as error:
        yield CatalogueProblem(
            f"the recalibration is damaged: {error}; 'dancematch review --refit --reset' takes it back"
        )


def _check_dances(connection: sa.Connection) -> Iterator[CatalogueProblem]:
    """Find names and values that the gate would refuse."""
    labelled = read_labels(connection)
    for row in connection.execute(sa.select(dances)).mappings():
        own = {name: row[name] for name in DANCE_COLUMNS}
        for problem in find_dance_problems(Dance(**own, labels=labelled.get(row["key"], ()))):
            yield CatalogueProblem(problem, str(row["name"]))
    yield from _check_recordings(connection)


def _check_recordings(connection: sa.Connection) -> Iterator[CatalogueProblem]:
    plain = [recordings.c[name] for name in RECORDING_COLUMNS if name != "poster"]
    query = sa.select(dances.c.name, *plain).select_from(recordings.join(dances))
    for row in connection.execute(query).mappings():
        own = {name: value for name, value in row.items() if name != "name"}
        for problem in find_recording_problems(Recording(**own)):
            yield CatalogueProblem(f"{_shown(row['file'])}: {problem}", str(row["name"]))


def _shown(file: object) -> str:
    """Return a file's name as it can be printed."""
    return str(file) if find_name_problem("file", file) is None else ascii(file)[:_SHOWN]


def _check_orphans(connection: sa.Connection) -> Iterator[CatalogueProblem]:
    """Find rows whose dance or recording is missing."""
    alone = sa.select(dances.c.name).where(dances.c.key.not_in(sa.select(recordings.c.dance)))
    for (name,) in connection.execute(alone):
        yield CatalogueProblem("it has no recording", str(name))
    still = sa.select(dances.c.name, recordings.c.file).select_from(recordings.join(dances))
    for name, file in connection.execute(still.where(recordings.c.key.not_in(sa.select(tracks.c.recording)))):
        yield CatalogueProblem(f"{_shown(file)}: it has no dancer", str(name))
    above = {
        labels: dances,
        recordings: dances,
        tracks: recordings,
        exclusions: recordings,
        reviews: recordings,
    }
    for table, parent in above.items():
        column = table.c.dance if parent is dances else table.c.recording
        orphans = column.not_in(sa.select(parent.c.key))
        count = connection.execute(sa.select(sa.func.count()).select_from(table).where(orphans)).scalar_one()
        if count:
            yield CatalogueProblem(
                f"{count} row(s) of {table.name} belong to no {parent.name.removesuffix('s')}"
            )


def _check_tracks(database: Database, connection: sa.Connection) -> Iterator[CatalogueProblem]:
    """Find tracks that cannot be read, or whose words are of another kind than those of most."""
    query = sa.select(dances.c.name, tracks).select_from(tracks.join(recordings).join(dances))
    query = query.order_by(tracks.c.key)
    usual = read_kind(connection)
    for row in connection.execution_options(yield_per=_FETCHED).execute(query).mappings():
        wrong = list(_check_track(row, database.model_id))
        if not wrong:
            unlike = find_kind_problem([WordKind(*(row[name] for name in WordKind._fields))], usual)
            wrong = [] if unlike is None else [unlike]
        yield from (
            CatalogueProblem(f"dancer {row['dancer']}: {problem}", str(row["name"])) for problem in wrong
        )


def _check_track(row: sa.RowMapping, model_id: str) -> Iterator[str]:
    """Yield the problems of one dancer."""
    names = ("dancer", "start", "seconds_per_word", "period_seconds", "period_strength")
    wrong = list(find_track_problems(*(row[name] for name in names)))
    if wrong:
        yield from wrong
        return  # what is read with such a clock says nothing more
    try:
        fingerprint_of(row, model_id)
        if words_checksum(row) != row["words_checksum"]:
            yield "the words are damaged: they are not those that were added"
    except (ValueError, TypeError, InputError) as error:
        yield f"the words are damaged: {error}"
    try:
        motion = motion_of(row)
        if motion is not None and np.abs(np.nan_to_num(motion.joints)).max() > MAX_METRES:
            yield f"the skeletons are damaged: a joint is more than {MAX_METRES} m away"
        elif skeletons_checksum(row) != row["skeletons_checksum"]:
            yield "the skeletons are damaged: they are not those that were added"
    except (ValueError, TypeError, InputError) as error:
        yield f"the skeletons are damaged: {error}"


def _check_exclusions(connection: sa.Connection) -> Iterator[CatalogueProblem]:
    query = sa.select(dances.c.name, exclusions.c.start, exclusions.c.end, exclusions.c.reason)
    for name, *segment in connection.execute(query.select_from(exclusions.join(recordings).join(dances))):
        yield from (CatalogueProblem(problem, str(name)) for problem in find_exclusion_problems(*segment))


def _check_reviews(connection: sa.Connection) -> Iterator[CatalogueProblem]:
    query = sa.select(dances.c.name, reviews).select_from(reviews.join(recordings).join(dances))
    for row in connection.execute(query).mappings():
        yield from (CatalogueProblem(problem, str(row["name"])) for problem in find_review_problems(row))


def _check_posters(connection: sa.Connection) -> Iterator[CatalogueProblem]:
    """Find pictures that are none."""
    query = sa.select(dances.c.name, recordings.c.file, recordings.c.poster)
    query = query.select_from(recordings.join(dances)).where(recordings.c.poster.is_not(None))
    for name, file, poster in connection.execution_options(yield_per=_FETCHED).execute(query):
        try:
            require_poster(poster)
        except InputError as error:
            yield CatalogueProblem(f"{_shown(file)}: {error}", str(name))


def _check_edits(connection: sa.Connection) -> Iterator[CatalogueProblem]:
    """Find out whether the last edit could be undone."""
    for row in connection.execute(sa.select(edits.c.before, edits.c.after)):
        try:
            parse_log(row)
        except ValueError:
            yield CatalogueProblem("what was kept of the last edit is damaged, and it cannot be undone")
