"""Who is in which split: a performer is in one only, so that nothing learnt of a person helps later."""

import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence

SHARES = {"train": 0.6, "test": 0.2, "validation": 0.2}  # in the order in which a small set fills them
UNKNOWN = "?"  # uploaders that are not known may all be one


def hash_performers(uploaders: Mapping[str, frozenset[str]], secret: str) -> dict[str, str]:
    """Name each clip's performer by a hash; clips that share any of their uploaders' names share it.

    `secret` keeps the hash from being looked up for a name that somebody guesses.
    """
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            leader[name] = name = leader[leader[name]]
        return name

    first = {clip: min(names, default=UNKNOWN) for clip, names in uploaders.items()}
    for clip, names in uploaders.items():
        for name in names:
            one, other = sorted((find(first[clip]), find(name)))
            leader[other] = one  # the smallest name leads: the order of the clips changes nothing
    return {clip: _hashed(find(name), secret) for clip, name in first.items()}


def _hashed(name: str, secret: str) -> str:
    return hmac.new(secret.encode(), name.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()[:16]


def split(performer_of: Mapping[str, str], label_of: Mapping[str, str]) -> dict[str, str]:
    """Give each clip a split by its performer, so that every label comes near the shares everywhere.

    Performers with many clips choose first; each goes where its labels are missing most.
    """
    labels = Counter(label_of.values())
    dances: dict[str, Counter[str]] = {}
    for clip, performer in performer_of.items():
        dances.setdefault(performer, Counter())[label_of[clip]] += 1
    held: dict[str, Counter[str]] = {name: Counter() for name in SHARES}
    chosen: dict[str, str] = {}
    for performer in sorted(dances, key=lambda each: (-dances[each].total(), each)):
        mine = dances[performer]
        missing = {
            name: (
                _missing(mine, labels, held[name], share),
                1 - held[name].total() / (share * labels.total()),
            )
            for name, share in SHARES.items()
        }
        chosen[performer] = max(SHARES, key=lambda name: missing[name])
        held[chosen[performer]].update(mine)
    return {clip: chosen[performer] for clip, performer in performer_of.items()}


def _missing(mine: Counter[str], labels: Counter[str], held: Counter[str], share: float) -> float:
    """How much of what a split should hold of these labels is not there yet."""
    # Rounded, so that ties are ties.
    return round(sum(count * (1 - held[each] / (share * labels[each])) for each, count in mine.items()), 9)


def order_splits(used: Sequence[str]) -> list[str]:
    """The splits that are used, as they are usually listed."""
    return [name for name in ("train", "validation", "test") if name in set(used)]
