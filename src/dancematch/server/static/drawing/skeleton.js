/**
 * Dancers as the service sends them, and how they are drawn.
 * Metres, y up; a dancer who faces us has the left on our right. NaN where a joint is not known. What the
 * camera did not see is guessed, and drawn faded.
 */

import { fillShape } from "./faded.js";

/** @typedef {{name: string, joints: string[], parents: number[]}} Skeleton */
/** @typedef {{turn: number, tilt: number}} Camera radians: round the dancer, and from above */

const SMOOTH_SECONDS = 0.8; // over which the camera follows

/** One dancer over time. */
export class Track {
  /** @param {any} dancer @param {Skeleton} skeleton @param {number} unit metres */
  constructor(dancer, skeleton, unit) {
    this.skeleton = skeleton;
    this.fps = dancer.fps;
    this.start = dancer.start;
    this.count = dancer.frames.length;
    this.seconds = this.count / dancer.fps;
    this.joints = dancer.frames.map((frame) =>
      Float32Array.from(frame, (value) => (value === null ? NaN : value * unit)),
    );
    /** @type {Set<number>[]} per frame, the joints that were not seen */
    this.unseen = dancer.unseen.map((numbers) => new Set(numbers));
    this.guesses = this.unseen.some((numbers) => numbers.size > 0);
    this.index = Object.fromEntries(skeleton.joints.map((name, number) => [name, number]));
    this.centres = this.#centres();
    this.bounds = this.#bounds();
    this.stature = this.#stature();
    this.heading = this.headingWithin(-Infinity, Infinity);
  }

  get end() {
    return this.start + this.seconds;
  }

  /** The two frames around a time, and how far it is on the way from the one to the other. @param {number} time */
  #framesAt(time) {
    const at = Math.min(Math.max((time - this.start) * this.fps, 0), this.count - 1);
    const first = Math.min(Math.floor(at), Math.max(this.count - 2, 0));
    return { first, second: Math.min(first + 1, this.count - 1), rest: at - first };
  }

  /** The joints at a time, between two frames if need be: x, y, z in turn. @param {number} time */
  poseAt(time) {
    const { first, second, rest } = this.#framesAt(time);
    const a = this.joints[first],
      b = this.joints[second];
    return a.map((value, i) => value + (b[i] - value) * rest);
  }

  /** Which joints are seen at a time: in the nearer of the two frames around it. @param {number} time */
  seenAt(time) {
    const { first, second, rest } = this.#framesAt(time),
      unseen = this.unseen[rest < 0.5 ? first : second];
    return (/** @type {string} */ name) => !unseen.has(this.index[name]);
  }

  /** Where the camera looks at a time: [x, z]. @param {number} time */
  centreAt(time) {
    const at = Math.min(Math.max((time - this.start) * this.fps, 0), this.count - 1),
      first = Math.floor(at);
    const a = this.centres[first],
      b = this.centres[Math.min(first + 1, this.count - 1)],
      rest = at - first;
    return [a[0] + (b[0] - a[0]) * rest, a[1] + (b[1] - a[1]) * rest];
  }

  /**
   * The turn at which the dancer faces us on the whole between two times.
   * @param {number} from @param {number} to
   */
  headingWithin(from, to) {
    const pairs = [
      ["left_hip", "right_hip"],
      ["left_shoulder", "right_shoulder"],
    ];
    let across = 0,
      along = 0;
    for (let i = 0; i < this.count; i++) {
      const now = this.start + i / this.fps;
      if (now < from || now > to) continue;
      for (const [left, right] of pairs) {
        const x = this.joints[i][3 * this.index[left]] - this.joints[i][3 * this.index[right]];
        const z = this.joints[i][3 * this.index[left] + 2] - this.joints[i][3 * this.index[right] + 2];
        if (Number.isFinite(x + z)) {
          across += x;
          along += z;
        }
      }
    }
    return Math.atan2(along, across || 1e-9);
  }

  #centres() {
    const reach = Math.round((SMOOTH_SECONDS / 2) * this.fps),
      pelvis = 3 * this.index.pelvis;
    const raw = [];
    let last = [0, 0];
    for (const joints of this.joints) {
      if (Number.isFinite(joints[pelvis])) last = [joints[pelvis], joints[pelvis + 2]];
      raw.push(last);
    }
    return raw.map((_, i) => {
      const near = raw.slice(Math.max(0, i - reach), i + reach + 1);
      return [0, 1].map((axis) => near.reduce((sum, one) => sum + one[axis], 0) / near.length);
    });
  }

  /** Metres from the neck to the ankle along the bones, on the whole; what two bodies are brought to one size by. */
  #stature() {
    const bones = [
      ["neck", "pelvis"],
      ["left_hip", "left_knee"],
      ["left_knee", "left_ankle"],
    ].map((names) => names.map((name) => 3 * this.index[name]));
    const lengths = this.joints
      .map((joints) =>
        bones.reduce(
          (sum, [a, b]) =>
            sum + Math.hypot(joints[a] - joints[b], joints[a + 1] - joints[b + 1], joints[a + 2] - joints[b + 2]),
          0,
        ),
      )
      .filter(Number.isFinite)
      .sort((a, b) => a - b);
    return lengths[lengths.length >> 1] || 1.3;
  }

  /** How low and high the dancer comes, and how far from where the camera looks. */
  #bounds() {
    const heights = [],
      reaches = [];
    this.joints.forEach((joints, i) => {
      const [x, z] = this.centres[i];
      for (let j = 0; j < joints.length; j += 3) {
        if (!Number.isFinite(joints[j])) continue;
        heights.push(joints[j + 1]);
        reaches.push(Math.hypot(joints[j] - x, joints[j + 2] - z));
      }
    });
    // A single joint that the estimator places far off must not shrink the figure.
    const part = (values, share) => values.sort((a, b) => a - b)[Math.floor(share * (values.length - 1))];
    if (!heights.length) return { low: 0, high: 1.7, reach: 0.6 };
    return { low: part(heights, 0.005), high: part(heights, 0.998), reach: part(reaches, 0.995) };
  }
}

