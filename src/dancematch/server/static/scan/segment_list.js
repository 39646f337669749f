/** The segments of a scan as text: to be played, and corrected where they stand. */

import { mayWrite } from "../service/api.js";
import { correct } from "../service/scanning.js";
import { changes } from "../elements/cards.js";
import { suggestions } from "../elements/dialogs.js";
import { button, el } from "../elements/dom.js";
import { editable } from "../elements/editable.js";
import { tell } from "../elements/notices.js";
import { range } from "../elements/say.js";
import { badge } from "../elements/verdicts.js";
import { NOTHING_KNOWN } from "./timeline.js";

/** @typedef {import("./timeline.js").Segment} Segment */

export class SegmentList {
  /**
   * @param {{colours: import("./timeline.js").Colours, choose: (segment: Segment) => void,
   *   corrected: (segment: Segment) => void, names: string[]}} about `names` of known dances
   */
  constructor({ colours, choose, corrected, names }) {
    this.colours = colours;
    this.choose = choose;
    this.corrected = corrected;
    this.list = el("ol", { class: "segments" });
    this.element = el(
      "section",
      { class: "segments-frame", "aria-label": "Segments" },
      el("h2", {}, "Segments"),
      suggestions("scan-dances", names),
      this.list,
    );
  }

  /** @param {any} job @param {Segment[]} segments in order of start @param {number | null} chosen */
  show(job, segments, chosen) {
    const over = Boolean(job.result) && job.finished !== null;
    this.list.replaceChildren(...segments.map((one) => this.#row(job.job_id, one, over)));
    this.mark(chosen);
  }

  /** @param {number | null} number */
  mark(number) {
    for (const row of this.list.children) {
      const here = row.dataset.number === String(number);
      row.classList.toggle("chosen", here);
      row.querySelector(".play-segment").setAttribute("aria-pressed", String(here));
    }
  }

  /** @param {string} job_id @param {Segment} segment @param {boolean} over whether the scan is */
  #row(job_id, segment, over) {
    const { number, dancer, span, verdict, dance, match, corrected } = segment,
      when = range(span);
    const facts = [`dancer ${dancer}`, ...(match && !corrected ? changes(match) : []), corrected && "as you said"];
    return el(
      "li",
      { class: "segment-row", "data-number": number },
      el("span", { class: `tl-key ${this.colours.of(segment)}`, "aria-hidden": "true" }),
      button(when, () => this.choose(segment), { class: "play-segment quiet", "aria-label": `Play ${when}` }, "play"),
      el(
        "div",
        { class: "segment-text" },
        el("div", { class: "segment-name" }, this.#name(job_id, segment, over), dance && badge(verdict)),
        el("p", { class: "faint small" }, facts.filter(Boolean).join(" · ")),
      ),
      over &&
        mayWrite() &&
        verdict === "possible match" &&
        button("Yes, it is", () => this.#save(job_id, segment, dance), { class: "confirm" }, "tick"),
    );
  }

  /** @param {string} job_id @param {Segment} segment @param {boolean} over */
  #name(job_id, segment, over) {
    return editable(
      {
        key: `segment ${segment.number}`,
        label: `dance at ${range(segment.span)}`,
        value: segment.dance || "",
        empty: NOTHING_KNOWN,
        shown: el("b", {}, segment.dance || NOTHING_KNOWN),
        list: "scan-dances",
        placeholder: "which dance is it?",
        required: true,
        save: (name) => this.#save(job_id, segment, name),
      },
      over && mayWrite(),
    );
  }

  /** @param {string} job_id @param {Segment} segment @param {string | null} name */
  async #save(job_id, segment, name) {
    const { segment: now, recording } = await correct(job_id, segment.number, name || "");
    this.corrected(now);
    tell(`${range(segment.span)} is now a recording of ${recording.dance}.`);
  }
}
