"""Whether two dancers move at the same moments: the second kind of evidence in stage two.

The bones' directions of the query (`directions.py`) are correlated with those of each candidate at every
time lag and at each of a few tempi. The peak's height says how similar the two move, the overlap how long
they do, and the peak over the root mean square of all other lags how special that lag is.

- All dot products of steps come from one matrix product; a lag is a diagonal of it, a lag at another tempo
  a slanted line. Words are counted on the same clock, so a step is a word's.
- Energies and overlap along a line come from running sums; a bone that one side never shows does not
  count for the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.search.words.word_store import Bones
from dancematch.types import BONE_NUMBERS, BONE_SCALE, BONES_UNSEEN, BoneArray, Fingerprint, FloatArray

LEAST_SECONDS = 6.0  # of overlap; or the share below of the shorter of the two
LEAST_SHARE = 0.8
SIDELOBE_SECONDS = 3.0  # of overlap at other lags that count for the ratio, or half of the share above
LEAST_BONES = 2.0  # that both show, on average
PEAK_SECONDS = 1.0  # around the peak that are the peak's own
_PRODUCTS = 1 << 21  # numbers in one matrix product
_TALLEST = 0.995  # of a correlation: its transform has no upper end
# Energy per step of an estimator that trembles, about 2 degrees per bone, added to both sides: dancers have a
# hundred times as much, and two people who hardly move do not correlate by their noise.
TREMBLE = 0.02


class Synchrony(NamedTuple):
    """What the best line of the query in each candidate says; arrays [candidates]."""

    heights: FloatArray  # correlation at the peak, -1..1; 0 where too little is seen in both
    strengths: FloatArray  # its Fisher transform times the root of the overlap
    ratios: FloatArray  # the peak over the root mean square of other lags; 0 where there are too few
    overlaps: FloatArray  # seconds, each for the share of bones that both show
    offsets: FloatArray  # steps of the candidate at which the query begins, may be negative
    tempi: NDArray[np.int64]  # of those that were tried


@dataclass(frozen=True)
class SynchronyPeak:
    """The best line of a query in one track."""

    correlation: float  # 0..1
    ratio: float  # the peak over the root mean square of other lags; 0 where there are too few
    seconds: float  # of overlap
    lag: float  # seconds of the track's clock at which the query begins, may lie before its first step
    tempo: float  # the track's steps per step of the query


class SynchronyQuery:
    """One variant of the query made ready to be compared with many candidates."""

    def __init__(self, bones: BoneArray, tempi: NDArray[np.float64], seconds_per_step: float) -> None:
        self._values, self._seen = unpack_bones(bones)
        self._ways = np.round(np.arange(len(bones)) * tempi[:, None]).astype(np.int64)
        self._seconds = seconds_per_step

    def compare(self, candidates: Bones) -> Synchrony:
        """Return the best line in each candidate."""
        offsets = candidates.offsets
        found = np.zeros((len(offsets) - 1, 5), np.float32)  # the first five fields of `Synchrony`
        tempi = np.zeros(len(offsets) - 1, np.int64)
        most = max(1, _PRODUCTS // max(1, len(self._values)))
        first = 0
        while first < len(offsets) - 1:
            end = max(first + 1, int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1)
            values, seen = unpack_bones(candidates.values[offsets[first] : offsets[end]])
            products = self._values @ values.T
            bounds = offsets[first : end + 1] - offsets[first]
            _best_lines(
                products, self._values, self._seen, values, seen, bounds, self._ways, self._seconds,
                found[first:end], tempi[first:end],
            )  # fmt: skip
            first = end
        heights, strengths, ratios, overlaps, places = np.ascontiguousarray(found.T)
        return Synchrony(heights, strengths, ratios, overlaps, places, tempi)


def synchrony_peak(query: Fingerprint, track: Fingerprint, tempi: Sequence[float]) -> SynchronyPeak | None:
    """The best line of a query in one track at one of the tempi; None where too little is seen in both."""
    if query.bones is None or track.bones is None:
        return None
    step = query.seconds_per_word
    one = Bones(track.bones, np.array([0, len(track)], np.int64))
    found = SynchronyQuery(query.bones, np.array(tempi), step).compare(one)
    if not found.overlaps[0]:
        return None
    return SynchronyPeak(
        float(found.heights[0]), float(found.ratios[0]), float(found.overlaps[0]),
        track.start + step * float(found.offsets[0]), float(tempi[found.tempi[0]]),
    )  # fmt: skip


def lag_curve(
    query: BoneArray, reference: BoneArray, tempo: float, seconds_per_step: float
) -> tuple[FloatArray, FloatArray]:
    """The correlation of two tracks at every lag that counts: seconds, and -1..1.

    A lag is when on the reference's clock, counted from its first step, the query begins; below 0 if before
    it. `tempo` is the reference's steps per step of the query. Empty where too few bones are seen in both.
    """
    (values, shown), (others, seen) = unpack_bones(query), unpack_bones(reference)
    way = np.round(np.arange(len(query)) * tempo).astype(np.int64)
    places = len(reference) + int(way[-1])
    in_query, in_reference = _shares(shown), _shares(seen)
    shared = (in_query * in_reference).sum()
    if shared < LEAST_BONES:
        return np.zeros(0, np.float32), np.zeros(0, np.float32)
    sums, lines = np.zeros(places, np.float32), np.zeros((3, places), np.float32)
    _add_lines(values @ others.T, 0, len(reference), way, sums)
    own, theirs = _running(values, shown, in_reference), _running(others, seen, in_query)
    _score_lines(sums, own, theirs, way, len(reference), seconds_per_step, shared, lines)
    counted = np.flatnonzero(lines[2] > 0)
    squares = lines[1, counted]  # with their signs
    lags = seconds_per_step * (counted - way[-1])
    return lags.astype(np.float32), (np.sign(squares) * np.sqrt(np.abs(squares))).astype(np.float32)


def unpack_bones(bones: BoneArray) -> tuple[FloatArray, FloatArray]:
    """Directions as they are, 0 where unseen, [steps, 20]; and which bones are seen, [steps, 10]."""
    values = np.empty(bones.shape, np.float32)
    seen = np.empty((len(bones), bones.shape[1] // 2), np.float32)
    read_only = np.ascontiguousarray(bones).view()
    read_only.flags.writeable = False  # the kernel is compiled for one kind
    _unpack(read_only, values, seen)
    return values, seen


@kernel
def _unpack(bones, values, seen):  # type: ignore[no-untyped-def]
    numbers, shown, result = bones.ravel(), seen.ravel(), values.ravel()
    for bone in range(len(shown)):
        x, y = numbers[2 * bone], numbers[2 * bone + 1]
        flag = np.float32(x != BONES_UNSEEN)
        shown[bone] = flag
        result[2 * bone] = flag * np.float32(x) / np.float32(BONE_SCALE)
        result[2 * bone + 1] = flag * np.float32(y) / np.float32(BONE_SCALE)


@kernel(fastmath=True)
def _best_lines(products, query, shown, values, seen, offsets, ways, seconds, found, tempi):  # type: ignore[no-untyped-def]
    longest, furthest = 0, ways[:, -1].max()
    for candidate in range(len(offsets) - 1):
        longest = max(longest, offsets[candidate + 1] - offsets[candidate])
    sums = np.zeros(longest + furthest + 1, np.float32)
    lines = np.zeros((3, longest + furthest + 1), np.float32)
    in_query = _shares(shown)
    for candidate in range(len(offsets) - 1):
        first, end = offsets[candidate], offsets[candidate + 1]
        in_candidate = _shares(seen[first:end])
        shared = (in_query * in_candidate).sum()  # bones that both show
        if shared < LEAST_BONES:
            continue
        own = _running(query, shown, in_candidate)
        theirs = _running(values[first:end], seen[first:end], in_query)
        best, at, tempo = np.float32(0), 0, -1
        for number in range(len(ways)):
            _add_lines(products, first, end, ways[number], sums)
            place = _score_lines(sums, own, theirs, ways[number], end - first, seconds, shared, lines)
            if place >= 0 and lines[0, place] > best:
                best, at, tempo = lines[0, place], place, number
        if tempo >= 0:
            if tempo < len(ways) - 1:
                _add_lines(products, first, end, ways[tempo], sums)
                _score_lines(sums, own, theirs, ways[tempo], end - first, seconds, shared, lines)
            _describe(lines, end - first + ways[tempo, -1], ways[tempo, -1], at, seconds, found[candidate])
            tempi[candidate] = tempo


@kernel(fastmath=True)
def _shares(seen):  # type: ignore[no-untyped-def]
    """In which share of its steps each bone is seen."""
    shares = np.zeros(seen.shape[1], np.float32)
    for step in range(len(seen)):
        for bone in range(seen.shape[1]):
            shares[bone] += seen[step, bone]
    return shares / np.float32(max(1, len(seen)))


@kernel(fastmath=True)
def _running(values, seen, shares):  # type: ignore[no-untyped-def]
    """Running sums of energy and of bones seen, each bone for the share in which the other side shows it."""
    sums = np.zeros((2, len(values) + 1), np.float32)
    for step in range(len(values)):
        energy, bones = np.float32(0), np.float32(0)
        for bone in range(len(shares)):
            x, y = values[step, 2 * bone], values[step, 2 * bone + 1]
            energy += shares[bone] * (x * x + y * y)
            bones += shares[bone] * seen[step, bone]
        sums[0, step + 1] = sums[0, step] + energy
        sums[1, step + 1] = sums[1, step] + bones
    return sums


@kernel(fastmath=True)
def _add_lines(products, first, end, way, sums):  # type: ignore[no-untyped-def]
    """The sum along each line; place 0 is where the query's last step meets the candidate's first."""
    length, last = end - first, way[-1]
    sums[: length + last] = 0
    for step in range(len(way)):
        begin = last - way[step]  # the first place at which this step is within the candidate
        row, line = products[step, first:end], sums[begin : begin + length]
        for place in range(length):
            line[place] += row[place]


@kernel(fastmath=True)
def _score_lines(sums, own, theirs, way, length, seconds, shared, lines):  # type: ignore[no-untyped-def]
    """Score each line; returns the place of the best that is long enough for a peak, -1 if none is.

    `lines` holds the correlation's square with its sign times the overlap, that square alone, and the overlap
    in seconds, which is 0 where a line is too short even to count for the ratio.
    """
    last, query = way[-1], len(way)
    shorter = seconds * min(np.float32(query), np.float32(length * query) / np.float32(last + 1))
    least = min(LEAST_SECONDS, LEAST_SHARE * shorter) - 1e-3
    least_beside = min(SIDELOBE_SECONDS, LEAST_SHARE / 2 * shorter)
    tremble, bones = np.float32(TREMBLE), np.float32(2 / BONE_NUMBERS / shared)
    low, high, best, top = query - 1, query - 1, -1, np.float32(0)
    for place in range(length + last):
        offset = place - last
        while low > 0 and way[low - 1] >= -offset:
            low -= 1
        while way[high] > length - 1 - offset:
            high -= 1
        steps, begin, end = high - low + 1, offset + way[low], offset + way[high] + 1
        within = seconds * steps
        lines[2, place] = 0
        if within < least_beside:
            continue
        each = np.float32(1) / np.float32(end - begin)
        noise = tremble * steps
        energy = own[0, high + 1] - own[0, low] + noise
        other = (theirs[0, end] - theirs[0, begin]) * steps * each + noise
        shows = (own[1, high + 1] - own[1, low]) * (theirs[1, end] - theirs[1, begin])
        overlap = seconds * bones * each * shows
        square = sums[place] * abs(sums[place]) / (energy * other)
        lines[0, place], lines[1, place], lines[2, place] = square * overlap, square, overlap
        if within >= least and square * overlap > top and overlap >= least * shared * 2 / BONE_NUMBERS:
            best, top = place, square * overlap
    return best


@kernel(fastmath=True)
def _describe(lines, places, last, at, seconds, found):  # type: ignore[no-untyped-def]
    """Height, strength, ratio, overlap and offset of the peak, the latter between steps by a parabola."""
    power, count, near = np.float32(0), 0, int(PEAK_SECONDS / seconds)
    for place in range(places):
        if lines[2, place] > 0 and abs(place - at) > near:
            power += abs(lines[0, place])
            count += 1
    height, between = min(np.sqrt(lines[1, at]), np.float32(_TALLEST)), np.float32(0)
    if 0 < at < places - 1 and lines[2, at - 1] > 0 and lines[2, at + 1] > 0:
        before, after = lines[1, at - 1], lines[1, at + 1]
        bend = before - 2 * lines[1, at] + after
        if bend < -1e-6:
            between = min(max(np.float32(0.5) * (before - after) / bend, np.float32(-0.5)), np.float32(0.5))
    found[0], found[1], found[3] = height, np.arctanh(height) * np.sqrt(lines[2, at]), lines[2, at]
    found[2] = np.sqrt(lines[0, at] * count / power) if count > near and power > 0 else 0
    found[4] = at - last + between
