/** A match as a card: who it is, where, how changed, how sure. */

import { dancePath, withQuery } from "./api.js";
import { el, link } from "./dom.js";
import { plain, range, sureness, tempo } from "./say.js";
import { thumbnail } from "./stage.js";

const THUMBNAIL_FPS = 15,
  LONGEST = 8;

/**
 * The motion of a stretch of a dance, for a thumbnail; null where no skeletons are kept.
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

/** What was changed, in short. @param {any} match @param {number} dancers of the clip @returns {string[]} */
export const changes = (match, dancers) =>
  [
    match.mirrored ? "mirrored" : "",
    tempo(match.tempo),
    dancers > 1 ? `dancer ${match.dancer} of ${dancers}` : "",
  ].filter(Boolean);

/**
 * @param {any} answer of the search @param {any} match
 * @param {{first?: boolean, dim?: boolean, dance?: any}} how
 */
export function matchCard(answer, match, how) {
  const sure = sureness(match.evalue, answer.max_evalue);
  const to = `compare/${answer.search_id}/${encodeURIComponent(match.dance_id)}`;
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
        link(to, { class: "whole" }, match.dance_id),
        how.dance?.label && el("span", { class: "tag" }, plain(how.dance.label)),
      ),
      el("p", { class: `sure ${sure.level}` }, el("b", {}, sure.word), " ", el("span", {}, sure.sentence)),
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
        changes(match, answer.dancers.length).map((text) => el("span", { class: "chip" }, text)),
      ),
      how.first && el("span", { class: "why", "aria-hidden": "true" }, "See both side by side ›"),
    ),
    scoreBar(match.score),
  );
}

const clipEnd = (answer, match) => {
  const dancer = answer.dancers.find((one) => one.dancer === match.dancer);
  return dancer ? dancer.start + dancer.seconds : match.query.end;
};

/**
 * Where in the whole a stretch lies.
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
