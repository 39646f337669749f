/** The details of the comparison: agreement, words, matrix, score, places. */

import { ask, recordingPath } from "../service/api.js";
import { Lanes, bar, matrixChart, ramp, wordColour } from "../drawing/charts.js";
import { button, el } from "../elements/dom.js";
import { metric, plain, range, time as formatTime } from "../elements/say.js";

/** @typedef {import("./pair.js").Pair} Pair */
/** @typedef {{element: HTMLElement, at?: (time: number) => void, leave?: () => void}} Panel */

const MAIN = ["body", "torso", "left_arm", "right_arm", "left_leg", "right_leg"]; // the body parts to show at first

/** The parts to show at first, and the rest. @param {string[]} channels */
export function sorted(channels) {
  const main = MAIN.filter((name) => channels.includes(name));
  return main.length > 2 ? [main, channels.filter((name) => !main.includes(name))] : [channels, []];
}

/** @param {string} title @param {string} hint @param {...any} content */
const panel = (title, hint, ...content) =>
  el(
    "section",
    { class: "panel card" },
    el("h2", {}, title),
    hint && el("p", { class: "faint" }, hint),
    ...content,
  );

/**
 * Two sets of rows, the second shown when asked for.
 * @param {Lanes} lanes @param {string[]} channels @param {(name: string, kind: string) => void} add
 */
function rows(lanes, channels, add) {
  const [main, rest] = sorted(channels);
  main.forEach((name) => add(name, ""));
  rest.forEach((name) => add(name, "rest"));
  lanes.axis();
  if (!rest.length) return null;
  const more = button(
    `All ${channels.length} groups of joints`,
    () => {
      const open = lanes.element.classList.toggle("open");
      more.setAttribute("aria-expanded", String(open));
      more.textContent = open ? "Fewer" : `All ${channels.length} groups of joints`;
    },
    { class: "quiet", "aria-expanded": "false" },
  );
  return more;
}

/** @param {Pair} pair @returns {Promise<Panel>} */
export async function agreementPanel({ why, path, clock }) {
  const { agreement } = why.path,
    lanes = new Lanes(clock.whole, (time) => clock.seek(time));
  const more = rows(lanes, Object.keys(agreement), (name, kind) =>
    lanes.add(
      plain(name),
      [
        (time) => {
          const value = path.holds(time) ? (agreement[name][path.indexAt(time)] ?? null) : null;
          return value === null ? null : `rgb(${ramp()(value).join()})`;
        },
      ],
      kind,
    ),
  );
  const scale = el("span", { class: "scale", "aria-hidden": "true" });
  const key = el("p", { class: "key faint small" }, "no more than chance", scale, "the same");
  return {
    element: panel(
      "Where they agree",
      `By body part${why.match.mirrored ? " of the dance" : ""}, over the time of your clip. Click to go there.`,
      lanes.element,
      el("div", { class: "panel-foot" }, more, key),
    ),
    at: (time) => lanes.at(time),
    leave: () => lanes.leave(),
  };
}

/** @param {Pair} pair @returns {Promise<Panel>} */
export async function wordsPanel({ why, path, clock, search_id }) {
  const [own, theirs] = await Promise.all([
    ask(`searches/${search_id}/words?mirrored=${why.match.mirrored}`),
    ask(`${recordingPath(why.match.recording_id)}/words`),
  ]);
  const clip = own.dancers.find((one) => one.dancer === why.match.dancer),
    dance = theirs.dancers.find((one) => one.dancer === why.match.reference_dancer);
  const lanes = new Lanes(clock.whole, (time) => clock.seek(time), clip.seconds_per_word / 2);
  const wordAt = (track, channel, time) =>
    track.words[Math.floor((time - track.start) / track.seconds_per_word + 1e-6)]?.[channel];
  const isWord = (word) => word !== null && word !== undefined;
  const colour = (word, other) =>
    !isWord(word) ? null : word === other ? wordColour(word) : "rgb(128 120 140 / .28)";
  const more = rows(lanes, own.channels, (name, kind) => {
    const channel = own.channels.indexOf(name);
    const asked = (time) => wordAt(clip, channel, time);
    const found = (time) => (path.holds(time) ? wordAt(dance, channel, path.toReference(time)) : null);
    lanes.add(
      plain(name),
      [(time) => colour(asked(time), found(time)), (time) => colour(found(time), asked(time))],
      `double ${kind}`,
    );
  });
  const hint =
    "Upper line your clip, lower line the dance at the same moment. Coloured where both do the very same, " +
    "one colour per word; grey where the words differ, if only a little.";
  return {
    element: panel("Motion words", hint, lanes.element, el("div", { class: "panel-foot" }, more)),
    at: (time) => lanes.at(time),
    leave: () => lanes.leave(),
  };
}

