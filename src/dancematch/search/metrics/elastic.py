"""Elastic distances of one word sequence to many (TWED, ERP, DTW), a candidate in each lane of the processor.

Sixteen or thirty-two candidates are compared side by side, so that the innermost loop is the same few vector
instructions for all of them. For this

- everything that a sweep touches lies in one array, at distances known when it is compiled: only then can
  the compiler prove that no store spoils a later load;
- that array is indexed with unsigned numbers, because a signed index might count from the end;
- candidates are taken in the order of their length; a shorter one's lane runs on over what lies there, which
  never reaches its own last cell.

No distance is abandoned early: a block has to wait for its last lane, and looking costs more than it saves.

`flat` holds the candidates' words end to end, candidate c has `flat[offsets[c]:offsets[c + 1]]`; every word
lies within the tables that are given. D(i, j) compares i words of the query with j of a candidate.
"""

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.types import FloatArray, WordArray

Offsets = NDArray[np.int64]  # [candidates + 1]

STIFFNESS = 0.001  # nu of TWED: what a step of difference in time costs
EDIT_PENALTY = 1.0  # lambda of TWED: what leaving a word out costs

_U = np.uint64  # mixed with a signed number it would become a float, so every constant has it
_1, _2, _3, _4 = _U(1), _U(2), _U(3), _U(4)

# TWED goes a row of D at a time. A column holds D, what D was a row earlier, and the words, one lane each.
_WIDE = 32
_WIDE_COLUMN = 3 * _WIDE
_W_LANES, _W_COLUMN, _W_BEFORE, _W_WORD = _U(_WIDE), _U(3 * _WIDE), _U(_WIDE), _U(2 * _WIDE)
_NO_WORD = -1.0  # what stands before the first word of a sequence

# ERP and DTW go four rows at a time: four costs are fetched for the price of one. A column holds four rows
# of D, what the fourth was before, what it costs to leave the word out, and four costs a lane.
_NARROW = 16
_NARROW_COLUMN = 10 * _NARROW
_LANES, _COLUMN = _U(_NARROW), _U(10 * _NARROW)
_ROW1, _ROW2, _ROW3, _BEFORE, _GAP, _COST = (_U(place * _NARROW) for place in range(1, 7))


def twed(
    query: WordArray,
    flat: WordArray,
    offsets: Offsets,
    *,
    nu: float = STIFFNESS,
    penalty: float = EDIT_PENALTY,
    original: bool = False,
) -> FloatArray:
    """Time warp edit distances: the paper's recursion as printed, or Marteau's original (2009).

    Two words differ by 0 or 1 and a word's time is its place. D(0, 0) is 0, the rest of the border infinite.
    """
    order = _by_length(offsets)
    return _twed(query, flat, offsets, order, np.float32(nu), np.float32(penalty), original)  # type: ignore[no-any-return]


def erp(
    query: WordArray, flat: WordArray, offsets: Offsets, distances: FloatArray, gaps: FloatArray
) -> FloatArray:
    """Edit distances with real penalty: `distances` [words, words], `gaps` [words] for leaving one out."""
    costs = _costs_by_four(query, distances)
    return _erp(query, flat, offsets, _by_length(offsets), costs, gaps)  # type: ignore[no-any-return]


def dtw(query: WordArray, flat: WordArray, offsets: Offsets, distances: FloatArray) -> FloatArray:
    """Dynamic time warping distances over `distances` [words, words]."""
    costs = _costs_by_four(query, distances)
    return _dtw(len(query), flat, offsets, _by_length(offsets), costs)  # type: ignore[no-any-return]


def _by_length(offsets: Offsets) -> NDArray[np.intp]:
    return np.argsort(np.diff(offsets), kind="stable")


@kernel
def _longest(offsets):  # type: ignore[no-untyped-def]
    longest = 0
    for candidate in range(len(offsets) - 1):
        longest = max(longest, offsets[candidate + 1] - offsets[candidate])
    return longest


@kernel
def _twed(query, flat, offsets, order, nu, penalty, original):  # type: ignore[no-untyped-def]
    count = len(order)
    found = np.empty(count, np.float32)
    state = np.empty((_longest(offsets) + 1) * _WIDE_COLUMN, np.float32)
    for first in range(0, count, _WIDE):
        lanes = min(_WIDE, count - first)
        columns = _begin_twed(state, flat, offsets, order[first : first + lanes])
        before = np.float32(_NO_WORD)
        for row in range(1, len(query) + 1):
            word = np.float32(query[row - 1])
            if original:
                _marteau_row(state, columns, row, word, before, nu, penalty)
            else:
                _paper_row(state, columns, row, word, before, nu, penalty)
            state[_WIDE : 2 * _WIDE] = np.inf  # D(0, 0) stood here before the first row
            before = word
        for lane in range(lanes):
            candidate = order[first + lane]
            last = offsets[candidate + 1] - offsets[candidate]
            found[candidate] = state[last * _WIDE_COLUMN + lane]
    return found


