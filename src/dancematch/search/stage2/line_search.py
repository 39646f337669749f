"""Where the query lies in many segments: the straight line along which the words of both agree best.

Hundreds of segments at once, eight side by side, one lane of the processor each: the evidence of one word of
the query for one step of all eight lies together, so that shifting the query is reading elsewhere.

- Segments are taken in the order of their length; in a shorter one's lane no evidence follows its end.
- The query's words are taken one band at a time to save memory, and of those four at a time: the sums are
  read and written less often.
- A place is an offset counted from where the query's last word meets a segment's first step.
- Arrays are flat and indexed with unsigned numbers: numba checks every signed one for counting from the end.
"""

import numpy as np

from dancematch.search.kernels.kernel import kernel
from dancematch.search.stage2.local_alignment import CHUNK, add_evidence

_LANES = 8
_ROOM = 1 << 20  # numbers of evidence in one band of the query's words
_STEPS = 32  # of a segment, whose evidence is dealt out to the lanes at once
_MARGIN = 8  # steps: further than three words of the query go at any tempo

_U = np.uint64  # mixed with a signed number it would become a float, so every constant has it
_L = _U(_LANES)
_1, _2, _3, _4, _5, _6, _7 = (_U(number) for number in range(1, 8))


@kernel
def best_lines(table, words, seen, offsets, ways, full, penalty, least_shared):  # type: ignore[no-untyped-def]
    """Return agreement, offset and tempo of every segment's best line.

    `table` is the query's `local_alignment.Profile`; `ways` [tempi, query words] says how far a segment has
    advanced at each word, `full` sums the evidence that copies of the words would give, `penalty` [tempi].
    """
    count, query, lengths = len(offsets) - 1, ways.shape[1], offsets[1:] - offsets[:-1]
    longest, furthest = lengths.max() if count else 0, ways[:, -1].max()
    agreements = np.empty(count, np.float32)
    places, tempi = np.empty(count, np.int64), np.empty(count, np.int64)
    line = longest + 2 * _MARGIN
    band = min(max(1, _ROOM // (line * _LANES * CHUNK)) * CHUNK, table.shape[1])
    evidence = np.zeros((_LANES, _STEPS, band), np.float32)
    dealt = np.zeros((band, line, _LANES), np.float32)
    sums = np.empty((len(ways), longest + furthest + 4, _LANES), np.float32)
    tops, bounds = np.empty((len(ways), _LANES), np.float32), np.empty((len(ways), 2, _LANES), np.float32)
    order = np.argsort(lengths, kind="mergesort")
    for first in range(0, count, _LANES):
        block = order[first : first + _LANES]
        for lane in range(_LANES):  # one without a segment repeats the last; it is not read
            _bound(ways, lengths[block[min(lane, len(block) - 1)]], least_shared, bounds[:, :, lane])
        reach = _begin(sums, bounds)
        for begin in range(0, query, band):
            some = ways[:, begin : begin + band]
            _deal_evidence(table, words, seen, offsets, block, begin, some.shape[1], evidence, dealt)
            _add_along(dealt, some, ways[:, -1], lengths[block[-1]], reach, sums)
        _find_tops(sums, reach, tops)
        for lane in range(len(block)):
            tempo = _best_tempo(tops[:, lane], penalty)
            place = reach[tempo, 0]
            while sums[tempo, place, lane] != tops[tempo, lane]:
                place += 1
            one, offset, value = (
                block[lane],
                place - ways[tempo, -1],
                tops[tempo, lane] - penalty[tempo],
            )
            tempi[one], places[one] = tempo, offset
            agreements[one] = _agreement(ways[tempo], offset, lengths[one], value, full)
    return agreements, places, tempi


@kernel
def _bound(ways, length, least_shared, bounds):  # type: ignore[no-untyped-def]
    """The first place at which the query and a segment share enough words, and one after the last.

    Between them they always do, since no tempo skips half of the steps. A segment of one step may be
    skipped, by tempi above 1: those keep one place, the others are as good at tempo 1.
    """
    query = ways.shape[1]
    least = max(1, int(np.ceil(least_shared * min(query, length))))
    for tempo in range(len(ways)):
        furthest = ways[tempo, -1]
        bounds[tempo, 0] = furthest - ways[tempo, query - least]
        skipped = length == 1 and furthest >= query
        bounds[tempo, 1] = bounds[tempo, 0] + 1 if skipped else furthest - ways[tempo, least - 1] + length


@kernel
def _begin(sums, bounds):  # type: ignore[no-untyped-def]
    """0 at places within each lane's bounds, -inf at others; first and last of all lanes' places: [tempi, 2].

    Three more are barred, so that `_find_tops` may take four at a time.
    """
    reach = np.empty((len(bounds), 2), np.int64)
    flat, wide, limits = sums.reshape(-1), sums.shape[1], bounds.reshape(-1)
    for tempo in range(len(bounds)):
        reach[tempo, 0], reach[tempo, 1] = bounds[tempo, 0].min(), bounds[tempo, 1].max()
        low, high = _U(2 * tempo) * _L, _U(2 * tempo + 1) * _L
        for place in range(reach[tempo, 0], reach[tempo, 1] + 3):
            at, here = _U((tempo * wide + place) * _LANES), np.float32(place)
            for lane in range(_L):
                within = (limits[low + lane] <= here) & (here < limits[high + lane])
                flat[at + lane] = np.float32(0) if within else np.float32(-np.inf)
    return reach


@kernel
def _deal_evidence(table, words, seen, offsets, block, begin, count, evidence, dealt):  # type: ignore[no-untyped-def]
    """Write the evidence of the query's words from `begin` on for a block of segments: [words, steps, lanes].

    Nothing is ever written before the first step, nor, since blocks come in the order of their
    length, behind the last. A single channel's evidence need not be added up: it stands in the table.
    """
    length, alone = offsets[block[-1] + 1] - offsets[block[-1]], words.shape[1] == 1
    source = table.reshape(-1) if alone else evidence.reshape(-1)
    rows = np.arange(_LANES * _STEPS).reshape(_LANES, _STEPS).astype(np.uint64) * _U(evidence.shape[2])
    if alone:
        rows[:] = (len(table) - 1) * table.shape[1]  # of no word, in lanes without a segment
    for step in range(0, length, _STEPS):
        for lane in range(len(block)):
            first, end = offsets[block[lane]] + step, offsets[block[lane] + 1]
            last = min(first + _STEPS, end)
            if alone:
                _look_up(table, words, seen, first, last, begin, rows[lane])
            else:
                shown = add_evidence(table, words, seen, first, last, begin, evidence[lane])
                if shown < _STEPS:
                    evidence[lane, shown:] = 0
        _deal_lanes(source, rows, min(_STEPS, length - step), dealt, _MARGIN + step, -(-count // 4) * 4)


@kernel
def _look_up(table, words, seen, first, end, begin, rows):  # type: ignore[no-untyped-def]
    """Where the evidence of a single channel's words stands in the table; behind `end` that of no word."""
    wide, nothing = table.shape[1], len(table) - 1
    for step in range(len(rows)):
        at = first + step
        row = np.int64(words[at, 0]) if at < end and seen[at, 0] else nothing
        rows[step] = row * wide + begin


@kernel
def _deal_lanes(source, rows, steps, dealt, first, size):  # type: ignore[no-untyped-def]
    """Copy the rows of evidence [lanes, steps], one number per query word, to [words, steps, lanes]."""
    target, line = dealt.reshape(-1), _U(dealt.shape[1]) * _L
    for step in range(steps):
        a, b, c, d = rows[0, step], rows[1, step], rows[2, step], rows[3, step]
        e, f, g, h = rows[4, step], rows[5, step], rows[6, step], rows[7, step]
        at = _U(first + step) * _L
        for i in range(_U(size)):
            one, two, three, four = source[a + i], source[b + i], source[c + i], source[d + i]
            five, six, seven, eight = source[e + i], source[f + i], source[g + i], source[h + i]
            target[at], target[at + _1], target[at + _2], target[at + _3] = one, two, three, four
            target[at + _4], target[at + _5], target[at + _6], target[at + _7] = five, six, seven, eight
            at += line


@kernel
def _add_along(dealt, ways, furthest, length, reach, sums):  # type: ignore[no-untyped-def]
    """Add up the evidence along every line: at each place of each tempo."""
    flat, wide, source = sums.reshape(-1), sums.shape[1], dealt.reshape(-1)
    count, line = ways.shape[1], dealt.shape[1] * _LANES
    for i in range(0, count, 4):
        last = min(i + 3, count - 1)
        for tempo in range(len(ways)):
            way, most = ways[tempo], furthest[tempo]
            first = max(reach[tempo, 0], most - way[last])
            end = min(reach[tempo, 1], most - way[i] + length)
            at = i * line + (_MARGIN + first - most) * _LANES
            one, two = _U(at + way[i] * _LANES), _U(at + line + way[min(i + 1, last)] * _LANES)
            three = _U(at + 2 * line + way[min(i + 2, last)] * _LANES)
            four = _U(at + 3 * line + way[last] * _LANES)
            target = _U((tempo * wide + first) * _LANES)
            for j in range(_U(max(0, end - first) * _LANES)):
                both = source[one + j] + source[two + j]
                flat[target + j] += both + (source[three + j] + source[four + j])


@kernel(fastmath={"nnan", "nsz"})
def _find_tops(sums, reach, tops):  # type: ignore[no-untyped-def]
    """The largest sum of each tempo and lane."""
    flat, wide = sums.reshape(-1), sums.shape[1]
    highest = tops.reshape(-1)
    tops[:] = -np.inf
    for tempo in range(len(tops)):
        top = _U(tempo * _LANES)
        for place in range(reach[tempo, 0], reach[tempo, 1], 4):
            at = _U((tempo * wide + place) * _LANES)
            for lane in range(_L):
                one = max(flat[at + lane], flat[at + _L + lane])
                two = max(flat[at + _2 * _L + lane], flat[at + _3 * _L + lane])
                highest[top + lane] = max(highest[top + lane], max(one, two))


@kernel
def _best_tempo(tops, penalty):  # type: ignore[no-untyped-def]
    """The first tempo with the largest sum after the penalty."""
    best = 0
    for tempo in range(1, len(tops)):
        if tops[tempo] - penalty[tempo] > tops[best] - penalty[best]:
            best = tempo
    return best


@kernel
def _agreement(way, offset, length, value, full):  # type: ignore[no-untyped-def]
    """The evidence along a line as a share of what copies would give."""
    first, end = 0, len(way)
    while first < end and way[first] + offset < 0:
        first += 1
    while end > first and way[end - 1] + offset >= length:
        end -= 1
    # An overlap shorter than the shorter clip counts as if the rest of it had no evidence.
    longer = max(1.0, min(len(way), length) / max(end - first, 1))
    return min(1.0, value / max((full[end] - full[first]) * longer, 1e-6))
