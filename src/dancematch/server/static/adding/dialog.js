/** Which files to add, under which names, and what is said of them. */

import { ask } from "../service/api.js";
import { begin } from "../service/adding.js";
import { isIndex, missing, readIndex, rowOf } from "./index_table.js";
import { danceNames, suggestions } from "../elements/dialogs.js";
import { button, el } from "../elements/dom.js";
import { dropPlace } from "../elements/picker.js";
import { counted, labelsIn } from "../elements/say.js";

const stemOf = (file) => file.name.replace(/\.[^.]+$/, "").trim() || "dance";

/** Ask for names, then add. @param {File[]} [files] @param {string} [dance] that all are recordings of */
export async function addDialog(files = [], dance = "") {
  const [known, names] = await Promise.all([ask("labels"), danceNames()]);
  const form = new AddForm(dance, known, names);
  document.body.append(form.dialog);
  form.count();
  form.place.takeGood(files);
  form.dialog.showModal();
}

class AddForm {
  /** @param {string} dance @param {any} known labels and collections @param {string[]} names of dances */
  constructor(dance, known, names) {
    /** @type {any[]} what an index says */
    this.index = [];
    this.table = el("div", { class: "add-index" }); // the index itself, to be taken out
    this.bad = false; // whether the index cannot be used
    this.rows = el("div", { class: "add-rows" });
    this.submit = el("button", { class: "primary", value: "add" });
    this.note = el("p", { class: "faint small", role: "status" });
    this.trouble = el("p", { class: "drop-refusal", role: "alert" });
    const field = (list = null) => el("input", { list, maxLength: 200, placeholder: "none", autocomplete: "off" });
    this.fields = { performer: field(), labels: field("labels"), collection: field("collections") };
    this.name = el("input", { value: dance, list: "dance-names", maxLength: 200, autocomplete: "off" });
    this.poster = el("input", { type: "checkbox" });
    this.together = { no: this.#choice("no", !dance), yes: this.#choice("yes", Boolean(dance)) };
    const hint = "And an index of them (CSV) if you have one";
    this.place = dropPlace({ title: "Drop videos or motion files", hint, many: true, small: true }, (files) =>
      this.put(files),
    );
    this.dialog = this.#build(known, names);
    this.dialog.addEventListener("close", () => this.#close());
  }

  #choice(value, checked) {
    return el("input", { type: "radio", name: "together", value, checked, onchange: () => this.count() });
  }

  #build({ labels, collections }, names) {
    const close = button("", () => dialog.close(), { class: "quiet round", "aria-label": "Close" }, "close");
    const dialog = el(
      "dialog",
      { class: "add", "aria-label": "Add dances" },
      el(
        "form",
        { method: "dialog" },
        el("div", { class: "dialog-top" }, el("h2", {}, "Add dances"), close),
        this.place,
        this.table,
        this.trouble,
        this.note,
        this.#which(),
        this.rows,
        this.#common(),
        suggestions("labels", Object.keys(labels)),
        suggestions("collections", Object.keys(collections)),
        suggestions("dance-names", names),
        el("div", { class: "actions" }, this.submit),
      ),
    );
    return dialog;
  }

