"""How strongly the evidence speaks for one dance, and what is to be said of it.

The log likelihood ratio is a weighted sum of what words and synchrony say beyond the cohort, of how much was
seen and of how far a tempo had to be stretched. Its weights were fitted by logistic regression on pairs of
recordings of one dance and of two (`eval/fit_calibration.py`, `calibration.json`). It is bounded by what
those pairs can support. A search of N dances expects N / LR dances of such a ratio by accident: the E-value.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from dancematch.types import FloatArray, Verdict

MAX_EVALUE = 0.05  # of a match
POSSIBLE_EVALUE = 1.0  # a possible match has less: at 1, or among one dance, accident explains it
FORMAT = 1


@dataclass(frozen=True)
class Calibration:
    """Weights of the evidence, in natural units, and the bounds of the log likelihood ratio (base 10)."""

    intercept: float
    weights: Mapping[str, float]
    least: float
    most: float
    source: Mapping[str, Any]  # what it was fitted on

    def log_ratios(self, evidence: Mapping[str, FloatArray]) -> FloatArray:
        """The log likelihood ratio (base 10) of each candidate."""
        total = self.intercept + sum(weight * evidence[name] for name, weight in self.weights.items())
        return np.clip(np.asarray(total, np.float64) / math.log(10), self.least, self.most).astype(np.float32)


@cache
def shipped_calibration() -> Calibration:
    """The calibration that comes with the package."""
    text = (files("dancematch.index") / "calibration.json").read_text(encoding="utf-8")
    told = json.loads(text)
    low, high = told["bounds"]
    return Calibration(told["intercept"], told["weights"], low, high, told["source"])


def evalue_of(log_ratio: float, dances: int) -> float:
    """How many of so many dances would have such a ratio by accident: no more than all of them."""
    return float(min(dances, dances * 10.0**-log_ratio))


def verdict_of(evalue: float, max_evalue: float = MAX_EVALUE) -> Verdict:
    """What to say of a dance with this E-value."""
    if evalue <= max_evalue:
        return "match"
    return "possible match" if evalue < POSSIBLE_EVALUE else "no match"
