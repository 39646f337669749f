/** Moving canvases: sharp at any size, drawn only while visible, still where reduced motion is preferred. */

import { ask } from "../service/api.js";
import { el } from "../elements/dom.js";
import { colours, drawTrack, readTracks } from "./skeleton.js";

const reduced = matchMedia("(prefers-reduced-motion: reduce)");
export const likesStillness = () => reduced.matches;

/**
 * @typedef {{width: number, height: number}} Size
 * @typedef {(brush: CanvasRenderingContext2D, size: Size, now: number) => void} Draw
 * @typedef {{canvas: HTMLCanvasElement, draw: Draw, moving: () => boolean, stale: boolean}} Stage
 */

/** @type {Map<Element, Stage>} */
const stages = new Map();
/** @type {Set<Stage>} */
const visible = new Set();

const watch = new IntersectionObserver(
  (entries) =>
    entries.forEach(({ target, isIntersecting }) => {
      const stage = stages.get(target);
      if (!stage) return;
      if (isIntersecting) {
        visible.add(stage);
        stage.stale = true;
        target.dispatchEvent(new Event("shown"));
      } else visible.delete(stage);
    }),
  { rootMargin: "200px" },
);
const sizes = new ResizeObserver((entries) =>
  entries.forEach(({ target }) => {
    const stage = stages.get(target);
    if (stage) stage.stale = true;
  }),
);
addEventListener("themechange", () =>
  stages.forEach((stage) => {
    stage.stale = true;
  }),
);
reduced.addEventListener("change", () =>
  stages.forEach((stage) => {
    stage.stale = true;
  }),
);

/**
 * Draw on a canvas whenever it is seen and either moves or was marked as stale.
 * @param {HTMLCanvasElement} canvas @param {Draw} draw @param {() => boolean} [moving]
 * @returns {Stage}
 */
export function stage(canvas, draw, moving = () => false) {
  const made = { canvas, draw, moving, stale: true };
  stages.set(canvas, made);
  watch.observe(canvas);
  sizes.observe(canvas);
  return made;
}

/** Let go of the canvases that are no longer in the document. */
export function sweep() {
  for (const [canvas, one] of stages) {
    if (canvas.isConnected) continue;
    watch.unobserve(canvas);
    sizes.unobserve(canvas);
    stages.delete(canvas);
    visible.delete(one);
  }
}

function paint(one, now) {
  const { canvas } = one,
    width = canvas.clientWidth,
    height = canvas.clientHeight;
  if (!width || !height) return;
  const density = Math.min(devicePixelRatio || 1, 2),
    w = Math.round(width * density),
    h = Math.round(height * density);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const brush = canvas.getContext("2d");
  brush.setTransform(density, 0, 0, density, 0, 0);
  brush.clearRect(0, 0, width, height);
  one.draw(brush, { width, height }, now);
}

function tick(now) {
  for (const one of visible) {
    if (!one.stale && !one.moving()) continue;
    one.stale = false;
    paint(one, now / 1000);
  }
  requestAnimationFrame(tick);
}
requestAnimationFrame(tick);

// ---- thumbnails

const KEPT = 300;
/** @type {Map<string, Promise<any>>} */
const motions = new Map();

/**
 * The dancers at an address, asked for once.
 * @param {string} path @returns {Promise<Map<number, import("./skeleton.js").Track>>}
 */
export function loadTracks(path) {
  if (!motions.has(path)) {
    if (motions.size >= KEPT) motions.delete(motions.keys().next().value);
    const coming = ask(path).then(readTracks);
    coming.catch(() => motions.delete(path));
    motions.set(path, coming);
  }
  return motions.get(path);
}

/** Dances came or went: a name may mean another one now. */
export const forgetMotions = () => motions.clear();

function sayMissing(brush, { width, height }) {
  brush.fillStyle = colours()("faint");
  brush.font = "14px system-ui, sans-serif";
  brush.textAlign = "center";
  brush.fillText("no skeletons", width / 2, height / 2);
}

/**
 * A small dancer going round in a loop; asked for when it comes into view, a still where motion is unwelcome.
 * @param {() => Promise<string | null>} find the path of the motion, if there is one
 * @param {{mirrored?: boolean}} [how]
 */
export function thumbnail(find, how = {}) {
  const canvas = el("canvas", { class: "thumbnail", "aria-hidden": "true" });
  let track = null,
    missing = false;
  const own = stage(
    canvas,
    (brush, size, now) => {
      if (!track) {
        if (missing) sayMissing(brush, size);
        return;
      }
      const time = track.start + (likesStillness() ? track.seconds / 2 : now % track.seconds);
      drawTrack(brush, track, time, {
        ...size,
        camera: { turn: track.heading, tilt: 0.16 },
        mirrored: how.mirrored,
      });
    },
    () => track !== null && !likesStillness(),
  );
  canvas.addEventListener(
    "shown",
    async () => {
      try {
        const path = await find();
        track = (path && [...(await loadTracks(path)).values()][0]) || null;
      } catch {
        track = null; // the card itself says the rest
      }
      missing = !track;
      own.stale = true;
    },
    { once: true },
  );
  return canvas;
}
