"""Kernels of the postings: the trigrams of many tracks, runs of them in order, and the counting of votes.

A run lists its distinct keys in order; key number i has the occurrences `starts[i]` to `starts[i + 1]`,
each an entry and a time in it. Numbers that come from a file may be anything: none leads outside an array.
"""

import numpy as np

from dancematch.search.kernels.kernel import kernel


@kernel
def extract_trigrams(words, seen, offsets, channels, vocabulary):  # type: ignore[no-untyped-def]
    """Return keys, times and tracks of all trigrams of packed tracks, track by track.

    Three times the same word is none, nor is one with a word that is not seen.
    """
    size, base = 0, np.uint64(vocabulary)
    for track in range(len(offsets) - 1):
        size += max(0, offsets[track + 1] - offsets[track] - 2) * len(channels)
    keys, times, tracks = np.empty(size, np.uint64), np.empty(size, np.uint16), np.empty(size, np.uint32)
    count = 0
    for track in range(len(offsets) - 1):
        first, end = offsets[track], offsets[track + 1]
        for number, channel in enumerate(channels):
            byte, bit = channel >> 3, 7 - (channel & 7)
            for step in range(first, end - 2):
                one, two, three = words[step, channel], words[step + 1, channel], words[step + 2, channel]
                shown = seen[step, byte] & seen[step + 1, byte] & seen[step + 2, byte]
                if (shown >> bit) & 1 and not (one == two and two == three):
                    keys[count] = ((np.uint64(number) * base + one) * base + two) * base + three
                    times[count], tracks[count] = step - first, track
                    count += 1
    return keys[:count], times[:count], tracks[:count]


@kernel
def sort_by_key(keys, entries, times):  # type: ignore[no-untyped-def]
    """Counting sort, eleven bits of the key at a time; equal keys stay in their order."""
    other = np.empty_like(keys), np.empty_like(entries), np.empty_like(times)
    largest = keys.max() if len(keys) else keys.dtype.type(0)
    shift = np.uint64(0)
    while shift == 0 or np.uint64(largest) >> shift:
        ends = np.zeros(2049, np.int64)
        for key in keys:
            ends[((np.uint64(key) >> shift) & np.uint64(2047)) + np.uint64(1)] += 1
        ends = np.cumsum(ends)
        for i in range(len(keys)):
            digit = (np.uint64(keys[i]) >> shift) & np.uint64(2047)
            place = ends[digit]
            ends[digit] += 1
            other[0][place], other[1][place], other[2][place] = keys[i], entries[i], times[i]
        (keys, entries, times), other = other, (keys, entries, times)
        shift += np.uint64(11)
    return keys, entries, times


@kernel
def distinct_keys(keys):  # type: ignore[no-untyped-def]
    """Return the distinct keys of a sorted list, and where each begins; behind them the length."""
    count = 0
    for i in range(len(keys)):
        count += i == 0 or keys[i] != keys[i - 1]
    found, starts = np.empty(count, keys.dtype), np.empty(count + 1, np.uint32)
    count = 0
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            found[count], starts[count] = keys[i], i
            count += 1
    starts[count] = len(keys)
    return found, starts


@kernel
def merge(one, two, alive):  # type: ignore[no-untyped-def]
    """Return two runs as one, without deleted entries and keys that no entry has any more."""
    keys1, starts1, entries1, times1 = one
    keys2, starts2, entries2, times2 = two
    both = _common(keys1, keys2)
    keys = np.empty(len(keys1) + len(keys2) - both, keys1.dtype)
    starts = np.empty(len(keys) + 1, np.uint32)
    entries = np.empty(len(entries1) + len(entries2), np.uint32)
    times = np.empty(len(entries), np.uint16)
    i, j, made, size = 0, 0, 0, 0
    while i < len(keys1) or j < len(keys2):
        left = i < len(keys1) and (j == len(keys2) or keys1[i] <= keys2[j])
        right = j < len(keys2) and (i == len(keys1) or keys2[j] <= keys1[i])
        keys[made], starts[made] = keys1[i] if left else keys2[j], size
        if left:
            size = _move(entries1, times1, starts1[i], starts1[i + 1], alive, entries, times, size)
            i += 1
        if right:
            size = _move(entries2, times2, starts2[j], starts2[j + 1], alive, entries, times, size)
            j += 1
        made += size > starts[made]
    starts[made] = size
    if size < len(entries):  # what is cut off would be kept as long as the rest
        return keys[:made].copy(), starts[: made + 1].copy(), entries[:size].copy(), times[:size].copy()
    return keys, starts, entries, times


@kernel
def _common(one, two):  # type: ignore[no-untyped-def]
    """Count the keys that two lists share."""
    i, j, count = 0, 0, 0
    while i < len(one) and j < len(two):
        count += one[i] == two[j]
        smaller = one[i] <= two[j]
        j += one[i] >= two[j]
        i += smaller
    return count


