"""How much each of stage two's metrics counts: the paper's weights, and files of learned ones."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from dancematch.errors import InputError
from dancematch.search.metrics.registry import METRICS

WEIGHTS_PAPER: Mapping[str, float] = MappingProxyType(
    {"histogram": 0.30, "twed": 0.15, "lcss": 0.15, "edr": 0.15, "erp": 0.10, "ngram": 0.15}
)
WEIGHTS_DEFAULT: Mapping[str, float] = MappingProxyType({"histogram": 0.7, "order": 0.3})
# What the engine itself gives a part of the score for; all others are metrics.
ENGINES_OWN = ("histogram", "order")
FORMAT = 1
_ROUNDING = 1e-6  # by which the sum of weights may miss 1


def checked_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Return `weights` if they are a share a known metric: not negative, 1 together."""
    known = dict.fromkeys((*ENGINES_OWN, *METRICS))
    unknown = sorted(set(weights) - set(known))
    if unknown:
        raise InputError(f"expected weights of {', '.join(known)}, got {', '.join(unknown)} too")
    for name, weight in weights.items():
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not 0 <= weight <= 1 + _ROUNDING:
            raise InputError(f"the weight of {name} must be a number from 0 to 1, got {weight!r}")
    total = math.fsum(weights.values())
    if abs(total - 1) > _ROUNDING:
        raise InputError(f"weights must sum to 1, got {total:g}; divide each by their sum")
    return {name: float(weight) for name, weight in weights.items()}


def read_weights(path: str | Path) -> dict[str, float]:
    """Read and check the weights that `write_weights` wrote."""
    source = Path(path)
    try:
        document = json.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the weights {source.name}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{source.name} holds no weights: it is not JSON") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"{source.name} holds no weights of format {FORMAT}; learn them again")
    weights = document.get("weights")
    if not isinstance(weights, dict):
        raise InputError(f"{source.name} must name its metrics under 'weights'")
    return checked_weights(weights)


def write_weights(path: str | Path, weights: Mapping[str, float], *, replace: bool = False) -> None:
    """Keep checked weights as JSON; a file that is there already stays unless `replace`."""
    target = Path(path)
    text = json.dumps({"format": FORMAT, "weights": checked_weights(weights)}, indent=2)
    try:
        with target.open("w" if replace else "x", encoding="utf-8") as file:
            file.write(text + "\n")
    except FileExistsError:
        raise InputError(f"{target.name} is there already; name another file or ask to replace it") from None
    except OSError as error:
        raise InputError(f"cannot write the weights {target.name}: {error.strerror}") from error
