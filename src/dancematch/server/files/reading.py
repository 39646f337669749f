"""Reading uploaded files whose dancers are neither too long nor too many."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dancematch import formats
from dancematch.errors import InputError
from dancematch.formats import fingerprint as words_files
from dancematch.server.limits import MAX_DANCERS
from dancematch.types import Fingerprint, Motion


@dataclass(frozen=True)
class LimitedReader:
    """Reads and checks motions and words."""

    max_seconds: float

    def read_motions(self, path: Path) -> list[Motion]:
        """The motions of a file."""
        motions = formats.read(path)
        self.check_motions(motions)
        return motions

    def read_words(self, path: Path) -> list[Fingerprint]:
        """The words of a file."""
        words = words_files.read(path)
        self._check([len(one) * one.seconds_per_word for one in words])
        return words

    def check_motions(self, motions: Sequence[Motion]) -> None:
        """Refuse motions beyond the limits, as of a video."""
        self._check([motion.seconds for motion in motions])

    def _check(self, seconds: Sequence[float]) -> None:
        if max(seconds) > self.max_seconds:
            raise InputError(
                f"the file lasts {max(seconds):.0f} s, above the limit of {self.max_seconds:.0f} s; cut it"
            )
        if len(seconds) > MAX_DANCERS:
            raise InputError(f"the file shows {len(seconds)} dancers, above the limit of {MAX_DANCERS}")
