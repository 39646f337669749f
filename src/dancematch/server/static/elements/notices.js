/** Short notices at the top, where they cover nothing, and the question before something is deleted. */

import { byId, button, el, icon } from "./dom.js";

const SHOWN_SECONDS = 7,
  OFFERED_SECONDS = 60;

/**
 * Tell what was done, in place of everything told before; or what went wrong, beside the last that was done.
 * @param {string} text @param {"good" | "bad"} [kind]
 * @param {{text: string, act: () => void}} [offer] what can be done about it
 */
export function tell(text, kind = "good", offer = undefined) {
  const notice = el(
    "div",
    { class: `notice ${kind} ${offer ? "offer" : ""}` },
    icon(kind === "good" ? "tick" : "warn"),
    el("span", {}, text),
  );
  const dismiss = () => {
    const inside = notice.contains(document.activeElement);
    notice.remove();
    if (inside) byId("main").focus({ preventScroll: true });
  };
  if (offer) {
    const act = () => {
      dismiss();
      offer.act();
    };
    notice.append(button(offer.text, act, { class: "offered" }));
  }
  notice.append(button("", dismiss, { class: "quiet round", "aria-label": "Dismiss" }, "close"));
  for (const earlier of byId("notices").querySelectorAll(kind === "good" ? ".notice" : ".bad")) earlier.remove();
  byId("notices").append(notice);
  setTimeout(dismiss, 1000 * (offer ? OFFERED_SECONDS : SHOWN_SECONDS));
}

/** Another view is shown: what was told on the last one goes, unless it was to be carried over. */
export function clearNotices() {
  for (const notice of byId("notices").querySelectorAll(".notice:not(.carried)")) notice.remove();
  for (const notice of byId("notices").children) notice.classList.remove("carried");
}

/** What is told now stays for the next view: the page goes there because of it. */
export function carryNotices() {
  for (const notice of byId("notices").children) notice.classList.add("carried");
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
