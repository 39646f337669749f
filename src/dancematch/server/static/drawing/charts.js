/** Pictures of an alignment over time; each can be clicked to go there. */

import { el } from "../elements/dom.js";
import { colours } from "./skeleton.js";
import { stage } from "./stage.js";
import { time as formatTime } from "../elements/say.js";

const ROW = 6; // pixels of a row; one lies between two

/** @param {string} hex such as #aabbcc */
const parsed = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** From nothing to much, in the theme's colours. @returns {(share: number) => number[]} */
export function ramp() {
  const paint = colours(),
    stops = ["ramp-0", "ramp-1", "ramp-2"].map((name) => parsed(paint(name)));
  return (share) => {
    const place = Math.max(0, Math.min(1, share)) * 2,
      i = Math.min(1, Math.floor(place));
    return stops[i].map((value, c) => Math.round(value + (stops[i + 1][c] - value) * (place - i)));
  };
}

/** A word's colour: neighbours in number far apart in hue. @param {number} word */
export const wordColour = (word) =>
  `oklch(${0.6 + (word % 4) * 0.06} ${0.1 + (word % 3) * 0.025} ${((word * 137.508) % 360).toFixed(0)})`;

/** Rows over the clip's time, with one cursor through all of them. */
export class Lanes {
  /**
   * @param {{start: number, end: number}} span @param {(time: number) => void} seek
   * @param {number} [step] seconds per cell
   */
  constructor(span, seek, step = 1 / 15) {
    this.span = span;
    this.cells = Math.max(2, Math.min(1200, Math.round((span.end - span.start) / step)));
    this.element = el("div", { class: "lanes" });
    /** @type {(() => void)[]} */
    this.painters = [];
    const place = (event) => {
      const lane = event.target.closest?.(".lane");
      if (!lane) return null;
      const box = lane.getBoundingClientRect();
      return (
        span.start +
        Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * (span.end - span.start)
      );
    };
    let held = false;
    this.element.addEventListener("pointerdown", (event) => {
      const at = place(event);
      if (at !== null) {
        held = true;
        seek(at);
      }
    });
    this.element.addEventListener("pointermove", (event) => {
      const at = held && event.buttons ? place(event) : null;
      if (at) seek(at);
    });
    addEventListener("themechange", (this.repaint = () => this.painters.forEach((paint) => paint())));
  }

  leave() {
    removeEventListener("themechange", this.repaint);
  }

  /** @param {number} cell */
  timeOf(cell) {
    return this.span.start + ((cell + 0.5) / this.cells) * (this.span.end - this.span.start);
  }

  /**
   * A row; `rows` functions give a cell's colour, or null for nothing.
   * @param {string} name @param {((time: number) => string | null)[]} rows @param {string} [kind]
   */
  add(name, rows, kind = "") {
    const canvas = el("canvas", {
      width: this.cells,
      height: rows.length * (ROW + 1) - 1,
      "aria-hidden": "true",
    });
    const paint = () => {
      const brush = canvas.getContext("2d");
      brush.clearRect(0, 0, canvas.width, canvas.height);
      rows.forEach((colour, row) => {
        for (let cell = 0; cell < this.cells; cell++) {
          const fill = colour(this.timeOf(cell));
          if (fill) {
            brush.fillStyle = fill;
            brush.fillRect(cell, row * (ROW + 1), 1, ROW);
          }
        }
      });
    };
    paint();
    this.painters.push(paint);
    this.element.append(
      el("span", { class: "lane-name" }, name),
      el("div", { class: `lane ${kind}` }, canvas),
    );
  }

  /** The times below. */
  axis() {
    const { start, end } = this.span,
      ticks = el("div", { class: "ticks", "aria-hidden": "true" });
    const step = [0.5, 1, 2, 5, 10, 20, 30, 60, 120].find((one) => (end - start) / one <= 8) || 300;
    for (let at = Math.ceil(start / step) * step; at <= end + 1e-6; at += step) {
      const tick = el("span", {}, formatTime(at, step < 1 ? 1 : 0));
      const share = (at - start) / (end - start);
      tick.style.left = `${100 * share}%`;
      if (share > 0.96) tick.className = "last";
      ticks.append(tick);
    }
    this.element.append(el("span"), ticks);
  }

  /** @param {number} time */
  at(time) {
    const share = (time - this.span.start) / (this.span.end - this.span.start);
    this.element.style.setProperty("--at", `${Math.max(0, Math.min(100, 100 * share))}%`);
  }
}

