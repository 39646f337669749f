/** The page: the current view, the dialogs, and the keys that work everywhere. */

import { about, forgetToken, hasToken, hooks } from "./service/api.js";
import { byId, button, el, icon } from "./elements/dom.js";
import { clearNotices, tell } from "./elements/notices.js";
import { counted, plain } from "./elements/say.js";
import { sweep } from "./drawing/stage.js";
import * as reviews from "./service/reviews.js";
import { always } from "./service/storage.js";

/**
 * A view fills `root` and may give back what it needs later: keys that it knows, and how it is left.
 * @typedef {{keys?: (event: KeyboardEvent) => boolean, leave?: () => void}} Shown
 */

/**
 * @type {Record<string, () => Promise<{show: (root: HTMLElement, parts: string[]) => Promise<Shown | void>}>>}
 */
const VIEWS = {
  "": () => import("./views/search.js"),
  search: () => import("./views/results.js"),
  compare: () => import("./views/compare.js"),
  dances: () => import("./views/dances.js"),
  dance: () => import("./views/dance.js"),
  map: () => import("./views/map.js"),
  words: () => import("./views/words.js"),
  reviews: () => import("./views/reviews.js"),
  scan: () => import("./views/scan.js"),
  live: () => import("./views/live.js"),
};
const BELONGS = { search: "", compare: "", dance: "dances", live: "scan" };

/** @type {Shown} */
let current = {};
let turn = 0;

/** Part of an address, decoded; a mistyped one is taken as it is. @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function route() {
  const own = ++turn,
    main = byId("main");
  const [name = "", ...parts] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  const results = name !== "search" || Boolean(parts[0]); // without any, it is where one searches
  const view = Object.hasOwn(VIEWS, name) && results ? name : "";
  current.leave?.();
  current = {};
  for (const link of byId("views").children) {
    const here = link.dataset.view === (BELONGS[view] ?? view);
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const root = el("div", { class: `view view-${view || "home"}` });
  main.setAttribute("aria-busy", "true");
  try {
    await about();
    reviews.renew();
    const shown = (await (await VIEWS[view]()).show(root, parts)) || {};
    if (own !== turn) {
      shown.leave?.();
      return;
    }
    current = shown;
  } catch (error) {
    if (own !== turn) return;
    root.replaceChildren(trouble(error));
  }
  main.replaceChildren(root);
  main.removeAttribute("aria-busy");
  sweep();
  const heading = root.querySelector("h1");
  document.title = heading && view ? `${heading.textContent} · DanceMatch` : "DanceMatch";
  if (own > 1) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}

/** @param {any} error */
function trouble(error) {
  if (!error.status && !error.error) console.error(error);
  return el(
    "section",
    { class: "card trouble" },
    el("h1", {}, error.status === 404 ? "Not here any more" : "That did not work"),
    el("p", {}, error.error ? error.message : "Something in this page went wrong."),
    error.error === "unknown_search" &&
      el(
        "p",
        { class: "faint" },
        "Clips are held for an hour only, and never written to disk. Search again to see it.",
      ),
    el(
      "div",
      { class: "actions" },
      button("Try again", route, { class: "primary" }),
      el("a", { class: "button", href: "#/" }, "To the search"),
    ),
  );
}

/** The list of reviews is a view where the service has one; the number is of those that wait. */
reviews.changes.addEventListener("change", () => {
  const place = byId("reviews-link"),
    { waiting } = reviews;
  place.hidden = waiting === null;
  byId("reviews-waiting").textContent = waiting ? String(waiting) : "";
  if (waiting) place.setAttribute("aria-label", `Review, ${waiting} waiting`);
  else place.removeAttribute("aria-label");
});

// ---- dialogs

hooks.opening = (waiting) => {
  byId("opening").hidden = !waiting;
};

hooks.token = (wrong) =>
  new Promise((done) => {
    const dialog = byId("token"),
      value = byId("token-value");
    byId("token-why").textContent = wrong
      ? "The token given before is not valid here."
      : "The person who runs it can give you one.";
    forgetToken();
    value.value = "";
    dialog.addEventListener("close", () => done(dialog.returnValue === "ok" ? value.value.trim() : null), {
      once: true,
    });
    dialog.returnValue = "";
    dialog.showModal();
  });

async function help() {
  byId("help").showModal();
  const facts = await about();
  byId("facts").textContent =
    `DanceMatch ${facts.version}, model ${facts.model_id}: ${facts.channels.length} body parts ` +
    `(${facts.channels.map(plain).join(", ")}), ${facts.vocabulary} words each. ${counted(facts.dances, "dance")} known.`;
}

// ---- keys

const letters = byId("letters");
letters.checked = always.getItem("letters") !== "off";
letters.addEventListener("change", () => always.setItem("letters", letters.checked ? "on" : "off"));

const GOES = { s: "", c: "scan", d: "dances", m: "map", w: "words" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const typing = /** @type {HTMLElement} */ (event.target).matches(
    "input:not([type=range], [type=checkbox]), select, textarea",
  );
  if (typing) return;
  if (event.key.length === 1 && event.key !== " " && !letters.checked) return;
  if (current.keys?.(event)) {
    event.preventDefault();
    return;
  }
  if (event.key === "r" && reviews.waiting !== null) location.hash = "#/reviews";
  else if (event.key in GOES && !event.shiftKey) location.hash = `#/${GOES[event.key]}`;
  else if (event.key === "t") dispatchEvent(new Event("choosetheme"));
  else if (event.key === "?") help();
  else if (event.key === "/") {
    location.hash = "#/dances";
    setTimeout(
      () => /** @type {HTMLElement | null} */ (document.querySelector("input[type=search]"))?.focus(),
      300,
    );
  } else return;
  event.preventDefault();
});

byId("theme").append(icon("moon"));
byId("theme").addEventListener("click", () => dispatchEvent(new Event("choosetheme")));
byId("help-button").addEventListener("click", help);
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
addEventListener("hashchange", () => {
  clearNotices();
  route();
});
// A file dropped beside the place meant for it would otherwise replace the page.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());
addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name === "AbortError") {
    event.preventDefault();
    return;
  }
  if (event.reason?.error) {
    event.preventDefault();
    tell(event.reason.message, "bad");
  }
});
if (hasToken()) document.documentElement.dataset.token = "yes";
route();
