/** A match as a card: which dance it is, where, how changed, and the verdict on it. */

import { dancePath, withQuery } from "../service/api.js";
import { el, link } from "./dom.js";
import { plain, range, tempo } from "./say.js";
import { thumbnail } from "../drawing/stage.js";
import { verdictLine } from "./verdicts.js";

const THUMBNAIL_FPS = 15,
  LONGEST = 8;

/**
 * The address of a segment of a dance's motion, for a thumbnail; null where no skeletons are kept.
 * @param {any} dance @param {{start: number, end: number}} [span]
 */
export const motionPath = (dance, span = undefined) =>
  dance?.motion
    ? withQuery(`${dancePath(dance.dance_id)}/motion`, {
        fps: THUMBNAIL_FPS,
        dancer: 1,
        start: span && span.start.toFixed(2),
        end: (span ? Math.min(span.end, span.start + LONGEST) : LONGEST).toFixed(2),
      })
    : null;

/** What was changed, in short. @param {any} match @returns {string[]} */
export const changes = (match) => [match.mirrored ? "mirrored" : "", tempo(match.tempo)].filter(Boolean);

/** Where a match is compared. @param {any} answer @param {any} match */
const comparison = (answer, match) =>
  ["compare", answer.search_id, match.dance_id, match.dancer].map(encodeURIComponent).join("/");

/**
 * @param {any} answer of the search @param {any} match
 * @param {{first?: boolean, dim?: boolean, dance?: any}} how
 */
export function matchCard(answer, match, how) {
  return el(
    "article",
    { class: `match card ${how.first ? "first" : ""} ${how.dim ? "dim" : ""}` },
    thumbnail(motionPath(how.dance, match.reference), { mirrored: match.mirrored }),
    el(
      "div",
      { class: "match-text" },
      el(
        "h3",
        {},
        link(comparison(answer, match), { class: "whole" }, match.dance_id),
        how.dance?.label && el("span", { class: "tag" }, plain(how.dance.label)),
      ),
      verdictLine(match),
      el(
        "dl",
        { class: "spans" },
        el(
          "div",
          {},
          el("dt", {}, "in your clip"),
          el("dd", {}, range(match.query), track(match.query, clipEnd(answer, match))),
        ),
        el(
          "div",
          {},
          el("dt", {}, "in the dance"),
          el("dd", {}, range(match.reference), how.dance && track(match.reference, how.dance.seconds)),
        ),
      ),
      el(
        "p",
        { class: "chips" },
        changes(match).map((text) => el("span", { class: "chip" }, text)),
      ),
      how.first && el("span", { class: "why", "aria-hidden": "true" }, "See both side by side ›"),
    ),
    scoreBar(match.score),
  );
}

const clipEnd = (answer, match) => {
  const dancer = answer.dancers.find((one) => one.dancer === match.dancer);
  return dancer ? dancer.span.end : match.query.end;
};

/**
 * Where in the whole a segment lies.
 * @param {{start: number, end: number}} span @param {number} whole seconds
 */
function track(span, whole) {
  const fill = el("i"),
    share = (seconds) => 100 * Math.min(1, seconds / Math.max(whole, 0.1));
  fill.style.left = `${share(span.start)}%`;
  fill.style.width = `${Math.max(2, share(span.end) - share(span.start))}%`;
  return el("span", { class: "track", "aria-hidden": "true" }, fill);
}

/** @param {number} score */
export function scoreBar(score) {
  const fill = el("i");
  const share = `${Math.max(2, 100 * Math.min(1, score))}%`;
  fill.style.height = share;
  fill.style.setProperty("--share", share);
  return el(
    "p",
    { class: "score", title: "1 would be the very same words in the very same order" },
    el("span", { class: "score-bar", "aria-hidden": "true" }, fill),
    el("span", { class: "score-number" }, score.toFixed(2)),
    el("span", { class: "faint" }, "score"),
  );
}
