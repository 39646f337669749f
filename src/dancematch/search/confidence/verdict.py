"""Likelihood ratio, E-value and verdict of a candidate.

The log likelihood ratio is a weighted sum of the scores of words and synchrony beyond the cohort's, for the
amount that was seen. Its weights were fitted on pairs of recordings of one dance and of two
(`calibration.json` names them, `eval/studies/fit_calibration.py` fits), and it is bounded by what they can
support. A search of N dances expects at most N / LR dances of such a ratio by accident: the E-value.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np

from dancematch.errors import InputError
from dancematch.types import FloatArray, Verdict

FORMAT = 1
MAX_EVALUE = 0.01  # of a match
PARTIAL_SHARE = 0.1  # of that, for a match in the part of a clip that has been read: there are several parts
POSSIBLE_EVALUE = 1.0  # a possible match has less: at 1, or among one dance, accident explains it
LEAST_SECONDS = 2.0  # seen of the dancer, below which the ratio is 1
ENOUGH_SECONDS = 5.0  # from which on words count in full
# Beyond the cohort, that words count at most: dancers on the floor share rare words whatever they do there.
MOST_OF_WORDS = 0.35

Basis = Literal["both", "words", "synchrony"]


def words_amount(seconds: float) -> float:
    """Return how much words count if so much of the dancer is seen, the mean over the body parts."""
    return 0.0 if seconds < LEAST_SECONDS else min(1.0, seconds / ENOUGH_SECONDS)


@dataclass(frozen=True)
class Calibration:
    """Weights of the evidence, in natural units, and the bounds of the log likelihood ratio (base 10)."""

    intercept: float
    weights: Mapping[str, float]
    least: float
    most: float

    def log_ratios(self, evidence: Mapping[str, FloatArray]) -> FloatArray:
        """Return the log likelihood ratio (base 10) of each candidate."""
        total = self.intercept + sum(weight * evidence[name] for name, weight in self.weights.items())
        return np.clip(np.asarray(total / math.log(10), np.float32), self.least, self.most)


@cache
def shipped_calibration(basis: Basis = "both") -> Calibration:
    """Return the shipped calibration: for both kinds of evidence, or for one alone."""
    text = (files("dancematch.search.confidence") / "calibration.json").read_text(encoding="utf-8")
    document = json.loads(text)
    low, high = document["bounds"]
    fitted = document["fits"][basis]
    return Calibration(fitted["intercept"], fitted["weights"], low, high)


def evalue_of(log_ratio: float, dances: float) -> float:
    """Return how many of so many dances would have such a ratio by accident: no more than all of them."""
    return float(min(dances, dances * 10.0**-log_ratio))


def require_max_evalue(value: float) -> float:
    """Return the limit of a match if it is one: above 1 it would accept what every search gives."""
    if not 0 <= value <= POSSIBLE_EVALUE:  # nan is refused too
        raise InputError(
            f"the largest E-value of a match must be a number from 0 to 1, got {value:g}; "
            "above 1, dances that every search gives by accident would be a match"
        )
    return value


def verdict_of(evalue: float, max_evalue: float = MAX_EVALUE) -> Verdict:
    """Return the verdict at this E-value; at 1 or more it is no match whatever the limit."""
    if evalue >= POSSIBLE_EVALUE:
        return "no match"
    return "match" if evalue <= max_evalue else "possible match"
