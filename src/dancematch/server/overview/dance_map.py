"""Dances as points in the plane: the two directions in which their word histograms differ most."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.query import QueryClip
from dancematch.search.stage1.histogram import (
    DEFAULT_WEIGHTING,
    inverse_document_frequency,
    unit_histogram,
    word_counts,
)
from dancematch.server.schemas.dances import MapPointResponse, MapQueryResponse, MapResponse
from dancematch.types import Fingerprint, FloatArray

_ITERATIONS = 8  # more change nothing that is seen
_EXTRA_DIRECTIONS = 8  # beyond the two, for the iteration to converge
_EDGE = 1.0  # of the map: what lies beyond is shown on it

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Projection:
    """The way from words to the plane that shows most of how some dances differ."""

    idf: FloatArray  # [channels, words]
    mean: Doubles  # [channels * words]
    directions: Doubles  # [channels * words, 2], scaled so that the dances lie within -1 to 1
    explained: Doubles  # the share of all variation per direction: [2]

    def place(self, fingerprints: Sequence[Fingerprint]) -> Doubles:
        """One point per fingerprint: [n, 2]."""
        if not fingerprints:
            return np.zeros((0, 2))
        return np.asarray((_histograms(fingerprints, self.idf) - self.mean) @ self.directions)


class DanceMap:
    """The map of a catalogue, made anew when the catalogue has changed."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._drawn: tuple[tuple[int, int], MapResponse, Projection | None] | None = None

    def draw(self, limit: int, query: QueryClip | None = None) -> MapResponse:
        """At most `limit` dances, and where the dancers of a query lie among them."""
        key = self._catalogue.generation, limit
        if self._drawn is None or self._drawn[0] != key:
            self._drawn = key, *self._make(limit)
        _, drawn, projection = self._drawn
        if query is None or projection is None:
            return drawn
        places = projection.place([one.words for one in query.dancers]).clip(-_EDGE, _EDGE)
        points = [
            MapQueryResponse(dancer=one.dancer, x=round(float(x), 4), y=round(float(y), 4))
            for one, (x, y) in zip(query.dancers, places, strict=True)
        ]
        return drawn.model_copy(update={"query": points})

    def _make(self, limit: int) -> tuple[MapResponse, Projection | None]:
        chosen_ids, names = self._catalogue.some_dance_ids(limit), self._catalogue.names()
        with_motion = self._catalogue.with_skeletons(chosen_ids)
        # Reversed, so that the first dancer of a dance's first recording is the one that stays.
        tracks = {track.dance_id: track for track in reversed(self._catalogue.tracks(chosen_ids))}
        chosen = [tracks[one] for one in chosen_ids if one in tracks and one in names]
        fingerprints = [track.fingerprint for track in chosen]
        projection = fit_projection(fingerprints)
        places = np.zeros((len(chosen), 2)) if projection is None else projection.place(fingerprints)
        explained = np.zeros(2) if projection is None else projection.explained
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
        response = MapResponse(
            dances=points,
            query=[],
            total=self._catalogue.page(limit=1).total,
            explained=[round(float(share), 4) for share in explained],
        )
        return response, projection


def fit_projection(fingerprints: Sequence[Fingerprint]) -> Projection | None:
    """The projection in which these dances lie within -1 to 1; None for fewer than two.

    Principal components of the histograms as a search weighs them. The same dances give the same
    picture: the start of the iteration is fixed, and each direction points to its largest value.
    """
    if len(fingerprints) < 2:
        return None
    counts = np.stack([word_counts(one) for one in fingerprints])  # [n, channels, words]
    idf = np.asarray(
        inverse_document_frequency((counts > 0).sum(axis=0), len(fingerprints), DEFAULT_WEIGHTING)
    )
    points = _histograms(fingerprints, idf)
    mean = points.mean(axis=0)
    points -= mean
    total = float((points**2).sum())
    basis = np.random.default_rng(0).normal(size=(points.shape[1], 2 + _EXTRA_DIRECTIONS))
    for _ in range(_ITERATIONS):
        basis, _ = np.linalg.qr(points.T @ (points @ basis))
    _, lengths, within = np.linalg.svd(points @ basis, full_matrices=False)
    directions = basis @ within.T[:, :2]
    directions = np.pad(directions, ((0, 0), (0, 2 - directions.shape[1])))
    lengths = np.pad(lengths, (0, 2))[:2]
    places = points @ directions
    largest = np.take_along_axis(places, np.abs(places).argmax(axis=0)[None], axis=0)
    signs = np.where(largest < 0, -1.0, 1.0)
    scale = max(float(np.abs(places).max()), 1e-12)
    return Projection(idf, mean, directions * signs / scale, lengths**2 / max(total, 1e-12))


def _histograms(fingerprints: Sequence[Fingerprint], idf: FloatArray) -> Doubles:
    """The word histograms as a search weighs them, of length 1 per channel: [n, channels * words]."""
    counts = np.stack([word_counts(one) for one in fingerprints])
    return unit_histogram(counts, idf, DEFAULT_WEIGHTING).reshape(len(fingerprints), -1).astype(np.float64)
