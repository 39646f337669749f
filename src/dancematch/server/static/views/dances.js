/** The dances of the catalogue: find, open, add, and change several at once. */

import { ask, mayWrite, withQuery } from "../service/api.js";
import { addDialog } from "../adding/dialog.js";
import { tray } from "../adding/tray.js";
import * as adding from "../service/adding.js";
import * as editing from "../service/editing.js";
import { dancePicture } from "../elements/cards.js";
import { button, el, link } from "../elements/dom.js";
import { dropPlace } from "../elements/picker.js";
import { counted, length, plain } from "../elements/say.js";
import { Selection } from "../selection/selection.js";

const PAGE = 48,
  TYPING_MILLISECONDS = 250;

/** @param {HTMLElement} root */
export async function show(root) {
  const additions = tray(),
    selection = new Selection(),
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
    list.append(...page.dances.map((dance) => danceCard(dance, selection)));
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
  const edited = ({ detail: { gone, until } }) => until(selection.renew(gone, changed));
  root.append(
    el(
      "div",
      { class: "bar" },
      el("h1", {}, "Dances"),
      mayWrite() && button("Add dances", () => addDialog(), { class: "primary" }, "plus"),
    ),
    additions.element,
    search.element,
    total,
    nothing,
    list,
    el("div", { class: "actions centre" }, more),
    selection.element,
  );
  adding.changes.addEventListener("added", changed);
  editing.changes.addEventListener("edited", edited);
  adding.resume();
  await changed();
  return {
    leave: () => {
      additions.leave();
      adding.changes.removeEventListener("added", changed);
      editing.changes.removeEventListener("edited", edited);
    },
  };
}

function firstSteps() {
  if (!mayWrite())
    return el("p", { class: "card" }, "No dances are known here yet, and your token allows looking only.");
  return dropPlace(
    {
      title: "No dances yet: drop videos of some here",
      hint: "Several at once if you like, and an index of them (CSV) if you have one",
      many: true,
      judged: true,
    },
    (files) => addDialog(files),
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
    placeholder: "Find by name, label, collection, file or performer",
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

/** @param {any} dance @param {Selection} selection */
function danceCard(dance, selection) {
  return el(
    "li",
    { class: "dance card" },
    dancePicture(dance),
    el(
      "div",
      { class: "dance-text" },
      el("h2", {}, link(`dance/${encodeURIComponent(dance.dance_id)}`, { class: "whole" }, dance.name)),
      el("p", { class: "faint small" }, factsOf(dance)),
      dance.labels.length > 0 &&
        el(
          "p",
          { class: "chips" },
          dance.labels.map((label) => el("span", { class: "tag", title: plain(label) }, plain(label))),
        ),
    ),
    mayWrite() && selection.box(dance),
  );
}

/** @param {any} dance */
const factsOf = (dance) =>
  [
    length(dance.seconds),
    dance.recordings > 1 && `${dance.recordings} recordings`,
    dance.dancers > dance.recordings && `${dance.dancers} dancers`,
    dance.collection,
  ]
    .filter(Boolean)
    .join(" · ");
