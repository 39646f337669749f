/** Where two performances differ, bone by bone, right below them. */

import { about, ask } from "../service/api.js";
import { el } from "../elements/dom.js";
import { time as formatTime, tooFar } from "../elements/say.js";

/** @typedef {import("./pair.js").Pair} Pair */

const MARKED_DEGREES = 30,
  NAMED = 2; // bones per moment

/**
 * Fills the panel when it has come, and points at bones that are off.
 * @param {Pair} pair @param {HTMLElement} place @param {(bones: string[][]) => void} mark
 */
export async function differencesPanel(pair, place, mark) {
  const { search_id, dance_id, why, clock } = pair;
  const from = `searches/${search_id}/matches/${encodeURIComponent(dance_id)}/differences`,
    found = await ask(`${from}?dancer=${why.match.dancer}`),
    { bones } = await about();
  if (!found.same) return;
  pointAtBones(pair, found.timeline, bones, mark);
  place.append(
    el("h2", {}, "Where they differ"),
    el(
      "p",
      { class: "faint small" },
      `The moments that differ most: click to see one. Bones that are off by ${MARKED_DEGREES}° or more have a halo.`,
    ),
    found.worst.length
      ? el(
          "ol",
          { class: "worst" },
          found.worst.map((moment) => el("li", {}, momentButton(moment, clock))),
        )
      : el("p", {}, "Nowhere much."),
  );
  place.hidden = false;
  clock.seek(clock.time);
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

/** @param {any} moment @param {import("../drawing/player.js").Clock} clock */
function momentButton(moment, clock) {
  const go = () => {
    clock.set({ playing: false });
    clock.seek(moment.query);
  };
  const told = ({ bone, mean, tendency }) => `${bone} ${mean.toFixed(0)}°${tendency ? ` ${tooFar(tendency)}` : ""}`;
  const late = Math.abs(moment.late) >= 0.1 && `${Math.abs(moment.late).toFixed(1)} s ${moment.late > 0 ? "late" : "early"}`;
  return el(
    "button",
    { type: "button", class: "row-button", onclick: go },
    el("b", {}, formatTime(moment.query)),
    el("span", {}, moment.bones.slice(0, NAMED).map(told).join(", ")),
    late && el("span", { class: "faint" }, late),
  );
}
