/** Small questions: a name, or one of several. */

import { ask } from "../service/api.js";
import { button, el } from "./dom.js";

/**
 * What the person chose, or null. With `save`, the question stays, with the trouble in it, until that worked.
 * @template T
 * @param {{title: string, text?: string, yes: string, save?: (value: T) => Promise<unknown>}} about
 * @param {any[]} content @param {() => T} value
 * @returns {Promise<T | null>}
 */
export function question({ title, text = "", yes, save }, content, value) {
  const heading = el("h2", { id: "question-title" }, title),
    trouble = el("p", { class: "drop-refusal", role: "alert" }),
    agree = el("button", { class: "primary", value: "yes" }, yes);
  const submit = async (event) => {
    if (!save) return;
    event.preventDefault();
    trouble.textContent = "";
    agree.disabled = true;
    try {
      await save(value());
      dialog.close("yes");
    } catch (error) {
      if (!error.error) throw error;
      trouble.textContent = error.message;
    } finally {
      agree.disabled = false;
    }
  };
  const dialog = el(
    "dialog",
    { "aria-labelledby": heading.id },
    el(
      "form",
      { method: "dialog", onsubmit: submit },
      heading,
      text && el("p", {}, text),
      ...content,
      trouble,
      el(
        "div",
        { class: "actions" },
        button("Cancel", () => dialog.close("")),
        agree,
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => {
      done(dialog.returnValue === "yes" ? value() : null);
      dialog.remove();
    });
  });
}

/** What a field offers while something is typed. @param {string} id @param {string[]} values */
export const suggestions = (id, values) =>
  el(
    "datalist",
    { id },
    values.filter(Boolean).map((value) => el("option", { value })),
  );

/** The names of dances, to suggest some. @returns {Promise<string[]>} */
export const danceNames = async () => (await ask("dances?limit=100")).dances.map((dance) => dance.name);

/**
 * Ask for a text.
 * @param {{title: string, text?: string, yes: string, field: string, value?: string, suggested?: string[],
 *   optional?: boolean, save?: (text: string) => Promise<unknown>}} about
 * @returns {Promise<string | null>} null if it was given up
 */
export async function askText(about) {
  const input = el("input", {
    value: about.value || "",
    list: about.suggested ? "question-suggestions" : null,
    required: !about.optional,
    maxLength: 200,
    autofocus: true,
    autocomplete: "off",
  });
  const content = [
    el("label", { class: "field" }, about.field, input),
    about.suggested && suggestions("question-suggestions", about.suggested),
  ];
  return question(about, content.filter(Boolean), () => input.value.trim());
}

/**
 * Ask for one of several.
 * @param {{title: string, text?: string, yes: string, choices: {value: string, text: string}[]}} about
 * @returns {Promise<string | null>} its value, or null
 */
export async function chooseOne(about) {
  const choices = about.choices.map(({ value, text }, number) =>
    el(
      "label",
      { class: "check" },
      el("input", { type: "radio", name: "choice", value, checked: number === 0 }),
      el("span", {}, text),
    ),
  );
  const list = el("div", { class: "choices", role: "radiogroup", "aria-label": about.title }, choices);
  return question(about, [list], () => list.querySelector("input:checked").value);
}
