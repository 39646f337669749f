/** Long videos: drop one, see what is danced when and by whom, correct it, take it along. */

import { about, ask, follow, forget } from "../service/api.js";
import { danceNames } from "../elements/dialogs.js";
import { button, el, link } from "../elements/dom.js";
import { confirmed } from "../elements/notices.js";
import { dropPlace } from "../elements/picker.js";
import { counted, length, moment, size } from "../elements/say.js";
import * as scanning from "../service/scanning.js";
import { SegmentList } from "../scan/segment_list.js";
import { watch } from "../scan/stages.js";
import { Colours, Timeline } from "../scan/timeline.js";

/** @param {HTMLElement} root @param {string[]} parts */
export async function show(root, [job_id]) {
  if (job_id) return new ScanView(root, await ask(`jobs/${job_id}`), await danceNames()).begin();
  const [facts, jobs] = await Promise.all([about(true), scanning.latest()]);
  const draw = () => root.replaceChildren(...(scanning.sending ? underWay(scanning.sending) : invitation(facts, jobs)));
  const follow = () => {
    const bar = root.querySelector("progress");
    if (bar && scanning.sending && !scanning.sending.message) advance(root, scanning.sending);
    else draw();
  };
  scanning.changes.addEventListener("change", follow);
  draw();
  return { leave: () => scanning.changes.removeEventListener("change", follow) };
}

/** @param {any} facts @param {any[]} jobs scans of before */
function invitation({ limits }, jobs) {
  return [
    el(
      "div",
      { class: "hero" },
      el("h1", {}, "What is danced when?"),
      el("p", { class: "lead" }, "Drop a long video: a show, a class, an evening. It becomes a timeline of the dances known here."),
    ),
    dropPlace(
      {
        title: "Drop a long video here",
        hint: `Up to ${hours(limits.scan_seconds)} and ${size(limits.scan_bytes)}`,
        more: [el("a", { class: "button", href: "#/live" }, "Live with the camera")],
      },
      ([file]) => scanning.begin(file),
    ),
    jobs.length > 0 &&
      el(
        "section",
        { class: "scans", "aria-label": "Scans" },
        el("h2", {}, "Scanned before"),
        el("ul", {}, jobs.map(scanRow)),
        el(
          "p",
          { class: "faint small" },
          "The video is deleted as soon as it is read. What was found and the skeletons of the dancers are kept for a week.",
        ),
      ),
  ].filter(Boolean);
}

/** @param {number} seconds */
const hours = (seconds) => (seconds >= 3600 ? counted(Math.round(seconds / 360) / 10, "hour") : length(seconds));

const STATES = { waiting: "waiting", running: "running", done: "", failed: "broke off", cancelled: "cancelled" };

/** @param {any} job */
const scanRow = (job) =>
  el(
    "li",
    {},
    link(`scan/${job.job_id}`, { class: "ellipsis" }, nameOf(job)),
    el("span", { class: "faint small" }, [moment(job.created), STATES[job.state]].filter(Boolean).join(" · ")),
  );

/** @param {any} job */
const nameOf = (job) => job.filename || (job.kind === "camera" ? "Camera" : "Video");

/** @param {scanning.Sending} sending */
function underWay(sending) {
  const failed = sending.message !== "";
  const view = el(
    "section",
    { class: failed ? "card trouble" : "card progress-card" },
    el(
      "div",
      { class: "progress-text" },
      el("h1", {}, failed ? "This video cannot be scanned" : "Sending the video"),
      el("p", { class: "faint ellipsis" }, sending.name),
      failed
        ? el("p", { role: "alert" }, sending.message)
        : [el("progress", { max: 1, "aria-label": "Progress" }), el("p", { class: "phase", role: "status" })],
      el(
        "div",
        { class: "actions" },
        button(failed ? "Try another video" : "Cancel", () => scanning.cancel()),
      ),
    ),
  );
  if (!failed) advance(view, sending);
  return [view];
}

/** @param {HTMLElement} root @param {scanning.Sending} sending */
function advance(root, { share }) {
  root.querySelector("progress").value = share;
  root.querySelector(".phase").textContent = `Sent: ${Math.floor(100 * share)} %`;
}

