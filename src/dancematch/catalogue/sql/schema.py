"""The tables, for SQLite and PostgreSQL alike.

A dance has tracks, one per dancer; a track has words and, if kept, the skeletons they were made from. The
index cache is derived from these and can be deleted.

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
    # version, model_id, identity (random), generation, and log_start: the generation from which on
    # `removals` is complete
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)

dances = Table(
    "dances",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("dance_id", String, nullable=False, unique=True),
    Column("label", String, index=True),
    Column("collection", String, index=True),
    Column("source", String, nullable=False),  # the file's own name, without its folder
    Column("content_hash", String, nullable=False, unique=True),
    Column("seconds", Float, nullable=False),
    Column("added", String, nullable=False),  # UTC, ISO 8601
)

tracks = Table(
    "tracks",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("dance", ForeignKey("dances.key", ondelete="CASCADE"), nullable=False, index=True),
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
    UniqueConstraint("dance", "dancer"),
)

# PostgreSQL would compress words and joints, which is slow and gains nothing, and store all but the shortest
# apart from their row. Its own order of text depends on the locale; pages are in code point order.
_FOR_POSTGRESQL = {
    tracks: "ALTER TABLE tracks ALTER words SET STORAGE EXTERNAL, ALTER joints SET STORAGE EXTERNAL, "
    "SET (toast_tuple_target = 4080)",
    dances: 'CREATE INDEX ix_dances_by_name ON dances (dance_id COLLATE "C")',
}
for _table, _statement in _FOR_POSTGRESQL.items():
    _made = DDL(_statement).execute_if(dialect="postgresql")  # type: ignore[no-untyped-call]
    event.listen(_table, "after_create", _made)

exclusions = Table(  # segments of a dance that never match
    "exclusions",
    metadata,
    Column("dance", ForeignKey("dances.key", ondelete="CASCADE"), primary_key=True),
    Column("start", Float, primary_key=True),  # seconds on the clock of the dance
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

DANCE_COLUMNS = tuple(column.name for column in dances.c if column.name != "key")
TRACK_COLUMNS = tuple(column.name for column in tracks.c if column.name not in ("key", "dance", "generation"))
