/** How limbs that the camera did not see are drawn: pale, with a dashed outline. The library's reports look alike. */

export const FADED_LEGEND = "Faded: not seen by the camera.";
const FILL = 0.2,
  OUTLINE = 0.5,
  DASHES = [4, 4];

/**
 * Fill the brush's path, or fade it.
 * @param {CanvasRenderingContext2D} brush @param {string} colour @param {boolean} seen
 */
export function fillShape(brush, colour, seen) {
  brush.save();
  brush.fillStyle = colour;
  if (!seen) brush.globalAlpha = FILL;
  brush.fill();
  if (!seen) strokeLine(brush, colour, 1.5, false);
  brush.restore();
}

/**
 * Stroke the brush's path, or fade it.
 * @param {CanvasRenderingContext2D} brush @param {string} colour @param {number} width @param {boolean} seen
 */
export function strokeLine(brush, colour, width, seen) {
  brush.save();
  brush.strokeStyle = colour;
  brush.lineWidth = width;
  brush.lineCap = seen ? "round" : "butt"; // round ends would close the gaps
  if (!seen) {
    brush.globalAlpha = OUTLINE;
    brush.setLineDash(DASHES);
  }
  brush.stroke();
  brush.restore();
}