class ScanView {
  /** @param {HTMLElement} root @param {any} job @param {string[]} names of known dances */
  constructor(root, job, names) {
    this.root = root;
    this.job = job;
    this.total = 0;
    this.chosen = null;
    /** @type {import("../scan/stages.js").Watched | null} */
    this.watched = null;
    this.turn = 0;
    this.leaving = new AbortController();
    const colours = new Colours(),
      choose = (segment) => this.choose(segment);
    this.timeline = new Timeline(colours, choose);
    this.list = new SegmentList({ colours, choose, names, corrected: (segment) => this.#corrected(segment) });
    this.heading = el("div", { class: "hero left" });
    this.stage = el("div", { class: "watched-place" });
    root.append(
      link("scan", { class: "back" }, "‹ all scans"),
      this.heading,
      this.timeline.element,
      this.stage,
      this.list.element,
    );
  }

  begin() {
    this.#draw();
    if (this.#isOpen()) this.#follow();
    return { leave: () => this.#leave(), keys: (event) => this.#key(event) };
  }

  #isOpen() {
    return ["waiting", "running"].includes(this.job.state);
  }

  /** @returns {import("../scan/timeline.js").Segment[]} in order of start */
  #segments() {
    const { result, segments, partial } = this.job;
    const found = result?.segments || segments || partial?.segments || [];
    return [...found].sort((a, b) => a.span.start - b.span.start || a.dancer - b.dancer);
  }

  async #follow() {
    const tell = (job) => {
      const { segments = [] } = this.job;
      this.job = { ...this.job, ...job };
      if (this.#isOpen() && this.job.segments?.length === segments.length) this.#progress();
      else this.#draw();
    };
    try {
      await follow(this.job.job_id, tell, this.leaving.signal);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
  }

  #draw() {
    const segments = this.#segments(),
      { result, partial } = this.job;
    this.total = Math.max(this.total, result?.read_seconds || 0, partial?.seconds || 0);
    if (!this.total && segments.length) this.#askTotal();
    this.heading.replaceChildren(...this.#head(segments));
    this.timeline.element.hidden = !segments.length;
    this.list.element.hidden = !segments.length;
    this.timeline.show(segments, this.total);
    this.list.show(this.job, segments, this.chosen);
    this.timeline.mark(this.chosen);
    if (this.#isOpen()) this.#progress();
  }

  /** How long the whole video is, which the events do not say. */
  async #askTotal() {
    const { partial } = await ask(`jobs/${this.job.job_id}`, this.leaving.signal);
    if (!partial?.seconds) return;
    this.total = partial.seconds;
    this.timeline.show(this.#segments(), this.total);
  }

  /** @param {import("../scan/timeline.js").Segment[]} segments */
  #head(segments) {
    const { job } = this,
      title = el("h1", {}, nameOf(job));
    if (this.#isOpen())
      return [
        title,
        el("progress", { max: 1, "aria-label": "Progress" }),
        el("p", { class: "phase", role: "status" }),
        el(
          "div",
          { class: "actions" },
          button("Cancel", () => this.#forget()),
        ),
      ];
    return [
      title,
      job.error && el("p", { class: "drop-refusal", role: "alert" }, `${job.error.message}. What was found before is below.`),
      el("p", { class: "lead" }, summary(job, segments)),
      el(
        "div",
        { class: "actions downloads" },
        segments.length > 0 &&
          scanning.FORMATS.map(([format, text]) => button(text, () => scanning.download(job, format), {}, "page")),
        button("Delete", () => this.#ask(), { class: "quiet danger" }, "bin"),
      ),
    ].filter(Boolean);
  }

  #progress() {
    const { state, progress, ahead, seconds_left: left } = this.job,
      bar = this.heading.querySelector("progress"),
      text = this.heading.querySelector(".phase");
    if (!bar || !text) return;
    if (state === "waiting") bar.removeAttribute("value");
    else bar.value = progress;
    const waiting = ahead > 0 ? `${counted(ahead, "video is", "videos are")} before yours` : "It is your turn in a moment";
    const told = state === "waiting" ? waiting : `Following the dancers: ${Math.floor(100 * progress)} %${timeLeft(left)}`;
    if (text.textContent !== told) text.textContent = told;
  }

  /** @param {import("../scan/timeline.js").Segment} segment */
  async choose(segment) {
    const own = ++this.turn;
    this.chosen = segment.number;
    this.timeline.mark(segment.number);
    this.list.mark(segment.number);
    const file = scanning.videos.get(this.job.job_id);
    const made = await watch(this.job.job_id, segment, file, (chosen) => {
      scanning.videos.set(this.job.job_id, chosen);
      this.choose(segment);
    });
    if (own !== this.turn || this.leaving.signal.aborted) {
      made.leave();
      return;
    }
    this.watched?.leave();
    this.watched = made;
    made.clock.addEventListener("time", () => this.timeline.at(made.clock.time));
    this.stage.replaceChildren(made.element);
    this.stage.scrollIntoView({ block: "nearest" });
    made.clock.set({ playing: true });
  }

  /** @param {import("../scan/timeline.js").Segment} now */
  #corrected(now) {
    const segments = this.job.result.segments.map((one) => (one.number === now.number ? now : one));
    this.job = { ...this.job, result: { ...this.job.result, segments } };
    this.#draw();
  }

  async #ask() {
    const text = "The skeletons and what was found are deleted. Recordings that segments were made into stay.";
    if (await confirmed("Delete this scan?", text, "Delete it")) await this.#forget();
  }

  async #forget() {
    this.leaving.abort();
    scanning.videos.delete(this.job.job_id);
    await forget(`jobs/${this.job.job_id}`).catch(() => undefined); // it may be gone by now
    location.hash = "#/scan";
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Escape") location.hash = "#/scan";
    else return Boolean(this.watched?.clock.key(event));
    return true;
  }

  #leave() {
    this.leaving.abort();
    this.watched?.leave();
  }
}

/** @param {number | null} seconds */
function timeLeft(seconds) {
  if (seconds === null || seconds === undefined) return "";
  return `, about ${seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`} left`;
}

/** @param {any} job @param {import("../scan/timeline.js").Segment[]} segments */
function summary({ result, kind }, segments) {
  const where = result ? ` in ${length(Math.round(result.read_seconds))}` : "";
  const dances = new Set(segments.filter(({ match }) => match).map(({ match }) => match.dance_id)).size,
    dancers = new Set(segments.map(({ dancer }) => dancer)).size;
  if (!segments.length) return `Nobody who dances was seen${kind === "camera" ? " by the camera" : where}.`;
  return `${dances ? counted(dances, "known dance") : "No known dance"}, ${counted(dancers, "dancer")}${where}.`;
}
