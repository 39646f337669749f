/** The map of dances: like near like, with their names, and the query among them. */

import { ask, withQuery } from "../service/api.js";
import { dancePicture } from "../elements/cards.js";
import { el, link } from "../elements/dom.js";
import { colours } from "../drawing/skeleton.js";
import { counted, plain } from "../elements/say.js";
import { stage } from "../drawing/stage.js";
import * as recent from "../service/recent.js";

const MARGIN = 28,
  NEAR = 18,
  MOST_LABELS = 10,
  LETTERS = "500 13px system-ui, sans-serif",
  LINE = 16, // pixels that a name is high
  GAP = 9, // between a point and its name
  LONGEST_NAME = 22; // letters

/** @param {HTMLElement} root @param {string[]} parts the id of a search whose query is shown too */
export async function show(root, [search_id]) {
  const latest = recent.all().find(recent.isHeld)?.search_id;
  const map = await load(search_id || latest);
  if (!map.dances.length) {
    root.append(
      el("h1", {}, "Map"),
      el(
        "p",
        { class: "card" },
        "There is nothing to map yet. ",
        link("dances", {}, "Add some dances first"),
        ".",
      ),
    );
    return {};
  }
  const labels = frequent(map.dances),
    card = el("aside", { class: "map-card card", "aria-live": "polite" }, hint());
  let chosen = -1,
    size = { width: 1, height: 1 };
  const canvas = el("canvas", {
    class: "map",
    tabIndex: 0,
    role: "application",
    "aria-label": `Map of ${counted(map.dances.length, "dance")}. Arrow keys go from dance to dance, Enter opens one.`,
  });
  const place = (dance) => [
    MARGIN + ((dance.x + 1) / 2) * (size.width - 2 * MARGIN),
    MARGIN + ((1 - dance.y) / 2) * (size.height - 2 * MARGIN),
  ];
  const own = stage(canvas, (brush, now) => {
    size = now;
    draw(brush, map, place, labels, chosen);
    drawNames(brush, map, place, now, chosen);
  });
  const choose = (number) => {
    if (number === chosen) return;
    chosen = number;
    own.stale = true;
    card.replaceChildren(...(number < 0 ? [hint()] : details(map.dances[number])));
  };
  const open = () => {
    if (chosen >= 0) location.hash = `#/dance/${encodeURIComponent(map.dances[chosen].dance_id)}`;
  };
  canvas.addEventListener("pointermove", (event) => {
    const near = nearest(map.dances, place, event.offsetX, event.offsetY);
    if (near >= 0) choose(near);
    canvas.style.cursor = near >= 0 ? "pointer" : "";
  });
  canvas.addEventListener("click", (event) => {
    const near = nearest(map.dances, place, event.offsetX, event.offsetY);
    if (near >= 0) {
      choose(near);
      if (event.pointerType !== "touch") open();
    }
  });
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Enter") open();
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    choose(chosen < 0 ? 0 : towards(map.dances, place, chosen, way));
  });
  root.append(
    el("h1", {}, "Map of dances"),
    el("p", { class: "faint" }, `Dances that use the same movements lie near each other. ${shown(map)}`),
    legend(labels, map.query.length > 0),
    el("div", { class: "map-frame" }, canvas, card),
  );
  return {};
}

/** The map, with the query of a search if it is still held. @param {string | undefined} search_id */
const load = (search_id) =>
  search_id ? ask(withQuery("map", { search_id })).catch(() => ask("map")) : ask("map");

const shown = (map) =>
  (map.dances.length < map.total
    ? `${counted(map.dances.length, "dance")} of ${map.total.toLocaleString("en")} are shown. `
    : "") +
  // So few lie in a plane whatever they are.
  (map.dances.length > 3
    ? `The two directions show ${Math.round(100 * (map.explained[0] + map.explained[1]))} % of all differences.`
    : "");
const hint = () =>
  el(
    "p",
    { class: "faint" },
    matchMedia("(hover: none)").matches ? "Tap a dance to see it." : "Point at a dance to see it, click to open it.",
  );

/** The commonest labels, each with its colour; the rest are grey. @returns {Map<string, number>} */
function frequent(dances) {
  const counts = new Map();
  dances.forEach(({ labels }) =>
    labels.forEach((label) => counts.set(label, (counts.get(label) || 0) + 1)),
  );
  return new Map(
    [...counts]
      .sort((a, b) => b[1] - a[1])
      .slice(0, MOST_LABELS)
      .map(([label], number) => [label, number]),
  );
}

/** The colour of a dance: that of the commonest of its labels. */
function colourOf(labels, dance) {
  const numbers = dance.labels.filter((label) => labels.has(label)).map((label) => labels.get(label));
  return colours()(numbers.length ? `kind-${Math.min(...numbers)}` : "faint");
}