/** @param {Pair} pair @returns {Panel} */
export function matrixPanel({ why, path, clock, name }) {
  const chart = matrixChart(why.matrix, path, (time) => clock.seek(time));
  const element = panel(
    "Alignment",
    "Every moment of your clip against every moment of the dance; the line is the way through both. " +
      "Click on it to go there.",
    el(
      "div",
      { class: "matrix-frame" },
      el("span", { class: "axis-y faint small" }, "your clip"),
      chart.canvas,
      el("span"),
      el("span", { class: "axis-x faint small" }, name),
    ),
  );
  return { element, at: chart.at };
}

/** @param {Pair} pair @returns {Panel} */
export function barsPanel({ why }) {
  const all = Object.entries(why.metrics),
    row = ([name, { overall, weight }]) => {
      const [title, meaning] = metric(name);
      return bar(title, meaning, overall, weight ? `counts ${Math.round(100 * weight)} %` : "");
    };
  const counts = all.filter(([, one]) => one.weight > 0).sort((a, b) => b[1].weight - a[1].weight),
    rest = all.filter(([, one]) => !one.weight);
  const mean = (values) => {
    const known = values.filter((value) => value !== null);
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  };
  const [main] = sorted(Object.keys(why.path.agreement));
  return {
    element: panel(
      "Score",
      "",
      el(
        "p",
        { class: "big-score" },
        el("b", {}, why.match.score.toFixed(2)),
        el("span", { class: "faint" }, " of 1, made of"),
      ),
      el("ul", { class: "bars" }, counts.map(row)),
      el("h3", {}, "By body part"),
      el(
        "ul",
        { class: "bars tight" },
        main.map((name) => bar(plain(name), "", mean(why.path.agreement[name]))),
      ),
      rest.length > 0 &&
        el(
          "details",
          {},
          el("summary", {}, "Other measures, which do not count"),
          el("ul", { class: "bars" }, rest.map(row)),
        ),
    ),
  };
}

/** Where the passage comes again, and the words that say most. @param {Pair} pair @returns {Panel} */
export function placesPanel({ why, clock, path }) {
  const again = why.passages.filter((group) => group.length > 1),
    words = why.words.slice(0, 8);
  const go = (span) => () => clock.seek(span.start);
  const chip = (word) => {
    const dot = el("i", { class: "dot" }),
      moments = word.query
        .slice(0, 2)
        .map((span) => formatTime(span.start))
        .join(", ");
    dot.style.background = wordColour(word.word);
    return el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "word-chip", onclick: go(word.query[0] || path.span) },
        dot,
        el("span", {}, plain(word.channel)),
        el("span", { class: "faint" }, moments),
      ),
    );
  };
  return {
    element: panel(
      "Telling movements",
      "The movements that say most, and when your clip has them.",
      el("ul", { class: "word-chips" }, words.map(chip)),
      again.length > 0 && el("h3", {}, "Comes again"),
      again.map((group) =>
        el(
          "p",
          {},
          range(group[0].query),
          " of your clip is danced ",
          el("b", {}, `${group.length} times`),
          ": ",
          group.map((one) => range(one.reference)).join(", "),
          ".",
        ),
      ),
    ),
  };
}
