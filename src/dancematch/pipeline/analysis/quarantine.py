"""Clips that killed their workers: recorded, so that they are not analysed again unasked.

JSON lines beside the catalogue's file or, for a database, in the user's cache folder; one line per clip, by
content hash.
"""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from dancematch.cache_folder import cache_folder
from dancematch.errors import InputError
from dancematch.formats.files import write_bytes
from dancematch.pipeline.analysis.limits import Limit, WorkLimits
from dancematch.pipeline.catalogue import Catalogue

SUFFIX = ".quarantine.jsonl"


@dataclass(frozen=True)
class Quarantined:
    """A clip that is not analysed."""

    content: str  # hash
    file: str
    reason: str
    date: str
    limit: Limit | None = None  # that it exceeded, or may have
    allowed: float | None = None  # by that limit

    def is_released(self, limits: WorkLimits) -> bool:
        """Whether more is allowed now of what it exceeded."""
        if self.limit is None or self.allowed is None:
            return False
        return float(getattr(limits, self.limit)) > self.allowed


def quarantine_path(catalogue: Catalogue) -> Path:
    """Where the list of a catalogue is."""
    database = Path(catalogue.where)
    if "://" in catalogue.where:
        return cache_folder() / "quarantine" / f"{catalogue.identity}{SUFFIX}"
    return database.with_name(database.name + SUFFIX)


class Quarantine:
    """The list of quarantined clips, read once and written at every change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._clips: dict[str, Quarantined] = {}
        if path.is_file():
            try:
                lines = path.read_text(encoding="utf-8").splitlines()
                clips = [Quarantined(**json.loads(line)) for line in lines]
            except (ValueError, TypeError):
                raise InputError(
                    f"{path} is no list of quarantined clips: it is damaged; delete it"
                ) from None
            self._clips = {clip.content: clip for clip in clips}

    def find(self, content: str, limits: WorkLimits) -> Quarantined | None:
        """The record of a clip that is not to be analysed within these limits, if there is one."""
        found = self._clips.get(content)
        return None if found is None or found.is_released(limits) else found

    def add(
        self, content: str, file: str, reason: str, limit: Limit | None = None, allowed: float | None = None
    ) -> None:
        """Record a clip, and which limit it exceeded."""
        today = datetime.now(UTC).date().isoformat()
        self._clips[content] = Quarantined(content, file, reason, today, limit, allowed)
        self._write()

    def discard(self, content: str) -> None:
        """Take a clip off the list."""
        if self._clips.pop(content, None) is not None:
            self._write()

    def _write(self) -> None:
        text = "".join(json.dumps(asdict(clip)) + "\n" for clip in self._clips.values())
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(self.path, text.encode(), overwrite=True)
