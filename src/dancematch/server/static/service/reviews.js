/** The possible matches that people decide on, where the service keeps a list of them. */

import { ask, mayWrite, say } from "./api.js";
import { always } from "./storage.js";

const NAME = "reviewer",
  WANTED = "review";

/** "change": the number of those that wait, or whether there is a list at all. */
export const changes = new EventTarget();

/** The number that wait for a decision; null where the service keeps no list. @type {number | null} */
export let waiting = null;
let asked = false;

/** Ask how many wait. */
export async function renew() {
  if (asked && waiting === null) return; // the service has no such list
  try {
    set((await ask("reviews?state=waiting&limit=1")).waiting);
  } catch (error) {
    if (!error.error) throw error;
    if (!asked) set(null);
  }
}

/** @param {number | null} number */
function set(number) {
  asked = true;
  waiting = number;
  changes.dispatchEvent(new Event("change"));
}

/**
 * Those that wait or those that are decided, the oldest first, as many as one page has; `more` if there are others.
 * @param {"waiting" | "decided"} state @returns {Promise<{reviews: any[], more: boolean}>}
 */
export async function read(state) {
  const found = await ask(`reviews?state=${state}`);
  set(found.waiting);
  return { reviews: found.reviews, more: Boolean(found.next) };
}

/**
 * @param {string} review_id @param {"confirmed" | "rejected" | "changed" | null} decision null to open it again
 * @param {string} note
 */
export const decide = (review_id, decision, note) =>
  say("PATCH", `reviews/${encodeURIComponent(review_id)}`, {
    decision,
    decided_by: decision ? reviewer() : null,
    note: note || null,
  });

/** Who decides, as this browser remembers. */
export const reviewer = () => always.getItem(NAME) || "";
/** @param {string} name */
export const rememberReviewer = (name) => always.setItem(NAME, name);

/** Whether possible matches of the next searches go onto the list. */
export const isWanted = () => waiting !== null && mayWrite() && always.getItem(WANTED) === "on";
/** @param {boolean} wanted */
export const want = (wanted) => always.setItem(WANTED, wanted ? "on" : "off");
