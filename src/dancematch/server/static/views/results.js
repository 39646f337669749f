/** The answer to a search: what it is, playing beside the clip at once; one verdict per dancer, or the nearest dances. */

import { ask, dancePath, mayWrite } from "../service/api.js";
import { addDialog } from "../adding/dialog.js";
import { comparison } from "../compare/comparison.js";
import { loadPair } from "../compare/pair.js";
import { reportLink } from "../compare/report_link.js";
import { changes, matchCard, otherRecordings } from "../elements/cards.js";
import { danceNames, suggestions } from "../elements/dialogs.js";
import { button, el, link } from "../elements/dom.js";
import { editable } from "../elements/editable.js";
import { dropPlace } from "../elements/picker.js";
import { counted, listed, range } from "../elements/say.js";
import { editDance, changes as edits } from "../service/editing.js";
import * as recent from "../service/recent.js";
import * as searching from "../service/searching.js";
import { badge, verdictLine } from "../elements/verdicts.js";

const NEAREST = 3; // dances that are shown where none is a match

/** @typedef {import("../compare/pair.js").Pair} Pair */

/** @param {HTMLElement} root @param {string[]} parts */
export async function show(root, [search_id]) {
  const answer = await ask(`searches/${search_id}`),
    shown = answer.dancers.flatMap(worthShowing);
  const ids = [...new Set(shown.map((match) => match.dance_id))];
  // One may be gone by now.
  const known = await Promise.all(ids.map((id) => ask(dancePath(id)).catch(() => null)));
  const dances = new Map(ids.map((id, i) => [id, known[i]])),
    best = played(answer, dances),
    pair = best && (await loadPair(search_id, best.dance_id, best.dancer)),
    compared = pair && (await comparison(pair));
  recent.remember(answer);
  const top = el("div", {}, await heading(answer, pair));
  root.append(
    top,
    ...(compared ? [...compared.elements, el("div", { class: "actions" }, actions(answer, pair))] : []),
    ...answer.dancers.map((one) => section(answer, one, dances, best)),
    ...ignored(answer),
    again(search_id),
  );
  const edited = async ({ detail: { gone } }) => {
    if (!pair || gone.includes(pair.dance_id)) return;
    pair.described = await ask(dancePath(pair.dance_id));
    top.replaceChildren(await heading(answer, pair));
  };
  edits.addEventListener("edited", edited);
  return {
    keys: (event) => Boolean(pair?.clock.key(event)),
    leave: () => {
      edits.removeEventListener("edited", edited);
      compared?.leave();
    },
  };
}

/** The matches of a dancer or, without one, the nearest dances. @param {any} dancer @returns {any[]} */
const worthShowing = ({ verdict, candidates }) =>
  verdict === "no match"
    ? candidates.slice(0, NEAREST)
    : candidates.filter((match) => match.verdict !== "no match");

/** The match that is played beside the clip: the first dancer's who has one. @param {any} answer @param {Map<string, any>} dances */
function played({ dancers }, dances) {
  const [dancer] = dancers.filter(({ verdict }) => verdict !== "no match");
  const [match] = dancer?.candidates || [];
  return match && dances.get(match.dance_id) ? match : null;
}

/** @param {any} answer @param {Pair | null} pair */
async function heading(answer, pair) {
  const unknown = answer.verdict === "no match";
  return el(
    "div",
    { class: "hero left" },
    el("h1", {}, ...(await title(answer, pair))),
    unknown &&
      el(
        "p",
        { class: "lead" },
        answer.searched
          ? "None of the dances known here comes near enough to be it."
          : "No dances are known here that it could be.",
      ),
    pair && verdict(pair),
    el("p", { class: "faint small" }, among(answer)),
    !pair && el("div", { class: "actions" }, actions(answer, null)),
  );
}

