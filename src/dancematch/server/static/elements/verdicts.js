/** A verdict to be seen: an icon and a word, in a colour that only repeats them. */

import { el, icon } from "./dom.js";
import { accident, verdictWord } from "./say.js";

/** @type {Record<import("./say.js").Verdict, {sign: "tick" | "question" | "dash", level: string}>} */
const LOOKS = {
  match: { sign: "tick", level: "good" },
  "possible match": { sign: "question", level: "fair" },
  "no match": { sign: "dash", level: "none" },
};

/** @param {import("./say.js").Verdict} verdict */
export function badge(verdict) {
  const { sign, level } = LOOKS[verdict];
  return el("b", { class: `verdict ${level}` }, icon(sign), verdictWord(verdict));
}

/** The verdict on one dance and how easily it comes about by accident. @param {any} match */
export const verdictLine = (match) =>
  el(
    "p",
    { class: "verdict-line" },
    badge(match.verdict),
    el("span", {}, accident(match.evalue)),
  );
