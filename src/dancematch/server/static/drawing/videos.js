/** Videos of dances, where the service kept them. */

import { blobOf, dancePath, hasToken } from "../service/api.js";
import { el } from "../elements/dom.js";

/**
 * The video of a dance, or null.
 * @param {any} dance @param {string} dance_id @returns {HTMLVideoElement | null}
 */
export function keptVideo(dance, dance_id) {
  if (!dance.video) return null;
  const video = el("video", {
    muted: true,
    playsInline: true,
    preload: "auto",
    "aria-label": `The video of ${dance_id}`,
  });
  const path = `${dancePath(dance_id)}/video`;
  // A video element sends no token: then the page fetches it whole.
  if (!hasToken()) video.src = path;
  else
    blobOf(path)
      .then((blob) => {
        video.src = URL.createObjectURL(blob);
      })
      .catch(() => video.dispatchEvent(new Event("error")));
  return video;
}
