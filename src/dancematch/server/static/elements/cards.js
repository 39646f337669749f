/** A match as a card: which dance it is, where, how changed, and the verdict on it. */

import { ask, dancePath, recordingPath, withQuery } from "../service/api.js";
import { el, link } from "./dom.js";
import { nameMatch, plain, range, ratioCell, tempoOf } from "./say.js";
import { thumbnail } from "../drawing/stage.js";
import { poster } from "../drawing/videos.js";
import { verdictLine } from "./verdicts.js";

const THUMBNAIL_FPS = 15,
  LONGEST = 8;

/**
 * The address of a segment of a recording's motion, for a thumbnail; null where no skeletons are kept.
 * @param {any} recording @param {{start: number, end: number}} [span] @param {number} [dancer]
 */
const motionPath = (recording, span = undefined, dancer = 1) =>
  recording?.motion
    ? withQuery(`${recordingPath(recording.recording_id)}/motion`, {
        fps: THUMBNAIL_FPS,
        dancer: span ? dancer : null, // of a whole recording, the first who is seen at its beginning
        start: span && span.start.toFixed(2),
        end: (span ? Math.min(span.end, span.start + LONGEST) : LONGEST).toFixed(2),
      })
    : null;

/**
 * A recording to be seen: its picture, else its dancer.
 * @param {any} recording
 * @param {{span?: {start: number, end: number}, mirrored?: boolean, dancer?: number}} [how]
 */
export const recordingPicture = (recording, how = {}) =>
  recording?.poster
    ? poster(recording.recording_id)
    : thumbnail(async () => motionPath(recording, how.span, how.dancer), { mirrored: how.mirrored });

/** A dance to be seen: a picture of one of its recordings, else its dancer. @param {any} dance */
export function dancePicture(dance) {
  if (dance.poster) return poster(dance.poster);
  return thumbnail(async () => {
    if (!dance.motion) return null;
    const { recordings } = await ask(dancePath(dance.dance_id));
    return motionPath(recordings.find((recording) => recording.motion));
  });
}

/** What was changed, in short. @param {any} match @returns {string[]} */
export const changes = (match) => [match.mirrored ? "mirrored" : "", tempoOf(match)].filter(Boolean);

/** Where a match is compared. @param {any} answer @param {any} match */
const comparison = (answer, match) =>
  ["compare", answer.search_id, match.dance_id, match.dancer].map(encodeURIComponent).join("/");

/** @param {any} answer of the search @param {any} match @param {{dim?: boolean, dance?: any}} how */
export function matchCard(answer, match, how) {
  const recording = how.dance?.recordings.find((one) => one.recording_id === match.recording_id);
  return el(
    "article",
    { class: `match card ${how.dim ? "dim" : ""}` },
    recordingPicture(recording, {
      span: match.reference,
      mirrored: match.mirrored,
      dancer: match.reference_dancer,
    }),
    el(
      "div",
      { class: "match-text" },
      el(
        "h3",
        {},
        link(comparison(answer, match), { class: "whole" }, nameMatch(match)),
        how.dance?.labels.map((label) => el("span", { class: "tag", title: plain(label) }, plain(label))),
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
          el("dd", {}, range(match.reference), recording && track(match.reference, recording.seconds)),
        ),
      ),
      el(
        "p",
        { class: "chips" },
        changes(match).map((text) => el("span", { class: "chip" }, text)),
      ),
      otherRecordings(match),
    ),
    scoreBar(match.score),
  );
}

/** The other recordings of the dance that come near, to be unfolded. @param {any} match */
export function otherRecordings(match) {
  const rest = (match.recordings || []).filter((one) => one.recording_id !== match.recording_id);
  if (!rest.length) return null;
  const row = (one) => {
    const facts = [range(one.reference), ...changes({ ...one, verdict: match.verdict }), ratioCell(one.log_ratio)].filter(Boolean);
    return el("li", {}, el("b", {}, one.recording), ` ${facts.join(" · ")}`);
  };
  return el(
    "details",
    { class: "others above-link" },
    el("summary", {}, `Other recordings (${rest.length})`),
    el("ul", {}, rest.map(row)),
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