function legend(labels, asked) {
  return el(
    "ul",
    { class: "legend" },
    asked && el("li", {}, el("i", { class: "dot asked" }), "your clip"),
    [...labels].map(([label, number]) =>
      el("li", {}, el("i", { class: `dot kind-${number}` }), plain(label)),
    ),
  );
}

function draw(brush, { dances, query }, place, labels, chosen) {
  const paint = colours();
  dances.forEach((dance, number) => {
    const [x, y] = place(dance);
    brush.fillStyle = colourOf(labels, dance);
    brush.globalAlpha = number === chosen ? 1 : 0.8;
    brush.beginPath();
    brush.arc(x, y, number === chosen ? 8 : dances.length > 500 ? 3.5 : 5.5, 0, 2 * Math.PI);
    brush.fill();
  });
  brush.globalAlpha = 1;
  for (const one of query) drawQuery(brush, place(one), paint);
  if (chosen < 0) return;
  const [x, y] = place(dances[chosen]);
  brush.strokeStyle = paint("ink");
  brush.lineWidth = 2;
  brush.beginPath();
  brush.arc(x, y, 11, 0, 2 * Math.PI);
  brush.stroke();
}

/** A ring with a cross-hair: it is no dance of the catalogue. */
function drawQuery(brush, [x, y], paint) {
  brush.strokeStyle = paint("danger");
  brush.lineWidth = 3;
  brush.beginPath();
  brush.arc(x, y, 10, 0, 2 * Math.PI);
  for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
    brush.moveTo(x + 5 * dx, y + 5 * dy);
    brush.lineTo(x + 15 * dx, y + 15 * dy);
  }
  brush.stroke();
}

/**
 * Names beside their points, right or left of them, else above or below, where they cover neither a point nor
 * another name: first the query's and that of the chosen dance.
 */
function drawNames(brush, { dances, query }, place, { width, height }, chosen) {
  const paint = colours();
  brush.font = LETTERS;
  brush.textBaseline = "middle";
  const points = [...dances, ...query].map(place);
  const taken = points.map(([x, y]) => ({ left: x - 6, right: x + 6, top: y - 6, bottom: y + 6 }));
  const texts = [
    ...query.map((one, i) => ({ text: query.length > 1 ? `your clip, dancer ${one.dancer}` : "your clip", at: dances.length + i, colour: "ink" })),
    ...dances.map(({ name }, at) => ({ text: shortened(name), at, colour: at === chosen ? "ink" : "faint" })),
  ].sort((a, b) => Number(b.colour === "ink") - Number(a.colour === "ink"));
  for (const { text, at, colour } of texts) {
    const [x, y] = points[at],
      wide = brush.measureText(text).width,
      far = at >= dances.length ? 2 * GAP : GAP;
    const inside = Math.max(3, Math.min(width - wide - 3, x - wide / 2));
    const boxes = [
      [x + far, y],
      [x - far - wide, y],
      [inside, y - far - LINE / 2],
      [inside, y + far + LINE / 2],
    ].map(([left, middle]) => ({ left, right: left + wide, top: middle - LINE / 2, bottom: middle + LINE / 2 }));
    const fits = (box) => box.left > 2 && box.right < width - 2 && box.top > 2 && box.bottom < height - 2;
    const free = boxes.find((box) => fits(box) && !taken.some((other) => overlap(box, other)));
    if (!free) continue;
    taken.push(free);
    brush.fillStyle = paint(colour);
    brush.fillText(text, free.left, (free.top + free.bottom) / 2);
  }
}

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const shortened = (name) => (name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name);

function details(dance) {
  return [
    dancePicture(dance),
    el("h2", {}, link(`dance/${encodeURIComponent(dance.dance_id)}`, {}, dance.name)),
    el(
      "p",
      { class: "faint small" },
      [...dance.labels.map(plain), dance.collection].filter(Boolean).join(" · "),
    ),
  ];
}

function nearest(dances, place, x, y) {
  let best = -1,
    least = NEAR;
  dances.forEach((dance, number) => {
    const [px, py] = place(dance),
      far = Math.hypot(px - x, py - y);
    if (far < least) {
      least = far;
      best = number;
    }
  });
  return best;
}

/** The next dance in a direction: near, and not far off it. */
function towards(dances, place, from, [dx, dy]) {
  const [x, y] = place(dances[from]);
  let best = from,
    least = Infinity;
  dances.forEach((dance, number) => {
    const [px, py] = place(dance),
      along = (px - x) * dx + (py - y) * dy,
      off = Math.abs((px - x) * dy - (py - y) * dx);
    if (number !== from && along > 0 && along + 2 * off < least) {
      least = along + 2 * off;
      best = number;
    }
  });
  return best;
}
