/** Text that is changed where it stands: a click opens a field, Enter saves it, Escape or going elsewhere leaves it. */

import { button, el, icon } from "./dom.js";

/**
 * @typedef {object} Field
 * @property {string} label what it is, for people who do not see it
 * @property {string} [key] what tells it from others with the same label
 * @property {string} value
 * @property {string} [empty] what stands there without a value
 * @property {number} [most] characters
 * @property {string} [list] the id of a list of suggestions
 * @property {string} [placeholder]
 * @property {boolean} [required]
 * @property {any} [shown] what is shown instead of the plain value
 * @property {(value: string) => Promise<unknown>} save tells what went wrong by its error
 */

/** A field that can be changed, or only its text where nothing may be. @param {Field} field @param {boolean} may */
export function editable(field, may) {
  const place = el("span", { class: "editable", "data-field": field.key || field.label });
  const rest = () => place.replaceChildren(may ? opener(field, open) : field.shown || field.value);
  const close = () => {
    rest();
    place.querySelector("button")?.focus();
  };
  const open = () => {
    const form = editor(field, close, rest);
    place.replaceChildren(form);
    form.querySelector("input").select();
  };
  rest();
  return place;
}

/**
 * Draw anew what holds fields, and leave the keyboard where it is: at the same field.
 * @param {HTMLElement} root @param {() => Promise<void>} draw
 */
export async function keepingFocus(root, draw) {
  const at = /** @type {any} */ (document.activeElement)?.closest("[data-field]");
  const key = root.contains(at) && at.dataset.field;
  await draw();
  const places = [...root.querySelectorAll("[data-field]")];
  places.find((one) => one.dataset.field === key && one.matches(".editable"))?.querySelector("button")?.focus();
}

/** @param {Field} field @param {() => void} open */
const opener = ({ label, value, empty, shown }, open) =>
  el(
    "button",
    { type: "button", class: value ? "edit" : "edit empty", title: `Change the ${label}`, onclick: open },
    el("span", {}, value ? shown || value : empty || `add ${label}`),
    icon("pencil"),
  );

/**
 * @param {Field} field @param {() => void} close by the keyboard or a button
 * @param {() => void} rest the same, if the keyboard is elsewhere already
 */
function editor(field, close, rest) {
  let saving = false;
  const input = el("input", {
    value: field.value,
    "aria-label": field.label,
    maxLength: field.most || 200,
    list: field.list,
    placeholder: field.placeholder || "",
    required: Boolean(field.required),
    autocomplete: "off",
  });
  const trouble = el("span", { class: "edit-trouble", role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    const value = input.value.trim();
    if (value === field.value) {
      close();
      return;
    }
    saving = true;
    try {
      await field.save(value);
    } catch (error) {
      if (!error.error) throw error;
      const { offer } = error;
      trouble.replaceChildren(
        el("span", {}, error.message),
        offer ? button(offer.text, offer.act, { class: "offered" }) : "",
      );
      input.focus();
    } finally {
      saving = false;
    }
  };
  /** Left for something else in the page; another window may be looked at meanwhile. */
  const left = ({ currentTarget, relatedTarget }) => {
    if (!saving && document.hasFocus() && !currentTarget.contains(relatedTarget)) rest();
  };
  return el(
    "form",
    {
      class: "edit-form",
      onsubmit: submit,
      onfocusout: left,
      onmousedown: (event) => event.target !== input && event.preventDefault(), // its buttons do not leave it
      onkeydown: (event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        close();
      },
    },
    input,
    el("button", { class: "round quiet", "aria-label": `Save the ${field.label}` }, icon("tick")),
    button("", close, { class: "round quiet", "aria-label": "Leave it as it was" }, "close"),
    trouble,
  );
}