/** The dancers of an answer of the service, by number. @param {any} motion @returns {Map<number, Track>} */
export const readTracks = (motion) =>
  new Map(
    motion.dancers
      .filter((dancer) => dancer.frames.length)
      .map((dancer) => [dancer.dancer, new Track(dancer, motion.skeleton, motion.metres_per_unit)]),
  );

// ---- drawing

/** The theme's colours, as canvases need them. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  return (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
}

/** A dancer in a mirror raises the right hand for the left. @param {string} name @param {boolean} mirrored */
const seenSide = (name, mirrored) => {
  const own = side(name);
  return mirrored && own !== "middle" ? (own === "left" ? "right" : "left") : own;
};
export const side = (name) => (name.startsWith("left") ? "left" : name.startsWith("right") ? "right" : "middle");
// Metres across each bone at its two ends, by its outer joint.
const THICK = { knee: [0.13, 0.1], ankle: [0.095, 0.06], elbow: [0.085, 0.07], wrist: [0.068, 0.048] };
const FACE = 0.05; // metres before the middle of the head
const TORSO = ["left_shoulder", "right_shoulder", "right_hip", "left_hip"];

/**
 * How large a dancer is drawn so as to fit, and where the ground is.
 * @typedef {{scale: number, ground: number}} Fit pixels per metre, and pixels from the top
 * @param {Track} track @param {{width: number, height: number}} size @returns {Fit}
 */
export function fitTrack(track, { width, height }) {
  const { low, high, reach } = track.bounds;
  const tall = Math.min(Math.max(high - low, 0.9), 2.2) + 0.34,
    wide = 2 * Math.min(Math.max(reach, 0.45), 1) + 0.12;
  const scale = Math.min(height / tall, width / wide);
  return { scale, ground: (height + (high - low + 0.12) * scale) / 2 };
}

const SECOND_ALPHA = 0.62; // of a figure behind another

/**
 * Draw one dancer; the canvas is in CSS pixels. One that is `second` stands behind another, in one colour and at the
 * other's `fit`.
 * @param {CanvasRenderingContext2D} brush @param {Track} track @param {number} time
 * @param {{width: number, height: number, camera: Camera, mirrored?: boolean, floor?: boolean,
 *   marked?: string[][], second?: boolean, fit?: Fit}} how
 */
