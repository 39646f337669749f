/** A video as lanes of coloured segments: who dances what, and when. */

import { button, el } from "../elements/dom.js";
import { range, time } from "../elements/say.js";

const KINDS = 10, // colours
  ZOOMS = [1, 2, 4, 8, 16, 32],
  TICKS = 8; // on the width of the page

/** @typedef {{number: number, dancer: number, span: {start: number, end: number}, verdict: string,
 *   dance: string | null, match: any, corrected: boolean}} Segment */

export const NOTHING_KNOWN = "no known dance";

/** The colours of dances, one each, in the order in which they are first danced. */
export class Colours {
  /** @type {Map<string, number>} */
  #kinds = new Map();

  /** @param {Segment} segment @returns {string} its class */
  of({ match, verdict }) {
    if (!match) return "unknown";
    if (!this.#kinds.has(match.dance_id)) this.#kinds.set(match.dance_id, this.#kinds.size % KINDS);
    return `kind-${this.#kinds.get(match.dance_id)}${verdict === "match" ? "" : " possible"}`;
  }
}

/** What a segment is, in words. @param {Segment} segment */
export const describe = ({ dance, verdict, corrected }) => {
  if (dance === null) return NOTHING_KNOWN;
  if (corrected) return `${dance}, as you said`;
  return verdict === "match" ? dance : `${dance}, ${verdict}`;
};

/**
 * Dancers by lane: those who are never seen at the same time share one, since a dancer who comes back is another.
 * @param {Segment[]} segments in order of start @returns {Map<number, number>} the lane of each dancer
 */
export function lanesOf(segments) {
  const spans = new Map();
  for (const { dancer, span } of segments) {
    const known = spans.get(dancer);
    spans.set(dancer, known ? { start: known.start, end: Math.max(known.end, span.end) } : span);
  }
  const lanes = new Map(),
    ends = [];
  for (const [dancer, { start, end }] of [...spans].sort((a, b) => a[1].start - b[1].start)) {
    const free = ends.findIndex((one) => one <= start + 1e-6),
      lane = free < 0 ? ends.length : free;
    ends[lane] = end;
    lanes.set(dancer, lane);
  }
  return lanes;
}

/** Who is in a lane. @param {number[]} dancers in order */
function laneName(dancers) {
  if (dancers.length === 1) return `Dancer ${dancers[0]}`;
  if (dancers.length === 2) return `Dancers ${dancers[0]}, ${dancers[1]}`;
  return `Dancers ${dancers[0]} … ${dancers.at(-1)}`;
}

export class Timeline {
  /** @param {Colours} colours @param {(segment: Segment) => void} choose */
  constructor(colours, choose) {
    this.colours = colours;
    this.choose = choose;
    this.zoom = 1;
    this.total = 1;
    /** @type {number | null} */
    this.chosen = null;
    this.lanes = el("div", { class: "tl-lanes", onkeydown: (event) => this.#key(event) });
    this.inner = el("div", { class: "tl-inner" }, this.lanes);
    this.scroll = el("div", { class: "tl-scroll" }, this.inner);
    this.closer = button("", () => this.#zoomBy(1), { class: "round", "aria-label": "Zoom in" }, "plus");
    this.wider = button("", () => this.#zoomBy(-1), { class: "round", "aria-label": "Zoom out" }, "dash");
    this.element = el(
      "section",
      { class: "timeline card", "aria-label": "Timeline" },
      el(
        "div",
        { class: "bar" },
        el("h2", {}, "Timeline"),
        el("div", { class: "actions" }, this.wider, this.closer),
      ),
      this.scroll,
      el(
        "ul",
        { class: "legend" },
        ...[
          ["kind-0", "a dance, one colour each"],
          ["kind-0 possible", "possible match"],
          ["unknown", NOTHING_KNOWN],
        ].map(([look, text]) => el("li", {}, el("span", { class: `tl-key ${look}` }), text)),
      ),
    );
    this.#zoomBy(0);
  }

  /** @param {Segment[]} segments in order of start @param {number} total seconds */
  show(segments, total) {
    this.total = Math.max(total, ...segments.map(({ span }) => span.end), 1);
    const lanes = lanesOf(segments),
      rows = new Map();
    for (const [dancer, lane] of lanes) {
      if (!rows.has(lane)) rows.set(lane, []);
      rows.get(lane).push(dancer);
    }
    const focused = document.activeElement?.closest(".tl-segment")?.dataset.number;
    this.lanes.replaceChildren(
      ...[...rows].map(([lane, dancers]) =>
        el(
          "div",
          { class: "tl-row", role: "group", "aria-label": laneName(dancers) },
          el("span", { class: "tl-name", "aria-hidden": "true" }, laneName(dancers)),
          el(
            "div",
            { class: "tl-lane" },
            segments.filter(({ dancer }) => lanes.get(dancer) === lane).map((one) => this.#block(one)),
          ),
        ),
      ),
      this.#axis(),
    );
    this.mark(this.chosen);
    if (focused) this.lanes.querySelector(`[data-number="${focused}"]`)?.focus();
  }

  /** @param {Segment} segment */
  #block(segment) {
    const { span, dance, number, dancer } = segment;
    const text = `${range(span)}, dancer ${dancer}: ${describe(segment)}`;
    const block = el(
      "button",
      {
        type: "button",
        class: `tl-segment ${this.colours.of(segment)}`,
        title: text,
        "aria-label": text,
        "data-number": number,
        tabIndex: -1,
        onclick: () => this.choose(segment),
      },
      dance && el("span", {}, dance),
    );
    block.style.left = `${(100 * span.start) / this.total}%`;
    block.style.width = `${(100 * (span.end - span.start)) / this.total}%`;
    return block;
  }

  #axis() {
    const axis = el("div", { class: "tl-lane ticks" }),
      count = TICKS * this.zoom;
    for (let i = 0; i <= count; i++) {
      const tick = el("span", { class: i === count ? "last" : "" }, time((this.total * i) / count, 0));
      tick.style.left = `${(100 * i) / count}%`;
      axis.append(tick);
    }
    return el("div", { class: "tl-row", "aria-hidden": "true" }, el("span", { class: "tl-name" }), axis);
  }

  /** Show which segment is looked at. @param {number | null} number */
  mark(number) {
    this.chosen = number;
    const blocks = this.#blocks();
    for (const block of blocks) block.removeAttribute("aria-current");
    const chosen = blocks.find((block) => block.dataset.number === String(number));
    chosen?.setAttribute("aria-current", "true");
    // The keyboard comes to one of them; the arrow keys go to the others.
    blocks.forEach((block) => (block.tabIndex = -1));
    if (blocks.length) (chosen || blocks[0]).tabIndex = 0;
  }

  /** Show the moment that is played. @param {number} seconds */
  at(seconds) {
    this.inner.style.setProperty("--at", String(Math.min(1, seconds / this.total)));
  }

  /** @returns {HTMLElement[]} in order of time */
  #blocks() {
    const start = (block) => Number.parseFloat(block.style.left);
    return [...this.lanes.querySelectorAll(".tl-segment")].sort((a, b) => start(a) - start(b));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key],
      blocks = this.#blocks(),
      here = blocks.indexOf(/** @type {HTMLElement} */ (event.target));
    if (!way || here < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = blocks[here + way];
    if (!next) return;
    blocks[here].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  /** @param {number} steps */
  #zoomBy(steps) {
    const place = ZOOMS.indexOf(this.zoom) + steps,
      middle = (this.scroll.scrollLeft + this.scroll.clientWidth / 2) / this.zoom;
    this.zoom = ZOOMS[Math.max(0, Math.min(ZOOMS.length - 1, place))];
    this.closer.disabled = this.zoom === ZOOMS.at(-1);
    this.wider.disabled = this.zoom === 1;
    this.inner.style.width = `${100 * this.zoom}%`;
    this.scroll.scrollLeft = middle * this.zoom - this.scroll.clientWidth / 2;
    this.lanes.lastChild?.replaceWith(this.#axis());
  }
}
