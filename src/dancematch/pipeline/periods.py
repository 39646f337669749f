"""The periods of dances at which nobody has looked: those of a catalogue of the first version."""

import logging

from dancematch.catalogue.store import Store
from dancematch.errors import CatalogueError
from dancematch.model.tokeniser import Tokeniser
from dancematch.pipeline.tokenise import period_in

log = logging.getLogger(__name__)

_AT_ONCE = 500  # tracks in one transaction
_AT_MOST = 2000  # tracks in all: a large catalogue is not to keep anybody waiting, the next opening goes on


def measure_periods(store: Store, tokeniser: Tokeniser) -> None:
    """Look for them and note them, where that can be; a catalogue that has all is left alone."""
    if not store.is_writable:
        return
    try:
        for _ in range(_AT_MOST // _AT_ONCE):
            some = store.unmeasured(_AT_ONCE)
            if not some:
                return
            store.set_periods((track.key, *period_in(track.fingerprint, tokeniser)) for track in some)
    except CatalogueError as error:  # damaged or busy: whatever is wanted of it says so, or can do without
        log.info("%s", error)
