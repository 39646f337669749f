/** A clip beside a dance: both play together; where they differ; what speaks for it and against it; the details. */

import { el } from "../elements/dom.js";
import { clipStage, danceStage, stagesOf } from "./stages.js";
import { agreementPanel, barsPanel, matrixPanel, placesPanel, wordsPanel } from "./panels.js";
import { loadDifferences, showDifferences } from "./differences.js";
import { reasonsPanel } from "./reasons.js";
import { controls, soundButton } from "../drawing/player.js";
import { countsOf, ruler } from "../drawing/ruler.js";
import { likesStillness } from "../drawing/stage.js";

/** @typedef {import("./pair.js").Pair} Pair */
/** @typedef {{elements: HTMLElement[], leave: () => void}} Compared */

/** Both play at once, unless stillness is preferred. @param {Pair} pair @returns {Promise<Compared>} */
export async function comparison(pair) {
  const { clock, why } = pair;
  const clip = await clipStage(pair),
    dance = danceStage(pair),
    stages = stagesOf(clip, dance, clock),
    details = closedDetails(pair),
    counts = el("div", { class: "ruler-place" });
  const differences = el("section", { class: "panel card differences", hidden: true });
  const mirrored =
    why.match.mirrored &&
    el(
      "p",
      { class: "faint small" },
      "Your clip is mirrored: the dance is shown the other way round, so that sides agree.",
    );
  const film = clip.video || dance.video;
  const steering = el(
    "div",
    { class: "transport card" },
    counts,
    el("div", { class: "steering" }, controls(clock, "what matches"), film && soundButton(film), stages.choice),
    mirrored,
  );
  const mark = (bones) => {
    for (const { figure } of [clip, dance]) if (figure) figure.marked = bones;
  };
  const countBy = (lesson) => {
    const found = countsOf(pair, lesson);
    if (found) counts.replaceChildren(ruler(clock, found));
  };
  const differ = async () => {
    const found = await loadDifferences(pair);
    countBy(found.lesson);
    await showDifferences(pair, found, differences, mark);
  };
  // It takes a while: the answer is there without it.
  if (pair.dance) differ().catch(() => differences.remove());
  else countBy(undefined);
  clock.seek(pair.path.span.start);
  if (!likesStillness()) clock.set({ playing: true });
  return {
    elements: [
      el("div", { class: "player" }, stages.element, steering),
      el("div", { class: "findings" }, differences, reasonsPanel(pair)),
      details.element,
    ],
    leave: () => {
      clock.over = true;
      [clip, dance, details].forEach((one) => one.leave());
    },
  };
}

/** Words, matrix and measures: made when they are asked for. @param {Pair} pair */
function closedDetails(pair) {
  const place = el("div", { class: "panels" });
  /** @type {import("./panels.js").Panel[]} */
  let panels = [];
  const follow = () => panels.forEach((panel) => panel.at?.(pair.clock.time));
  const open = async () => {
    if (panels.length || !element.open) return;
    panels = [
      await agreementPanel(pair),
      await wordsPanel(pair),
      matrixPanel(pair),
      barsPanel(pair),
      placesPanel(pair),
    ];
    place.replaceChildren(...panels.map((panel) => panel.element));
    pair.clock.addEventListener("time", follow);
    follow();
  };
  const element = el(
    "details",
    { class: "details-frame", ontoggle: open },
    el("summary", {}, "Details: words, alignment and score"),
    place,
  );
  return { element, leave: () => panels.forEach((panel) => panel.leave?.()) };
}
