/** The dances of the catalogue: find, open, add, remove. */

import { about, ask, dancePath, forget, mayWrite, withQuery } from "../service/api.js";
import * as adding from "../service/adding.js";
import { motionPath } from "../elements/cards.js";
import { button, el, icon, link } from "../elements/dom.js";
import { confirmed, tell } from "../elements/notices.js";
import { dropPlace } from "../elements/picker.js";
import { counted, length, plain } from "../elements/say.js";
import { forgetMotions, thumbnail } from "../drawing/stage.js";

const PAGE = 48,
  TYPING_MILLISECONDS = 250;

/** @param {HTMLElement} root */
export async function show(root) {
  const tray = adding.tray(),
    list = el("ul", { class: "dances" }),
    total = el("p", { class: "faint", role: "status" });
  const more = button("Show more", () => load(false), { class: "more" });
  const wanted = { text: "", label: "", collection: "" };
  let next = null,
    turn = 0;

  const load = async (anew) => {
    const own = ++turn;
    const page = await ask(withQuery("dances", { ...wanted, limit: PAGE, after: anew ? null : next }));
    if (own !== turn) return;
    if (anew) list.replaceChildren();
    list.append(...page.dances.map((dance) => danceCard(dance, changed)));
    next = page.next;
    more.hidden = !next;
    const filtered = wanted.text || wanted.label || wanted.collection;
    total.textContent =
      page.total || filtered
        ? `${counted(page.total, "dance")}${filtered ? (page.total === 1 ? " fits" : " fit") : ""}`
        : "";
    nothing.hidden = Boolean(page.total || filtered || adding.isBusy());
    search.element.hidden = !page.total && !filtered;
  };
  const reload = () => load(true);
  const nothing = firstSteps();
  const search = filters(wanted, reload);
  const changed = () => Promise.all([reload(), search.renew()]);
  root.append(
    el(
      "div",
      { class: "bar" },
      el("h1", {}, "Dances"),
      mayWrite() && button("Add dances", () => adding.addDialog(), { class: "primary" }, "plus"),
    ),
    tray.element,
    search.element,
    total,
    nothing,
    list,
    el("div", { class: "actions centre" }, more),
  );
  adding.changes.addEventListener("added", changed);
  adding.resume();
  await changed();
  return {
    leave: () => {
      tray.leave();
      adding.changes.removeEventListener("added", changed);
    },
  };
}

function firstSteps() {
  if (!mayWrite())
    return el("p", { class: "card" }, "No dances are known here yet, and your token allows looking only.");
  return dropPlace(
    {
      title: "No dances yet: drop videos of some here",
      hint: "One dance per video; several at once if you like",
      many: true,
      judged: true,
    },
    (files) => adding.addDialog(files),
  );
}

/**
 * A field to type into, and what there is to choose from.
 * @param {any} wanted @param {() => void} reload
 * @returns {{element: HTMLElement, renew: () => Promise<void>}}
 */
function filters(wanted, reload) {
  let clock = 0;
  const typed = () => {
    clearTimeout(clock);
    clock = setTimeout(() => {
      wanted.text = field.value.trim();
      reload();
    }, TYPING_MILLISECONDS);
  };
  const field = el("input", {
    type: "search",
    placeholder: "Find by name, label, collection or file",
    "aria-label": "Find dances",
    oninput: typed,
  });
  const label = choice("label", wanted, reload),
    collection = choice("collection", wanted, reload);
  const renew = async () => {
    const { labels, collections } = await ask("labels");
    fill(label, "label", labels, wanted);
    fill(collection, "collection", collections, wanted);
  };
  return { element: el("div", { class: "filters", role: "search" }, field, label, collection), renew };
}

/** @param {"label" | "collection"} name @param {any} wanted @param {() => void} reload */
function choice(name, wanted, reload) {
  const select = el("select", {
    "aria-label": `Only with the ${name}`,
    onchange: () => {
      wanted[name] = select.value;
      reload();
    },
  });
  return select;
}

/**
 * @param {HTMLSelectElement} select @param {"label" | "collection"} name @param {Record<string, number>} counts
 * @param {any} wanted
 */
function fill(select, name, counts, wanted) {
  const named = Object.entries(counts).filter(([value]) => value);
  select.hidden = !named.length;
  select.replaceChildren(
    el("option", { value: "" }, `any ${name}`),
    ...named.map(([value, count]) => el("option", { value }, `${plain(value)} (${count})`)),
  );
  select.value = wanted[name];
}

/** @param {any} dance @param {() => void} gone */
function danceCard(dance, gone) {
  return el(
    "li",
    { class: "dance card" },
    thumbnail(motionPath(dance)),
    el(
      "div",
      { class: "dance-text" },
      el("h2", {}, link(`dance/${encodeURIComponent(dance.dance_id)}`, { class: "whole" }, dance.dance_id)),
      el(
        "p",
        { class: "faint small" },
        length(dance.seconds),
        dance.dancers > 1 && ` · ${dance.dancers} dancers`,
        dance.label && ` · ${plain(dance.label)}`,
        dance.collection && ` · ${dance.collection}`,
      ),
    ),
    mayWrite() &&
      el(
        "button",
        {
          type: "button",
          class: "quiet round above",
          "aria-label": `Remove ${dance.dance_id}`,
          onclick: () => remove(dance.dance_id, gone),
        },
        icon("bin"),
      ),
  );
}

/** Remove a dance, if that is really meant. @param {string} dance_id @param {() => void} gone */
export async function remove(dance_id, gone) {
  const meant = await confirmed(
    `Remove ${dance_id}?`,
    "Everything that is kept of it is deleted. It will not be recognised any more until it is added again.",
    "Remove it",
  );
  if (!meant) return;
  await forget(dancePath(dance_id));
  forgetMotions();
  tell(`${dance_id} is removed.`);
  await about(true);
  gone();
}
