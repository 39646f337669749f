/** What a search found: ranked cards, or plainly that it is not known. */

import { ask, dancePath, mayWrite } from "./api.js";
import { addDialog } from "./adding.js";
import { matchCard } from "./cards.js";
import { button, el } from "./dom.js";
import { dropPlace } from "./picker.js";
import { counted } from "./say.js";
import * as searching from "./searching.js";

/** @param {HTMLElement} root @param {string[]} parts */
export async function show(root, [search_id]) {
  const answer = await ask(`searches/${search_id}`);
  const shown = answer.found ? answer.matches : answer.nearest;
  // One may be gone by now.
  const dances = await Promise.all(shown.map((match) => ask(dancePath(match.dance_id)).catch(() => null)));
  const cards = shown.map((match, i) =>
    matchCard(answer, match, { dance: dances[i], first: answer.found && i === 0, dim: !answer.found }),
  );
  root.append(...(answer.found ? found(answer, cards) : unknown(answer, cards)), again());
}

/** @param {any} answer */
function among({ filename, searched, elapsed_seconds: took }) {
  const soon = took < 0.1 ? "less than a tenth of a second" : `${took.toFixed(1)} s`;
  return `${filename || "Your clip"}, compared with ${counted(searched, "dancer")} in ${soon}.`;
}

/** @param {any} answer @param {HTMLElement[]} cards */
function found(answer, [best, ...rest]) {
  return [
    el(
      "div",
      { class: "hero left" },
      el("h1", {}, "This is ", el("em", {}, answer.matches[0].dance_id)),
      el("p", { class: "faint" }, among(answer)),
    ),
    best,
    rest.length > 0 && el("h2", {}, rest.length === 1 ? "It is also like this one" : "It is also like these"),
    el("div", { class: "matches" }, rest),
  ].filter(Boolean);
}

/** @param {any} answer @param {HTMLElement[]} cards */
function unknown(answer, cards) {
  const clip = searching.clips.get(answer.search_id);
  return [
    el(
      "div",
      { class: "hero left" },
      el("h1", {}, "I don’t know this one"),
      el(
        "p",
        { class: "lead" },
        answer.searched
          ? "None of the dances known here comes near enough to be it."
          : "No dances are known here that it could be.",
      ),
      el("p", { class: "faint" }, among(answer)),
      mayWrite() &&
        clip &&
        el(
          "div",
          { class: "actions" },
          button("Teach it as a new dance", () => addDialog([clip]), {}, "plus"),
        ),
    ),
    answer.nearest.length > 0 &&
      el(
        "h2",
        {},
        `The nearest ${answer.nearest.length === 1 ? "one" : answer.nearest.length}, which are probably not it`,
      ),
    el("div", { class: "matches" }, cards),
  ].filter(Boolean);
}

function again() {
  return el(
    "section",
    { class: "again" },
    dropPlace({ title: "Another clip?", hint: "Drop it here", small: true }, ([file]) => {
      location.hash = "#/";
      searching.begin(file);
    }),
  );
}
