"""Dances as points in the plane: the two directions in which their word histograms differ most."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dancematch.pipeline.catalogue import Catalogue
from dancematch.search.stage1.histogram import (
    DEFAULT_WEIGHTING,
    inverse_document_frequency,
    unit_histogram,
    word_counts,
)
from dancematch.server.schemas.dances import MapPointResponse, MapResponse
from dancematch.types import Fingerprint

_ITERATIONS = 8  # more change nothing that is seen
_EXTRA_DIRECTIONS = 8  # beyond the two, for the iteration to converge

Doubles = NDArray[np.float64]


class DanceMap:
    """The map of a catalogue, made anew when the catalogue has changed."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._drawn: tuple[tuple[int, int], MapResponse] | None = None

    def draw(self, limit: int) -> MapResponse:
        """At most `limit` dances."""
        key = self._catalogue.generation, limit
        if self._drawn is None or self._drawn[0] != key:
            self._drawn = key, self._make(limit)
        return self._drawn[1]

    def _make(self, limit: int) -> MapResponse:
        chosen_ids, names = self._catalogue.some_dance_ids(limit), self._catalogue.names()
        with_motion = self._catalogue.with_skeletons(chosen_ids)
        # Reversed, so that the first dancer of a dance's first recording is the one that stays.
        tracks = {track.dance_id: track for track in reversed(self._catalogue.tracks(chosen_ids))}
        chosen = [tracks[one] for one in chosen_ids if one in tracks and one in names]
        places, explained = project([track.fingerprint for track in chosen])
        points = [
            MapPointResponse(
                dance_id=track.dance_id,
                name=names[track.dance_id],
                labels=track.labels,
                collection=track.collection,
                motion=track.dance_id in with_motion,
                x=round(float(x), 4),
                y=round(float(y), 4),
            )
            for track, (x, y) in zip(chosen, places, strict=True)
        ]
        return MapResponse(
            dances=points,
            total=self._catalogue.page(limit=1).total,
            explained=[round(float(share), 4) for share in explained],
        )


def project(fingerprints: Sequence[Fingerprint]) -> tuple[Doubles, Doubles]:
    """One point per dance, [n, 2] within -1 to 1, and the share of all variation per direction: [2].

    Principal components of the histograms as a search weighs them. The same dances give the same
    picture: the start of the iteration is fixed, and each direction points to its largest value.
    """
    if len(fingerprints) < 2:
        return np.zeros((len(fingerprints), 2)), np.zeros(2)
    points = weighted_histograms(fingerprints)
    points -= points.mean(axis=0)
    total = float((points**2).sum())
    basis = np.random.default_rng(0).normal(size=(points.shape[1], 2 + _EXTRA_DIRECTIONS))
    for _ in range(_ITERATIONS):
        basis, _ = np.linalg.qr(points.T @ (points @ basis))
    _, lengths, directions = np.linalg.svd(points @ basis, full_matrices=False)
    places = (points @ basis) @ directions.T[:, :2]
    places = np.pad(places, ((0, 0), (0, 2 - places.shape[1])))
    lengths = np.pad(lengths, (0, 2))[:2]
    largest = np.take_along_axis(places, np.abs(places).argmax(axis=0)[None], axis=0)
    places = np.where(largest < 0, -places, places) / max(float(np.abs(places).max()), 1e-12)
    return places, lengths**2 / max(total, 1e-12)


def weighted_histograms(fingerprints: Sequence[Fingerprint]) -> Doubles:
    """The word histograms as a search weighs them, of length 1 per channel: [n, channels * words]."""
    counts = np.stack([word_counts(one) for one in fingerprints])  # [n, channels, words]
    idf = inverse_document_frequency((counts > 0).sum(axis=0), len(fingerprints), DEFAULT_WEIGHTING)
    return unit_histogram(counts, idf, DEFAULT_WEIGHTING).reshape(len(fingerprints), -1).astype(np.float64)
