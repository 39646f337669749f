"""How a search weighs things: what the paper prints, and what measures best."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from dancematch.search.confidence.verdict import Basis
from dancematch.search.metrics.weights import WEIGHTS_DEFAULT, WEIGHTS_PAPER
from dancematch.search.stage1.histogram import DEFAULT_WEIGHTING, Weighting

Shortlist = Literal["capped", "paper", "all"]
CAP = 200  # dances
DEFAULT_LIMIT = 10  # matches a search returns


@dataclass(frozen=True)
class DanceFilter:
    """Which dances a search is about; None = any."""

    label: str | None = None
    collection: str | None = None
    periodic: bool | None = None  # whether the dance repeats itself
    but: frozenset[str] = frozenset()  # dances that the search is to be made without, by their names
    among: frozenset[str] | None = None  # dances by their names; chance is still judged by all


ALL_DANCES = DanceFilter()


@dataclass(frozen=True, eq=False)
class Settings:
    """Numbers that change a search, but no fingerprint."""

    weights: Mapping[str, float]  # of the metrics, together 1: what dances are ranked by
    weighting: Weighting = DEFAULT_WEIGHTING  # of the words in histograms
    shortlist: Shortlist = "capped"
    metrics: Literal["default", "paper"] = "default"
    ranked_by: Literal["likelihood", "score"] = "likelihood"
    basis: Basis = "both"  # which evidence the likelihood ratio is made of

    def shortlisted(self, dances: int) -> int:
        """How many of the dances stage two looks at."""
        capped = min(CAP, dances)
        if self.shortlist == "all":
            return dances
        # As printed, which never caps: half of a large catalogue is more than the cap.
        return max(dances // 2, capped) if self.shortlist == "paper" else capped


DEFAULT_SETTINGS = Settings(WEIGHTS_DEFAULT)
SETTINGS: Mapping[str, Settings] = MappingProxyType(
    {
        "default": DEFAULT_SETTINGS,
        "paper": Settings(
            WEIGHTS_PAPER, weighting="cosine", shortlist="paper", metrics="paper", ranked_by="score"
        ),
    }
)
