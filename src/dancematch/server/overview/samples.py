"""Samples to try the service with: made-up dances, and a rendered video of one of them by another dancer."""

import tempfile
import threading
from dataclasses import replace
from pathlib import Path

from dancematch import formats
from dancematch.motion import excerpt
from dancematch.server.problems import not_found
from dancematch.server.schemas.samples import SampleResponse, SamplesResponse
from dancematch.synthetic.dance.choreography import Choreography, Dancer, compose_dance, perform
from dancematch.synthetic.rendering.mannequin import Appearance
from dancematch.synthetic.rendering.renderer import render

_SEEDS = (0, 3, 6)  # of the dances; the clip shows the first
_DANCER, _OTHER_DANCER = 1, 20
_EIGHT_COUNTS = 2
_CLIP_SECONDS = (1.0, 7.0)
_SIZE, _FPS = (360, 480), 20.0
_CLIP = "rendered-clip.mp4"


class Samples:
    """Made when they are asked for first, and kept in memory: some 300 kB."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._dances = {f"{dance.name}.npz": dance for dance in map(_compose, _SEEDS)}
        self._made: dict[str, bytes] = {}

    def list(self) -> SamplesResponse:
        """What there is, under names that say that it is rendered."""
        dances = [
            SampleResponse(name=f"{dance.name} (rendered)", file=file) for file, dance in self._dances.items()
        ]
        return SamplesResponse(dances=dances, clip=SampleResponse(name="rendered clip", file=_CLIP))

    def read(self, file: str) -> bytes:
        """The content of a sample."""
        if file != _CLIP and file not in self._dances:
            raise not_found("not_found", f"there is no sample {file!r}")
        with self._lock:
            if file not in self._made:
                self._made[file] = self._make(file)
            return self._made[file]

    def _make(self, file: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="dancematch-sample-") as folder:
            path = Path(folder) / file
            if file == _CLIP:
                _film(next(iter(self._dances.values())), path)
            else:
                formats.write(path, [perform(self._dances[file], Dancer.random(_DANCER))])
            return path.read_bytes()


def _compose(seed: int) -> Choreography:
    return compose_dance(seed, eight_counts=_EIGHT_COUNTS)


def _film(dance: Choreography, path: Path) -> None:
    """Another dancer, at the same tempo, from the middle of the dance."""
    dancer = replace(Dancer.random(_OTHER_DANCER), tempo=1.0)
    danced = excerpt(perform(dance, dancer), *_CLIP_SECONDS)
    render(danced, path, appearances=[Appearance.random(_OTHER_DANCER)], size=_SIZE, fps=_FPS)