  /** One dance per file, or one for all. */
  #which() {
    const { no, yes } = this.together;
    this.nameField = el("label", { class: "field" }, "Name of the dance", this.name);
    return el(
      "fieldset",
      { class: "which" },
      el("legend", { class: "unseen" }, "What the files are"),
      el("label", { class: "check" }, no, "One dance per file"),
      el("label", { class: "check" }, yes, "All are recordings of one dance"),
      this.nameField,
      this.#ifIndexed("Where the index names a dance, it decides."),
    );
  }

  /** Something to say while there is an index. @param {string} text */
  #ifIndexed(text) {
    return el("p", { class: "faint small if-indexed" }, text);
  }

  /** What holds for all. */
  #common() {
    const { performer, labels, collection } = this.fields;
    const field = (text, hint, input) =>
      el("label", { class: "field" }, el("span", {}, text, " ", el("span", { class: "faint" }, hint)), input);
    return el(
      "div",
      { class: "common" },
      this.#ifIndexed(
        "The index decides where it says something; these hold for the rest. Labels are added to its own.",
      ),
      el(
        "div",
        { class: "pair" },
        field("Performer", "who dances", performer),
        field("Labels", "such as styles, with commas", labels),
        field("Collection", "such as where they come from", collection),
      ),
      el(
        "label",
        { class: "check" },
        this.poster,
        el("span", {}, "Keep a small picture ", el("span", { class: "faint" }, "of each video, to know it by")),
      ),
    );
  }

  get #files() {
    return [...this.rows.children].map((row) => row.file);
  }

  /** Take files: those to be added, and an index of them. @param {File[]} files */
  async put(files) {
    const tables = await Promise.all(files.map(isIndex));
    const table = files.find((_, number) => tables[number]);
    if (table) await this.#read(table);
    files.filter((_, number) => !tables[number]).forEach((file) => this.rows.append(this.#row(file)));
    if (table) for (const row of this.rows.children) this.#name(row);
    this.count();
  }

  /** Take an index; one that cannot be used stands in the way until it is taken out. @param {File} table */
  async #read(table) {
    const how = { class: "quiet round", "aria-label": `Leave ${table.name} out` },
      leave = button("", () => this.#forgetIndex(), how, "close");
    this.#forgetIndex();
    this.table.append(el("span", { class: "ellipsis" }, `Index: ${table.name}`), leave);
    try {
      this.index = await readIndex(table);
    } catch (error) {
      if (!error.error) throw error;
      this.bad = true;
      this.trouble.textContent = `${table.name}: ${error.message} Take it out to go on.`;
    }
  }

  #forgetIndex() {
    this.index = [];
    this.bad = false;
    this.trouble.textContent = "";
    this.table.replaceChildren();
    for (const row of this.rows.children) this.#name(row);
    this.count();
  }

  #row(file) {
    const leave = () => {
      row.remove();
      this.count();
    };
    const row = el(
      "div",
      { class: "add-row" },
      el(
        "label",
        { class: "field" },
        el("span", { class: "faint ellipsis" }, file.name),
        el("input", { required: true, maxLength: 200, "aria-label": `Name of the dance in ${file.name}` }),
      ),
      button("", leave, { class: "quiet round", "aria-label": `Leave ${file.name} out` }, "close"),
    );
    row.file = file;
    this.#name(row);
    return row;
  }

  #name(row) {
    row.querySelector("input").value = rowOf(this.index, row.file)?.dance || stemOf(row.file);
  }

  /** Show what the choices come to. */
  count() {
    const number = this.rows.childElementCount,
      one = this.together.yes.checked;
    this.nameField.hidden = !one;
    this.name.required = false;
    for (const row of this.rows.children) {
      const input = row.querySelector("input"),
        named = Boolean(rowOf(this.index, row.file)?.dance);
      if (one && named) this.#name(row);
      input.hidden = one && !named;
      input.disabled = one;
      this.name.required ||= one && !named;
    }
    const what = one ? "recording" : this.index.length ? "file" : "dance";
    this.submit.textContent = number > 1 ? `Add ${counted(number, what)}` : `Add the ${what}`;
    this.submit.disabled = number === 0 || this.bad;
    this.dialog.classList.toggle("indexed", this.index.length > 0);
    this.dialog.classList.toggle("none", number === 0);
    this.dialog.classList.toggle("several", number > 1 || one);
    const read = this.#files.filter((file) => rowOf(this.index, file)).length;
    this.note.textContent = this.index.length
      ? `The index says what ${counted(read, "file is", "files are")}. ${missing(this.index, this.#files)}`
      : "";
  }

  /** What is said of the file of a row: by the index, else by the fields for all. */
  #said(row) {
    const { performer, labels, collection } = this.fields,
      { dance, file: _file, row: _line, labels: own, ...said } = rowOf(this.index, row.file) || {};
    const one = this.together.yes.checked;
    return {
      performer: performer.value.trim(),
      collection: collection.value.trim(),
      ...Object.fromEntries(Object.entries(said).filter(([, value]) => value)),
      dance: one && !dance ? this.name.value.trim() : row.querySelector("input").value.trim(),
      join: one || Boolean(dance) || null,
      labels: [...new Set([...(own || []), ...labelsIn(labels.value)])],
      poster: this.poster.checked || null,
    };
  }

  #close() {
    const chosen = [...this.rows.children].map((row) => ({ file: row.file, said: this.#said(row) }));
    if (this.dialog.returnValue === "add" && chosen.length) begin(chosen);
    this.dialog.remove();
  }
}
