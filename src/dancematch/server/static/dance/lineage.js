/** The lineage of a dance: which dances share passages with it, earlier to the left and later to the right. */

import { ask, dancePath } from "../service/api.js";
import { button, el, link, svg } from "../elements/dom.js";
import { counted, length, range } from "../elements/say.js";

const WIDTH = 1000,
  ROW = 46,
  BOX = 230, // pixels of a dance
  HIGH = 34,
  LETTERS = 26; // of a name
const COLUMNS = { earlier: 0, "same time": 1, undated: 1, later: 2 };
const ORDERS = { earlier: "earlier", later: "later", "same time": "at the same time", undated: "without a date" };

/** @typedef {{dance_id: string, name: string, date: string | null, order: string | null, shared_seconds: number}} Node */

/** A button that has it traced: one search for every few seconds of the dance. @param {any} dance */
export function lineagePanel(dance) {
  const place = el("div", { class: "lineage", "aria-live": "polite" });
  const trace = async () => {
    start.disabled = true;
    place.replaceChildren(el("p", { class: "faint" }, "Looking for its passages in all other dances …"));
    try {
      place.replaceChildren(...shown(await ask(`${dancePath(dance.dance_id)}/lineage`)));
      start.hidden = true;
    } catch (error) {
      if (!error.error) throw error;
      place.replaceChildren(el("p", { role: "alert" }, error.message));
    } finally {
      start.disabled = false;
    }
  };
  const start = button("Trace its lineage", trace, {}, "clock");
  return el(
    "section",
    { class: "panel card" },
    el("h2", {}, "Lineage"),
    el(
      "p",
      { class: "faint" },
      "Which dances share passages with this one, by the dates of their recordings. Likeness does not say who took what from whom.",
    ),
    el("div", { class: "actions" }, start),
    place,
  );
}

/** @param {any} lineage @returns {HTMLElement[]} */
function shown(lineage) {
  const [own, ...others] = lineage.nodes;
  if (!others.length) return [el("p", {}, "No other dance known here shares a passage with it."), ...rarities(lineage)];
  return [el("div", { class: "lineage-scroll" }, graph(own, others, lineage.edges)), list(others, lineage.edges), ...rarities(lineage)];
}

/** @param {Node} own @param {Node[]} others @param {any[]} edges */
function graph(own, others, edges) {
  const columns = [0, 1, 2].map((column) => others.filter(({ order }) => COLUMNS[order] === column)),
    rows = Math.max(columns[0].length, columns[2].length, 1),
    middle = (rows * ROW) / 2,
    high = rows * ROW + columns[1].length * ROW;
  const left = [0, (WIDTH - BOX) / 2, WIDTH - BOX],
    centre = { x: left[1], y: middle - HIGH / 2 };
  const places = columns.flatMap((nodes, column) =>
    nodes.map((node, row) => ({
      node,
      x: left[column],
      y: column === 1 ? rows * ROW + row * ROW + (ROW - HIGH) / 2 : middle + (row - nodes.length / 2) * ROW + (ROW - HIGH) / 2,
    })),
  );
  const lines = places.map(({ node, x, y }) => edgeLine(centre, { x, y }, node, edges));
  return svg(
    "svg",
    { class: "lineage-graph", viewBox: `0 -4 ${WIDTH} ${high + 8}`, "aria-hidden": "true" }, // the list below says the same
    lines,
    svg("g", { class: "own" }, box(own, centre)),
    places.map(({ node, x, y }) => nodeLink(node, { x, y })),
  );
}

/** From dance to dance, thicker the more they share. */
function edgeLine(centre, { x, y }, node, edges) {
  const sure = edges.some((edge) => edge.dance_id === node.dance_id && edge.verdict === "match");
  const below = x === centre.x,
    before = x < centre.x;
  const from = below ? [centre.x + BOX / 2, centre.y + HIGH] : [before ? centre.x : centre.x + BOX, centre.y + HIGH / 2],
    to = below ? [x + BOX / 2, y] : [before ? x + BOX : x, y + HIGH / 2];
  const bend = below ? 0 : (to[0] - from[0]) / 2;
  return svg("path", {
    class: sure ? "edge" : "edge possible",
    "stroke-width": Math.min(9, 1.5 + node.shared_seconds / 4).toFixed(1),
    d: `M${from}C${[from[0] + bend, from[1]]} ${[to[0] - bend, to[1]]} ${to}`,
  });
}

/** @param {Node} node @param {{x: number, y: number}} at */
const nodeLink = (node, at) =>
  svg("a", { href: `#/dance/${encodeURIComponent(node.dance_id)}`, tabindex: -1 }, box(node, at));

/** @param {Node} node @param {{x: number, y: number}} at */
function box({ name, date }, { x, y }) {
  const short = name.length > LETTERS ? `${name.slice(0, LETTERS - 1)}…` : name;
  return [
    svg("rect", { x, y, width: BOX, height: HIGH, rx: 9 }),
    svg("text", { x: x + 12, y: y + HIGH / 2 + 5 }, short),
    svg("text", { x: x + BOX - 10, y: y + HIGH / 2 + 5, class: "date" }, date || ""),
    svg("title", {}, name),
  ];
}

/** The same to be read and clicked. @param {Node[]} others @param {any[]} edges */
function list(others, edges) {
  const row = (node) => {
    const shared = edges.filter((edge) => edge.dance_id === node.dance_id);
    const passages = shared.map((edge) => `${edge.counts || range(edge.own)} (${edge.verdict}${edge.mirrored ? ", mirrored" : ""})`);
    return el(
      "li",
      {},
      link(`dance/${encodeURIComponent(node.dance_id)}`, {}, node.name),
      ` ${[node.date, ORDERS[node.order]].filter(Boolean).join(", ")}: shares ${length(node.shared_seconds)}: ${passages.join(", ")}`,
    );
  };
  return el("ul", { class: "lineage-list" }, others.map(row));
}

/** Which passages are rare, which common property. @param {any} lineage @returns {HTMLElement[]} */
function rarities({ passages }) {
  const told = (rarity) => passages.filter((one) => one.rarity === rarity);
  const row = (title, some) =>
    some.length > 0 &&
    el(
      "div",
      {},
      el("dt", {}, title),
      el("dd", {}, some.map((one) => `${one.counts || range(one.span)}${one.dances ? `, in ${counted(one.dances, "other dance")}` : ""}`).join("; ")),
    );
  const few = `Not known: only ${counted(passages[0]?.others ?? 0, "other dance")} to compare with`;
  return [
    el(
      "dl",
      { class: "rarity" },
      row("Rare: found nowhere else", told("rare")),
      row(few, told("not known")),
      row("Shared", told("shared")),
      row("Common property", told("common")),
    ),
  ];
}
