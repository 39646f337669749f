"""What a passage is called that some of the other dances hold: the one rule, read by everybody else."""

from typing import Literal

RARE_SHARE = 0.1  # of all dances, that at most hold what is called rare
# If none of n dances holds a passage, at most 3 / n of all do, with 95 % confidence: the rule of three.
FEWEST_OTHERS = round(3 / RARE_SHARE)
COMMON_DANCES = 3  # other dances that hold a passage, from which on it is common property

Rarity = Literal["rare", "shared", "common", "not known"]


def name_rarity(holding: int, others: int) -> Rarity:
    """How rare a passage is that `holding` of the `others` hold; never rare among too few."""
    if holding:
        return "shared" if holding < COMMON_DANCES else "common"
    return "not known" if others < FEWEST_OTHERS else "rare"
