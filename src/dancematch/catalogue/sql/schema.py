"""The tables, for SQLite and PostgreSQL alike.

A dance has recordings, a recording has tracks, one per dancer; a track has words and, if kept, the skeletons
they were made from. All that is known of a recording is erased with it. The index cache is derived from these
and can be deleted.

A cache asks what has changed since it was made. A track has the generation of its last change, and the table
`removals` has the tracks that were removed or changed with the generation; only their keys, so that nothing
of a removed dance is left. To follow the changes since a generation, remove the tracks of later removals,
then add the tracks of a later generation.

A generation alone does not identify a state: a restored backup counts on from where it was made, and reaches
the same numbers again. The table `states` therefore gives every generation a random token, kept as long as
removals are.

A change of these tables needs a new VERSION.
"""

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    event,
)

VERSION = 1

metadata = MetaData()

facts = Table(
    "facts",
    metadata,
    # version, model_id, identity (random), generation, log_start: the generation from which on `removals` is
    # complete, and recalibration: a JSON object, empty if the shipped calibration is used as it is
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)

dances = Table(
    "dances",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("dance_id", String, nullable=False, unique=True),  # random, never changes
    Column("name", String, nullable=False, unique=True),
    Column("collection", String, index=True),
    Column("notes", String),
    Column("added", String, nullable=False),  # UTC, ISO 8601
)

labels = Table(
    "labels",
    metadata,
    Column("dance", ForeignKey("dances.key", ondelete="CASCADE"), primary_key=True),
    Column("label", String, primary_key=True, index=True),
)

recordings = Table(
    "recordings",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("dance", ForeignKey("dances.key", ondelete="CASCADE"), nullable=False, index=True),
    Column("recording_id", String, nullable=False, unique=True),  # the SHA-256 of the file's content
    Column("file", String, nullable=False, index=True),  # the file's own name, without its folder
    Column("performer", String),
    Column("url", String),
    Column("date", String),  # YYYY, YYYY-MM or YYYY-MM-DD
    Column("seconds", Float, nullable=False),
    Column("added", String, nullable=False),  # UTC, ISO 8601
    Column("poster", LargeBinary),  # a small JPEG picture
)

tracks = Table(
    "tracks",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("recording", ForeignKey("recordings.key", ondelete="CASCADE"), nullable=False, index=True),
    Column("dancer", Integer, nullable=False),  # 1 = the most prominent
    Column("start", Float, nullable=False),
    Column("seconds_per_word", Float, nullable=False),
    Column("channels", Integer, nullable=False),
    Column("vocabulary", Integer, nullable=False),
    Column("words", LargeBinary, nullable=False),  # uint16 little-endian [steps, channels]
    Column("visibility", LargeBinary, nullable=False),  # uint8 [steps, channels], 255 = seen
    # The skeletons (body15) that the words were made from; NULL if they were not kept
    Column("fps", Float),
    Column("joints", LargeBinary),  # float16 little-endian [frames, 15, 3] metres: 2 mm at 4 m
    Column("joint_visibility", LargeBinary),  # uint8 [frames, 15]
    Column("period_seconds", Float),  # NULL: the dance does not repeat itself
    Column("period_strength", Float, nullable=False),
    Column("generation", Integer, nullable=False, index=True),
    # of checksums.py: 32 bits without a sign, for which PostgreSQL's INTEGER is too small
    Column("words_checksum", BigInteger, nullable=False),
    Column("skeletons_checksum", BigInteger),
    Column("bones", LargeBinary),  # int8 [steps, 20], directions.py; NULL if no skeletons were seen
    UniqueConstraint("recording", "dancer"),
)

# PostgreSQL would compress words and joints, which is slow and gains nothing, and store all but the shortest
# apart from their row. Its own order of text depends on the locale; pages are in code point order.
_FOR_POSTGRESQL = {
    tracks: "ALTER TABLE tracks ALTER words SET STORAGE EXTERNAL, ALTER joints SET STORAGE EXTERNAL, "
    "SET (toast_tuple_target = 4080)",
    dances: 'CREATE INDEX ix_dances_by_name ON dances (name COLLATE "C")',
}
for _table, _statement in _FOR_POSTGRESQL.items():
    _made = DDL(_statement).execute_if(dialect="postgresql")  # type: ignore[no-untyped-call]
    event.listen(_table, "after_create", _made)

exclusions = Table(  # segments of a recording that never match
    "exclusions",
    metadata,
    Column("recording", ForeignKey("recordings.key", ondelete="CASCADE"), primary_key=True),
    Column("start", Float, primary_key=True),  # seconds on the clock of the recording
    Column("end", Float, primary_key=True),
    Column("reason", String),
)

removals = Table(
    "removals",
    metadata,
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("track", Integer, primary_key=True, autoincrement=False),
)

states = Table(
    "states",
    metadata,
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("token", String, nullable=False),
)

edits = Table(  # the last one only, to be undone; a removal deletes it, so that nothing of a dance is left
    "edits",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("edit_id", String, nullable=False),  # random: says which edit is to be undone
    Column("moment", String, nullable=False),  # UTC, ISO 8601
    Column("before", String, nullable=False),  # JSON of `editing/images.py`: what it changed, as it was
    Column("after", String, nullable=False),  # and as it has been since
)

reviews = Table(  # possible matches that wait for a person's decision, and decisions
    "reviews",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("review_id", String, nullable=False, unique=True),  # random, never changes
    Column("recording", ForeignKey("recordings.key", ondelete="CASCADE"), nullable=False, index=True),
    Column("query_id", String, nullable=False),  # the SHA-256 of the query clip's content
    Column("query_file", String, nullable=False),  # its own name, without its folder
    Column("dancer", Integer, nullable=False),  # of the query clip
    Column("asked", String, nullable=False),  # UTC, ISO 8601
    Column("verdict", String, nullable=False),  # of the search
    Column("log_ratio", Float, nullable=False),
    Column("evalue", Float, nullable=False),
    Column("offset", Float, nullable=False),  # that a recalibration had added to the ratio, in decades
    Column("query_start", Float, nullable=False),
    Column("query_end", Float, nullable=False),
    Column("reference_start", Float, nullable=False),
    Column("reference_end", Float, nullable=False),
    Column("mirrored", Boolean, nullable=False),
    Column("tempo", Float),
    Column("decision", String),  # NULL: it waits
    Column("decided_by", String),
    Column("decided", String),  # UTC, ISO 8601
    Column("note", String),
    UniqueConstraint("query_id", "dancer", "recording"),
)

DANCE_COLUMNS = tuple(column.name for column in dances.c if column.name != "key")
RECORDING_COLUMNS = tuple(column.name for column in recordings.c if column.name not in ("key", "dance"))
TRACK_COLUMNS = tuple(
    column.name for column in tracks.c if column.name not in ("key", "recording", "generation")
)
REVIEW_COLUMNS = tuple(column.name for column in reviews.c if column.name not in ("key", "recording"))
