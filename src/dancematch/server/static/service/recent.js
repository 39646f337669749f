/** The last searches of this browser, and what they found: kept here alone, until they are deleted. */

import { forget } from "./api.js";
import { always } from "./storage.js";

const KEPT = "recent-searches",
  MOST = 12,
  HELD_MILLISECONDS = 3_600_000; // the service forgets a clip after an hour

/**
 * @typedef {{search_id: string, filename: string | null, created: string, verdict: import("../elements/say.js").Verdict,
 *   dance: string | null, dance_id: string | null, dancers: number}} Recent
 */

/** The latest first. @returns {Recent[]} */
export function all() {
  try {
    const kept = JSON.parse(always.getItem(KEPT) || "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

/** @param {Recent[]} searches */
const keep = (searches) => always.setItem(KEPT, JSON.stringify(searches.slice(0, MOST)));

/** @param {any} answer of a search */
export function remember({ search_id, filename, created, verdict, dancers }) {
  if (!search_id) return;
  const best = dancers.find((one) => one.verdict !== "no match")?.candidates[0];
  const { dance = null, dance_id = null } = best || {};
  const made = { search_id, filename, created, verdict, dance, dance_id, dancers: dancers.length };
  keep([made, ...all().filter((one) => one.search_id !== search_id)]);
}

/** Whether the service may still have it. @param {Recent} search */
export const isHeld = ({ created }) => Date.now() - Date.parse(created) < HELD_MILLISECONDS;

/** Delete some, here and on the service. @param {Recent[]} searches */
export function drop(searches) {
  const gone = new Set(searches.map(({ search_id }) => search_id));
  keep(all().filter(({ search_id }) => !gone.has(search_id)));
  for (const one of searches) if (isHeld(one)) forget(`searches/${one.search_id}`).catch(() => undefined); // forgotten there already
}
