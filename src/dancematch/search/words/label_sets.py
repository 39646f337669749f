"""The sets of labels that tracks have, each set numbered once: few differ among many tracks."""

from collections.abc import Iterable


class LabelSets:
    """Sets of labels by number, in the order of their coming."""

    def __init__(self, sets: Iterable[Iterable[str]] = ()) -> None:
        self._numbers: dict[tuple[str, ...], int] = {}
        self._with_label: dict[str, list[int]] = {}
        for one in sets:
            self.number(tuple(one))

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, labels: tuple[str, ...]) -> int:
        """Return the number of a set; a new one gets the next."""
        known = self._numbers.get(labels)
        if known is not None:
            return known
        number = self._numbers[labels] = len(self._numbers)
        for label in dict.fromkeys(labels):
            self._with_label.setdefault(label, []).append(number)
        return number

    def with_label(self, label: str) -> list[int]:
        """Return the numbers of the sets that have a label."""
        return list(self._with_label.get(label, ()))

    @property
    def stored(self) -> list[list[str]]:
        """All sets, as the index cache holds them."""
        return [list(labels) for labels in self._numbers]
