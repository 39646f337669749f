/** Short notices, and the question before something is deleted. */

import { byId, button, el, icon } from "./dom.js";

const SHOWN_SECONDS = 7;

/** @param {string} text @param {"good" | "bad"} [kind] */
export function tell(text, kind = "good") {
  const notice = el(
    "div",
    { class: `notice ${kind}` },
    icon(kind === "good" ? "tick" : "warn"),
    el("span", {}, text),
  );
  notice.append(
    button("", () => notice.remove(), { class: "quiet round", "aria-label": "Dismiss" }, "close"),
  );
  byId("notices").append(notice);
  setTimeout(() => notice.remove(), 1000 * SHOWN_SECONDS);
}

/** @param {string} title @param {string} text @param {string} yes @returns {Promise<boolean>} */
export function confirmed(title, text, yes) {
  const dialog = byId("sure");
  byId("sure-title").textContent = title;
  byId("sure-text").textContent = text;
  byId("sure-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true });
  });
}
