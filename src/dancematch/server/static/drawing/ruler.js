/** Eight-counts over the time of a clip: a click goes to a count, or loops one eight. */

import { el } from "../elements/dom.js";
import { time as formatTime } from "../elements/say.js";

/** @typedef {import("./player.js").Clock} Clock */
/** Times of the counts in the clip, the first of them a one; `source` says where they come from. */
/** @typedef {{times: number[], source: string}} Counts */

const PER_EIGHT = 8,
  LEAST_COUNTS = 4;

/**
 * The counts of the clip: those of the dance, at the moments of the clip that go with them.
 * @param {import("../compare/pair.js").Pair} pair @param {any} lesson what the service says of counts
 * @returns {Counts | null}
 */
export function countsOf(pair, lesson) {
  if (!lesson?.counts) return null;
  const times = countedTimes(pair, lesson.counts);
  if (times.length < LEAST_COUNTS) return null;
  const source = `by the ${lesson.counts.source} of the dance, ${Math.round(lesson.counts.bpm)} beats per minute`;
  return { times, source };
}

/** @param {import("../compare/pair.js").Pair} pair @param {{bpm: number, first: number, end: number}} counts of the dance */
function countedTimes({ path, clock }, { bpm, first, end }) {
  const count = 60 / bpm,
    number = Math.ceil((end - first) / count) + 1;
  const times = Array.from({ length: number }, (_, beat) => path.toQuery(first + beat * count));
  // A bar that has begun before the clip is not counted: its one is not seen.
  const before = times.filter((time) => time < clock.whole.start - 1e-6).length,
    from = PER_EIGHT * Math.ceil(before / PER_EIGHT);
  return times.slice(from).filter((time) => time < clock.whole.end + count);
}

/** @param {Clock} clock @param {Counts} counts */
export function ruler(clock, { times, source }) {
  const { start, end } = clock.whole,
    share = (time) => (100 * (Math.max(start, Math.min(end, time)) - start)) / (end - start);
  const inside = times.filter((time, i) => i + 1 < times.length && time < end - 1e-6);
  const eights = [];
  for (let first = 0; first < inside.length; first += PER_EIGHT) {
    const span = { start: inside[first], end: Math.min(end, times[Math.min(first + PER_EIGHT, times.length - 1)]) };
    eights.push({ span, number: first / PER_EIGHT + 1, counts: inside.slice(first, first + PER_EIGHT) });
  }
  const box = eights.map(({ span, number, counts }) => {
    const ticks = counts.map((time, i) => {
      const tick = el("i", { class: i ? "count-tick" : "count-tick one" }, i + 1);
      tick.style.left = `${(100 * (time - span.start)) / (span.end - span.start)}%`;
      return tick;
    });
    const place = el(
      "button",
      {
        type: "button",
        class: "eight",
        title: `Loop bar ${number}`,
        "aria-label": `Loop bar ${number}, from ${formatTime(span.start)}`,
        onclick: () => {
          clock.mark(span);
          clock.seek(span.start);
        },
      },
      el("span", { "aria-hidden": "true" }, ticks),
    );
    place.style.left = `${share(span.start)}%`;
    place.style.width = `${share(span.end) - share(span.start)}%`;
    return place;
  });
  const element = el(
    "div",
    { class: "ruler", role: "group", "aria-label": `Eight-counts: ${source}`, title: `Counted in eights: ${source}` },
    box,
    el("i", { class: "ruler-now" }),
  );
  const narrow = (100 * (times[1] - times[0])) / (end - start) < 2.2;
  element.classList.toggle("dense", narrow);
  const follow = () => element.style.setProperty("--at", `${share(clock.time)}%`);
  clock.addEventListener("time", follow);
  clock.addEventListener("state", () => {
    eights.forEach(({ span }, i) => {
      const here = clock.section && Math.abs(clock.section.start - span.start) < 0.02 && Math.abs(clock.section.end - span.end) < 0.02;
      box[i].setAttribute("aria-pressed", String(Boolean(here)));
    });
  });
  follow();
  return element;
}
