/** A dancer drawn over the video, where the pose estimator saw the joints. */

import { strokeLine } from "./faded.js";
import { side } from "./skeleton.js";

// The picture's skeleton, without the fingers and the face's details.
const PICTURED = new Set([
  "left_shoulder",
  "right_shoulder",
  "left_elbow",
  "right_elbow",
  "left_wrist",
  "right_wrist",
  "left_hip",
  "right_hip",
  "left_knee",
  "right_knee",
  "left_ankle",
  "right_ankle",
  "left_foot_index",
  "right_foot_index",
]);
const PICTURED_BONES = ["left", "right"]
  .flatMap((one) =>
    [
      ["shoulder", "elbow"],
      ["elbow", "wrist"],
      ["hip", "knee"],
      ["knee", "ankle"],
      ["ankle", "foot_index"],
      ["shoulder", "hip"],
    ].map((pair) => pair.map((name) => `${one}_${name}`)),
  )
  .concat([
    ["left_shoulder", "right_shoulder"],
    ["left_hip", "right_hip"],
  ]);

/**
 * Draw a dancer over the video: `frame` is x, y of each joint in thousandths of the picture, `unseen` the numbers
 * of the joints that were not seen in it.
 * @param {CanvasRenderingContext2D} brush @param {{frame: (number | null)[], unseen: number[]}} now
 * @param {import("./skeleton.js").Skeleton} skeleton
 * @param {{x: number, y: number, width: number, height: number}} box where the picture is
 */
export function drawOverVideo(brush, { frame, unseen }, skeleton, box) {
  const isSeen = (name) => !unseen.includes(skeleton.joints.indexOf(name));
  const place = (name) => {
    const j = 2 * skeleton.joints.indexOf(name);
    return frame[j] === null || !PICTURED.has(name)
      ? null
      : [box.x + (frame[j] / 1000) * box.width, box.y + (frame[j + 1] / 1000) * box.height];
  };
  const paint = { left: "#ff9a66", right: "#7fb0ff", middle: "#fff" };
  for (const halo of [true, false]) {
    for (const [from, to] of PICTURED_BONES) {
      const a = place(from),
        b = place(to);
      const seen = isSeen(from) && isSeen(to);
      if (!a || !b || (halo && !seen)) continue;
      brush.beginPath();
      brush.moveTo(a[0], a[1]);
      brush.lineTo(b[0], b[1]);
      if (halo) strokeLine(brush, "rgb(0 0 0 / .45)", 6, true);
      else strokeLine(brush, paint[side(from) === side(to) ? side(from) : "middle"], 3, seen);
    }
  }
}
