/** One dance: the dancer in space, the video if it was kept, the words. */

import { ask, dancePath, mayWrite } from "../service/api.js";
import { Lanes, wordColour } from "../drawing/charts.js";
import { button, el, link } from "../elements/dom.js";
import { Figure } from "../drawing/figure.js";
import { Clock, bind, controls, scrubber } from "../drawing/player.js";
import { counted, length, plain } from "../elements/say.js";
import { loadTracks } from "../drawing/stage.js";
import { remove } from "./dances.js";
import { keptVideo } from "../drawing/videos.js";

/** @param {HTMLElement} root @param {string[]} parts */
export async function show(root, [dance_id]) {
  const path = dancePath(dance_id),
    dance = await ask(path);
  root.append(
    link("dances", { class: "back" }, "‹ all dances"),
    el(
      "div",
      { class: "bar" },
      el("h1", {}, dance_id),
      mayWrite() &&
        button(
          "Remove",
          () =>
            remove(dance_id, () => {
              location.hash = "#/dances";
            }),
          { class: "quiet danger" },
          "bin",
        ),
    ),
    facts(dance),
  );
  if (!dance.motion) {
    root.append(
      el(
        "p",
        { class: "card" },
        "Only the words of this dance are kept, no skeletons: it is recognised, but cannot be shown.",
      ),
    );
    return {};
  }
  const tracks = await loadTracks(`${path}/motion`);
  const numbers = [...tracks.keys()];
  const figure = new Figure(dance_id),
    whole = { start: tracks.get(numbers[0]).start, end: tracks.get(numbers[0]).end };
  const clock = new Clock(whole, whole);
  clock.addEventListener("time", () => figure.at(clock.time));
  const words = el("section", { class: "panel card" });
  const choose = async (number) => {
    figure.show(tracks.get(number));
    lanes?.leave();
    lanes = await wordLanes(words, path, number, clock);
  };
  let lanes = null;
  const video = keptVideo(dance, dance_id);
  if (video) bind(video, clock);
  video?.addEventListener("error", () => video.parentElement?.remove());
  root.append(
    el(
      "div",
      { class: video ? "stages" : "stages single" },
      el(
        "section",
        { class: "stage card" },
        figure.canvas,
        el("p", { class: "turn-hint faint small" }, "drag to turn"),
      ),
      video && el("section", { class: "stage card" }, video),
    ),
    el(
      "div",
      { class: "transport card" },
      controls(clock),
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
    ),
    words,
  );
  await choose(numbers[0]);
  return {
    keys: (event) => (event.key === "Escape" ? ((location.hash = "#/dances"), true) : clock.key(event)),
    leave: () => {
      clock.over = true;
      lanes?.leave();
      video?.pause();
    },
  };
}

/** @param {any} dance */
function facts(dance) {
  const repeats = dance.period_seconds ? `repeats itself every ${dance.period_seconds.toFixed(1)} s` : "";
  const parts = [
    length(dance.seconds),
    counted(dance.dancers, "dancer"),
    dance.label && `label ${plain(dance.label)}`,
    dance.collection && `collection ${dance.collection}`,
    repeats,
    dance.source !== dance.dance_id && `from ${dance.source}`,
    `added ${new Date(dance.added).toLocaleDateString("en-GB", { dateStyle: "medium" })}`,
  ];
  return el("p", { class: "faint facts" }, parts.filter(Boolean).join(" · "));
}

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