@kernel
def _begin_twed(state, flat, offsets, block):  # type: ignore[no-untyped-def]
    """Set D's border and the words of a block of candidates; returns how many columns there are."""
    state[:] = np.inf
    state[_WIDE : 2 * _WIDE] = 0
    state[2 * _WIDE : 3 * _WIDE] = _NO_WORD
    columns = 0
    for lane in range(len(block)):
        start, end = offsets[block[lane]], offsets[block[lane] + 1]
        for place in range(end - start):
            state[(place + 1) * _WIDE_COLUMN + 2 * _WIDE + lane] = flat[start + place]
        columns = max(columns, end - start)
    return columns


@kernel
def _paper_row(state, columns, row, word, before, nu, penalty):  # type: ignore[no-untyped-def]
    """One row of the paper's recursion; the two words of a cell count in all three of its cases."""
    zero, one = np.float32(0), np.float32(1)
    for column in range(_1, _U(columns) + _1):
        here = column * _W_COLUMN
        left = here - _W_COLUMN
        apart = nu * np.float32(abs(row - np.int64(column)))
        for lane in range(_W_LANES):
            both = state[left + _W_BEFORE + lane]
            both += zero if state[left + _W_WORD + lane] == before else one
            above, beside = state[here + lane], state[left + lane]
            single = (above if above < beside else beside) + penalty
            state[here + _W_BEFORE + lane] = above
            least = both if both < single else single
            state[here + lane] = least + (apart if state[here + _W_WORD + lane] == word else one + apart)


@kernel
def _marteau_row(state, columns, row, word, before, nu, penalty):  # type: ignore[no-untyped-def]
    """One row of the original recursion; leaving a word out costs what it differs from the one before."""
    zero, one = np.float32(0), np.float32(1)
    edit = nu + penalty
    leave = edit if word == before else one + edit
    for column in range(_1, _U(columns) + _1):
        here = column * _W_COLUMN
        left = here - _W_COLUMN
        apart = np.float32(2) * nu * np.float32(abs(row - np.int64(column)))
        for lane in range(_W_LANES):
            own, previous = state[here + _W_WORD + lane], state[left + _W_WORD + lane]
            both = state[left + _W_BEFORE + lane] + apart
            both += zero if previous == before else one
            both += zero if own == word else one
            above = state[here + lane]
            beside = state[left + lane] + (edit if own == previous else one + edit)
            state[here + _W_BEFORE + lane] = above
            above += leave
            single = above if above < beside else beside
            state[here + lane] = both if both < single else single


@kernel
def _erp(query, flat, offsets, order, costs, gaps):  # type: ignore[no-untyped-def]
    count, columns = len(order), _longest(offsets)
    found = np.empty(count, np.float32)
    words = np.zeros((columns + 1) * _NARROW, np.uint16)
    state = np.zeros((columns + 1) * _NARROW_COLUMN, np.float32)
    leave = np.zeros(4 * len(costs), np.float32)
    for place in range(len(query)):
        leave[place] = gaps[query[place]]
    for first in range(0, count, _NARROW):
        block = order[first : first + _NARROW]
        columns = _load_words(words, flat, offsets, block)
        _begin_erp(state, words, columns, gaps)
        for four in range(len(costs)):
            _fetch_costs(state, words, columns, costs[four])
            _erp_rows(state, columns, leave[4 * four : 4 * four + 4])
        _read_lanes(found, state, offsets, block, len(query))
    return found


@kernel
def _dtw(rows, flat, offsets, order, costs):  # type: ignore[no-untyped-def]
    count, columns = len(order), _longest(offsets)
    found = np.empty(count, np.float32)
    words = np.zeros((columns + 1) * _NARROW, np.uint16)
    state = np.zeros((columns + 1) * _NARROW_COLUMN, np.float32)
    for first in range(0, count, _NARROW):
        block = order[first : first + _NARROW]
        columns = _load_words(words, flat, offsets, block)
        state[:] = np.inf
        state[4 * _NARROW : 5 * _NARROW] = 0  # D(0, 0)
        for four in range(len(costs)):
            _fetch_costs(state, words, columns, costs[four])
            _dtw_rows(state, columns)
            state[4 * _NARROW : 5 * _NARROW] = np.inf
        _read_lanes(found, state, offsets, block, rows)
    return found


