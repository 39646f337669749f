/** The vocabulary: every word as a small figure that does it. */

import { ask } from "../service/api.js";
import { el } from "../elements/dom.js";
import { counted, plain } from "../elements/say.js";
import { colours } from "../drawing/skeleton.js";
import { likesStillness, stage } from "../drawing/stage.js";

const PERIOD_SECONDS = 2.4,
  TURN = 0.44;

/** @type {Promise<any> | null} */
let coming = null;

/** @param {HTMLElement} root @param {string[]} parts */
export async function show(root, [wanted = ""]) {
  coming =
    coming ||
    ask("words").catch((error) => {
      coming = null;
      throw error;
    });
  const all = await coming;
  const grid = el("ul", { class: "words" }),
    chosen = el("aside", { class: "word-card card", "aria-live": "polite" });
  const tabs = el("div", { class: "tabs wrap", role: "group", "aria-label": "Body parts" });
  const open = (channel) => {
    for (const tab of tabs.children)
      tab.setAttribute("aria-pressed", String(tab.dataset.name === channel.name));
    const total = channel.words.reduce((sum, word) => sum + word.count, 0),
      most = channel.words[0]?.count || 1;
    const pick = (word) => {
      grid
        .querySelectorAll("[aria-pressed=true]")
        .forEach((tile) => tile.setAttribute("aria-pressed", "false"));
      grid.querySelector(`[data-word="${word.word}"]`)?.setAttribute("aria-pressed", "true");
      chosen.replaceChildren(...details(all, channel, word, total, pick));
    };
    grid.replaceChildren(
      ...channel.words.map((word) =>
        el(
          "li",
          {},
          tile(all, channel, word, total, most, () => pick(word)),
        ),
      ),
    );
    pick(channel.words[0]);
  };
  tabs.append(
    ...all.channels.map((channel) =>
      el(
        "button",
        { type: "button", class: "tab", "data-name": channel.name, onclick: () => open(channel) },
        plain(channel.name),
      ),
    ),
  );
  root.append(
    el("h1", {}, "Motion words"),
    el(
      "p",
      { class: "faint" },
      `What one part of the body does in ${all.seconds_per_word.toFixed(2)} seconds, `,
      "shown slowed down, to and fro: the dancer’s ",
      el("span", { class: "left-text" }, "left"),
      ", ",
      el("span", { class: "right-text" }, "right"),
      ` and middle. The commonest come first, as counted in ${counted(all.dances, "dance")} of ${all.source}.`,
    ),
    tabs,
    el("div", { class: "words-frame" }, grid, chosen),
  );
  open(all.channels.find((channel) => channel.name === wanted) || all.channels[0]);
  return {};
}

function tile(all, channel, word, total, most, act) {
  const often = el("i");
  often.style.width = `${(100 * word.count) / most}%`;
  return el(
    "button",
    {
      type: "button",
      class: "word",
      "aria-pressed": "false",
      "data-word": String(word.word),
      onclick: act,
      "aria-label": `${plain(channel.name)}, word ${word.word}, ${share(word, total)} of the time`,
    },
    figure(all, channel, word),
    el("span", { class: "often" }, often),
  );
}

const share = (word, total) => `${((100 * word.count) / Math.max(1, total)).toFixed(1)} %`;

function details(all, channel, word, total, pick) {
  const near = word.nearest
    .map(({ word: number, similarity }) => [channel.words.find((one) => one.word === number), similarity])
    .filter(([one]) => one);
  return [
    figure(all, channel, word, "large"),
    el("h2", {}, `${plain(channel.name)}, word ${word.word}`),
    el("p", { class: "faint" }, `${share(word, total)} of the time`),
    el("h3", {}, "Most like it"),
    el(
      "div",
      { class: "near" },
      near.slice(0, 3).map(([one, similarity]) =>
        el(
          "button",
          {
            type: "button",
            class: "word",
            onclick: () => pick(one),
            "aria-label": `Word ${one.word}, similarity ${similarity.toFixed(2)}`,
          },
          figure(all, channel, one),
          el("span", { class: "faint small" }, similarity.toFixed(2)),
        ),
      ),
    ),
  ];
}

/** The word's joints move, the others hang from their parents as in a neutral body. */
function pose(all, channel, word, moment) {
  const { parents } = all.skeleton,
    frames = word.frames,
    at = moment * (frames.length - 1);
  const first = Math.min(Math.floor(at), Math.max(frames.length - 2, 0)),
    rest = at - first,
    next = frames[Math.min(first + 1, frames.length - 1)];
  const joints = [];
  parents.forEach((parent, joint) => {
    const own = channel.joints.indexOf(joint);
    joints.push(
      [0, 1, 2].map((axis) => {
        const neutral = all.body[3 * joint + axis];
        if (own < 0)
          return parent < 0 ? neutral : joints[parent][axis] + neutral - all.body[3 * parent + axis];
        const a = frames[first][3 * own + axis];
        return a + (next[3 * own + axis] - a) * rest;
      }),
    );
  });
  return joints;
}

/** @param {any} all @param {any} channel @param {any} word @param {string} [kind] */
function figure(all, channel, word, kind = "") {
  const canvas = el("canvas", { class: `word-figure ${kind}`, "aria-hidden": "true" });
  stage(
    canvas,
    (brush, { width, height }, now) => {
      const moment = likesStillness() ? 1 : (1 - Math.cos((2 * Math.PI * now) / PERIOD_SECONDS)) / 2;
      const scale = Math.min(width / 160, height / 195),
        paint = colours();
      const flat = (joints) =>
        joints.map(([x, y, z]) => [
          width / 2 + (x * Math.cos(TURN) + z * Math.sin(TURN)) * scale,
          height / 2 + (5 - y + 0.12 * (z * Math.cos(TURN) - x * Math.sin(TURN))) * scale,
        ]);
      strokes(brush, all, channel, flat(pose(all, channel, word, 0)), paint, scale, 0.25);
      strokes(brush, all, channel, flat(pose(all, channel, word, moment)), paint, scale, 1);
    },
    () => !likesStillness(),
  );
  return canvas;
}

function strokes(brush, all, channel, points, paint, scale, alpha) {
  const { joints, parents } = all.skeleton;
  brush.lineCap = brush.lineJoin = "round";
  const line = (a, b, own, name) => {
    if (!own && alpha < 1) return;
    brush.globalAlpha = alpha;
    brush.strokeStyle = own
      ? paint(name.startsWith("left") ? "left" : name.startsWith("right") ? "right" : "middle")
      : paint("still");
    brush.lineWidth = (own ? 8 : 5) * scale;
    brush.beginPath();
    brush.moveTo(a[0], a[1]);
    brush.lineTo(b[0], b[1]);
    brush.stroke();
  };
  const isOwn = (joint) => channel.joints.includes(joint);
  parents.forEach((parent, joint) => {
    if (parent >= 0 && !isOwn(joint)) line(points[parent], points[joint], false, joints[joint]);
  });
  parents.forEach((parent, joint) => {
    if (parent >= 0 && isOwn(joint)) line(points[parent], points[joint], true, joints[joint]);
  });
  const head = joints.indexOf("head");
  if (alpha < 1 && !isOwn(head)) return;
  brush.globalAlpha = alpha;
  brush.fillStyle = paint(isOwn(head) ? "middle" : "still");
  brush.beginPath();
  brush.ellipse(points[head][0], points[head][1], 9 * scale, 11 * scale, 0, 0, 2 * Math.PI);
  brush.fill();
  brush.globalAlpha = 1;
}
