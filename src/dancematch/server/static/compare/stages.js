/** The two stages of the comparison: the clip with its skeleton over it, the dance in space. */

import { ask } from "../service/api.js";
import { button, el } from "../elements/dom.js";
import { Figure } from "../drawing/figure.js";
import { bind, scrubber } from "../drawing/player.js";
import { drawOverVideo } from "../drawing/overlay.js";
import { clips } from "../service/searching.js";
import { stage } from "../drawing/stage.js";
import { keptVideo } from "../drawing/videos.js";

/** @typedef {import("../views/compare.js").Pair} Pair */

/** @param {Pair} pair */
export async function clipStage(pair) {
  const { answer, path, clock, clip, search_id } = pair,
    file = clips.get(search_id);
  const figure = new Figure(answer.filename || "your clip");
  figure.show(clip, path.span);
  clock.addEventListener("time", () => figure.at(clock.time));
  const film = file ? await overlaid(pair, file) : null;
  const bar = scrubber(clock, "Moment of your clip", {
    span: clock.whole,
    passage: path.span,
    from: (t) => t,
    to: (t) => t,
  });
  const made = frame("your clip", film && film.element, figure, bar);
  return { element: made.element, leave: () => film?.leave() };
}

/** @param {Pair} pair */
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
  const made = frame(
    name,
    video,
    figure,
    bar,
    dance ? "" : "Only the words of this dance are kept: there is no figure to show.",
  );
  if (video && dance) made.show("figure");
  return {
    element: made.element,
    mark: (bones) => {
      figure.marked = bones;
    },
    leave: () => video?.pause(),
  };
}

/**
 * A stage with a film, a figure or both to choose from.
 * @param {string} name @param {HTMLElement | null} film @param {Figure} figure @param {HTMLElement} bar
 * @param {string} [missing] what is said where there is no figure
 */
export function frame(name, film, figure, bar, missing = "") {
  const space = el(
    "div",
    { class: "space" },
    missing
      ? el("p", { class: "faint" }, missing)
      : [figure.canvas, figure.legend, el("p", { class: "turn-hint faint small" }, "drag to turn")],
  );
  const choices = {
    film: button("video", () => show("film"), { class: "tab" }),
    figure: button("figure", () => show("figure"), { class: "tab" }),
  };
  const show = (which) => {
    if (film) film.hidden = which !== "film";
    space.hidden = Boolean(film) && which !== "figure";
    for (const [key, choice] of Object.entries(choices))
      choice.setAttribute("aria-pressed", String(key === which));
    figure.stage.stale = true;
  };
  const element = el(
    "section",
    { class: "stage card", "aria-label": name },
    el(
      "div",
      { class: "stage-top" },
      el("h2", { class: "stage-name" }, name),
      film && !missing && el("div", { class: "tabs" }, choices.film, choices.figure),
    ),
    film,
    space,
    bar,
  );
  film?.addEventListener("error", () => {
    show("figure");
    choices.film.hidden = true;
  });
  show(film ? "film" : "figure");
  return { element, show };
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

/** The frame last seen at a time, by the video's own times, and what was not seen in it. */
function frameAt({ times, frames, unseen }, time) {
  let low = 0,
    high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time + 0.005) low = middle;
    else high = middle - 1;
  }
  return { frame: frames[low], unseen: unseen[low] };
}
