/** What speaks for a match and what against it, in sentences, of what the answer says. */

import { el, icon } from "../elements/dom.js";
import { basis, inStep, length, listed, performance, plain, ratio, ratioCell, tempoOf } from "../elements/say.js";
import { sorted } from "./panels.js";

/** @typedef {import("./pair.js").Pair} Pair */

const AGREES = 0.45, // of a body part along the match: 1 is the same movement, 0 what unrelated dances have
  HARDLY = 0.2,
  MOST_OF_CLIP = 0.85,
  HALF_OF_CLIP = 0.5,
  SHORT_SECONDS = 5,
  IN_STEP = 0.5,
  CLEAR_LEAD = 1, // powers of ten between the best dance and the next
  MOST_LEAD = 8, // that are told
  UNSEEN = 0.2;

/**
 * Two lists of sentences.
 * @typedef {{pro: string[], con: string[]}} Reasons
 * @param {Pair} pair @returns {Reasons}
 */
export function reasons(pair) {
  /** @type {Reasons} */
  const made = { pro: [], con: [] };
  const add = (/** @type {boolean} */ isFor, /** @type {string} */ text) => text && made[isFor ? "pro" : "con"].push(text);
  const { match } = pair.why;
  add(match.likelihood_ratio >= 2, ratio(match));
  add(true, performance(match));
  add(match.parts.synchrony >= IN_STEP, inStep(match));
  add(false, basis(match));
  tellParts(pair, add);
  tellCoverage(pair, add);
  tellNext(pair, add);
  tellChanges(match, add);
  tellUnseen(pair, add);
  return made;
}

/** Which body parts agree. @param {Pair} pair @param {(isFor: boolean, text: string) => unknown} add */
function tellParts({ why: { path } }, add) {
  const mean = (values) => {
    const known = values.filter((value) => value !== null);
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  };
  const [main] = sorted(Object.keys(path.agreement)),
    parts = main.filter((name) => name !== "body").map((name) => ({ name, value: mean(path.agreement[name]) }));
  const named = (chosen) => listed(chosen.map(({ name }) => plain(name)));
  const same = parts.filter(({ value }) => value !== null && value >= AGREES),
    other = parts.filter(({ value }) => value !== null && value < HARDLY);
  if (same.length === parts.length) add(true, "Every part of the body does the same.");
  else if (same.length) add(true, `The same movements: ${named(same)}.`);
  if (other.length) add(false, `Little in common: ${named(other)}.`);
}

/** How much of the clip matches. @param {Pair} pair @param {(isFor: boolean, text: string) => unknown} add */
function tellCoverage({ why: { match }, clock: { whole } }, add) {
  const found = match.query.end - match.query.start,
    share = found / Math.max(whole.end - whole.start, 0.1);
  if (share >= MOST_OF_CLIP) add(true, `It fits from end to end: ${length(found)}.`);
  else if (share >= HALF_OF_CLIP) add(true, `${length(found)} of ${length(whole.end - whole.start)} fit.`);
  else add(false, `Only ${length(found)} of ${length(whole.end - whole.start)} fit.`);
  if (found < SHORT_SECONDS) add(false, `${length(found)} are little to go by.`);
}

/** How far behind the next best dance is. @param {Pair} pair @param {(isFor: boolean, text: string) => unknown} add */
function tellNext({ answer, why: { match }, dance_id }, add) {
  const dancer = answer.dancers.find((one) => one.dancer === match.dancer);
  const others = (dancer?.candidates || []).filter((one) => one.dance_id !== dance_id && one.log_ratio !== null);
  const [next] = others.sort((a, b) => b.log_ratio - a.log_ratio);
  if (!next || match.log_ratio === null) return;
  const lead = match.log_ratio - next.log_ratio;
  const less = `${lead > MOST_LEAD ? "more than " : ""}${ratioCell(-Math.min(lead, MOST_LEAD))}`;
  if (lead >= CLEAR_LEAD) add(true, `The next best dance, ${next.dance}, is ${less}.`);
  else if (lead > 0) add(false, `${next.dance} comes nearly as near.`);
  else add(false, `${next.dance} comes nearer.`);
}

/** @param {any} match @param {(isFor: boolean, text: string) => unknown} add */
function tellChanges(match, add) {
  const speed = tempoOf(match),
    same = speed === "same tempo" || !speed;
  if (same && !match.mirrored) add(true, `The same way round${speed && ", at the same tempo"}.`);
  else add(false, `Not danced as it is known: ${listed([match.mirrored && "mirrored", !same && speed].filter(Boolean))}.`);
}

/** How much of the body had to be guessed. @param {Pair} pair @param {(isFor: boolean, text: string) => unknown} add */
function tellUnseen({ clip, path }, add) {
  const frames = clip.unseen.filter((_, i) => path.holds(clip.start + i / clip.fps)),
    joints = clip.skeleton.joints.length;
  const share = frames.reduce((sum, unseen) => sum + unseen.size, 0) / Math.max(1, frames.length * joints);
  if (share >= UNSEEN) add(false, `${Math.round(100 * share)} % of the body is not seen in your clip.`);
}

/** @param {Pair} pair */
export function reasonsPanel(pair) {
  const { pro, con } = reasons(pair);
  const list = (title, texts, sign, kind) =>
    texts.length > 0 &&
    el(
      "div",
      { class: `reasons ${kind}` },
      el("h3", {}, title),
      el(
        "ul",
        {},
        texts.map((text) => el("li", {}, icon(sign), el("span", {}, text))),
      ),
    );
  return el(
    "section",
    { class: "panel card", "aria-label": "What speaks for it and against it" },
    list("What speaks for it", pro, "tick", "pro"),
    list("What speaks against it", con, "dash", "con"),
  );
}
