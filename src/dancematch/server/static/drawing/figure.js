/** A dancer in space on a canvas, turned by dragging or with the arrow keys. */

import { el } from "../elements/dom.js";
import { FADED_LEGEND } from "./faded.js";
import { drawTrack, fitTrack } from "./skeleton.js";
import { stage } from "./stage.js";

const STEP = Math.PI / 24,
  HIGHEST = 1.4;

export class Figure {
  /** @param {string} name what it shows, for those who do not see it */
  constructor(name) {
    /** @type {import("./skeleton.js").Track | null} */
    this.track = null;
    this.time = 0;
    this.mirrored = false;
    /** @type {string[][]} bones to point at, each by its two joints */
    this.marked = [];
    /** @type {Figure | null} a figure to be drawn behind this one, at the same stature */
    this.second = null;
    this.facing = 0;
    this.turn = -0.35;
    this.tilt = 0.22;
    this.canvas = el("canvas", {
      class: "figure",
      tabIndex: 0,
      role: "img",
      "aria-label": `${name}: a figure in space. Drag it, or use the arrow keys, to turn it.`,
    });
    this.legend = el("p", { class: "figure-legend faint small", hidden: true }, FADED_LEGEND);
    this.stage = stage(this.canvas, (brush, size) => this.#draw(brush, size));
    this.#listen();
  }

  /**
   * @param {import("./skeleton.js").Track} track
   * @param {{start: number, end: number}} [span] that it faces us in
   */
  show(track, span = undefined) {
    this.track = track;
    this.legend.hidden = !track.guesses;
    this.facing = span ? track.headingWithin(span.start, span.end) : track.heading;
    this.time = span ? span.start : track.start;
    this.stage.stale = true;
  }

  /** @param {number} time */
  at(time) {
    this.time = time;
    this.stage.stale = true;
  }

  #draw(brush, size) {
    if (!this.track) return;
    const { second, turn, tilt } = this,
      fit = fitTrack(this.track, size);
    if (second?.track) {
      const taller = second.track.stature / this.track.stature;
      drawTrack(brush, second.track, second.time, {
        ...size,
        camera: { turn: second.facing + (second.mirrored === this.mirrored ? turn : -turn), tilt },
        mirrored: second.mirrored,
        second: true,
        fit: { ...fit, scale: fit.scale / taller },
      });
    }
    drawTrack(brush, this.track, this.time, {
      ...size,
      camera: { turn: this.facing + turn, tilt },
      mirrored: this.mirrored,
      floor: true,
      marked: this.marked,
    });
  }

  #by(turn, tilt) {
    this.turn += this.mirrored ? -turn : turn;
    this.tilt = Math.max(-0.2, Math.min(HIGHEST, this.tilt + tilt));
    this.stage.stale = true;
  }

  #listen() {
    let from = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      from = [event.clientX, event.clientY];
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      this.#by((event.clientX - from[0]) / 90, (event.clientY - from[1]) / 150);
      from = [event.clientX, event.clientY];
    });
    for (const end of ["pointerup", "pointercancel"])
      this.canvas.addEventListener(end, () => {
        from = null;
      });
    this.canvas.addEventListener("keydown", (event) => {
      const ways = {
        ArrowLeft: [-STEP, 0],
        ArrowRight: [STEP, 0],
        ArrowUp: [0, STEP],
        ArrowDown: [0, -STEP],
      };
      const way = ways[event.key];
      if (!way) return;
      event.preventDefault();
      event.stopPropagation();
      this.#by(way[0], way[1]);
    });
  }
}
