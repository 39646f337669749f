/** The search that is under way, whichever view is shown meanwhile, and the clips that this tab still has. */

import { ServiceError, ask, follow, forget, send, sentence, withQuery } from "./api.js";
import * as reviews from "./reviews.js";
import { visit } from "./storage.js";

const REMEMBERED = "search-job";

/**
 * @typedef {"sending" | "waiting" | "analysing" | "failed"} Phase
 * `partial` is the answer on what has been read of the clip.
 * @typedef {{file: File | null, name: string, url: string | null, phase: Phase, share: number, ahead: number,
 *   partial: any, message: string}} Task
 */

/** @type {Task | null} */
export let task = null;
/**
 * Clips by search, to be shown beside what was found: they never leave this tab but for the search.
 * @type {Map<string, File>}
 */
export const clips = new Map();
export const changes = new EventTarget();

let job_id = null;
let stopping = new AbortController();

function set(values) {
  task = values && { .../** @type {any} */ (task), ...values };
  changes.dispatchEvent(new Event("change"));
}

/** Search for a file; where it ends, the page goes to the answer. @param {File} file */
export async function begin(file) {
  await cancel();
  stopping = new AbortController();
  const url = file.type.startsWith("video/") ? URL.createObjectURL(file) : null;
  set({ file, url, name: file.name, phase: "sending", share: 0, ahead: 0, partial: null, message: "" });
  await attempt(async () => {
    const path = withQuery("search", { filename: file.name.slice(0, 200), review: reviews.isWanted() || null });
    const { status, body } = await send("POST", path, file, (share) => set({ share }), stopping.signal);
    if (status === 200) return body;
    visit.setItem(REMEMBERED, body.job_id);
    return watch(body.job_id);
  });
}

/** Track up the search that was under way when the page was left. */
export async function resume() {
  const remembered = visit.getItem(REMEMBERED);
  if (!remembered || task) return;
  let job;
  try {
    job = (await ask("jobs")).jobs.find((one) => one.job_id === remembered);
  } catch {
    /* the view shows the error */
  }
  if (!job || !["waiting", "running"].includes(job.state)) {
    visit.removeItem(REMEMBERED);
    return;
  }
  stopping = new AbortController();
  set({
    file: null,
    url: null,
    name: job.filename || "your clip",
    phase: "waiting",
    share: 0,
    ahead: 0,
    partial: null,
    message: "",
  });
  await attempt(() => watch(remembered));
}

async function watch(id) {
  job_id = id;
  const job = await follow(
    id,
    (now) =>
      set({
        phase: now.state === "waiting" ? "waiting" : "analysing",
        share: now.progress,
        ahead: now.ahead,
        partial: now.partial || null,
      }),
    stopping.signal,
  );
  if (job.state === "failed") throw new ServiceError(422, job.error.error, job.error.message);
  return job.state === "done" ? job.result : null;
}

async function attempt(work) {
  try {
    const answer = await work();
    finish(answer);
  } catch (error) {
    if (error.name === "AbortError") {
      finish(null);
      return;
    }
    visit.removeItem(REMEMBERED);
    job_id = null;
    if (!error.error) console.error(error);
    set({ phase: "failed", message: explainError(error) });
  }
}

/** @param {any} error */
const explainError = (error) =>
  error.error === "no_dancer"
    ? `${sentence(error.message)} Choose a clip that shows a whole person who moves, not too small in the picture.`
    : sentence(error.message);

function finish(answer) {
  const { file, url } = /** @type {any} */ (task) || {};
  if (url) URL.revokeObjectURL(url);
  visit.removeItem(REMEMBERED);
  job_id = null;
  set(null);
  if (!answer) return;
  if (file) clips.set(answer.search_id, file);
  location.hash = `#/search/${answer.search_id}`;
}

/** Give up what is under way. */
export async function cancel() {
  const id = job_id;
  job_id = null;
  stopping.abort();
  set(null);
  visit.removeItem(REMEMBERED);
  if (id) await forget(`jobs/${id}`).catch(() => undefined); // it may be over by now
}
