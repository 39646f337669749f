/** Dances that are chosen together, and what can be done with all of them. */

import { ask, dancePath } from "../service/api.js";
import { attempt, editMany, removeDances, settled } from "../service/editing.js";
import { askText, chooseOne } from "../elements/dialogs.js";
import { button, el } from "../elements/dom.js";
import { confirmed, tell } from "../elements/notices.js";
import { counted, labelsIn, listed } from "../elements/say.js";

/** @typedef {{dance_id: string, name: string, labels: string[], collection: string | null, etag: string}} Chosen */

export class Selection {
  constructor() {
    /** @type {Map<string, Chosen>} by id */
    this.chosen = new Map();
    this.count = el("b", { role: "status" });
    this.merge = button("Merge", () => attempt(() => this.#merge()));
    const act = (text, does) => button(text, () => attempt(does));
    this.element = el(
      "section",
      { class: "selection card", "aria-label": "The selected dances", hidden: true },
      this.count,
      el(
        "div",
        { class: "actions" },
        act("Add a label", () => this.#addLabel()),
        act("Remove a label", () => this.#removeLabel()),
        act("Set the collection", () => this.#setCollection()),
        this.merge,
        button("Remove", () => attempt(() => this.#remove()), { class: "danger" }),
        button("Select none", () => this.clear(), { class: "quiet" }),
      ),
    );
  }

  /** The box that selects a dance. @param {Chosen} dance */
  box(dance) {
    // What is shown anew is selected as before, in the state that it has now.
    if (this.chosen.has(dance.dance_id)) this.chosen.set(dance.dance_id, dance);
    const input = el("input", {
      type: "checkbox",
      class: "select",
      checked: this.chosen.has(dance.dance_id),
      "aria-label": `Select ${dance.name}`,
      onchange: () => {
        if (input.checked) this.chosen.set(dance.dance_id, dance);
        else this.chosen.delete(dance.dance_id);
        this.#draw();
      },
    });
    return input;
  }

  /**
   * After a change: what is no more is not selected any more, what is selected is known as it is now. The list
   * is shown anew meanwhile; it may be without some that are selected.
   * @param {string[]} gone @param {() => Promise<unknown>} showAnew
   */
  async renew(gone, showAnew) {
    gone.forEach((dance_id) => this.chosen.delete(dance_id));
    const before = new Map(this.chosen);
    await showAnew();
    for (const [dance_id, dance] of before) {
      if (this.chosen.get(dance_id) !== dance) continue;
      const now = await ask(dancePath(dance_id)).catch(() => null);
      if (now) this.chosen.set(dance_id, now);
      else this.chosen.delete(dance_id);
    }
    this.#draw();
  }

  /** Select none. */
  clear() {
    this.chosen.clear();
    for (const input of document.querySelectorAll("input.select:checked")) input.checked = false;
    this.#draw();
  }

  #draw() {
    const number = this.chosen.size;
    this.element.hidden = number === 0;
    this.count.textContent = number ? `${counted(number, "dance")} selected` : "";
    this.merge.disabled = number < 2;
  }

  /** What is selected, as it is after the last change. @returns {Promise<Chosen[]>} */
  async #dances() {
    await settled();
    return [...this.chosen.values()];
  }

  async #addLabel() {
    const { labels } = await ask("labels");
    const text = await askText({
      title: `Add a label to ${counted(this.chosen.size, "dance")}`,
      field: "Label, or several with commas",
      yes: "Add it",
      suggested: Object.keys(labels),
    });
    if (text && labelsIn(text).length) await editMany(await this.#dances(), { add_labels: labelsIn(text) });
  }

  async #removeLabel() {
    const labels = [...new Set((await this.#dances()).flatMap((dance) => dance.labels))].sort();
    if (!labels.length) {
      tell("None of them has a label.", "bad");
      return;
    }
    const label = await chooseOne({
      title: "Remove which label?",
      text: `From ${counted(this.chosen.size, "dance")}, where they have it.`,
      yes: "Remove it",
      choices: labels.map((one) => ({ value: one, text: one })),
    });
    const having = (await this.#dances()).filter((dance) => dance.labels.includes(label));
    if (label) await editMany(having, { remove_labels: [label] });
  }

  async #setCollection() {
    const { collections } = await ask("labels");
    const name = await askText({
      title: `Set the collection of ${counted(this.chosen.size, "dance")}`,
      field: "Collection; none if it is left empty",
      yes: "Set it",
      suggested: Object.keys(collections),
      optional: true,
    });
    if (name !== null) await editMany(await this.#dances(), { collection: name || null });
  }

  async #merge() {
    const dances = await this.#dances();
    const stays = await chooseOne({
      title: `Merge ${counted(dances.length, "dance")} into one`,
      text: "All their recordings become recordings of one dance. Which name stays?",
      yes: "Merge them",
      choices: dances.map(({ dance_id, name }) => ({ value: dance_id, text: name })),
    });
    if (!stays) return;
    const others = dances.filter(({ dance_id }) => dance_id !== stays);
    await editMany(
      others,
      { merge_into: stays },
      others.map(({ dance_id }) => dance_id),
    );
  }

  async #remove() {
    const dances = await this.#dances(),
      one = dances.length === 1;
    const meant = await confirmed(
      one ? `Remove ${dances[0].name}?` : `Remove ${counted(dances.length, "dance")}?`,
      `Everything that is kept of ${listed(dances.map(({ name }) => name).slice(0, 10))}` +
        `${dances.length > 10 ? " and others" : ""} is deleted. This cannot be undone.`,
      one ? "Remove it" : "Remove them",
    );
    if (meant) await removeDances(dances);
  }
}
