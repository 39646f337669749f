/** Why one dance was found: it beside the clip, and the evidence to hand on. */

import { comparison } from "../compare/comparison.js";
import { changes } from "../elements/cards.js";
import { el, link } from "../elements/dom.js";
import { range } from "../elements/say.js";
import { loadPair } from "../compare/pair.js";
import { reportLink } from "../compare/report_link.js";
import { verdictLine } from "../elements/verdicts.js";

/** @typedef {import("../compare/pair.js").Pair} Pair */

/** @param {HTMLElement} root @param {string[]} parts */
export async function show(root, [search_id, dance_id, dancer]) {
  const pair = await loadPair(search_id, dance_id, dancer),
    compared = await comparison(pair);
  root.append(
    link(`search/${search_id}`, { class: "back" }, "‹ all that was found"),
    heading(pair),
    ...compared.elements,
  );
  return {
    leave: compared.leave,
    keys: (event) =>
      event.key === "Escape" ? ((location.hash = `#/search/${search_id}`), true) : pair.clock.key(event),
  };
}

/** @param {Pair} pair */
function heading(pair) {
  const { answer, why, name } = pair;
  const { match } = why,
    several = answer.dancers.length > 1 && `dancer ${match.dancer} of ${answer.dancers.length}`;
  return el(
    "div",
    { class: "hero left compare-head" },
    el(
      "h1",
      {},
      el("span", { class: "faint" }, answer.filename || "Your clip"),
      " beside ",
      el("em", {}, name),
    ),
    el(
      "p",
      { class: "lead" },
      el("b", {}, range(match.query)),
      ` of your clip ${match.verdict === "no match" ? "comes nearest to" : "goes with"} `,
      el("b", {}, range(match.reference)),
      " of the dance.",
    ),
    el(
      "div",
      { class: "facts-line" },
      verdictLine(match),
      el(
        "p",
        { class: "chips" },
        [...changes(match), several].map((text) => text && el("span", { class: "chip" }, text)),
      ),
      reportLink(pair),
    ),
  );
}
