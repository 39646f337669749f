/** The two stages of the comparison: the clip with its skeleton over it, the dance in space, or both in one picture. */

import { ask } from "../service/api.js";
import { el } from "../elements/dom.js";
import { Figure } from "../drawing/figure.js";
import { bind, scrubber } from "../drawing/player.js";
import { drawOverVideo } from "../drawing/overlay.js";
import { clips } from "../service/searching.js";
import { stage } from "../drawing/stage.js";
import { keptVideo } from "../drawing/videos.js";

/** @typedef {import("./pair.js").Pair} Pair */
/**
 * What is watched of one dancer.
 * @typedef {{element: HTMLElement, figure: Figure | null, video: HTMLVideoElement | null, leave: () => void}} Staged
 */

const FIGURE_ASPECT = 0.8, // width over height of the place for a figure
  GAP_SECONDS = 0.25; // between two looks, in which a dancer is taken to have moved straight on

/** @param {Pair} pair @returns {Promise<Staged>} */
export async function clipStage(pair) {
  const { answer, path, clock, clip, search_id } = pair,
    file = clips.get(search_id);
  const figure = new Figure(answer.filename || "your clip");
  figure.show(clip, path.span);
  clock.addEventListener("time", () => figure.at(clock.time));
  const film = file?.type.startsWith("video/") ? await overlaid(pair, file) : null;
  const bar = scrubber(clock, "Moment of your clip", {
    span: clock.whole,
    passage: path.span,
    from: (t) => t,
    to: (t) => t,
  });
  const element = frame("your clip", film && film.element, figure, bar);
  return { element, figure, video: film && film.video, leave: () => film?.leave() };
}

/** @param {Pair} pair @returns {Staged} */
export function danceStage(pair) {
  const { name, known, why, path, clock, dance } = pair;
  const figure = new Figure(name);
  figure.mirrored = why.match.mirrored;
  if (dance) figure.show(dance, path.referenceSpan);
  clock.addEventListener("time", () => figure.at(path.toReference(clock.time)));
  const video = keptVideo(known, name);
  if (video) {
    video.classList.toggle("mirrored", why.match.mirrored);
    bind(video, clock, (time) => path.toReference(time), path.pace);
  }
  const span = dance ? { start: dance.start, end: dance.end } : why.matrix.reference;
  const bar = scrubber(clock, `Moment of ${name}`, {
    span,
    passage: path.referenceSpan,
    from: (t) => path.toReference(t),
    to: (t) => path.toQuery(t),
  });
  const missing = dance ? "" : "Only the words of this dance are kept: there is no figure to show.";
  const element = frame(name, video && el("div", { class: "film-stage" }, video), figure, bar, missing);
  return { element, figure: dance && figure, video, leave: () => video?.pause() };
}

/**
 * One dancer as film, as figure or both, each in its own aspect.
 * @param {string} name @param {HTMLElement | null} film that holds the video @param {Figure} figure
 * @param {HTMLElement | string} bar @param {string} [missing] what is said where there is no figure
 * @returns {HTMLElement}
 */
export function frame(name, film, figure, bar, missing = "") {
  const space = el(
    "div",
    { class: "space" },
    missing
      ? el("p", { class: "faint" }, missing)
      : [figure.canvas, figure.legend, el("p", { class: "turn-hint faint small" }, "drag to turn")],
  );
  const element = el(
    "section",
    { class: film ? "stage filmed" : "stage", "aria-label": name },
    el("h2", { class: "stage-name" }, name),
    el("div", { class: "screens" }, film, space),
    bar,
  );
  element.style.setProperty("--space", String(FIGURE_ASPECT));
  const video = film?.querySelector("video");
  if (!video) return element;
  const fit = () => {
    if (video.videoWidth) element.style.setProperty("--film", String(video.videoWidth / video.videoHeight));
    figure.stage.stale = true;
  };
  video.addEventListener("loadedmetadata", fit);
  fit(); // it may have been there before
  video.addEventListener("error", () => {
    film.remove();
    element.classList.remove("filmed");
  });
  return element;
}