export function drawTrack(brush, track, time, how) {
  const { low } = track.bounds,
    theme = colours(),
    paint = how.second ? () => theme("second") : theme;
  const { scale, ground } = how.fit || fitTrack(track, how);
  const [cx, cz] = track.centreAt(time);
  const view = viewer(how, scale, ground);
  brush.globalAlpha = how.second ? SECOND_ALPHA : 1;
  if (how.floor) drawFloor(brush, view, paint, scale, how.camera.tilt);
  if (!how.second) drawShadow(brush, view, paint, scale, how.camera.tilt);
  const pose = track.poseAt(time);
  const points = Array.from({ length: pose.length / 3 }, (_, j) =>
    Number.isFinite(pose[3 * j]) ? view(pose[3 * j] - cx, pose[3 * j + 1] - low, pose[3 * j + 2] - cz) : null,
  );
  drawBody(brush, points, track, paint, scale, {
    ...how,
    seen: track.seenAt(time),
    face: how.second ? null : faceOf(pose, track, (x, y, z) => view(x - cx, y - low, z - cz)),
  });
  brush.globalAlpha = 1;
}

/** The way from metres round the dancer to the canvas: [x, y, depth towards us]. */
function viewer(how, scale, ground) {
  const { turn, tilt } = how.camera,
    sign = how.mirrored ? -1 : 1;
  const cos = Math.cos(turn),
    sin = Math.sin(turn),
    up = Math.cos(tilt),
    over = Math.sin(tilt);
  return (x, y, z) => {
    const across = x * cos + z * sin,
      along = z * cos - x * sin;
    return [
      how.width / 2 + sign * across * scale,
      ground - (y * up - along * over) * scale,
      along * up + y * over,
    ];
  };
}

function drawFloor(brush, view, paint, scale, tilt) {
  brush.strokeStyle = paint("floor");
  brush.lineWidth = 1;
  const [x, y] = view(0, 0, 0);
  for (const radius of [0.4, 0.8, 1.2]) {
    brush.beginPath();
    brush.ellipse(
      x,
      y,
      radius * scale,
      Math.max(radius * scale * Math.abs(Math.sin(tilt)), 0.5),
      0,
      0,
      2 * Math.PI,
    );
    brush.stroke();
  }
  for (const [a, b] of [
    [
      [-1.2, 0],
      [1.2, 0],
    ],
    [
      [0, -1.2],
      [0, 1.2],
    ],
  ]) {
    brush.beginPath();
    brush.moveTo(...view(a[0], 0, a[1]).slice(0, 2));
    brush.lineTo(...view(b[0], 0, b[1]).slice(0, 2));
    brush.stroke();
  }
}

function drawShadow(brush, view, paint, scale, tilt) {
  const [x, y] = view(0, 0, 0);
  brush.fillStyle = paint("shadow");
  brush.beginPath();
  brush.ellipse(
    x,
    y,
    0.34 * scale,
    Math.max(0.34 * scale * Math.abs(Math.sin(tilt)), 1.5),
    0,
    0,
    2 * Math.PI,
  );
  brush.fill();
}

