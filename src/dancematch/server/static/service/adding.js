/** Recordings on their way into the catalogue: what is sent of them, and how far they are. */

import { ServiceError, about, ask, follow, forget, send, sentence, withQuery } from "./api.js";
import { tell } from "../elements/notices.js";
import { forgetMotions } from "../drawing/stage.js";

/**
 * What is said of a recording to be added; `join` where the dance may have others.
 * @typedef {{dance: string, join?: boolean, performer?: string, url?: string, date?: string, labels?: string[],
 *   collection?: string, notes?: string, poster?: boolean}} Said
 * @typedef {"queued" | "sending" | "waiting" | "analysing" | "done" | "taken" | "failed"} Phase
 * @typedef {{said: Said, name: string, dance_id: string | null, file: File | null, phase: Phase, share: number,
 *   ahead: number, message: string, job_id: string | null, stopping: AbortController}} Addition
 */

/** @type {Addition[]} */
export const additions = [];
export const changes = new EventTarget(); // "change": how far they are; "added": there is a new recording
let busy = false;

const announce = () => changes.dispatchEvent(new Event("change"));
export const isBusy = () => additions.some((one) => !isOver(one));
/** @param {Addition} one */
export const isOver = (one) => ["done", "taken", "failed"].includes(one.phase);

/** @param {Said} said @param {string} filename @param {Partial<Addition>} more @returns {Addition} */
const addition = (said, filename, more) => ({
  said,
  name: filename.replace(/\.[^.]+$/, "") === said.dance ? said.dance : `${said.dance} (${filename})`,
  dance_id: null,
  file: null,
  phase: "queued",
  share: 0,
  ahead: 0,
  message: "",
  job_id: null,
  stopping: new AbortController(),
  ...more,
});

/** Add files, each with what is said of it. @param {{file: File, said: Said}[]} chosen */
export function begin(chosen) {
  for (const { file, said } of chosen) additions.push(addition(said, file.name, { file }));
  location.hash = "#/dances";
  announce();
  sendAll();
}

/** Add it after all, as one more recording of the dance that has the name. @param {Addition} one */
export function join(one) {
  Object.assign(one, { said: { ...one.said, join: true }, phase: "queued", share: 0, message: "" });
  announce();
  sendAll();
}

/** Files go out one after another; what the service does with them goes on meanwhile. */
async function sendAll() {
  if (busy) return;
  busy = true;
  for (let next; (next = additions.find((one) => one.phase === "queued"));) await add(next);
  busy = false;
}

/** @param {Addition} one */
async function add(one) {
  const set = (values) => {
    Object.assign(one, values);
    announce();
  };
  set({ phase: "sending" });
  try {
    const { labels, ...said } = one.said;
    const path = withQuery("recordings", { ...said, label: labels, filename: one.file.name.slice(0, 200) });
    const { status, body } = await send(
      "POST",
      path,
      one.file,
      (share) => set({ share }),
      one.stopping.signal,
    );
    if (status !== 202) {
      finish(one, body, status === 200 ? "known already" : "");
      return;
    }
    set({ job_id: body.job_id, phase: "waiting", share: 0 });
    awaitJob(one, set);
  } catch (error) {
    fail(one, error);
  }
}

/** @param {Addition} one @param {(values: any) => void} set */
async function awaitJob(one, set) {
  try {
    const job = await follow(
      one.job_id,
      (now) =>
        set({
          phase: now.state === "waiting" ? "waiting" : "analysing",
          share: now.progress,
          ahead: now.ahead,
        }),
      one.stopping.signal,
    );
    if (job.state === "failed") throw new ServiceError(422, job.error.error, job.error.message);
    if (job.state === "cancelled") throw new DOMException("", "AbortError");
    finish(one, job.result);
  } catch (error) {
    fail(one, error);
  }
}

/** @param {Addition} one @param {any} recording as the service has it @param {string} [message] what else to say */
function finish(one, recording, message = "") {
  Object.assign(one, { phase: "done", share: 1, file: null, message, dance_id: recording.dance_id });
  forgetMotions();
  about(true).catch(() => undefined);
  announce();
  changes.dispatchEvent(new Event("added"));
}

/** @param {Addition} one @param {any} error */
function fail(one, error) {
  // The same error tells that the name is taken and that the very file is known: only the first can be helped.
  const taken = error.error === "dance_exists" && !one.said.join && !/very content/.test(error.message);
  if (error.name === "AbortError") additions.splice(additions.indexOf(one), 1);
  else if (taken && one.file) Object.assign(one, { phase: "taken", message: "there is a dance of this name" });
  else Object.assign(one, { phase: "failed", message: sentence(error.message), file: null });
  announce();
}

/** @param {Addition} one */
export async function drop(one) {
  one.stopping.abort();
  additions.splice(additions.indexOf(one), 1);
  announce();
  if (isOver(one) || !one.job_id) return;
  try {
    await forget(`jobs/${one.job_id}`);
  } catch (error) {
    if (error.error !== "too_late") return; // it may be over and gone by now
    tell(error.message, "bad");
    changes.dispatchEvent(new Event("added"));
  }
}

/** Drop from the list what is done. */
export const dropDone = () =>
  additions.splice(0, additions.length, ...additions.filter((one) => one.phase !== "done"));

/** Track up what an earlier visit or another window began. */
export async function resume() {
  const { jobs } = await ask("jobs");
  const running = jobs.filter((job) => job.kind === "add" && ["waiting", "running"].includes(job.state));
  for (const job of running.reverse()) {
    const own = (one) => one.file && !isOver(one) && one.file.name === job.filename;
    if (additions.some((one) => one.job_id === job.job_id || own(one))) continue;
    const values = { phase: "waiting", share: job.progress, ahead: job.ahead, job_id: job.job_id };
    const one = addition({ dance: job.dance || job.filename }, job.filename || "", values);
    additions.push(one);
    awaitJob(one, (now) => {
      Object.assign(one, now);
      announce();
    });
  }
  announce();
}
