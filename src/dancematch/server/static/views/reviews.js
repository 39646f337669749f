/** Possible matches for people to decide on: which wait, and who decided what. */

import { ask, mayWrite, recordingPath, save } from "../service/api.js";
import * as reviews from "../service/reviews.js";
import { changes as changesOf, recordingPicture } from "../elements/cards.js";
import { button, el, link } from "../elements/dom.js";
import { tell } from "../elements/notices.js";
import { counted, moment, nameMatch, range, ratio, verdictWord } from "../elements/say.js";

/** @type {Record<string, {act: string, done: string, sign: "tick" | "close" | "pencil"}>} */
const DECISIONS = {
  confirmed: { act: "Confirm", done: "Confirmed", sign: "tick" },
  changed: { act: "Same dance, changed", done: "Same dance, changed", sign: "pencil" },
  rejected: { act: "Reject", done: "Rejected", sign: "close" },
};

/** @param {HTMLElement} root */
export async function show(root) {
  const waiting = el("div", { class: "reviews-frame" }),
    decided = el("div", { class: "reviews-frame" }),
    who = whoDecides();
  const draw = async () => {
    const [open, over] = await Promise.all([reviews.read("waiting"), reviews.read("decided")]);
    waiting.replaceChildren(...openList(open, who, draw));
    decided.replaceChildren(...decidedList(over, draw));
  };
  const parts = [
    el(
      "div",
      { class: "bar" },
      el("h1", {}, "Review"),
      button("Download as CSV", () => save("reviews.csv", "reviews.csv"), {}, "page"),
    ),
    mayWrite() && who.element,
    waiting,
    decided,
  ];
  root.append(...parts.filter(Boolean));
  await draw();
}

/**
 * @param {{reviews: any[], more: boolean}} found
 * @param {{isGiven: () => boolean}} who @param {() => Promise<void>} renew
 */
function openList({ reviews: open, more }, who, renew) {
  if (!open.length)
    return [
      el("h2", { id: "to-decide", tabIndex: -1 }, "Nothing to decide on"),
      el("p", { class: "faint" }, "Possible matches come here from searches that keep them for review."),
    ];
  return [
    el(
      "h2",
      { id: "to-decide", tabIndex: -1 },
      `${counted(open.length, "possible match", "possible matches")} to decide on`,
    ),
    el(
      "ul",
      { class: "reviews" },
      open.map((one) => openRow(one, who, renew)),
    ),
    more && el("p", { class: "faint" }, "There are more; they follow when some of these are decided."),
  ].filter(Boolean);
}

/** The last decision first. @param {{reviews: any[], more: boolean}} found @param {() => Promise<void>} renew */
function decidedList({ reviews: over, more }, renew) {
  if (!over.length) return [];
  const newest = [...over].sort((a, b) => b.decided.localeCompare(a.decided));
  return [
    el("h2", {}, "Decided"),
    el(
      "ul",
      { class: "reviews" },
      newest.map((one) => decidedRow(one, renew)),
    ),
    more && el("p", { class: "faint" }, "There are more; the table has all of them."),
  ].filter(Boolean);
}

/** The name of the person who decides, remembered in this browser. */
function whoDecides() {
  const input = el("input", {
    value: reviews.reviewer(),
    maxLength: 200,
    autocomplete: "name",
    onchange: () => reviews.rememberReviewer(input.value.trim()),
  });
  const element = el(
    "label",
    { class: "field who" },
    el(
      "span",
      {},
      "Your name ",
      el("span", { class: "faint" }, "stands beside what you decide; this browser remembers it"),
    ),
    input,
  );
  /** Whether it is given; asked for if not. */
  const isGiven = () => {
    reviews.rememberReviewer(input.value.trim());
    if (input.value.trim()) return true;
    tell("Say who decides first: your name is missing.", "bad");
    input.focus();
    return false;
  };
  return { element, isGiven };
}

