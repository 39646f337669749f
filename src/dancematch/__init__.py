"""DanceMatch: Shazam for dance.

    import dancematch as dm

    catalogue = dm.open_catalogue("dances.db")
    catalogue.add("anna.mp4", dance="Thriller")
    for match in catalogue.search("phone.mp4", limit=3).matches:
        print(f"{match.dance} ({match.recording}) from {match.reference.start:.1f} s")

Importing this imports neither a video library nor torch: whatever needs one loads it when
it is first called. In a notebook, motions move, and answers and matches are tables.
"""

import importlib
from typing import TYPE_CHECKING, Any

from dancematch.errors import DanceMatchError
from dancematch.types import Codebook, Fingerprint, Match, Motion, Skeleton, Span
from dancematch.types import ShownInNotebooks as _ShownInNotebooks

if TYPE_CHECKING:
    from dancematch.catalogue.editing.requests import EditDance, EditRecording
    from dancematch.catalogue.records import Dance, Recording
    from dancematch.formats import read as read_motions
    from dancematch.formats import write as write_motions
    from dancematch.model.tokeniser import load_model
    from dancematch.motion import canonicalise, mirror, perturb
    from dancematch.pipeline.analysis.file_analysis import extract_motions
    from dancematch.pipeline.answer import Answer
    from dancematch.pipeline.catalogue import Catalogue, open_catalogue
    from dancematch.pipeline.dedup import find_duplicates as dedup
    from dancematch.pipeline.scan.segments import ScanSegment
    from dancematch.pipeline.tables import to_pandas
    from dancematch.pipeline.verbs import explain, scan
    from dancematch.report.clip_report import write_report
    from dancematch.report.compare import Comparison
    from dancematch.report.compare_clips import compare_clips as compare

_LAZY = {
    "Answer": ("dancematch.pipeline.answer", "Answer"),
    "Catalogue": ("dancematch.pipeline.catalogue", "Catalogue"),
    "Comparison": ("dancematch.report.compare", "Comparison"),
    "Dance": ("dancematch.catalogue.records", "Dance"),
    "EditDance": ("dancematch.catalogue.editing.requests", "EditDance"),
    "EditRecording": ("dancematch.catalogue.editing.requests", "EditRecording"),
    "Recording": ("dancematch.catalogue.records", "Recording"),
    "ScanSegment": ("dancematch.pipeline.scan.segments", "ScanSegment"),
    "canonicalise": ("dancematch.motion", "canonicalise"),
    "compare": ("dancematch.report.compare_clips", "compare_clips"),
    "dedup": ("dancematch.pipeline.dedup", "find_duplicates"),
    "explain": ("dancematch.pipeline.verbs", "explain"),
    "extract_motions": ("dancematch.pipeline.analysis.file_analysis", "extract_motions"),
    "load_model": ("dancematch.model.tokeniser", "load_model"),
    "mirror": ("dancematch.motion", "mirror"),
    "open_catalogue": ("dancematch.pipeline.catalogue", "open_catalogue"),
    "perturb": ("dancematch.motion", "perturb"),
    "read_motions": ("dancematch.formats", "read"),
    "scan": ("dancematch.pipeline.verbs", "scan"),
    "to_pandas": ("dancematch.pipeline.tables", "to_pandas"),
    "write_motions": ("dancematch.formats", "write"),
    "write_report": ("dancematch.report.clip_report", "write_report"),
}

__all__ = [
    "Answer",
    "Catalogue",
    "Codebook",
    "Comparison",
    "Dance",
    "DanceMatchError",
    "EditDance",
    "EditRecording",
    "Fingerprint",
    "Match",
    "Motion",
    "Recording",
    "ScanSegment",
    "Skeleton",
    "Span",
    "canonicalise",
    "compare",
    "dedup",
    "explain",
    "extract_motions",
    "load_model",
    "mirror",
    "open_catalogue",
    "perturb",
    "read_motions",
    "scan",
    "to_pandas",
    "write_motions",
    "write_report",
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


def _draw(value: Any) -> str:
    """Draw what a notebook shows: `report/`, which does, is above the rooms whose values are shown."""
    from dancematch.report.notebook import draw_value

    return draw_value(value)


_ShownInNotebooks.draw = staticmethod(_draw)
