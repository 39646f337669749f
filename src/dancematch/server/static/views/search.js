/** The first view: drop a clip, see how far it is; what was searched for lately. */

import { about, ask, mayWrite } from "../service/api.js";
import { addDialog } from "../adding/dialog.js";
import { dancePicture } from "../elements/cards.js";
import { button, el, link } from "../elements/dom.js";
import { tell } from "../elements/notices.js";
import { recentList } from "../elements/recent_list.js";
import { canFilm, dropPlace, film } from "../elements/picker.js";
import { counted, length, size } from "../elements/say.js";
import { showSoFar, soFarPlace } from "../elements/so_far.js";
import { trySample } from "../service/samples.js";
import * as reviews from "../service/reviews.js";
import * as searching from "../service/searching.js";

/** @param {HTMLElement} root */
export async function show(root) {
  const facts = await about(true);
  const some = facts.dances ? (await ask(`dances?limit=${SOME}`)).dances : [];
  const draw = () =>
    root.replaceChildren(...(searching.task ? underWay(searching.task) : invitation(facts, some)));
  const showSwitch = () => root.querySelector(".review-switch")?.replaceWith(reviewSwitch());
  let phase = searching.task?.phase;
  const follow = () => {
    const now = searching.task;
    if (now && now.phase === phase && root.querySelector("progress")) advance(root, now);
    else draw();
    phase = now?.phase;
  };
  searching.changes.addEventListener("change", follow);
  reviews.changes.addEventListener("change", showSwitch);
  searching.resume();
  draw();
  return {
    leave: () => {
      searching.changes.removeEventListener("change", follow);
      reviews.changes.removeEventListener("change", showSwitch);
    },
  };
}

/** @param {any} facts @param {any[]} some of the dances */
function invitation(facts, some) {
  if (!facts.dances) return empty(facts);
  return [
    el(
      "div",
      { class: "hero" },
      el("h1", {}, "Which dance is this?"),
      el(
        "p",
        { class: "lead" },
        "Drop a clip. It is compared with the " +
          `${facts.dances === 1 ? "one dance" : counted(facts.dances, "dance")} known here.`,
      ),
    ),
    dropPlace({ title: "Drop a clip here", hint: limits(facts), more: [camera(), sample()] }, ([file]) =>
      searching.begin(file),
    ),
    reviewSwitch(),
    recentList(),
    el(
      "ol",
      { class: "steps" },
      STEPS.map(([title, text]) => el("li", {}, el("b", {}, title), el("span", {}, text))),
    ),
    el(
      "section",
      { class: "known", "aria-label": "Known dances" },
      el(
        "div",
        { class: "bar" },
        el("h2", {}, "Known here"),
        link("dances", {}, facts.dances > SOME ? `all ${counted(facts.dances, "dance")}` : "more about them"),
      ),
      el(
        "ul",
        {},
        some.map((dance) =>
          el(
            "li",
            {},
            dancePicture(dance),
            link(`dance/${encodeURIComponent(dance.dance_id)}`, { class: "whole ellipsis" }, dance.name),
          ),
        ),
      ),
    ),
  ];
}

const SOME = 6;
const STEPS = [
  ["Any dancer will do", "Another body, other clothes, another camera: what counts is the movement."],
  [
    "Five to fifteen seconds",
    "The whole body, from the front. Mirrored like a selfie, a little faster or slower, cut out of the middle: it is found all the same.",
  ],
  [
    "Nothing is kept",
    "The clip is deleted as soon as its skeleton is read, and the skeleton is forgotten within the hour.",
  ],
];

/** @param {any} facts */
const limits = (facts) =>
  `A video of up to ${length(facts.limits.video_seconds)} and ${size(facts.limits.upload_bytes)}, or a motion file`;

/** Whether possible matches go onto the list for people to decide on; hidden where there is none. */
function reviewSwitch() {
  const box = el("input", {
    type: "checkbox",
    checked: reviews.isWanted(),
    onchange: () => reviews.want(box.checked),
  });
  return el(
    "label",
    { class: "check review-switch", hidden: reviews.waiting === null || !mayWrite() },
    box,
    "Keep possible matches for review",
  );
}

