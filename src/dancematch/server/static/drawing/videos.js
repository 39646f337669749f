/** Videos and pictures of recordings, where the service kept them. */

import { blobOf, hasToken, recordingPath } from "../service/api.js";
import { el } from "../elements/dom.js";

/**
 * Let an element show what is at a path. It sends no token by itself: then the page fetches it whole.
 * @param {HTMLVideoElement | HTMLImageElement} element @param {string} path
 */
function load(element, path) {
  if (!hasToken()) element.src = path;
  else
    blobOf(path)
      .then((blob) => {
        element.src = URL.createObjectURL(blob);
        element.addEventListener("load", () => URL.revokeObjectURL(element.src), { once: true });
      })
      .catch(() => element.dispatchEvent(new Event("error")));
}

/**
 * The video of a recording, or null.
 * @param {any} recording @param {string} name of what it shows @returns {HTMLVideoElement | null}
 */
export function keptVideo(recording, name) {
  if (!recording?.video) return null;
  const video = el("video", {
    muted: true,
    playsInline: true,
    preload: "auto",
    "aria-label": `The video of ${name}`,
  });
  load(video, `${recordingPath(recording.recording_id)}/video`);
  return video;
}

/** The small picture of a recording, beside a text that names it. @param {string} recording_id */
export function poster(recording_id) {
  const picture = el("img", { class: "thumbnail poster", alt: "", loading: "lazy" });
  load(picture, `${recordingPath(recording_id)}/poster`);
  return picture;
}
