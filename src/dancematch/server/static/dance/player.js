/** One recording: the dancer in space, the video if it was kept, the words. */

import { ask, recordingPath } from "../service/api.js";
import { Lanes, wordColour } from "../drawing/charts.js";
import { el, link } from "../elements/dom.js";
import { Figure } from "../drawing/figure.js";
import { frame, stagesOf } from "../compare/stages.js";
import { Clock, bind, controls, scrubber, soundButton } from "../drawing/player.js";
import { plain } from "../elements/say.js";
import { loadTracks } from "../drawing/stage.js";
import { keptVideo } from "../drawing/videos.js";

/**
 * `stage` is what is watched and steered, `words` what stands below.
 * @typedef {{stage: HTMLElement[], words: HTMLElement[], key: (event: KeyboardEvent) => boolean,
 *   time: () => number, leave: () => void}} Player
 */

/** @param {any} recording @returns {Promise<Player>} */
export async function recordingPlayer(recording) {
  if (!recording.motion) return wordsOnly();
  const path = recordingPath(recording.recording_id),
    tracks = await loadTracks(`${path}/motion`);
  const numbers = [...tracks.keys()],
    whole = { start: tracks.get(numbers[0]).start, end: tracks.get(numbers[0]).end };
  const figure = new Figure(recording.file),
    clock = new Clock(whole, whole);
  clock.addEventListener("time", () => figure.at(clock.time));
  const words = el("section", { class: "panel card" });
  let lanes = null;
  const choose = async (number) => {
    figure.show(tracks.get(number));
    lanes?.leave();
    lanes = await wordLanes(words, path, number, clock);
  };
  const video = keptVideo(recording, recording.file);
  if (video) bind(video, clock);
  const film = video && el("div", { class: "film-stage" }, video),
    element = frame(recording.file, film, figure, ""),
    stages = stagesOf({ element, figure, video, leave: () => undefined }, null, clock);
  await choose(numbers[0]);
  return {
    stage: [stages.element, transport(clock, whole, numbers, choose, [video && soundButton(video), stages.choice])],
    words: [words],
    key: (event) => clock.key(event),
    time: () => clock.time,
    leave: () => {
      clock.over = true;
      lanes?.leave();
      video?.pause();
    },
  };
}

/** @returns {Player} */
function wordsOnly() {
  const text = "Only the words of this recording are kept, no skeletons: it is recognised, but cannot be shown.";
  const stage = [el("p", { class: "card" }, text)];
  return { stage, words: [], key: () => false, time: () => 0, leave: () => undefined };
}

/**
 * @param {Clock} clock @param {any} whole @param {number[]} numbers @param {(number: number) => void} choose
 * @param {any[]} more controls
 */
const transport = (clock, whole, numbers, choose, more) =>
  el(
    "div",
    { class: "transport card" },
    el("div", { class: "steering" }, controls(clock), more),
    scrubber(clock, "Moment of the dance", {
      span: whole,
      passage: { start: 0, end: 0 },
      from: (t) => t,
      to: (t) => t,
    }),
    numbers.length > 1 &&
      el(
        "select",
        { "aria-label": "Dancer", onchange: (event) => choose(Number(event.target.value)) },
        numbers.map((number) => el("option", { value: number }, `dancer ${number}`)),
      ),
  );

/** @param {HTMLElement} place @param {string} path @param {number} number @param {Clock} clock */
async function wordLanes(place, path, number, clock) {
  const words = await ask(`${path}/words`);
  const own = words.dancers.find((one) => one.dancer === number) || words.dancers[0];
  const span = { start: own.start, end: own.start + own.words.length * own.seconds_per_word };
  const lanes = new Lanes(span, (time) => clock.seek(time), own.seconds_per_word);
  words.channels.forEach((name, channel) =>
    lanes.add(plain(name), [
      (time) => {
        const word = own.words[Math.floor((time - own.start) / own.seconds_per_word)]?.[channel];
        return word === null || word === undefined ? null : wordColour(word);
      },
    ]),
  );
  lanes.axis();
  clock.addEventListener("time", () => lanes.at(clock.time));
  lanes.at(clock.time);
  place.replaceChildren(
    el("h2", {}, "Motion words"),
    el(
      "p",
      { class: "faint" },
      "What each part of the body does in each moment, one colour per word. ",
      link("words", {}, "See what the words look like"),
      ".",
    ),
    lanes.element,
  );
  return lanes;
}