/**
 * How much each segment of the clip and of the dance agree, with the path through it.
 * @param {any} matrix @param {import("../compare/alignment.js").Alignment} path @param {(time: number) => void} seek
 */
export function matrixChart(matrix, path, seek) {
  const rows = matrix.values.length,
    columns = matrix.values[0].length;
  const seconds = (span) => span.end - span.start;
  let now = 0,
    image = null,
    theme = "";
  const canvas = el("canvas", {
    class: "matrix",
    role: "img",
    "aria-label":
      "Alignment: your clip downwards, the dance to the right. The line is the path; click to go there.",
  });
  canvas.style.aspectRatio = String(
    Math.max(1.15, Math.min(2.6, seconds(matrix.reference) / seconds(matrix.query))),
  );
  const place = (query, reference, { width, height }) => [
    ((reference - matrix.reference.start) / seconds(matrix.reference)) * width,
    ((query - matrix.query.start) / seconds(matrix.query)) * height,
  ];
  const own = stage(canvas, (brush, size) => {
    if (theme !== document.documentElement.dataset.theme) {
      theme = document.documentElement.dataset.theme;
      image = picture(matrix.values, rows, columns);
    }
    brush.imageSmoothingEnabled = columns > 100;
    brush.drawImage(image, 0, 0, size.width, size.height);
    const paint = colours();
    brush.lineWidth = 2.5;
    brush.lineJoin = brush.lineCap = "round";
    brush.strokeStyle = paint("path");
    brush.beginPath();
    path.query.forEach((query, i) => {
      const [x, y] = place(query, path.reference[i], size);
      brush.lineTo(x, y);
    });
    brush.stroke();
    const [x, y] = place(now, path.toReference(now), size);
    brush.lineWidth = 1;
    brush.strokeStyle = paint("ink");
    brush.globalAlpha = 0.5;
    brush.strokeRect(-1, y, size.width + 2, 0);
    brush.strokeRect(x, -1, 0, size.height + 2);
    brush.globalAlpha = 1;
    brush.fillStyle = paint("ink");
    brush.beginPath();
    brush.arc(x, y, 5, 0, 2 * Math.PI);
    brush.fill();
  });
  canvas.addEventListener("click", (event) => {
    const size = { width: canvas.clientWidth, height: canvas.clientHeight };
    const far = (i) => {
      const [x, y] = place(path.query[i], path.reference[i], size);
      return Math.hypot(x - event.offsetX, y - event.offsetY);
    };
    const best = path.query.reduce((least, _, i) => (far(i) < far(least) ? i : least), 0);
    // Far from the path the clip's own moment is meant.
    seek(
      far(best) < 40
        ? path.query[best]
        : matrix.query.start + (event.offsetY / size.height) * seconds(matrix.query),
    );
  });
  return {
    canvas,
    at: (time) => {
      now = time;
      own.stale = true;
    },
  };
}

function picture(values, rows, columns) {
  const image = el("canvas", { width: columns, height: rows }),
    brush = image.getContext("2d");
  const cells = brush.createImageData(columns, rows),
    shade = ramp();
  const known = values
    .flat()
    .filter((value) => value !== null && value > 0)
    .sort((a, b) => a - b);
  const most = known.length ? known[Math.floor(0.995 * (known.length - 1))] : 1;
  values.forEach((row, r) =>
    row.forEach((value, c) => {
      cells.data.set([...shade(Math.max(0, value ?? 0) / most), 255], 4 * (r * columns + c));
    }),
  );
  brush.putImageData(cells, 0, 0);
  return image;
}

/**
 * A bar from 0 to 1 with its meaning.
 * @param {string} name @param {string} meaning @param {number | null} value @param {string} [aside]
 */
export function bar(name, meaning, value, aside = "") {
  const fill = el("i");
  fill.style.width = `${100 * Math.max(0, Math.min(1, value ?? 0))}%`;
  return el(
    "li",
    { class: "bar-row" },
    el("span", { class: "bar-name" }, name, aside && el("span", { class: "faint" }, ` ${aside}`)),
    el("span", { class: "bar-value" }, value === null ? "not seen" : value.toFixed(2)),
    el("span", { class: "bar-track", "aria-hidden": "true" }, fill),
    meaning && el("span", { class: "bar-meaning faint" }, meaning),
  );
}
