/** The camera before the service: pieces of a recording go there while it is made, what is danced comes back. */

import { ServiceError, follow, forget, say, send, withQuery } from "./api.js";
import { videos } from "./scanning.js";

const PIECE_MS = 500, // of the recording
  BITS = 1_500_000, // per second
  PICTURES = { width: { ideal: 960 }, frameRate: { ideal: 24, max: 30 } };
// VP8 is quick to write; other browsers write fragments of MP4.
const KINDS = ["video/webm;codecs=vp8", "video/webm", "video/mp4"];

/** The camera, if it may be used. @returns {Promise<MediaStream>} */
export const openCamera = () => navigator.mediaDevices.getUserMedia({ video: PICTURES, audio: false });

/**
 * One session before the camera.
 * @fires Event#recognised what is danced now, in `recognised` @fires Event#segment @fires Event#over
 */
export class LiveSession extends EventTarget {
  /** @param {MediaStream} stream */
  constructor(stream) {
    super();
    this.stream = stream;
    /** @type {any} */
    this.job = null;
    /** @type {any[]} */
    this.recognised = [];
    /** @type {any[]} */
    this.segments = [];
    this.message = ""; // what went wrong
    this.over = false;
    this.pieces = [];
    /** @type {MediaRecorder | null} */
    this.recorder = null;
    this.began = 0;
    this.sending = Promise.resolve();
    this.stopped = null;
    for (const track of stream.getTracks())
      track.addEventListener("ended", () => this.end("The camera is gone. What was found is kept."));
  }

  /** Begin the job: its worker is ready when the countdown is over. @param {string} filename */
  async open(filename) {
    this.job = await say("POST", withQuery("cameras", { filename }));
    this.#follow();
  }

  /** Seconds since the first picture. */
  get elapsed() {
    return this.began ? (performance.now() - this.began) / 1000 : 0;
  }

  /** Let the pictures go. */
  record() {
    if (this.over) return;
    const mimeType = KINDS.find((kind) => MediaRecorder.isTypeSupported(kind));
    this.recorder = new MediaRecorder(this.stream, { mimeType, videoBitsPerSecond: BITS });
    this.stopped = new Promise((done) => this.recorder.addEventListener("stop", done, { once: true }));
    this.recorder.addEventListener("start", () => {
      this.began = performance.now();
    });
    this.recorder.addEventListener("dataavailable", ({ data }) => data.size && this.#send(data));
    this.recorder.start(PIECE_MS);
  }

  /** One piece after the other. @param {Blob} piece */
  #send(piece) {
    this.pieces.push(piece);
    const path = withQuery(`cameras/${this.job.job_id}/pictures`, { elapsed: this.elapsed.toFixed(2) });
    this.sending = this.sending.then(async () => {
      if (this.over) return;
      try {
        await send("POST", path, piece, () => undefined);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        this.end(error.message);
      }
    });
  }

  async #follow() {
    const tell = (job) => {
      this.job = { ...this.job, ...job };
      const found = job.result || job;
      this.#add("segments", "segment", found.segments);
      this.#add("recognised", "recognised", found.recognised);
    };
    try {
      await follow(this.job.job_id, tell);
      if (this.job.error && !this.message) this.message = this.job.error.message;
    } catch (error) {
      if (!error.error) throw error;
      this.message = this.message || error.message;
    }
    this.#close();
    this.dispatchEvent(new Event("over"));
  }

  #add(list, event, known = []) {
    const fresh = known.slice(this[list].length);
    this[list] = known.length > this[list].length ? known : this[list];
    if (fresh.length) this.dispatchEvent(new Event(event));
  }

  /** End it with what was found. @param {string} [message] why */
  async end(message = "") {
    if (this.over) return;
    this.message = this.message || message;
    if (this.recorder?.state === "recording") {
      this.recorder.stop();
      await this.stopped; // its last piece is on its way
    }
    await this.sending;
    this.over = true;
    this.#close();
    if (this.job) await forget(`cameras/${this.job.job_id}`).catch(() => undefined); // it may be off by now
  }

  /** The tab is closed: there is no time left for the last piece. */
  leave() {
    if (this.over || !this.job) return;
    this.over = true;
    forget(`cameras/${this.job.job_id}`, undefined, true).catch(() => undefined);
    this.#close();
  }

  #close() {
    this.over = true;
    for (const track of this.stream.getTracks()) track.stop();
    if (!this.pieces.length) return;
    const kind = this.recorder.mimeType.split(";")[0];
    videos.set(this.job.job_id, new File(this.pieces, `camera.${kind.split("/")[1]}`, { type: kind }));
  }
}
