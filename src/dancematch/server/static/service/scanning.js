/** Scans of long videos: the one that is being sent, and the videos that this tab still has. */

import { ask, save, say, send, withQuery } from "./api.js";

/** @typedef {{name: string, share: number, message: string}} Sending */

/** @type {Sending | null} */
export let sending = null;
/**
 * Videos by scan, to be shown beside what was found: they never leave this tab but for the scan.
 * @type {Map<string, File>}
 */
export const videos = new Map();
export const changes = new EventTarget();

let stopping = new AbortController();

function set(values) {
  sending = values && { .../** @type {any} */ (sending), ...values };
  changes.dispatchEvent(new Event("change"));
}

/** Send a video; where that ends, the page goes to its scan. @param {File} file */
export async function begin(file) {
  cancel();
  stopping = new AbortController();
  set({ name: file.name, share: 0, message: "" });
  try {
    const path = withQuery("scan", { filename: file.name.slice(0, 200) });
    const { body } = await send("POST", path, file, (share) => set({ share }), stopping.signal);
    if (file.type.startsWith("video/")) videos.set(body.job_id, file);
    set(null);
    location.hash = `#/scan/${body.job_id}`;
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!error.error) throw error;
    set({ message: error.message });
  }
}

/** Give up what is being sent. */
export function cancel() {
  stopping.abort();
  set(null);
}

const KINDS = ["scan", "camera"];

/** The latest scans, of videos and of cameras. @returns {Promise<any[]>} */
export const latest = async () => (await ask("jobs")).jobs.filter((job) => KINDS.includes(job.kind));

/** What other programs can read a scan as. @type {[string, string][]} */
export const FORMATS = [
  ["csv", "Table"],
  ["srt", "Subtitles (SRT)"],
  ["vtt", "Subtitles (VTT)"],
  ["eaf", "ELAN"],
  ["edl", "Edit list (EDL)"],
];

/** Save a scan in a format. @param {any} job @param {string} format */
export const download = (job, format) => {
  const stem = (job.filename || "scan").replace(/\.[^.]+$/, "");
  return save(`scans/${job.job_id}/files/${format}`, `${stem}.${format}`);
};

/** Say which dance a segment shows. @param {string} job_id @param {number} number @param {string} dance */
export const correct = (job_id, number, dance) =>
  say("PATCH", `scans/${job_id}/segments/${number}`, { dance });
