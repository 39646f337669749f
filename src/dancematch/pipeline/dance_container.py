"""The dances of a catalogue as a container of Python: `len`, iteration, `in` and `[]`."""

from collections.abc import Iterator

from dancematch.catalogue.listing import count_dances, find_dance, read_dance
from dancematch.catalogue.records import Dance
from dancematch.catalogue.store import Store
from dancematch.errors import DanceMatchError


class DanceContainer:
    """Knows dances by name and by id."""

    _store: Store

    def __len__(self) -> int:
        return count_dances(self._store)

    def __iter__(self) -> Iterator[Dance]:
        """Over what is known at this moment, by name."""
        return iter(self._store.dances())

    def __contains__(self, dance: object) -> bool:
        wanted = dance.dance_id if isinstance(dance, Dance) else dance
        return isinstance(wanted, str) and find_dance(self._store, wanted) is not None

    def __getitem__(self, dance: str) -> Dance:
        return read_dance(self._store, dance)

    def __bool__(self) -> bool:
        """True: a catalogue that holds no dance yet is one, too."""
        return True

    def __repr__(self) -> str:
        try:
            count = len(self)
            held = f"{count} dance{'s' * (count != 1)}"
        except DanceMatchError:  # to be shown must not fail
            held = "cannot be read"
        return f"<Catalogue {self._store.where!r}, {held}>"
