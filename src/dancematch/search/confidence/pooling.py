"""One likelihood ratio of a dance, out of those of its recordings.

All rules are power means: they lie between the least and the largest ratio, and a dance with one recording
has the ratio of that one. Among unrelated dances the mean ratio is 1, so that their mean is 1 too and the
E-value counts what it says; the maximum of several is more. `eval/studies/pooling.py` compares the rules.
"""

import math
from collections.abc import Sequence
from typing import Literal

PoolingRule = Literal["maximum", "mean", "mean of roots", "geometric"]
POOLING: PoolingRule = "mean of roots"  # of a search

_EXPONENTS = {"mean": 1.0, "mean of roots": 0.5}


def pool_log_ratios(log_ratios: Sequence[float], rule: PoolingRule = POOLING) -> float:
    """Return the log likelihood ratio (base 10) of a dance out of those of its recordings, at least one."""
    largest = max(log_ratios)
    if rule == "maximum":
        return largest
    if rule == "geometric":
        return math.fsum(log_ratios) / len(log_ratios)
    exponent = _EXPONENTS[rule]
    powers = math.fsum(10.0 ** (exponent * (one - largest)) for one in log_ratios)
    return largest + math.log10(powers / len(log_ratios)) / exponent