/** @typedef {"film" | "figure" | "overlay"} Mode */
/** @type {Record<Mode, string>} */
const MODES = { film: "Video", figure: "Figures", overlay: "Overlay" };

/**
 * The stages side by side, and the choice of what is shown of them.
 * @param {Staged} own @param {Staged | null} other @param {import("../drawing/player.js").Clock} clock
 * @returns {{element: HTMLElement, choice: HTMLElement | null}}
 */
export function stagesOf(own, other, clock) {
  const element = el("div", { class: other ? "stages" : "stages single" }, own.element, other?.element),
    key = el(
      "p",
      { class: "overlay-key small" },
      "Your clip in orange and blue, ",
      el("span", { class: "second-text" }, "the dance in green"),
      " behind it, both at the same size.",
    );
  own.element.querySelector(".screens").after(key);
  const films = [own, other].some((one) => one?.video),
    both = Boolean(own.figure && other?.figure);
  const modes = /** @type {Mode[]} */ ([films && "film", "figure", both && "overlay"].filter(Boolean));
  const show = (/** @type {Mode} */ mode) => {
    element.dataset.mode = mode;
    if (own.figure) {
      own.figure.second = mode === "overlay" ? other.figure : null;
      own.figure.stage.stale = true;
    }
    for (const tab of choice.children) tab.setAttribute("aria-pressed", String(tab.dataset.mode === mode));
    clock.set({}); // a video that comes into view plays along
  };
  const tab = (/** @type {Mode} */ mode) =>
    el("button", { type: "button", class: "tab", "data-mode": mode, onclick: () => show(mode) }, MODES[mode]);
  const choice = el("div", { class: "tabs", role: "group", "aria-label": "What is shown" }, modes.map(tab));
  show(modes[0]);
  return { element, choice: modes.length > 1 ? choice : null };
}

/** The clip's video with where the estimator saw the dancer. @param {Pair} pair @param {File} file */
async function overlaid({ search_id, answer, why, clock }, file) {
  const url = URL.createObjectURL(file);
  const video = el("video", {
    src: url,
    muted: true,
    playsInline: true,
    preload: "auto",
    "aria-label": "Your clip",
  });
  const canvas = el("canvas", { class: "overlay", "aria-hidden": "true" });
  const picture = answer.picture ? await ask(`searches/${search_id}/picture`) : null;
  const dancer = picture?.dancers.find((one) => one.dancer === why.match.dancer);
  bind(video, clock);
  const own = stage(
    canvas,
    (brush, size) => {
      if (dancer && video.videoWidth)
        drawOverVideo(brush, frameAt(dancer, video.currentTime), picture.skeleton, fitted(video, size));
    },
    () => clock.playing,
  );
  for (const event of ["seeked", "loadeddata", "timeupdate"])
    video.addEventListener(event, () => {
      own.stale = true;
    });
  return {
    element: el("div", { class: "film-stage" }, video, canvas),
    video,
    leave: () => {
      video.pause();
      URL.revokeObjectURL(url);
    },
  };
}

/** Where a video that is fitted into its box really is. */
function fitted(video, { width, height }) {
  const scale = Math.min(width / video.videoWidth, height / video.videoHeight);
  const w = video.videoWidth * scale,
    h = video.videoHeight * scale;
  return { x: (width - w) / 2, y: (height - h) / 2, width: w, height: h };
}

/**
 * Where the joints are at a time, by the video's own times, and which were not seen: between two frames that were
 * looked at straight on, in a longer gap as they were last seen.
 */
function frameAt({ times, frames, unseen }, time) {
  let low = 0,
    high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time + 0.005) low = middle;
    else high = middle - 1;
  }
  const gap = times[low + 1] - times[low];
  if (!(gap <= GAP_SECONDS)) return { frame: frames[low], unseen: unseen[low] }; // nor after the last
  const share = Math.max(0, Math.min(1, (time - times[low]) / gap)),
    next = frames[low + 1];
  const frame = frames[low].map((at, i) => (at === null || next[i] === null ? at : at + share * (next[i] - at)));
  return { frame, unseen: unseen[low] };
}
