/** The answer to a search: one verdict per dancer, with the dance or with the nearest ones. */

import { ask, dancePath, mayWrite } from "../service/api.js";
import { addDialog } from "../adding/dialog.js";
import { matchCard } from "../elements/cards.js";
import { button, el } from "../elements/dom.js";
import { dropPlace } from "../elements/picker.js";
import { counted, listed, range } from "../elements/say.js";
import * as searching from "../service/searching.js";
import { badge } from "../elements/verdicts.js";

const NEAREST = 3; // dances that are shown where none is a match

/** @param {HTMLElement} root @param {string[]} parts */
export async function show(root, [search_id]) {
  const answer = await ask(`searches/${search_id}`),
    shown = answer.dancers.flatMap(worthShowing);
  const ids = [...new Set(shown.map((match) => match.dance_id))];
  // One may be gone by now.
  const known = await Promise.all(ids.map((id) => ask(dancePath(id)).catch(() => null)));
  const dances = new Map(ids.map((id, i) => [id, known[i]]));
  root.append(
    heading(answer),
    ...answer.dancers.map((one) => section(answer, one, dances)),
    ...ignored(answer),
    again(),
  );
}

/** The matches of a dancer or, without one, the nearest dances. @param {any} dancer @returns {any[]} */
const worthShowing = ({ verdict, candidates }) =>
  verdict === "no match"
    ? candidates.slice(0, NEAREST)
    : candidates.filter((match) => match.verdict !== "no match");

/** @param {any} answer */
function heading(answer) {
  const clip = searching.clips.get(answer.search_id),
    unknown = answer.verdict === "no match";
  return el(
    "div",
    { class: "hero left" },
    el("h1", {}, ...title(answer)),
    unknown &&
      el(
        "p",
        { class: "lead" },
        answer.searched
          ? "None of the dances known here comes near enough to be it."
          : "No dances are known here that it could be.",
      ),
    el("p", { class: "faint" }, among(answer)),
    unknown &&
      mayWrite() &&
      clip &&
      el(
        "div",
        { class: "actions" },
        button("Add it as a new dance", () => addDialog([clip]), {}, "plus"),
      ),
  );
}

/** @param {any} answer */
function title({ verdict, dancers }) {
  if (dancers.length > 1) return [`${dancers.length} dancers: `, el("em", {}, listed(dancesOf(dancers)))];
  if (verdict === "no match") return ["No match"];
  return [verdict === "match" ? "This is " : "This may be ", el("em", {}, dancers[0].candidates[0].dance)];
}

/** What several dancers dance, each dance once. @param {any[]} dancers @returns {string[]} */
const dancesOf = (dancers) => {
  const name = ({ verdict, candidates: [best] }) =>
    ({ match: best?.dance, "possible match": `perhaps ${best?.dance}`, "no match": "no match" })[verdict];
  return [...new Set(dancers.map(name))];
};

/** @param {any} answer */
function among({ filename, searched, elapsed_seconds: took }) {
  const soon = took < 0.1 ? "less than a tenth of a second" : `${took.toFixed(1)} s`;
  return `${filename || "Your clip"}, compared with ${counted(searched, "dancer")} in ${soon}.`;
}

/** @param {any} answer @param {any} dancer @param {Map<string, any>} dances */
function section(answer, dancer, dances) {
  const unknown = dancer.verdict === "no match",
    several = answer.dancers.length > 1;
  const cards = worthShowing(dancer).map((match, i) =>
    matchCard(answer, match, {
      dance: dances.get(match.dance_id),
      first: !unknown && i === 0,
      dim: unknown,
    }),
  );
  const [best, ...rest] = unknown ? [null, ...cards] : cards;
  return el(
    "section",
    { class: "dancer", "aria-label": `Dancer ${dancer.dancer}` },
    several && dancerHeading(dancer),
    best,
    rest.length > 0 &&
      el("h3", { class: "faint" }, unknown ? "Nearest, none of them near enough" : "It may also be"),
    rest.length > 0 && el("div", { class: "matches" }, rest),
  );
}

/** @param {any} dancer */
const dancerHeading = ({ dancer, span, verdict }) =>
  el(
    "div",
    { class: "dancer-head" },
    el("h2", {}, `Dancer ${dancer}`),
    el("span", { class: "faint" }, range(span)),
    badge(verdict),
  );

/** What in the clip is not a dancer, in small print. @param {any} answer */
function ignored({ ignored: tracks }) {
  if (!tracks.length) return [];
  const row = (track) => el("li", {}, `${range(track)} ignored: ${track.reason}`);
  return [
    el(
      "section",
      { class: "ignored faint small", "aria-label": "Not searched for" },
      el("p", {}, "Not searched for, being no dancer:"),
      el("ul", {}, tracks.map(row)),
    ),
  ];
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
