/** Segments of a recording that never match: say one more, or let all match again. */

import { mayWrite } from "../service/api.js";
import { attempt, editRecording } from "../service/editing.js";
import { question } from "../elements/dialogs.js";
import { button, el } from "../elements/dom.js";
import { range, seconds, time } from "../elements/say.js";

/**
 * What is excluded, with the reason, and what can be done about it; nothing if there is neither.
 * @param {any} dance @param {any} recording of it @param {() => number} now the moment that is shown
 */
export function exclusions(dance, recording, now) {
  const { exclusions: known = [], file } = recording;
  const told = (one) => `${range(one)}${one.reason ? ` (${one.reason})` : ""}`;
  const clear = () => attempt(() => editRecording(dance, recording, { clear_exclusions: true }));
  if (!known.length && !mayWrite()) return null;
  return el(
    "div",
    { class: "exclusions" },
    known.length > 0 && el("p", { class: "faint small" }, "Never matches: ", known.map(told).join(", ")),
    mayWrite() &&
      button("Exclude a segment", () => exclude(dance, recording, now()), {
        class: "quiet",
        "aria-label": `Exclude a segment: ${file}`,
      }),
    mayWrite() &&
      known.length > 0 &&
      button("Let all match", clear, { class: "quiet", "aria-label": `Let all match: ${file}` }),
  );
}

/** Ask which segment. @param {any} dance @param {any} recording @param {number} start */
function exclude(dance, recording, start) {
  const moment = (value) =>
    el("input", {
      value,
      required: true,
      pattern: "([0-9]+:)?[0-9]+([.,][0-9]+)?",
      title: "seconds, or minutes and seconds such as 1:12.5",
      inputMode: "decimal",
      autocomplete: "off",
    });
  const from = moment(time(start)),
    to = moment(""),
    reason = el("input", { maxLength: 200, placeholder: "none", autocomplete: "off" });
  to.autofocus = true;
  const save = (segment) => editRecording(dance, recording, { exclude: segment });
  return question(
    {
      title: `Exclude a segment of ${recording.file}`,
      text: `It never matches from then on. The recording ends at ${time(recording.seconds)}.`,
      yes: "Exclude it",
      save,
    },
    [
      el(
        "div",
        { class: "pair" },
        el("label", { class: "field" }, "From", from),
        el("label", { class: "field" }, "To", to),
      ),
      el("label", { class: "field" }, "Reason, if you like", reason),
    ],
    () => ({ start: seconds(from.value), end: seconds(to.value), reason: reason.value.trim() || null }),
  );
}
