"""What is searched for; apart from the engine, so that a clip can be read before the engine is loaded."""

from dataclasses import dataclass

from dancematch.types import Fingerprint


@dataclass(frozen=True)
class Query:
    """One variant of one dancer of the query clip."""

    fingerprint: Fingerprint
    mirrored: bool = False
    dancer: int = 1
    turned: bool = False  # as if filmed from another side than the others
