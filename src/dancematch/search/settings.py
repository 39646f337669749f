"""The numbers and rules of a search: as the paper prints them, and what measures best."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypedDict

from dancematch.search.confidence.verdict import Basis
from dancematch.search.metrics.weights import WEIGHTS_DEFAULT, WEIGHTS_PAPER
from dancematch.search.stage1.histogram import DEFAULT_WEIGHTING, Weighting

ShortlistRule = Literal["capped", "paper", "all"]
CAP = 200  # recordings that the histograms put on the shortlist
RECORDINGS_PER_DANCE = 4  # on the shortlist, the most similar: one dance must not displace others
PROPOSED_TRACKS = 20  # that each variant adds by three words in a row, and as many by synchrony or votes
SYNCHRONY_TRACKS = 10_000  # of a catalogue, up to which synchrony with every track is measured
DEFAULT_LIMIT = 10  # matches a search returns


class DanceChoice(TypedDict, total=False):
    """The fields of `DanceFilter`, as arguments: `search(..., label="pop")`."""

    label: str | None
    collection: str | None
    periodic: bool | None
    but: frozenset[str]
    among: frozenset[str] | None


@dataclass(frozen=True)
class DanceFilter:
    """Which dances a search may find; None = any."""

    label: str | None = None  # among those of the dance
    collection: str | None = None
    periodic: bool | None = None  # whether the dance repeats itself
    but: frozenset[str] = frozenset()  # ids of dances that the search leaves out
    among: frozenset[str] | None = None  # ids of dances; the E-value still counts all


ALL_DANCES = DanceFilter()


@dataclass(frozen=True, eq=False)
class Settings:
    """Numbers that change a search, but no fingerprint."""

    weights: Mapping[str, float]  # of the metrics, together 1
    weighting: Weighting = DEFAULT_WEIGHTING  # of the words in histograms
    shortlist: ShortlistRule = "capped"
    metrics: Literal["default", "paper"] = "default"
    ranked_by: Literal["likelihood", "score"] = "likelihood"
    basis: Basis = "both"  # which evidence the likelihood ratio is made of

    @property
    def recordings_per_dance(self) -> int | None:
        """How many recordings of one dance the shortlist takes; None = any number.

        Only the capped shortlist limits them: the paper compares recordings without limit, and all are all.
        """
        return RECORDINGS_PER_DANCE if self.shortlist == "capped" else None

    def shortlist_size(self, recordings: int) -> int:
        """Return how many recordings the histograms put on the shortlist, out of those it may take."""
        capped = min(CAP, recordings)
        if self.shortlist == "all":
            return recordings
        # As printed, which never caps: half of a large catalogue is more than the cap.
        return max(recordings // 2, capped) if self.shortlist == "paper" else capped

    def adds_synchrony(self, tracks: int) -> bool:
        """Return whether synchrony is measured with every track of a catalogue of so many."""
        return self.ranked_by == "likelihood" and tracks <= SYNCHRONY_TRACKS


DEFAULT_SETTINGS = Settings(WEIGHTS_DEFAULT)
SETTINGS: Mapping[str, Settings] = MappingProxyType(
    {
        "default": DEFAULT_SETTINGS,
        "paper": Settings(
            WEIGHTS_PAPER, weighting="cosine", shortlist="paper", metrics="paper", ranked_by="score"
        ),
    }
)
