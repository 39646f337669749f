"""Splits by performer: each is in one split only, so that nothing learnt of a person helps in another."""

import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence

SHARES = {"train": 0.6, "test": 0.2, "validation": 0.2}  # in the order in which a small set fills them
UNKNOWN = "?"  # clips without a known uploader count as one performer


def hash_performers(uploaders: Mapping[str, frozenset[str]], secret: str) -> dict[str, str]:
    """Each clip's performer as a hash; clips that share any uploader name share the performer.

    `secret` keeps a guessed name from being confirmed by its hash.
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
            leader[other] = one  # the smallest name leads: the result does not depend on the clips' order
    return {clip: _hash(find(name), secret) for clip, name in first.items()}


def _hash(name: str, secret: str) -> str:
    return hmac.new(secret.encode(), name.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()[:16]


def assign_splits(performer_of: Mapping[str, str], label_of: Mapping[str, str]) -> dict[str, str]:
    """Each clip's split by its performer, so that every label comes near the shares in every split.

    Greedy: performers with many clips come first; each goes to the split that lacks its labels most.
    """
    labels = Counter(label_of.values())
    clips: dict[str, Counter[str]] = {}
    for clip, performer in performer_of.items():
        clips.setdefault(performer, Counter())[label_of[clip]] += 1
    held: dict[str, Counter[str]] = {name: Counter() for name in SHARES}
    chosen: dict[str, str] = {}
    for performer in sorted(clips, key=lambda name: (-clips[name].total(), name)):
        own = clips[performer]
        lacks = {
            name: (
                _lack(own, labels, held[name], share),
                1 - held[name].total() / (share * labels.total()),
            )
            for name, share in SHARES.items()
        }
        chosen[performer] = max(SHARES, key=lambda name: lacks[name])
        held[chosen[performer]].update(own)
    return {clip: chosen[performer] for clip, performer in performer_of.items()}


def _lack(own: Counter[str], labels: Counter[str], held: Counter[str], share: float) -> float:
    """How much of its share of these labels a split still lacks."""
    # Rounded, so that ties are ties.
    return round(sum(count * (1 - held[each] / (share * labels[each])) for each, count in own.items()), 9)


def order_splits(used: Sequence[str]) -> list[str]:
    """The splits that are used, in the usual order."""
    return [name for name in ("train", "validation", "test") if name in set(used)]
