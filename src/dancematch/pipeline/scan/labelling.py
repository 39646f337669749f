"""Which dance each window shows, all windows of a dancer seen together.

A window is a few seconds long and overlaps the next. What one of them says is weak; what several in a row
say is not. The sequence of names that the windows' likelihood ratios speak for most is found by dynamic
programming (Viterbi), where another name costs something, and "no known dance" is one of the names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

NEEDED = 0.7  # log likelihood ratio (base 10) of a window, from which on it speaks for a dance
MOST = 2.0  # beyond that, that one window says at most, and what it says against a dance it does not name
CHANGE = 1.0  # what another name costs


@dataclass(frozen=True)
class Run:
    """Windows `first` to `last` (inclusive), all of which show one dance, or no known one."""

    dance_id: str | None
    first: int
    last: int


def label_windows(log_ratios: Sequence[Mapping[str, float]]) -> list[Run]:
    """Return the runs of windows by dance, given each window's log likelihood ratios by dance."""
    names = [None, *sorted({name for one in log_ratios for name in one})]
    scores, steps = dict.fromkeys(names, 0.0), []
    for one in log_ratios:
        best = max(names, key=lambda name: scores[name])
        came = {name: name if scores[name] >= scores[best] - CHANGE else best for name in names}
        scores = {name: max(scores[name], scores[best] - CHANGE) + _support(name, one) for name in names}
        steps.append(came)
    return _runs(_trace_back(scores, steps))


def _support(name: str | None, log_ratios: Mapping[str, float]) -> float:
    """What a window says for a name, beyond what it says for no known dance."""
    if name is None:
        return 0.0
    return min(MOST, max(-MOST, log_ratios.get(name, -MOST) - NEEDED))


def _trace_back(
    scores: Mapping[str | None, float], steps: Sequence[Mapping[str | None, str | None]]
) -> list[str | None]:
    name = max(scores, key=lambda name: scores[name])
    labels = []
    for came in reversed(steps):
        labels.append(name)
        name = came[name]
    return labels[::-1]


def _runs(labels: Sequence[str | None]) -> list[Run]:
    runs = []
    for name, group in groupby(range(len(labels)), key=lambda number: labels[number]):
        numbers = list(group)
        runs.append(Run(name, numbers[0], numbers[-1]))
    return runs
