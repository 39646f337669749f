/** One segment to be watched: the video, or who dances in it, beside the dance that it was found to be. */

import { ask, dancePath, recordingPath, withQuery } from "../service/api.js";
import { Alignment } from "../compare/alignment.js";
import { frame, stagesOf } from "../compare/stages.js";
import { button, el, link } from "../elements/dom.js";
import { nameMatch, range } from "../elements/say.js";
import { Figure } from "../drawing/figure.js";
import { Clock, bind, controls, scrubber, soundButton } from "../drawing/player.js";
import { loadTracks } from "../drawing/stage.js";
import { keptVideo } from "../drawing/videos.js";

const LONGEST = 120, // seconds of a figure
  FPS = 15;

/** @typedef {import("./timeline.js").Segment} Segment */
/** @typedef {{element: HTMLElement, clock: Clock, leave: () => void}} Watched */

/**
 * @param {string} job_id @param {Segment} segment @param {File | undefined} file the video, if this tab has it
 * @param {(file: File) => void} take another one that is chosen
 * @returns {Promise<Watched>}
 */
export async function watch(job_id, segment, file, take) {
  const clock = new Clock(segment.span, segment.span);
  const [own, known] = await Promise.all([ownStage(job_id, segment, file, clock), knownStage(segment, clock)]);
  const stages = stagesOf(own, known, clock);
  const element = el(
    "section",
    { class: "watched", "aria-label": `Segment ${range(segment.span)}` },
    stages.element,
    el(
      "div",
      { class: "transport card" },
      el(
        "div",
        { class: "steering" },
        controls(clock, "the segment"),
        own.video && soundButton(own.video),
        stages.choice,
      ),
      !file && choice(take),
    ),
  );
  return {
    element,
    clock,
    leave: () => {
      clock.over = true;
      own.leave();
      known?.leave();
    },
  };
}

/** @param {(file: File) => void} take */
function choice(take) {
  const input = el("input", {
    type: "file",
    accept: "video/*",
    class: "unseen",
    "aria-label": "The video that was scanned",
    onchange: () => input.files[0] && take(input.files[0]),
  });
  return el(
    "p",
    { class: "faint small" },
    "The video was not kept. ",
    button("Choose it again", () => input.click(), { class: "quiet inline" }),
    " to see it here.",
    input,
  );
}

/**
 * @param {string} job_id @param {Segment} segment @param {File | undefined} file @param {Clock} clock
 * @returns {Promise<import("../compare/stages.js").Staged>}
 */
async function ownStage(job_id, segment, file, clock) {
  const { dancer, span } = segment,
    figure = new Figure(`Dancer ${dancer}`);
  const path = withQuery(`scans/${job_id}/motion`, {
    dancer,
    start: span.start.toFixed(2),
    end: Math.min(span.end, span.start + LONGEST).toFixed(2),
    fps: FPS,
  });
  const track = await loadTracks(path).then(
    (tracks) => tracks.get(dancer),
    () => null, // not kept any more, or the scan still runs
  );
  if (track) figure.show(track);
  clock.addEventListener("time", () => figure.at(clock.time));
  const url = file && URL.createObjectURL(file);
  const video = url
    ? el("video", { src: url, muted: true, playsInline: true, preload: "auto", "aria-label": "The scanned video" })
    : null;
  if (video) bind(video, clock);
  const bar = scrubber(clock, "Moment of the video", { span, passage: span, from: (t) => t, to: (t) => t });
  const film = video && el("div", { class: "film-stage" }, video);
  const element = frame(`Dancer ${dancer}, ${range(span)}`, film, figure, bar, track ? "" : "There is no figure to show.");
  return {
    element,
    figure: track ? figure : null,
    video,
    leave: () => {
      video?.pause();
      if (url) URL.revokeObjectURL(url);
    },
  };
}

/**
 * The dance that a segment shows, moving with it; null where none is known.
 * @param {Segment} segment @param {Clock} clock @returns {Promise<import("../compare/stages.js").Staged | null>}
 */
async function knownStage({ match }, clock) {
  if (!match) return null;
  const name = nameMatch(match),
    { recording_id, reference_dancer: number, reference, query } = match;
  const dance = await ask(dancePath(match.dance_id)).catch(() => null), // it may be gone by now
    recording = dance?.recordings.find((one) => one.recording_id === recording_id);
  const track = recording?.motion
    ? (await loadTracks(`${recordingPath(recording_id)}/motion?dancer=${number}`)).get(number)
    : null;
  const path = new Alignment([query.start, query.end], [reference.start, reference.end]),
    figure = new Figure(name);
  figure.mirrored = match.mirrored;
  if (track) figure.show(track, reference);
  clock.addEventListener("time", () => figure.at(path.toReference(clock.time)));
  const video = keptVideo(recording, name);
  if (video) {
    video.classList.toggle("mirrored", match.mirrored);
    bind(video, clock, (seconds) => path.toReference(seconds), path.pace);
  }
  const more = dance && el("p", { class: "small" }, link(`dance/${encodeURIComponent(match.dance_id)}`, {}, "about this dance"));
  const missing = track ? "" : "Nothing of this dance is kept that could be shown.";
  const element = frame(name, video && el("div", { class: "film-stage" }, video), figure, more || "", missing);
  return { element, figure: track ? figure : null, video, leave: () => video?.pause() };
}
