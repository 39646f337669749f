/** Files to send: dropped, chosen, or filmed. */

import { suffixes } from "../service/api.js";
import { button, el, icon } from "./dom.js";
import { counted } from "./say.js";

/**
 * Why a file is refused by its name or size; empty if its content decides.
 * @param {File} file
 */
export function fault(file) {
  if (!file.size) return `${file.name} is an empty file.`;
  const ending = file.name.match(/\.[^.]+$/)?.[0].toLowerCase(),
    { motion, video } = suffixes();
  if (!ending || file.type.startsWith("video/") || [...motion, ...video].includes(ending)) return "";
  return (
    `${file.name} cannot be used: a video (.mp4, .mov, .webm, .mkv, .avi and the like) or ` +
    `a motion file (${motion.join(", ")}) is expected.`
  );
}

/**
 * A place to drop files on, which opens the file dialog when clicked. It says which files it does not take, unless
 * they are `judged` once more where the others go.
 * @param {{title: string, hint: string, many?: boolean, more?: any[], small?: boolean, judged?: boolean}} text
 * @param {(files: File[]) => void} take
 * @returns {HTMLElement & {takeGood: (files: File[]) => void}}
 */
export function dropPlace(text, take) {
  const refusal = el("p", { class: "drop-refusal", role: "alert" }),
    { motion, video } = suffixes();
  const takeGood = (files) => {
    const good = files.filter((file) => !fault(file)),
      bad = files.filter(fault);
    refusal.textContent = bad.length ? fault(bad[0]) : "";
    if (bad.length > 1)
      refusal.textContent += ` ${counted(bad.length - 1, "other file was", "other files were")} not taken either.`;
    if (good.length) take(text.judged ? files : good);
  };
  const input = el("input", {
    type: "file",
    accept: ["video/*", ...motion, ...video].join(),
    multiple: Boolean(text.many),
    class: "unseen",
    "aria-label": text.title,
    onchange: () => {
      takeGood([...input.files]);
      input.value = "";
    },
  });
  const place = el(
    "div",
    { class: text.small ? "drop small" : "drop" },
    el("span", { class: "drop-sign" }, icon("upload")),
    el("p", { class: "drop-title" }, text.title),
    el("p", { class: "faint" }, text.hint),
    el(
      "div",
      { class: "actions" },
      button(text.many ? "Choose files" : "Choose a file", () => input.click(), { class: "primary" }),
      text.more,
    ),
    refusal,
    input,
  );
  let inside = 0;
  place.addEventListener("dragenter", (event) => {
    event.preventDefault();
    inside++;
    place.classList.add("over");
  });
  place.addEventListener("dragleave", () => {
    if (--inside === 0) place.classList.remove("over");
  });
  place.addEventListener("dragover", (event) => event.preventDefault());
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    inside = 0;
    place.classList.remove("over");
    const files = [...event.dataTransfer.files];
    takeGood(text.many ? files : files.slice(0, 1));
  });
  return Object.assign(place, { takeGood });
}

const MOST_SECONDS = 30,
  COUNTDOWN = 3;

/** Whether this browser can film, here. */
export const canFilm = () => Boolean(navigator.mediaDevices?.getUserMedia && window.MediaRecorder);

/**
 * Film with the camera: a countdown to step back, then up to half a minute.
 * @returns {Promise<File | null>} null if it was given up
 */
export async function film() {
  const stream = await navigator.mediaDevices.getUserMedia({
    video: { width: { ideal: 1280 } },
    audio: false,
  });
  const preview = el("video", {
    srcObject: stream,
    muted: true,
    playsInline: true,
    autoplay: true,
    "aria-label": "What the camera sees",
  });
  const count = el("p", { class: "count", role: "status" });
  const dialog = el("dialog", { class: "film", "aria-label": "Film a clip" }, preview, count);
  const pieces = [];
  let recorder = null,
    kept = false,
    clock = 0;
  const begin = button("Start", () => start(), { class: "primary" });
  dialog.append(
    el("p", { class: "faint" }, "Step back until your whole body is in the picture."),
    el(
      "div",
      { class: "actions" },
      button("Cancel", () => dialog.close()),
      begin,
    ),
  );
  const start = () => {
    begin.disabled = true;
    let left = COUNTDOWN;
    count.textContent = String(left);
    clock = setInterval(() => {
      left -= 1;
      count.textContent = left > 0 ? String(left) : `recording ${-left} s`;
      if (left === 0) record();
      if (left <= -MOST_SECONDS) finish();
    }, 1000);
  };
  const record = () => {
    recorder = new MediaRecorder(stream);
    recorder.ondataavailable = (event) => pieces.push(event.data);
    recorder.onstop = () => dialog.close();
    recorder.start(500);
    begin.replaceWith(button("Done: which dance is this?", finish, { class: "primary" }));
  };
  const finish = () => {
    kept = true;
    clearInterval(clock);
    recorder.stop();
  };
  document.body.append(dialog);
  dialog.showModal();
  await new Promise((done) => dialog.addEventListener("close", done, { once: true }));
  clearInterval(clock);
  stream.getTracks().forEach((track) => track.stop());
  dialog.remove();
  const kind = recorder?.mimeType.split(";")[0] || "video/webm";
  return kept && pieces.length ? new File(pieces, `camera.${kind.split("/")[1]}`, { type: kind }) : null;
}
