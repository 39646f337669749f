"""The tables, for SQLite and PostgreSQL alike.

A dance has tracks, one a dancer; a track has words and, if kept, the skeletons they were
made from. Everything else (search arrays) is derived from these and can be thrown away.
"""

from sqlalchemy import (
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

VERSION = 1

metadata = MetaData()

facts = Table(
    "facts",
    metadata,
    Column("name", String, primary_key=True),  # version, model_id, generation
    Column("value", String, nullable=False),
)

dances = Table(
    "dances",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("dance_id", String, nullable=False, unique=True),
    Column("label", String),
    Column("bank", String),
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
    # The skeletons (body15) that the words were made from; NULL if they were not kept.
    Column("fps", Float),
    Column("joints", LargeBinary),  # float16 little-endian [frames, 15, 3] metres: 2 mm at 4 m
    Column("joint_visibility", LargeBinary),  # uint8 [frames, 15]
    UniqueConstraint("dance", "dancer"),
)
