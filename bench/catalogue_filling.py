"""Recordings for the benches: a dance by its name, with nothing else known of it."""

import hashlib

from dancematch.catalogue.records import Dance, NewRecording, Recording


def new_recording(
    name: str, seconds: float, *, file: str = "bench", **facts: str | tuple[str, ...]
) -> NewRecording:
    """Return a recording whose content is named after its dance and file; `facts` are of the dance."""
    content = hashlib.sha256(f"{name}/{file}".encode()).hexdigest()
    return NewRecording(Dance(name, **facts), Recording(content, file, seconds))  # type: ignore[arg-type]
