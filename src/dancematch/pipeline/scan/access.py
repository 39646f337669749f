"""What a scan needs of a catalogue."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dancematch.model.tokeniser import Tokeniser
from dancematch.types import Fingerprint, Match

if TYPE_CHECKING:
    from dancematch.pipeline.answer import Answer
    from dancematch.pipeline.query import QueryClip

WINDOW_LIMIT = 5  # dances that a window is compared with those of its neighbours by


@dataclass(frozen=True)
class CatalogueAccess:
    """A catalogue as a scan sees it."""

    tokeniser: Tokeniser
    search: "Callable[[QueryClip], Answer]"
    read_reference: Callable[[Match], Fingerprint | None]  # the words that a match was found in