function camera() {
  const able = canFilm();
  const act = async () => {
    try {
      const file = await film();
      if (file) searching.begin(file);
    } catch (error) {
      const why =
        error.name === "NotAllowedError"
          ? "The camera may not be used here: allow it in the address bar."
          : "There is no camera that could be used.";
      tell(why, "bad");
    }
  };
  return button(
    "Use the camera",
    act,
    {
      disabled: !able,
      title: able ? "" : "Browsers lend the camera to secure pages only (https or localhost)",
    },
    "camera",
  );
}

/** A rendered clip to try it with; where its dance is not known yet, that is added first. */
function sample() {
  const start = button(
    "Try with a sample",
    async () => {
      start.disabled = true;
      try {
        await trySample();
      } catch (error) {
        start.disabled = false;
        if (!error.error) throw error;
        tell(error.message, "bad");
      }
    },
    { class: "quiet", title: "A rendered dancer and three made-up dances: no person was filmed" },
    "spark",
  );
  return start;
}

/** What a newcomer sees: nothing is known yet. @param {any} facts */
function empty(facts) {
  const heading = el(
    "div",
    { class: "hero" },
    el("h1", {}, "First, add some dances"),
    el(
      "p",
      { class: "lead" },
      "Nothing is known here yet. Add videos of the dances to be recognised, one dance per video; " +
        "after that, any clip of them can be searched for.",
    ),
  );
  if (!mayWrite())
    return [
      heading,
      el(
        "p",
        { class: "card" },
        "Your token allows searching only. Ask the person who runs this service to add dances.",
      ),
    ];
  return [
    heading,
    dropPlace(
      {
        title: "Drop videos of dances here",
        hint: `${limits(facts)}; several at once if you like`,
        many: true,
        judged: true,
        more: [sample()],
      },
      (files) => addDialog(files),
    ),
    el(
      "p",
      { class: "faint small centred" },
      "The sample is a rendered clip; three made-up dances are added for it, labelled “rendered”, which you can remove again.",
    ),
    el(
      "ol",
      { class: "steps numbered" },
      [
        ["Teach", "Add a few dances."],
        ["Ask", "Drop a clip of a dancer."],
        ["See why", "Both dancers side by side, moment by moment."],
      ].map(([title, text]) => el("li", {}, el("b", {}, title), el("span", {}, text))),
    ),
  ];
}

/** @param {import("../service/searching.js").Task} task */
function underWay(task) {
  if (task.phase === "failed") {
    return [
      el(
        "section",
        { class: "card trouble" },
        el("h1", {}, "This clip cannot be searched for"),
        el("p", { class: "faint" }, task.name),
        el("p", { role: "alert" }, task.message),
        el(
          "div",
          { class: "actions" },
          button("Try another clip", () => searching.cancel(), { class: "primary" }),
        ),
      ),
    ];
  }
  const preview =
    task.url &&
    el("video", {
      src: task.url,
      muted: true,
      loop: true,
      autoplay: true,
      playsInline: true,
      "aria-hidden": "true",
    });
  const view = el(
    "section",
    { class: "card progress-card" },
    preview,
    el(
      "div",
      { class: "progress-text" },
      el("h1", {}, "Looking for your dance"),
      el("p", { class: "faint ellipsis" }, task.name),
      el("progress", { max: 1, "aria-label": "Progress" }),
      el("p", { class: "phase", role: "status" }),
      soFarPlace(),
      el(
        "p",
        { class: "faint small" },
        "You can look round meanwhile: ",
        link("dances", {}, "the dances"),
        " or ",
        link("words", {}, "the words"),
        ".",
      ),
      el(
        "div",
        { class: "actions" },
        button("Cancel", () => searching.cancel()),
      ),
    ),
  );
  advance(view, task);
  return [view];
}

/** @param {HTMLElement} root @param {import("../service/searching.js").Task} task */
function advance(root, task) {
  const percent = `${Math.round(100 * task.share)} %`;
  const ahead =
    task.ahead > 0
      ? `${counted(task.ahead, "video is", "videos are")} before yours`
      : "It is your turn in a moment";
  const phaseText = {
    sending: `Sending the clip: ${percent}`,
    waiting: ahead,
    analysing: `Following the dancer: ${percent}`,
  };
  const bar = root.querySelector("progress");
  if (task.phase === "waiting") bar.removeAttribute("value");
  else bar.value = task.share;
  const text = root.querySelector(".phase");
  if (text.textContent !== phaseText[task.phase]) text.textContent = phaseText[task.phase];
  showSoFar(root.querySelector(".so-far"), task.partial);
}
