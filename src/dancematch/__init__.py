"""DanceMatch: Shazam for dance.

    import dancematch as dm

    catalogue = dm.open_catalogue("dances.db")
    catalogue.add("anna.mp4", dance="Thriller")
    for match in catalogue.search("phone.mp4", limit=3).matches:
        print(f"{match.dance} ({match.recording}) from {match.reference.start:.1f} s")

Importing this imports neither a video library nor torch: whatever needs one loads it when
it is first called.
"""

import importlib
from typing import TYPE_CHECKING, Any

from dancematch.errors import DanceMatchError
from dancematch.types import Codebook, Fingerprint, Match, Motion, Skeleton, Span

if TYPE_CHECKING:
    from dancematch.catalogue.editing.requests import EditDance, EditRecording
    from dancematch.formats import read as read_motions
    from dancematch.formats import write as write_motions
    from dancematch.model.tokeniser import load_model
    from dancematch.motion import canonicalise, mirror, perturb
    from dancematch.pipeline.analysis.file_analysis import extract_motions
    from dancematch.pipeline.catalogue import Catalogue, open_catalogue

_LAZY = {
    "Catalogue": ("dancematch.pipeline.catalogue", "Catalogue"),
    "EditDance": ("dancematch.catalogue.editing.requests", "EditDance"),
    "EditRecording": ("dancematch.catalogue.editing.requests", "EditRecording"),
    "canonicalise": ("dancematch.motion", "canonicalise"),
    "load_model": ("dancematch.model.tokeniser", "load_model"),
    "mirror": ("dancematch.motion", "mirror"),
    "extract_motions": ("dancematch.pipeline.analysis.file_analysis", "extract_motions"),
    "open_catalogue": ("dancematch.pipeline.catalogue", "open_catalogue"),
    "perturb": ("dancematch.motion", "perturb"),
    "read_motions": ("dancematch.formats", "read"),
    "write_motions": ("dancematch.formats", "write"),
}

__all__ = [
    "Catalogue",
    "Codebook",
    "DanceMatchError",
    "EditDance",
    "EditRecording",
    "Fingerprint",
    "Match",
    "Motion",
    "Skeleton",
    "Span",
    "canonicalise",
    "extract_motions",
    "load_model",
    "mirror",
    "open_catalogue",
    "perturb",
    "read_motions",
    "write_motions",
]


def __dir__() -> list[str]:
    """Name what is public too, loaded or not."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Load a public function when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module 'dancematch' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(importlib.import_module(module), attribute)
