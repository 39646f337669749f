/** Before the camera: the dance's name appears while one dances, in letters to be read from afar. */

import { about } from "../service/api.js";
import { LiveSession, openCamera } from "../service/camera.js";
import { button, el, link } from "../elements/dom.js";
import { canFilm } from "../elements/picker.js";
import { counted, length, time } from "../elements/say.js";

const COUNTDOWN = 5, // seconds to step back
  STALE = 6, // seconds after its end, from which on a dance is not danced any more
  BEHIND = 4; // seconds of delay of the pictures that are worth a word

/** @param {HTMLElement} root */
export async function show(root) {
  const facts = await about(true),
    view = new LiveView(root, facts);
  view.invite();
  return { leave: () => view.leave(), keys: (event) => view.key(event) };
}

class LiveView {
  /** @param {HTMLElement} root @param {any} facts */
  constructor(root, facts) {
    this.root = root;
    this.facts = facts;
    /** @type {LiveSession | null} */
    this.session = null;
    this.clock = 0;
    this.gone = () => this.session?.leave();
    addEventListener("pagehide", this.gone);
  }

  /** @param {string} [trouble] */
  invite(trouble = "") {
    const able = canFilm();
    this.root.replaceChildren(
      link("scan", { class: "back" }, "‹ all scans"),
      el(
        "div",
        { class: "hero" },
        el("h1", {}, "Dance, and see its name"),
        el(
          "p",
          { class: "lead" },
          "The camera’s pictures go to this service and nowhere else; none is kept. A dance is named after about eight seconds.",
        ),
        !able &&
          el("p", { class: "drop-refusal" }, "Browsers lend the camera to secure pages only (https or localhost)."),
        trouble && el("p", { class: "drop-refusal", role: "alert" }, trouble),
        this.facts.dances === 0 && el("p", { class: "drop-refusal" }, "No dances are known here yet: add some first."),
        el(
          "div",
          { class: "actions centre" },
          button("Use the camera", () => this.start(), { class: "primary", disabled: !able }, "camera"),
        ),
        el("p", { class: "faint small" }, `Up to ${length(this.facts.limits.camera_seconds)} at a time.`),
      ),
    );
  }

  async start() {
    let stream = null;
    try {
      stream = await openCamera();
      this.session = new LiveSession(stream);
      this.#stage(stream);
      await this.session.open(`camera ${new Date().toISOString().slice(0, 16).replace("T", " ")}`);
    } catch (error) {
      stream?.getTracks().forEach((track) => track.stop());
      this.session = null;
      this.invite(explain(error));
      return;
    }
    this.session.addEventListener("recognised", () => this.#named());
    this.session.addEventListener("segment", () => this.#listed());
    this.session.addEventListener("over", () => this.#over());
    this.#countDown(COUNTDOWN);
  }

  /** @param {MediaStream} stream */
  #stage(stream) {
    this.letters = el("p", { class: "live-letters", role: "status", "aria-live": "assertive" });
    this.said = el("p", { class: "live-said" });
    const preview = el("video", {
      srcObject: stream,
      muted: true,
      playsInline: true,
      autoplay: true,
      "aria-label": "What the camera sees",
    });
    this.place = el("section", { class: "live-stage", "aria-label": "Camera" }, preview, this.letters, this.said);
    this.stop = button("Stop", () => this.session?.end(), { class: "primary" });
    this.list = el("ol", { class: "live-list" });
    this.root.replaceChildren(
      this.place,
      el(
        "div",
        { class: "bar" },
        el("h1", { class: "live-title" }, "Live"),
        el(
          "div",
          { class: "actions" },
          document.fullscreenEnabled && button("Full screen", () => this.#fill(), {}),
          this.stop,
        ),
      ),
      this.list,
    );
  }

  #fill() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.place.requestFullscreen().catch(() => undefined); // some browsers refuse
  }

  /** @param {number} left seconds */
  #countDown(left) {
    if (!this.session || this.session.over) return;
    if (left > 0) {
      this.#write(String(left), "count");
      this.said.textContent = "Step back until your whole body is in the picture";
      this.clock = setTimeout(() => this.#countDown(left - 1), 1000);
      return;
    }
    this.#write("Dance!", "go");
    this.said.textContent = "";
    this.session.record();
    this.clock = setInterval(() => this.#look(), 500);
  }

  /** Letters as large as they can be. @param {string} text @param {string} kind */
  #write(text, kind) {
    if (this.letters.textContent === text) return;
    const longest = Math.max(...text.split(/\s+/).map((word) => word.length), 1);
    this.letters.textContent = text;
    this.letters.className = `live-letters ${kind}`;
    this.letters.style.setProperty("--letters", String(Math.max(longest, Math.ceil(text.length / 3))));
  }

  #named() {
    const now = this.session.recognised.at(-1);
    this.#write(now.dance, "name");
    this.said.textContent = `named ${now.delay_seconds.toFixed(1)} s after it began`;
    this.#listed();
  }

  /** What was recognised, the latest first. */
  #listed() {
    const { recognised } = this.session;
    this.list.replaceChildren(
      ...[...recognised]
        .reverse()
        .map((one) =>
          el(
            "li",
            {},
            el("b", {}, one.dance),
            el(
              "span",
              { class: "faint small" },
              ` from ${time(one.span.start)}, dancer ${one.dancer}, named after ${one.delay_seconds.toFixed(1)} s`,
            ),
          ),
        ),
    );
    this.#look();
  }

  /** A dance that is over is not named any more. */
  #look() {
    const { session } = this,
      now = session?.recognised.at(-1);
    if (!session || session.over || !now) return;
    const ended = session.segments.some(
      ({ dance, span }) => dance === now.dance && span.end > now.span.start && span.end < session.elapsed - STALE,
    );
    if (ended) {
      this.#write("…", "go");
      this.said.textContent = "";
    } else if (now.delay_seconds > 2 * STALE + BEHIND)
      this.said.textContent = `named ${now.delay_seconds.toFixed(1)} s after it began: this service is busy`;
  }

  #over() {
    clearInterval(this.clock);
    if (!this.root.contains(this.place)) return;
    const { session } = this,
      { recognised, job, message } = session;
    if (document.fullscreenElement) document.exitFullscreen();
    this.place.remove();
    this.stop.replaceWith(button("Again", () => this.start(), { class: "primary" }, "camera"));
    const heading = this.root.querySelector("h1");
    heading.textContent = recognised.length
      ? counted(new Set(recognised.map((one) => one.dance_id)).size, "dance") + " recognised"
      : "No dance recognised";
    if (message) heading.after(el("p", { class: "drop-refusal", role: "alert" }, message));
    if (job?.result) heading.after(link(`scan/${job.job_id}`, { class: "button" }, "See the timeline"));
  }

  leave() {
    clearInterval(this.clock);
    removeEventListener("pagehide", this.gone);
    this.session?.end();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "Escape") return false;
    if (this.session && !this.session.over) this.session.end();
    else location.hash = "#/scan";
    return true;
  }
}

/** @param {any} error */
function explain(error) {
  if (error.error) return error.message;
  return error.name === "NotAllowedError"
    ? "The camera may not be used here: allow it in the address bar."
    : "There is no camera that could be used.";
}