/** Far things first, so that what is near covers them. */
function drawBody(brush, points, track, paint, scale, how) {
  const { joints, parents } = track.skeleton,
    all = (...names) => names.every(how.seen),
    parts = [];
  parents.forEach((parent, joint) => {
    const a = points[parent],
      b = points[joint],
      kind = joints[joint].split("_").pop();
    if (parent < 0 || !a || !b || !THICK[kind]) return;
    const colour = paint(seenSide(joints[joint], how.mirrored)),
      seen = all(joints[parent], joints[joint]);
    parts.push([(a[2] + b[2]) / 2, () => limb(brush, a, b, THICK[kind], scale, colour, seen)]);
  });
  const corners = TORSO.map((name) => points[track.index[name]]);
  if (corners.every(Boolean)) {
    parts.push([
      corners.reduce((sum, p) => sum + p[2], 0) / 4,
      () => torso(brush, corners, scale, paint("torso"), all(...TORSO)),
    ]);
  }
  const head = points[track.index.head],
    neck = points[track.index.neck];
  const throat = () => limb(brush, neck, head, [0.1, 0.09], scale, paint("torso"), all("neck", "head"));
  if (head && neck) parts.push([neck[2], throat]);
  if (head) parts.push([head[2] + 0.01, () => drawHead(brush, head, neck, scale, paint("torso"), all("head"))]);
  const { face } = how;
  if (head && face && face[2] > head[2] && all("head", "left_shoulder", "right_shoulder"))
    parts.push([head[2] + 0.02, () => drawFace(brush, face, face[2] - head[2], scale, paint("face"))]);
  for (const [from, to] of how.marked || []) {
    const a = points[track.index[from]],
      b = points[track.index[to]];
    if (a && b) parts.push([-9, () => limb(brush, a, b, [0.24, 0.24], scale, paint("off"), true)]);
  }
  parts.sort((a, b) => a[0] - b[0]).forEach(([, draw]) => draw());
}

function limb(brush, a, b, [from, to], scale, colour, seen) {
  const angle = Math.atan2(b[1] - a[1], b[0] - a[0]),
    r = (from / 2) * scale,
    s = (to / 2) * scale;
  brush.beginPath();
  brush.arc(a[0], a[1], r, angle + Math.PI / 2, angle - Math.PI / 2);
  brush.arc(b[0], b[1], s, angle - Math.PI / 2, angle + Math.PI / 2);
  brush.closePath();
  fillShape(brush, colour, seen);
}

function torso(brush, corners, scale, colour, seen) {
  brush.strokeStyle = colour;
  brush.lineJoin = "round";
  brush.lineWidth = 0.11 * scale;
  const [leftShoulder, rightShoulder, rightHip, leftHip] = corners;
  const middle = [0, 1].map((axis) => corners.reduce((sum, corner) => sum + corner[axis], 0) / 4);
  // The waist: half-way down each side, drawn in towards the middle.
  const waist = (a, b) => [0, 1].map((axis) => 0.45 * middle[axis] + 0.55 * (0.4 * a[axis] + 0.6 * b[axis]));
  brush.beginPath();
  brush.moveTo(leftShoulder[0], leftShoulder[1]);
  brush.lineTo(rightShoulder[0], rightShoulder[1]);
  brush.quadraticCurveTo(...waist(rightShoulder, rightHip), rightHip[0], rightHip[1]);
  brush.lineTo(leftHip[0], leftHip[1]);
  brush.quadraticCurveTo(...waist(leftShoulder, leftHip), leftShoulder[0], leftShoulder[1]);
  brush.closePath();
  fillShape(brush, colour, seen);
  if (seen) brush.stroke(); // rounds its corners
}

function drawHead(brush, head, neck, scale, colour, seen) {
  const angle = neck ? Math.atan2(head[1] - neck[1], head[0] - neck[0]) : -Math.PI / 2;
  brush.beginPath();
  brush.ellipse(head[0], head[1], 0.125 * scale, 0.1 * scale, angle, 0, 2 * Math.PI);
  fillShape(brush, colour, seen);
}

/** A point before the head, the way the shoulders face; null where that is not seen. */
function faceOf(pose, track, view) {
  const at = (name) => pose.subarray(3 * track.index[name], 3 * track.index[name] + 3);
  const [left, right, head] = [at("left_shoulder"), at("right_shoulder"), at("head")];
  const x = left[0] - right[0],
    z = left[2] - right[2],
    wide = Math.hypot(x, z);
  return Number.isFinite(wide + head[0]) && wide > 0.02
    ? view(head[0] - (FACE * z) / wide, head[1], head[2] + (FACE * x) / wide)
    : null;
}

/** Narrower the more it is turned away; `near` is by how much it is nearer to us than the head, in metres. */
function drawFace(brush, face, near, scale, colour) {
  brush.fillStyle = colour;
  brush.beginPath();
  brush.ellipse(face[0], face[1], 0.062 * scale * Math.min(1, near / FACE), 0.078 * scale, 0, 0, 2 * Math.PI);
  brush.fill();
}
