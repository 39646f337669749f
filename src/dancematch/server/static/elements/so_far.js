/** The likeliest dance while a clip is still being read; where none is likely, nothing is said. */

import { el } from "./dom.js";
import { afterReading } from "./say.js";
import { badge } from "./verdicts.js";

/** Room for it. Only the dance and the verdict are read aloud, and only when they change. */
export const soFarPlace = () =>
  el(
    "div",
    { class: "so-far" },
    el("p", { class: "so-far-dance", "aria-live": "polite", "aria-atomic": "true" }),
    el("p", { class: "so-far-read faint small" }),
  );

/** @param {Element} place @param {any} partial the answer on what has been read, if there is one */
export function showSoFar(place, partial) {
  const match = partial && likeliest(partial),
    [dance, read] = /** @type {HTMLElement[]} */ ([...place.children]);
  const key = match ? `${match.verdict} ${match.dance_id} ${match.dance}` : "";
  if (dance.dataset.key !== key) {
    dance.dataset.key = key;
    dance.replaceChildren(...(match ? naming(match) : []));
  }
  const text = match ? `So far, ${afterReading(partial.read_seconds)}` : "";
  if (read.textContent !== text) read.textContent = text;
}

/** @param {any} match */
const naming = ({ verdict, dance }) => [
  el("span", { class: "unseen" }, "So far: "), // to be heard; it stands in the line below
  badge(verdict),
  el("em", { class: "ellipsis", title: dance }, dance),
];

/** The likeliest dance of all dancers, if it is a match or a possible one. @param {any} answer */
function likeliest({ dancers }) {
  const best = dancers.map(({ candidates }) => candidates[0]);
  return best.filter((match) => match && match.verdict !== "no match").sort((a, b) => a.evalue - b.evalue)[0];
}