/** @param {any} answer @param {Pair | null} pair */
async function title({ verdict, dancers }, pair) {
  if (dancers.length > 1) return [`${dancers.length} dancers: `, el("em", {}, listed(dancesOf(dancers)))];
  if (verdict === "no match") return ["No match"];
  const begin = verdict === "match" ? "This is " : "This may be ";
  return [begin, pair ? await danceName(pair) : el("em", {}, dancers[0].candidates[0].dance)];
}

/** The dance's name, changed where it stands. @param {Pair} pair */
async function danceName({ described }) {
  const save = (name) => editDance(described, { name });
  return el(
    "em",
    {},
    editable(
      { label: "name of the dance", value: described.name, required: true, list: "dance-names-known", save },
      mayWrite(),
    ),
    mayWrite() && suggestions("dance-names-known", await danceNames()),
  );
}

/** The verdict in words, and where it was found. @param {Pair} pair */
function verdict({ why: { match }, described, known }) {
  const where = known && described.recordings.length > 1 ? ` of the recording ${known.file}` : " of the dance";
  return el(
    "div",
    { class: "answer" },
    el(
      "div",
      { class: "facts-line" },
      verdictLine(match),
      el(
        "p",
        { class: "chips" },
        changes(match).map((text) => el("span", { class: "chip" }, text)),
      ),
    ),
    el(
      "p",
      { class: "lead" },
      el("b", {}, range(match.query)),
      " of your clip goes with ",
      el("b", {}, range(match.reference)),
      `${where}.`,
    ),
    otherRecordings(match),
  );
}

/** What can be done with the answer. @param {any} answer @param {Pair | null} pair */
function actions(answer, pair) {
  const clip = searching.clips.get(answer.search_id),
    may = mayWrite() && clip;
  if (!pair) return [may && button("Add it as a new dance", () => addDialog([clip]), {}, "plus")];
  return [
    link(`dance/${encodeURIComponent(pair.dance_id)}`, { class: "button" }, "About this dance"),
    reportLink(pair),
    may && button("Keep your clip as a recording of it", () => addDialog([clip], pair.described.name), {}, "plus"),
    may && button("It is another dance", () => addDialog([clip]), { class: "quiet" }),
  ];
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
  return `${filename || "Your clip"}, compared with ${counted(searched, "performance")} in ${soon}.`;
}

/**
 * @param {any} answer @param {any} dancer @param {Map<string, any>} dances
 * @param {any} best the match that is played above
 */
function section(answer, dancer, dances, best) {
  const unknown = dancer.verdict === "no match",
    several = answer.dancers.length > 1;
  const cards = worthShowing(dancer)
    .filter((match) => match !== best)
    .map((match) => matchCard(answer, match, { dance: dances.get(match.dance_id), dim: unknown }));
  const heading = unknown ? "Nearest, none of them near enough" : best?.dancer === dancer.dancer ? "It may also be" : "";
  if (!cards.length && !several) return "";
  return el(
    "section",
    { class: "dancer", "aria-label": `Dancer ${dancer.dancer}` },
    several && dancerHeading(dancer, best),
    cards.length > 0 && heading && el(several ? "h3" : "h2", { class: "faint" }, heading),
    cards.length > 0 && el("div", { class: "matches" }, cards),
  );
}

/** @param {any} dancer @param {any} best */
const dancerHeading = ({ dancer, span, verdict }, best) =>
  el(
    "div",
    { class: "dancer-head" },
    el("h2", {}, `Dancer ${dancer}`),
    el("span", { class: "faint" }, range(span)),
    badge(verdict),
    best?.dancer === dancer && el("span", { class: "faint" }, `${best.dance}, shown above`),
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

/** @param {string} search_id */
function again(search_id) {
  return el(
    "section",
    { class: "again", "aria-label": "Another clip" },
    dropPlace({ title: "Another clip?", hint: "Drop it here", small: true }, ([file]) => {
      location.hash = "#/";
      searching.begin(file);
    }),
    el("p", { class: "faint small" }, link(`map/${search_id}`, {}, "Where your clip lies on the map of dances")),
  );
}
