/** Adding dances: which files, under which names, and how far they are. */

import { ServiceError, about, ask, dancePath, follow, forget, send, sentence, withQuery } from "./api.js";
import { button, el, icon, link } from "../elements/dom.js";
import { tell } from "../elements/notices.js";
import { dropPlace } from "../elements/picker.js";
import { counted } from "../elements/say.js";
import { forgetMotions } from "../drawing/stage.js";

/**
 * A dance on its way into the catalogue.
 * @typedef {"queued" | "sending" | "waiting" | "analysing" | "done" | "failed"} Phase
 * @typedef {{dance_id: string, label: string, collection: string, file: File | null, phase: Phase, share: number,
 *   ahead: number, message: string, job_id: string | null, stopping: AbortController}} Addition
 */

/** @type {Addition[]} */
const additions = [];
export const changes = new EventTarget(); // "change": how far they are; "added": there is a new dance
let busy = false;

const announce = () => changes.dispatchEvent(new Event("change"));
export const isBusy = () => additions.some((one) => !isOver(one));
const isOver = (one) => one.phase === "done" || one.phase === "failed";

// ---- the dialog

const nameOf = (file) => file.name.replace(/\.[^.]+$/, "").trim() || "dance";

/** Ask for names, then add. @param {File[]} [files] */
export async function addDialog(files = []) {
  const { labels, collections } = await ask("labels");
  const rows = el("div", { class: "add-rows" }),
    submit = el("button", { class: "primary", value: "add" });
  const options = (id, names) =>
    el(
      "datalist",
      { id },
      Object.keys(names)
        .filter(Boolean)
        .map((value) => el("option", { value })),
    );
  const label = el("input", { list: "labels", maxLength: 200, placeholder: "none" });
  const collection = el("input", { list: "collections", maxLength: 200, placeholder: "none" });
  const count = () => {
    submit.textContent =
      rows.childElementCount > 1 ? `Add ${counted(rows.childElementCount, "dance")}` : "Add the dance";
    submit.disabled = rows.childElementCount === 0;
    dialog.classList.toggle("none", rows.childElementCount === 0);
  };
  const put = (more) => {
    more.forEach((file) => rows.append(nameRow(file, count)));
    count();
  };
  const place = dropPlace(
    { title: "Drop videos or motion files", hint: "One dance per file", many: true, small: true },
    put,
  );
  const dialog = el(
    "dialog",
    { class: "add", "aria-label": "Add dances" },
    el(
      "form",
      { method: "dialog" },
      el(
        "div",
        { class: "dialog-top" },
        el("h2", {}, "Add dances"),
        button("", () => dialog.close(), { class: "quiet round", "aria-label": "Close" }, "close"),
      ),
      place,
      rows,
      el(
        "div",
        { class: "pair" },
        el("label", { class: "field" }, "Label ", el("span", { class: "faint" }, "such as a style"), label),
        el(
          "label",
          { class: "field" },
          "Collection ",
          el("span", { class: "faint" }, "such as where they come from"),
          collection,
        ),
      ),
      options("labels", labels),
      options("collections", collections),
      el("div", { class: "actions" }, submit),
    ),
  );
  dialog.addEventListener("close", () => {
    const chosen = [...rows.children].map((row) => ({
      file: row.file,
      dance_id: row.querySelector("input").value.trim(),
    }));
    if (dialog.returnValue === "add" && chosen.length) begin(chosen, label.value.trim(), collection.value.trim());
    dialog.remove();
  });
  document.body.append(dialog);
  count();
  place.takeGood(files);
  dialog.showModal();
}

/** @param {File} file @param {() => void} changed */
function nameRow(file, changed) {
  const row = el(
    "div",
    { class: "add-row" },
    el(
      "label",
      { class: "field" },
      el("span", { class: "faint ellipsis" }, file.name),
      el("input", {
        value: nameOf(file),
        required: true,
        maxLength: 200,
        "aria-label": `Name of the dance in ${file.name}`,
      }),
    ),
    button(
      "",
      () => {
        row.remove();
        changed();
      },
      { class: "quiet round", "aria-label": `Leave ${file.name} out` },
      "close",
    ),
  );
  row.file = file;
  return row;
}

// ---- the work

