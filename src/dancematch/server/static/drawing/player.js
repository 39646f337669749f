/** Players that go together: one clock, a bar to scrub each with, play, speed, loops and sound. */

import { button, el, icon } from "../elements/dom.js";
import { time as formatTime } from "../elements/say.js";

const SPEEDS = [0.25, 0.5, 0.75, 1, 1.5],
  DRIFT_SECONDS = 0.15,
  LEAST_LOOP_SECONDS = 0.3,
  FINE = 0.01;

/** @typedef {{start: number, end: number}} Span */

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
    /** @type {Span | null} from A to B, looped in place of the passage */
    this.section = null;
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

  /** What is played: from A to B, what matches, or all. @returns {Span} */
  get played() {
    return this.loop ? this.section || this.passage : this.whole;
  }

  /**
   * Loop from A to B; null for what matches again.
   * @param {Span | null} section
   */
  mark(section) {
    const least = section && { start: section.start, end: Math.max(section.end, section.start + LEAST_LOOP_SECONDS) };
    this.set({ section: least, loop: true });
    if (least && (this.time < least.start || this.time > least.end)) this.seek(least.start);
  }

  /** This moment is where the loop begins. */
  markStart() {
    const last = this.played.end;
    this.mark({ start: this.time, end: last > this.time + LEAST_LOOP_SECONDS ? last : this.whole.end });
  }

  /** This moment is where the loop ends. */
  markEnd() {
    const first = this.played.start;
    this.mark({ start: first < this.time - LEAST_LOOP_SECONDS ? first : this.whole.start, end: this.time });
  }

  #advance(seconds) {
    const { start, end } = this.played;
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

  /** @param {Partial<{playing: boolean, speed: number, loop: boolean, section: Span | null}>} values */
  set(values) {
    Object.assign(this, values);
    const { start, end } = this.played;
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
    else if (event.key === "a") this.markStart();
    else if (event.key === "b") this.markEnd();
    else if (event.key === "x" && this.section) this.mark(null);
    else return false;
    return true;
  }
}

/** Play, speed, loop, from A to B. @param {Clock} clock @param {string} [loops] what is looped */
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
  return el("div", { class: "controls" }, play, speed, loop, sectionButtons(clock));
}

/** Where the loop begins and ends, each set to the moment that is shown. @param {Clock} clock */
function sectionButtons(clock) {
  const mark = (letter, act, hint) =>
    el("button", { type: "button", class: "toggle mark", onclick: act, title: `${hint} (${letter})` }, letter);
  const from = mark("A", () => clock.markStart(), "Loop from this moment"),
    to = mark("B", () => clock.markEnd(), "Loop up to this moment"),
    clear = button("", () => clock.mark(null), { class: "quiet round", "aria-label": "Loop no section" }, "close");
  const draw = () => {
    const { section } = clock;
    for (const [one, letter, time] of [
      [from, "A", section?.start],
      [to, "B", section?.end],
    ]) {
      one.textContent = section ? `${letter} ${formatTime(time)}` : letter;
      one.setAttribute("aria-label", `${one.title}${section ? `, now ${formatTime(time)}` : ""}`);
      one.setAttribute("aria-pressed", String(Boolean(section)));
    }
    clear.hidden = !section;
  };
  clock.addEventListener("state", draw);
  draw();
  return el("div", { class: "marks", role: "group", "aria-label": "Loop from A to B" }, from, to, clear);
}

/** The sound of a video, off until it is asked for. @param {HTMLVideoElement} video */
export function soundButton(video) {
  const toggle = button("Sound", () => {
    video.muted = !video.muted;
    toggle.setAttribute("aria-pressed", String(!video.muted));
    toggle.querySelector(".icon").replaceWith(icon(video.muted ? "mute" : "sound"));
  }, { class: "toggle", "aria-pressed": "false" }, "mute");
  return toggle;
}

/**
 * A bar to scrub with, on whatever time `from` makes of the clock's, the passage marked on it.
 * @param {Clock} clock @param {string} name
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
    loop = el("i", { class: "section", hidden: true }),
    text = el("output", {});
  const share = (time) =>
    Math.max(0, Math.min(100, (100 * (time - span.start)) / Math.max(FINE, span.end - span.start)));
  const place = (one, { start, end }) => {
    one.style.left = `${share(start)}%`;
    one.style.width = `${share(end) - share(start)}%`;
  };
  place(mark, passage);
  const drawSection = () => {
    const { section } = clock;
    loop.hidden = !section;
    if (section) place(loop, { start: from(section.start), end: from(section.end) });
  };
  clock.addEventListener("state", drawSection);
  const draw = () => {
    const at = Math.max(span.start, Math.min(span.end, from(clock.time)));
    if (document.activeElement !== input || clock.playing || Math.abs(Number(input.value) - at) > 0.05)
      input.value = String(at);
    input.setAttribute("aria-valuetext", `${at.toFixed(1)} seconds`);
    text.textContent = `${formatTime(at)} / ${formatTime(span.end, 0)}`;
  };
  clock.addEventListener("time", draw);
  draw();
  return el("div", { class: "scrubber" }, el("div", { class: "scrub-track" }, mark, loop, input), text);
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