@kernel
def _costs_by_four(query, distances):  # type: ignore[no-untyped-def]
    """Every word's distances to four words of the query at a time: [fours, 4 * words]; 0 beyond its end."""
    costs = np.zeros(((len(query) + 3) // 4, 4 * len(distances)), np.float32)
    for place in range(len(query)):
        for word in range(len(distances)):
            costs[place // 4, 4 * word + place % 4] = distances[query[place], word]
    return costs


@kernel
def _load_words(words, flat, offsets, block):  # type: ignore[no-untyped-def]
    """Lay a block of candidates side by side; returns how many columns the longest has."""
    columns = 0
    for lane in range(len(block)):
        start, end = offsets[block[lane]], offsets[block[lane] + 1]
        for place in range(end - start):
            words[(place + 1) * _NARROW + lane] = flat[start + place]
        columns = max(columns, end - start)
    return columns


@kernel
def _begin_erp(state, words, columns, gaps):  # type: ignore[no-untyped-def]
    """Leave out every word of the candidates: the border D(0, j)."""
    state[3 * _NARROW : 4 * _NARROW] = 0
    for column in range(1, columns + 1):
        for lane in range(_NARROW):
            here = column * _NARROW_COLUMN + lane
            gap = gaps[words[column * _NARROW + lane]]
            state[here + 5 * _NARROW] = gap
            state[here + 3 * _NARROW] = state[here + 3 * _NARROW - _NARROW_COLUMN] + gap


@kernel
def _fetch_costs(state, words, columns, costs):  # type: ignore[no-untyped-def]
    """Put each cell's four costs beside it, two at a time as if they were one number of eight bytes."""
    cells, pairs = state.view(np.float64), costs.view(np.float64)
    for column in range(_1, _U(columns) + _1):
        for lane in range(_LANES):
            word = _2 * _U(words[column * _LANES + lane])
            first, second = pairs[word], pairs[word + _1]
            cell = (column * _COLUMN + _COST) // _2 + _2 * lane
            cells[cell] = first
            cells[cell + _1] = second


@kernel
def _least(one, two, three):  # type: ignore[no-untyped-def]
    two = two if two < three else three
    return one if one < two else two


@kernel
def _erp_rows(state, columns, leave):  # type: ignore[no-untyped-def]
    """Four rows of ERP; `leave` is what it costs to leave out each of the query's four words."""
    leave0, leave1, leave2, leave3 = leave[0], leave[1], leave[2], leave[3]
    for lane in range(_LANES):
        border = state[_ROW3 + lane]
        state[_BEFORE + lane] = border
        state[lane] = border + leave0
        state[_ROW1 + lane] = state[lane] + leave1
        state[_ROW2 + lane] = state[_ROW1 + lane] + leave2
        state[_ROW3 + lane] = state[_ROW2 + lane] + leave3
    for column in range(_1, _U(columns) + _1):
        here = column * _COLUMN
        left = here - _COLUMN
        for lane in range(_LANES):
            cost = here + _COST + _4 * lane
            gap = state[here + _GAP + lane]
            above = state[here + _ROW3 + lane]
            left0, left1 = state[left + lane], state[left + _ROW1 + lane]
            left2, left3 = state[left + _ROW2 + lane], state[left + _ROW3 + lane]
            row0 = _least(state[left + _BEFORE + lane] + state[cost], above + leave0, left0 + gap)
            row1 = _least(left0 + state[cost + _1], row0 + leave1, left1 + gap)
            row2 = _least(left1 + state[cost + _2], row1 + leave2, left2 + gap)
            row3 = _least(left2 + state[cost + _3], row2 + leave3, left3 + gap)
            state[here + _BEFORE + lane] = above
            state[here + lane] = row0
            state[here + _ROW1 + lane] = row1
            state[here + _ROW2 + lane] = row2
            state[here + _ROW3 + lane] = row3


@kernel
def _dtw_rows(state, columns):  # type: ignore[no-untyped-def]
    """Four rows of DTW."""
    for column in range(_1, _U(columns) + _1):
        here = column * _COLUMN
        left = here - _COLUMN
        for lane in range(_LANES):
            cost = here + _COST + _4 * lane
            above = state[here + _ROW3 + lane]
            left0, left1 = state[left + lane], state[left + _ROW1 + lane]
            left2, left3 = state[left + _ROW2 + lane], state[left + _ROW3 + lane]
            row0 = state[cost] + _least(state[left + _BEFORE + lane], above, left0)
            row1 = state[cost + _1] + _least(left0, row0, left1)
            row2 = state[cost + _2] + _least(left1, row1, left2)
            row3 = state[cost + _3] + _least(left2, row2, left3)
            state[here + _BEFORE + lane] = above
            state[here + lane] = row0
            state[here + _ROW1 + lane] = row1
            state[here + _ROW2 + lane] = row2
            state[here + _ROW3 + lane] = row3


@kernel
def _read_lanes(found, state, offsets, block, rows):  # type: ignore[no-untyped-def]
    """Take each candidate's distance out of its own last column and the query's last row."""
    row = (rows - 1) % 4
    for lane in range(len(block)):
        candidate = block[lane]
        last = offsets[candidate + 1] - offsets[candidate]
        found[candidate] = state[last * _NARROW_COLUMN + row * _NARROW + lane]
