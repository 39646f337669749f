/** How far the recordings are that are being added. */

import * as adding from "../service/adding.js";
import { button, el, icon, link } from "../elements/dom.js";
import { counted } from "../elements/say.js";

/** @typedef {import("../service/adding.js").Addition} Addition */

const PHASE_TEXT = {
  queued: () => "waiting to be sent",
  sending: (one) => `sending ${Math.round(100 * one.share)} %`,
  waiting: (one) => (one.ahead ? `${counted(one.ahead, "video")} before it` : "waiting"),
  analysing: (one) => `following the dancer ${Math.round(100 * one.share)} %`,
  done: (one) => one.message || "added",
  taken: (one) => one.message,
  failed: (one) => one.message,
};

/** A list that keeps itself up to date. @returns {{element: HTMLElement, leave: () => void}} */
export function tray() {
  const element = el("section", { class: "tray", "aria-label": "Dances being added" });
  const rows = new Map();
  const draw = () => {
    element.hidden = adding.additions.length === 0;
    for (const [one, row] of rows)
      if (!adding.additions.includes(one)) {
        row.remove();
        rows.delete(one);
      }
    for (const one of adding.additions) {
      if (!rows.has(one)) {
        rows.set(one, trayRow(one));
        element.append(rows.get(one));
      }
      rows.get(one).update();
    }
  };
  adding.changes.addEventListener("change", draw);
  draw();
  const leave = () => {
    adding.changes.removeEventListener("change", draw);
    adding.dropDone();
  };
  return { element, leave };
}

/** @param {Addition} one */
function trayRow(one) {
  const bar = el("progress", { max: 1, "aria-label": `Progress of ${one.name}` }),
    text = el("span", { class: "faint tray-text", role: "status" }),
    name = el("b", { class: "ellipsis" }, one.name),
    sign = el("span", { class: "tray-sign" });
  const stop = () => adding.drop(one);
  const join = button(`Add it to ${one.said.dance}`, () => adding.join(one), { class: "tray-join", hidden: true });
  const row = el(
    "div",
    { class: "tray-row" },
    sign,
    name,
    bar,
    text,
    button("", stop, { class: "quiet round", "aria-label": `Stop or dismiss ${one.name}` }, "close"),
    join,
  );
  let last = "";
  row.update = () => {
    row.className = `tray-row ${one.phase}`;
    if (["waiting", "queued"].includes(one.phase)) bar.removeAttribute("value");
    else bar.value = one.share;
    const says = PHASE_TEXT[one.phase](one);
    if (text.textContent !== says) text.textContent = says;
    join.hidden = one.phase !== "taken";
    if (one.phase !== last) {
      sign.replaceChildren(...(adding.isOver(one) ? [icon(one.phase === "done" ? "tick" : "warn")] : []));
      if (one.phase === "done") name.replaceChildren(link(`dance/${one.dance_id}`, {}, one.name));
    }
    last = one.phase;
  };
  return row;
}
