/** What is said of a dance: its name, labels, collection and notes, each changed where it stands. */

import { ask, mayWrite } from "../service/api.js";
import { attempt, editDance } from "../service/editing.js";
import { suggestions } from "../elements/dialogs.js";
import { button, el, icon } from "../elements/dom.js";
import { editable } from "../elements/editable.js";
import { counted, day, labelsIn, length, plain } from "../elements/say.js";

const MOST_NOTES = 2000;

/** @param {any} dance */
export const nameHeading = (dance) =>
  el(
    "h1",
    {},
    editable(
      { label: "name", value: dance.name, required: true, save: (name) => editDance(dance, { name }) },
      mayWrite(),
    ),
  );

/** Everything but the name. @param {any} dance */
export async function details(dance) {
  const known = mayWrite() ? await ask("labels") : { labels: {}, collections: {} };
  const field = (name, more) => {
    const save = (value) => editDance(dance, { [name]: value || null });
    return editable({ label: name, value: dance[name] || "", save, ...more }, mayWrite());
  };
  const row = (name, content) => el("div", {}, el("dt", {}, name), el("dd", {}, content));
  const shown = (value) => mayWrite() || Boolean(value);
  return el(
    "section",
    { class: "details", "aria-label": "About the dance" },
    el(
      "dl",
      {},
      shown(dance.labels.length) && row("Labels", labelChips(dance)),
      shown(dance.collection) && row("Collection", field("collection", { list: "known-collections" })),
      shown(dance.notes) && row("Notes", field("notes", { most: MOST_NOTES })),
    ),
    facts(dance),
    suggestions("known-labels", Object.keys(known.labels)),
    suggestions("known-collections", Object.keys(known.collections)),
  );
}

/** @param {any} dance */
function labelChips(dance) {
  const chip = (label) =>
    el(
      "li",
      { class: "chip", "data-field": "labels" },
      plain(label),
      mayWrite() &&
        el(
          "button",
          {
            type: "button",
            class: "quiet",
            "aria-label": `Remove the label ${label}`,
            onclick: () => attempt(() => editDance(dance, { remove_labels: [label] })),
          },
          icon("close"),
        ),
    );
  const add = editable(
    {
      label: "labels",
      value: "",
      empty: "add a label",
      list: "known-labels",
      placeholder: "such as a style; several with commas",
      save: (text) => editDance(dance, { add_labels: labelsIn(text) }),
    },
    mayWrite(),
  );
  return el("ul", { class: "label-chips" }, dance.labels.map(chip), mayWrite() && el("li", {}, add));
}

/** @param {any} dance */
function facts(dance) {
  const parts = [
    counted(dance.recordings.length, "recording"),
    length(dance.seconds),
    counted(dance.dancers, "dancer"),
    dance.period_seconds && `repeats itself every ${dance.period_seconds.toFixed(1)} s`,
    `added ${day(dance.added)}`,
  ];
  return el("p", { class: "faint facts" }, parts.filter(Boolean).join(" · "));
}

/** The button that removes the dance. @param {() => void} remove */
export const removeButton = (remove) => button("Remove", remove, { class: "quiet danger" }, "bin");