@kernel
def _move(old, old_times, first, end, alive, entries, times, size):  # type: ignore[no-untyped-def]
    last = min(np.int64(end), np.int64(len(old)))
    for at in range(np.int64(first), last):
        if old[at] < len(alive) and alive[old[at]] and size < len(entries):
            entries[size], times[size] = old[at], old_times[at]
            size += 1
    return size


@kernel
def bounds(keys, starts, most, asked):  # type: ignore[no-untyped-def]
    """Return where the occurrences of each asked key begin and end among `most`."""
    first, end = np.zeros(len(asked), np.int64), np.zeros(len(asked), np.int64)
    for number, key in enumerate(asked):
        low, high = 0, len(keys)
        while low < high:
            middle = (low + high) // 2
            if keys[middle] < key:
                low = middle + 1
            else:
                high = middle
        if low < len(keys) and keys[low] == key:
            first[number] = min(np.int64(starts[low]), most)
            end[number] = min(max(first[number], np.int64(starts[low + 1])), most)
    return first, end


@kernel
def count_living(entries, first, end, alive):  # type: ignore[no-untyped-def]
    """Count the occurrences in each of the ranges that are of entries not deleted."""
    counts = np.zeros(len(first), np.int64)
    for number in range(len(first)):
        for i in range(first[number], end[number]):
            counts[number] += entries[i] < len(alive) and alive[entries[i]]
    return counts


@kernel
def count_totals(entries, first, end, weights, totals, touched, count):  # type: ignore[no-untyped-def]
    """Add each vote to its entry and list entries at their first vote; returns how many are listed.

    `touched` has room for one more: each is written before it is known whether it is listed already, since a
    branch here would be mispredicted half of the time.
    """
    for number, weight in enumerate(weights):
        for i in range(first[number], end[number]):
            entry = np.uint64(entries[i])
            if entry < len(totals):
                touched[count] = entry
                count += totals[entry] == 0
                totals[entry] += weight
    return count


@kernel
def take_totals(totals, touched, alive):  # type: ignore[no-untyped-def]
    """Return those of the touched entries that are not deleted and their totals; all totals are 0 again."""
    values, count = np.empty(len(touched), np.int32), 0
    for entry in touched:
        touched[count], values[count] = entry, totals[entry]
        count += alive[entry]
        totals[entry] = 0
    return touched[:count], values[:count]


@kernel
def threshold(totals, wanted):  # type: ignore[no-untyped-def]
    """Return a total that `wanted` of them reach and not many more; 0 if there are fewer."""
    bins = np.zeros(4097, np.int64)
    largest = 1
    for total in totals:
        largest = max(largest, total)
    width = largest // 4096 + 1
    for total in totals:
        bins[total // width] += 1
    count = 0
    for place in range(len(bins) - 1, -1, -1):
        count += bins[place]
        if count >= wanted:
            return place * width
    return 0


@kernel
def collect(entries, at, first, end, times, weights, slots):  # type: ignore[no-untyped-def]
    """The votes for entries that have a seat (from 1): seat from 0, offset, weight."""
    size = (end - first).sum()
    slots_hit, offsets, heavy = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int32)
    count = 0
    for number, weight in enumerate(weights):
        for i in range(first[number], end[number]):
            slot = slots[entries[i]] if entries[i] < len(slots) else 0
            if slot > 0:
                slots_hit[count], heavy[count] = slot - 1, weight
                offsets[count] = np.int64(at[i]) - times[number]
                count += 1
    return slots_hit[:count], offsets[:count], heavy[:count]


@kernel
def best_places(slots_hit, offsets, weights, slots, tolerance):  # type: ignore[no-untyped-def]
    """For each seat the heaviest votes within `tolerance`, and the mean of their offsets."""
    scores, places = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    if len(slots_hit) == 0:
        return scores, places
    lowest = offsets.min()
    by_offset, _ = _group(offsets - lowest, np.arange(len(slots_hit)), offsets.max() - lowest + 1)
    order, begins = _group(slots_hit, by_offset, slots)
    for slot in range(slots):
        left, total, moment = begins[slot], 0, 0
        for place in range(begins[slot], begins[slot + 1]):
            vote = order[place]
            total += weights[vote]
            moment += weights[vote] * offsets[vote]
            while offsets[vote] - offsets[order[left]] > tolerance:
                total -= weights[order[left]]
                moment -= weights[order[left]] * offsets[order[left]]
                left += 1
            if total > scores[slot]:
                scores[slot] = total
                places[slot] = np.int64(np.round(moment / total))
    return scores, places


@kernel
def _group(groups, order, count):  # type: ignore[no-untyped-def]
    """`order` brought into the order of groups (each vote's, 0..count-1), and where each group begins."""
    begins = np.zeros(count + 1, np.int64)
    for vote in order:
        begins[groups[vote] + 1] += 1
    for group in range(count):
        begins[group + 1] += begins[group]
    free = begins.copy()
    grouped = np.empty_like(order)
    for vote in order:
        grouped[free[groups[vote]]] = vote
        free[groups[vote]] += 1
    return grouped, begins