/** Where the recording is shown. @param {any} one */
const placeOf = (one) => ["dance", one.dance_id, one.recording_id].map(encodeURIComponent).join("/");

/** The recording to be seen, where it is said to match; empty if it is no more. @param {any} one */
function picture(one) {
  const place = el("div", { class: "review-picture" });
  const fill = (recording) => {
    const how = { span: one.reference || undefined, mirrored: one.mirrored };
    place.replaceChildren(recordingPicture(recording, how));
  };
  ask(recordingPath(one.recording_id)).then(fill, () => undefined);
  return place;
}

/**
 * Do something to a review and show all anew, also if somebody else was first.
 * @param {() => Promise<unknown>} work @param {() => Promise<void>} renew @returns {Promise<boolean>} whether it worked
 */
async function done(work, renew) {
  try {
    await work();
  } catch (error) {
    if (!error.error) throw error;
    tell(error.message, "bad");
    if ([404, 409].includes(error.status)) await renew();
    return false;
  }
  await renew();
  return true;
}

/** What was found. @param {any} one */
function finding(one) {
  const facts = [
    one.dancer > 1 && `dancer ${one.dancer}`,
    one.query && `${range(one.query)} of the clip`,
    ...changesOf(one).filter((text) => text !== "same tempo"),
  ].filter(Boolean);
  return el(
    "div",
    { class: "review-text" },
    el(
      "h3",
      {},
      one.query_file || "a clip",
      el("span", { class: "faint" }, one.verdict === "no match" ? " is near " : " may be "),
      link(placeOf(one), {}, nameMatch(one)),
    ),
    one.reference && el("p", {}, link(placeOf(one), {}, `${range(one.reference)} of the recording`)),
    el("p", {}, `${verdictWord(one.verdict)}. ${ratio({ log_ratio: one.log_ratio })}`),
    el("p", { class: "faint small" }, facts.join(" · ")),
    one.asked && el("p", { class: "faint small" }, `searched for ${moment(one.asked)}`),
  );
}

/** @param {any} one @param {{isGiven: () => boolean}} who @param {() => Promise<void>} renew */
function openRow(one, who, renew) {
  const what = `${one.query_file || "a clip"} and ${one.dance}`;
  const note = el("input", { maxLength: 1000, placeholder: "Note, if you like", "aria-label": `Note on ${what}` });
  const decide = async (decision) => {
    if (!who.isGiven()) return;
    if (await done(() => reviews.decide(one.review_id, decision, note.value.trim()), renew))
      tell(`${what}: ${DECISIONS[decision].done.toLowerCase()}.`);
    document.getElementById("to-decide")?.focus({ preventScroll: true }); // the row that had it is gone
  };
  return el(
    "li",
    { class: "review card" },
    picture(one),
    finding(one),
    mayWrite() &&
      el(
        "div",
        { class: "review-decision" },
        note,
        el(
          "div",
          { class: "actions", role: "group", "aria-label": `Decide on ${what}` },
          Object.entries(DECISIONS).map(([decision, { act, sign }]) =>
            button(act, () => decide(decision), { class: decision === "confirmed" ? "primary" : "" }, sign),
          ),
        ),
      ),
  );
}

/** @param {any} one @param {() => Promise<void>} renew */
function decidedRow(one, renew) {
  const again = () => done(() => reviews.decide(one.review_id, null, ""), renew);
  return el(
    "li",
    { class: "review card decided" },
    picture(one),
    finding(one),
    el(
      "div",
      { class: "review-decision" },
      el("p", {}, el("b", {}, DECISIONS[one.decision].done), ` by ${one.decided_by}, ${moment(one.decided)}`),
      one.note && el("p", { class: "note" }, one.note),
      mayWrite() &&
        button("Open again", again, {
          class: "quiet",
          "aria-label": `Open again: ${one.query_file} and ${one.dance}`,
        }),
    ),
  );
}
