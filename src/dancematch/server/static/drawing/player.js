/** Players that go together: one clock, a bar to scrub each with, play, speed and loop. */

import { button, el, icon } from "../elements/dom.js";
import { time as formatTime } from "../elements/say.js";

const SPEEDS = [0.25, 0.5, 0.75, 1, 1.5],
  DRIFT_SECONDS = 0.15,
  FINE = 0.01;

/** Time that runs while it plays; every change is an event. */
export class Clock extends EventTarget {
  /**
   * @param {{start: number, end: number}} whole
   * @param {{start: number, end: number}} passage that is looped
   */
  constructor(whole, passage) {
    super();
    this.whole = whole;
    this.passage = passage;
    this.time = passage.start;
    this.speed = 1;
    this.loop = true;
    this.playing = false;
    this.over = false;
    let last = 0;
    const tick = (now) => {
      if (this.over) return;
      if (this.playing) this.#advance(Math.min(0.2, (now - last) / 1000) * this.speed);
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  #advance(seconds) {
    const { start, end } = this.loop ? this.passage : this.whole;
    let next = this.time + seconds;
    if (next > end) {
      if (this.loop) next = start;
      else {
        next = end;
        this.playing = false;
        this.dispatchEvent(new Event("state"));
      }
    }
    this.time = next;
    this.dispatchEvent(new Event("time"));
  }

  /** @param {number} time */
  seek(time) {
    this.time = Math.max(this.whole.start, Math.min(this.whole.end, time));
    this.dispatchEvent(new Event("time"));
  }

  /** @param {Partial<{playing: boolean, speed: number, loop: boolean}>} values */
  set(values) {
    Object.assign(this, values);
    const { start, end } = this.loop ? this.passage : this.whole;
    if (values.playing && (this.time >= end - FINE || this.time < start)) this.seek(start);
    this.dispatchEvent(new Event("state"));
  }

  /** The keys of a player. @param {KeyboardEvent} event @returns {boolean} whether it was one */
  key(event) {
    const step = event.shiftKey ? 1 : 0.1,
      faster = SPEEDS.indexOf(this.speed);
    const onButton = /** @type {HTMLElement} */ (event.target).matches?.("button, a, summary, input");
    if (event.key === " " && !onButton) this.set({ playing: !this.playing });
    else if (event.key === "ArrowLeft") this.seek(this.time - step);
    else if (event.key === "ArrowRight") this.seek(this.time + step);
    else if (event.key === "Home") this.seek(this.passage.start);
    else if (event.key === "End") this.seek(this.passage.end);
    else if (event.key === "[") this.set({ speed: SPEEDS[Math.max(0, faster - 1)] });
    else if (event.key === "]") this.set({ speed: SPEEDS[Math.min(SPEEDS.length - 1, faster + 1)] });
    else if (event.key === "l") this.set({ loop: !this.loop });
    else return false;
    return true;
  }
}

/** Play, speed, loop. @param {Clock} clock @param {string} [loops] what is looped */
export function controls(clock, loops = "") {
  const play = button(
    "Play",
    () => clock.set({ playing: !clock.playing }),
    { class: "primary play" },
    "play",
  );
  const speed = el(
    "select",
    { "aria-label": "Speed", onchange: () => clock.set({ speed: Number(speed.value) }) },
    SPEEDS.map((value) => el("option", { value }, `${value}×`)),
  );
  const loop = el(
    "button",
    { type: "button", class: "toggle", onclick: () => clock.set({ loop: !clock.loop }) },
    icon("loop"),
    el("span", {}, "loop", loops && el("span", { class: "wide" }, ` ${loops}`)),
  );
  const draw = () => {
    play.replaceChildren(
      icon(clock.playing ? "pause" : "play"),
      el("span", {}, clock.playing ? "Pause" : "Play"),
    );
    speed.value = String(clock.speed);
    loop.setAttribute("aria-pressed", String(clock.loop));
  };
  clock.addEventListener("state", draw);
  draw();
  return el("div", { class: "controls" }, play, speed, loop);
}

/**
 * A bar to scrub with, on whatever time `from` makes of the clock's, the passage marked on it.
 * @param {Clock} clock @param {string} name
 * @typedef {{start: number, end: number}} Span
 * @param {{span: Span, passage: Span, from: (time: number) => number, to: (time: number) => number}} scale
 */
export function scrubber(clock, name, { span, passage, from, to }) {
  const input = el("input", {
    type: "range",
    min: span.start,
    max: span.end,
    step: FINE,
    "aria-label": name,
    oninput: () => {
      clock.set({ playing: false });
      clock.seek(to(Number(input.value)));
    },
  });
  const mark = el("i", { class: "passage" }),
    text = el("output", {});
  const share = (time) => (100 * (time - span.start)) / Math.max(FINE, span.end - span.start);
  mark.style.left = `${Math.max(0, share(passage.start))}%`;
  mark.style.width = `${Math.min(100, share(passage.end)) - Math.max(0, share(passage.start))}%`;
  const draw = () => {
    const at = Math.max(span.start, Math.min(span.end, from(clock.time)));
    if (document.activeElement !== input || clock.playing || Math.abs(Number(input.value) - at) > 0.05)
      input.value = String(at);
    input.setAttribute("aria-valuetext", `${at.toFixed(1)} seconds`);
    text.textContent = `${formatTime(at)} / ${formatTime(span.end, 0)}`;
  };
  clock.addEventListener("time", draw);
  draw();
  return el("div", { class: "scrubber" }, el("div", { class: "scrub-track" }, mark, input), text);
}

/**
 * Let a video follow the clock: it plays by itself and is put right where it strays.
 * @param {HTMLVideoElement} video @param {Clock} clock @param {(time: number) => number} from @param {number} [pace]
 */
export function bind(video, clock, from = (time) => time, pace = 1) {
  const follow = () => {
    const wanted = Math.max(0, from(clock.time));
    const stray = Math.abs(video.currentTime - wanted);
    if (video.readyState >= 1 && !video.seeking && stray > (clock.playing ? DRIFT_SECONDS : FINE))
      video.currentTime = wanted;
  };
  const state = () => {
    video.playbackRate = Math.max(0.1, Math.min(8, clock.speed * pace));
    if (clock.playing && video.checkVisibility()) video.play().catch(() => undefined);
    else video.pause(); // autoplay may be forbidden
    follow();
  };
  for (const event of ["loadedmetadata", "seeked"]) video.addEventListener(event, follow);
  clock.addEventListener("time", follow);
  clock.addEventListener("state", state);
  return state;
}
