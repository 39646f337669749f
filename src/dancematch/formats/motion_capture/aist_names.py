"""The AIST++ naming scheme: what a sequence's file name says, and which sequences to leave out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(
    r"g(?P<genre>[A-Z]{2})_s(?P<kind>[A-Z]{2})_cAll_d(?P<dancer>\d+)_m(?P<music>\w{3})_ch(?P<dance>\d+)"
)


@dataclass(frozen=True)
class AistName:
    """The parts of a name: (genre, kind, dance) is one choreography of the basic kind (BM)."""

    genre: str
    kind: str  # BM basic, FM advanced
    dancer: str
    music: str  # decides the tempo
    dance: str

    @property
    def choreography(self) -> tuple[str, str, str]:
        """Equal for all recordings of one choreography."""
        return (self.genre, self.kind, self.dance)


def parse_name(stem: str) -> AistName | None:
    """Return the parts of a sequence's name; None if it does not follow the scheme."""
    found = _NAME.fullmatch(stem)
    return AistName(**found.groupdict()) if found else None


def list_sequences(folder: Path) -> Iterator[Path]:
    """Yield the sequences below a folder in the public layout, by name, without the official ignore list."""
    lists = [*folder.rglob("ignore_list.txt"), folder.parent / "ignore_list.txt"]
    ignored = {name for path in lists if path.is_file() for name in path.read_text(encoding="utf-8").split()}
    for path in sorted(folder.rglob("*.pkl")):
        if parse_name(path.stem) and path.stem not in ignored:
            yield path
