/** Which moment of the dance goes with which of the clip. */

export class Alignment {
  /** @param {number[]} query rising times @param {number[]} reference rising times, as many */
  constructor(query, reference) {
    this.query = query;
    this.reference = reference;
    const [from, to] = [query[0], query[query.length - 1]],
      [first, last] = [reference[0], reference[reference.length - 1]];
    this.span = { start: from, end: to };
    this.referenceSpan = { start: first, end: last };
    // Seconds of the dance per second of the clip.
    this.pace = to > from && last > first ? (last - first) / (to - from) : 1;
    this.pinned = { query: NaN, reference: NaN };
  }

  /**
   * These two moments go together, whatever the path says: a comparison finds finer ones than the words have.
   * @param {number} query @param {number} reference
   */
  pin(query, reference) {
    this.pinned = { query, reference };
  }

  /** @param {number} time of the clip */
  toReference(time) {
    if (Math.abs(time - this.pinned.query) < 1e-6) return this.pinned.reference;
    return follow(this.query, this.reference, time, this.pace);
  }

  /** @param {number} time of the dance */
  toQuery(time) {
    return follow(this.reference, this.query, time, 1 / this.pace);
  }

  /** @param {number} time of the clip */
  holds(time) {
    return time >= this.span.start - 1e-6 && time <= this.span.end + 1e-6;
  }

  /** The place on the path nearest to a time of the clip. @param {number} time */
  indexAt(time) {
    const after = above(this.query, time);
    if (after === 0) return 0;
    if (after === this.query.length) return after - 1;
    return time - this.query[after - 1] < this.query[after] - time ? after - 1 : after;
  }
}

/** How many of rising values are not above one. @param {number[]} values @param {number} value */
function above(values, value) {
  let low = 0,
    high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Between two points of the path straight on; before and after it at its mean pace. */
function follow(from, to, time, pace) {
  const last = from.length - 1;
  if (time <= from[0]) return to[0] + (time - from[0]) * pace;
  if (time >= from[last]) return to[last] + (time - from[last]) * pace;
  const after = above(from, time),
    before = after - 1,
    gap = from[after] - from[before];
  return to[before] + (gap > 0 ? (time - from[before]) / gap : 0) * (to[after] - to[before]);
}