function begin(chosen, label, collection) {
  for (const { file, dance_id } of chosen) {
    additions.push({
      dance_id,
      label,
      collection,
      file,
      phase: "queued",
      share: 0,
      ahead: 0,
      message: "",
      job_id: null,
      stopping: new AbortController(),
    });
  }
  location.hash = "#/dances";
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
    const path = withQuery(dancePath(one.dance_id), {
      label: one.label,
      collection: one.collection,
      filename: one.file.name.slice(0, 200),
    });
    const { status, body } = await send(
      "PUT",
      path,
      one.file,
      (share) => set({ share }),
      one.stopping.signal,
    );
    if (status !== 202) {
      finish(one, status === 200 ? "known already" : "");
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
    finish(one);
  } catch (error) {
    fail(one, error);
  }
}

/** @param {Addition} one @param {string} [message] what else there is to say */
function finish(one, message = "") {
  Object.assign(one, { phase: "done", share: 1, file: null, message });
  forgetMotions();
  about(true).catch(() => undefined);
  announce();
  changes.dispatchEvent(new Event("added"));
}

/** @param {Addition} one @param {any} error */
function fail(one, error) {
  if (error.name === "AbortError") additions.splice(additions.indexOf(one), 1);
  else Object.assign(one, { phase: "failed", message: sentence(error.message), file: null });
  announce();
}

/** @param {Addition} one */
async function drop(one) {
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

/** Track up what an earlier visit or another window began. */
export async function resume() {
  const { jobs } = await ask("jobs");
  const running = jobs.filter((job) => job.kind === "add" && ["waiting", "running"].includes(job.state));
  for (const job of running.reverse()) {
    if (additions.some((one) => one.job_id === job.job_id || (one.dance_id === job.dance_id && !isOver(one))))
      continue;
    const one = /** @type {Addition} */ ({
      dance_id: job.dance_id,
      label: "",
      collection: "",
      file: null,
      phase: "waiting",
      share: job.progress,
      ahead: job.ahead,
      message: "",
      job_id: job.job_id,
      stopping: new AbortController(),
    });
    additions.push(one);
    awaitJob(one, (values) => {
      Object.assign(one, values);
      announce();
    });
  }
  announce();
}

// ---- how far they are

const PHASE_TEXT = {
  queued: () => "waiting to be sent",
  sending: (one) => `sending ${Math.round(100 * one.share)} %`,
  waiting: (one) => (one.ahead ? `${counted(one.ahead, "video")} before it` : "waiting"),
  analysing: (one) => `following the dancer ${Math.round(100 * one.share)} %`,
  done: (one) => one.message || "added",
  failed: (one) => one.message,
};

/** A list that keeps itself up to date. @returns {{element: HTMLElement, leave: () => void}} */
export function tray() {
  const element = el("section", { class: "tray", "aria-label": "Dances being added" });
  const rows = new Map();
  const draw = () => {
    element.hidden = additions.length === 0;
    for (const [one, row] of rows)
      if (!additions.includes(one)) {
        row.remove();
        rows.delete(one);
      }
    for (const one of additions) {
      if (!rows.has(one)) {
        rows.set(one, trayRow(one));
        element.append(rows.get(one));
      }
      rows.get(one).update();
    }
  };
  changes.addEventListener("change", draw);
  draw();
  const leave = () => {
    changes.removeEventListener("change", draw);
    additions.splice(0, additions.length, ...additions.filter((one) => one.phase !== "done"));
  };
  return { element, leave };
}

/** @param {Addition} one */
function trayRow(one) {
  const bar = el("progress", { max: 1, "aria-label": `Progress of ${one.dance_id}` }),
    text = el("span", { class: "faint", role: "status" });
  const name = el("b", { class: "ellipsis" }, one.dance_id),
    sign = el("span", { class: "tray-sign" });
  const row = el(
    "div",
    { class: "tray-row" },
    sign,
    name,
    bar,
    text,
    button(
      "",
      () => drop(one),
      { class: "quiet round", "aria-label": `Stop or dismiss ${one.dance_id}` },
      "close",
    ),
  );
  let last = "";
  row.update = () => {
    row.className = `tray-row ${one.phase}`;
    if (["waiting", "queued"].includes(one.phase)) bar.removeAttribute("value");
    else bar.value = one.share;
    const says = PHASE_TEXT[one.phase](one);
    if (text.textContent !== says) text.textContent = says;
    if (one.phase !== last && isOver(one)) {
      sign.replaceChildren(icon(one.phase === "done" ? "tick" : "warn"));
      if (one.phase === "done")
        name.replaceChildren(link(`dance/${encodeURIComponent(one.dance_id)}`, {}, one.dance_id));
    }
    last = one.phase;
  };
  return row;
}
