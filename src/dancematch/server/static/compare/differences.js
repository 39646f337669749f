/** Where two performances differ, right below them: what to practise, what was changed, and bone by bone. */

import { about, ask } from "../service/api.js";
import { el } from "../elements/dom.js";
import { time as formatTime, tooFar } from "../elements/say.js";

/** @typedef {import("./pair.js").Pair} Pair */

const MARKED_DEGREES = 30,
  NAMED = 2; // bones per moment

/** What the service finds different between the two. @param {Pair} pair @returns {Promise<any>} */
export function loadDifferences({ search_id, dance_id, why }) {
  const from = `searches/${search_id}/matches/${encodeURIComponent(dance_id)}/differences`;
  return ask(`${from}?dancer=${why.match.dancer}`);
}

/**
 * Fills the panel, and points at bones that are off.
 * @param {Pair} pair @param {any} found the differences @param {HTMLElement} place
 * @param {(bones: string[][]) => void} mark
 */
export async function showDifferences(pair, found, place, mark) {
  const { clock } = pair,
    { bones } = await about();
  if (!found.same) return;
  pointAtBones(pair, found.timeline, bones, mark);
  const { diff = [], practice = [] } = found.lesson || {},
    where = found.worst_counts || [];
  place.append(
    el("h2", {}, "Where they differ"),
    ...practiceList(practice),
    ...diffList(diff, clock),
    ...(diff.length ? [el("h3", {}, "Moment by moment")] : []),
    el(
      "p",
      { class: "faint small" },
      `The moments that differ most, by the time of your clip: click to see one beside its moment of the dance. ` +
        `Bones that are off by ${MARKED_DEGREES}° or more have a halo.`,
    ),
    found.worst.length
      ? el(
          "ol",
          { class: "worst" },
          found.worst.map((moment, i) => el("li", {}, momentButton(moment, where[i], pair))),
        )
      : el("p", {}, "Nowhere much."),
  );
  place.hidden = false;
  clock.seek(clock.time);
}

/** What to practise, in sentences. @param {string[]} practice */
const practiceList = (practice) =>
  practice.length
    ? [
        el("h3", {}, "To practise"),
        el(
          "ol",
          { class: "practice" },
          practice.map((text) => el("li", {}, text)),
        ),
      ]
    : [];

/** What became of each passage of the dance. @param {any[]} diff @param {import("../drawing/player.js").Clock} clock */
function diffList(diff, clock) {
  if (!diff.length) return [];
  const row = ({ kind, text, query }) => {
    const go = () => {
      clock.mark(query);
      clock.seek(query.start);
    };
    const content = [el("b", { class: `diff-kind ${kind.replaceAll(" ", "-")}` }, kind), el("span", {}, text)];
    return el(
      "li",
      {},
      query
        ? el("button", { type: "button", class: "row-button", title: "Loop it", onclick: go }, content)
        : el("p", { class: "row-button still" }, content),
    );
  };
  return [el("h3", {}, "Passage by passage"), el("ol", { class: "worst diff" }, diff.map(row))];
}

/** @param {Pair} pair @param {any} timeline @param {any} bones @param {(bones: string[][]) => void} mark */
function pointAtBones({ clock, path }, { query, degrees }, bones, mark) {
  const names = Object.keys(degrees);
  clock.addEventListener("time", () => {
    let i = query.findIndex((time) => time > clock.time);
    i = i < 0 ? query.length - 1 : Math.max(0, i - 1);
    const off = names.filter((name) => degrees[name][i] >= MARKED_DEGREES);
    mark(path.holds(clock.time) ? off.map((name) => bones[name]) : []);
  });
}

/** @param {any} moment @param {string | undefined} where in counts @param {Pair} pair */
function momentButton(moment, where, { clock, path }) {
  const go = () => {
    clock.set({ playing: false });
    path.pin(moment.query, moment.reference);
    clock.seek(moment.query);
  };
  const told = ({ bone, mean, tendency }) => `${bone} ${mean.toFixed(0)}°${tendency ? ` ${tooFar(tendency)}` : ""}`;
  const late = Math.abs(moment.late) >= 0.1 && `${Math.abs(moment.late).toFixed(1)} s ${moment.late > 0 ? "late" : "early"}`;
  return el(
    "button",
    { type: "button", class: "row-button", onclick: go },
    el("b", {}, formatTime(moment.query), where && el("span", { class: "faint" }, ` ${where}`)),
    el("span", {}, moment.bones.slice(0, NAMED).map(told).join(", ")),
    late && el("span", { class: "faint" }, late),
  );
}
