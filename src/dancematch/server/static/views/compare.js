/** Why a match is one: both dancers side by side, the path that joins them, and what speaks for it. */

import { ask, dancePath, hasToken, recordingPath, save, withQuery } from "../service/api.js";
import { Alignment } from "../compare/alignment.js";
import { changes } from "../elements/cards.js";
import { el, icon, link } from "../elements/dom.js";
import { clipStage, danceStage } from "../compare/stages.js";
import {
  agreementPanel,
  barsPanel,
  differencesPanel,
  matrixPanel,
  placesPanel,
  wordsPanel,
} from "../compare/panels.js";
import { Clock, controls } from "../drawing/player.js";
import { nameMatch, range } from "../elements/say.js";
import { clips } from "../service/searching.js";
import { loadTracks } from "../drawing/stage.js";
import { evidenceLines, verdictLine } from "../elements/verdicts.js";

/**
 * All that is known of the two.
 * `name` is that of the dance, `known` its recording that the clip was found in.
 * @typedef {{search_id: string, dance_id: string, name: string, answer: any, why: any, path: Alignment, clock: Clock,
 *   clip: import("../drawing/skeleton.js").Track, dance: import("../drawing/skeleton.js").Track, known: any}} Pair
 */

/** @param {HTMLElement} root @param {string[]} parts */
export async function show(root, [search_id, dance_id, dancer]) {
  const pair = await load(search_id, dance_id, dancer),
    { match } = pair.why;
  const clip = await clipStage(pair),
    dance = danceStage(pair);
  const panels = [
    await agreementPanel(pair),
    await wordsPanel(pair),
    matrixPanel(pair),
    barsPanel(pair),
    placesPanel(pair),
  ].filter(Boolean);
  const differences = el("section", { class: "panel card", hidden: true });
  root.append(
    link(`search/${search_id}`, { class: "back" }, "‹ all that was found"),
    heading(pair),
    el("div", { class: "stages" }, clip.element, dance.element),
    el(
      "div",
      { class: "transport card" },
      controls(pair.clock, "what matches"),
      match.mirrored &&
        el(
          "p",
          { class: "faint small" },
          "Your clip is mirrored: the dance is shown the other way round, so that sides agree.",
        ),
    ),
    el("div", { class: "panels" }, ...panels.map((panel) => panel.element), differences),
  );
  pair.clock.addEventListener("time", () => panels.forEach((panel) => panel.at?.(pair.clock.time)));
  pair.clock.seek(pair.path.span.start);
  const leave = () => {
    pair.clock.over = true;
    [clip, dance, ...panels].forEach((one) => one.leave?.());
  };
  // An extra that tracks a while: the view is whole without it.
  if (pair.dance) differencesPanel(pair, differences, dance.mark).catch(() => differences.remove());
  return {
    leave,
    keys: (event) =>
      event.key === "Escape" ? ((location.hash = `#/search/${search_id}`), true) : pair.clock.key(event),
  };
}

/**
 * @param {string} search_id @param {string} dance_id
 * @param {string} [dancer] of the clip; without one, the dancer whom the dance fits best
 * @returns {Promise<Pair>}
 */
async function load(search_id, dance_id, dancer = undefined) {
  const place = `searches/${search_id}/matches/${encodeURIComponent(dance_id)}`;
  const [answer, why, described] = await Promise.all([
    ask(`searches/${search_id}`),
    ask(withQuery(place, { dancer })),
    ask(dancePath(dance_id)),
  ]);
  const own = (await loadTracks(`searches/${search_id}/motion?dancer=${why.match.dancer}`)).get(
    why.match.dancer,
  );
  const { recording_id, reference_dancer } = why.match;
  const known = described.recordings.find((one) => one.recording_id === recording_id);
  const theirs = known?.motion
    ? (await loadTracks(`${recordingPath(recording_id)}/motion?dancer=${reference_dancer}`)).get(
        reference_dancer,
      ) || null
    : null;
  const path = pathOf(why);
  const clock = new Clock({ start: own.start, end: own.end }, path.span);
  const name = nameMatch(why.match);
  return { search_id, dance_id, name, answer, why, path, clock, clip: own, dance: theirs, known };
}

/** The path; where none was found, straight through the two ranges of the match. @param {any} why */
function pathOf({ path, match: { query, reference } }) {
  if (path.query.length) return new Alignment(path.query, path.reference);
  return new Alignment([query.start, query.end], [reference.start, reference.end]);
}

/**
 * The evidence: saved, with pictures of the clip if this tab still has it; else, unless a token is needed,
 * which a link does not send, to be read in a tab of its own.
 * @param {Pair} pair
 */
function reportLink({ search_id, dance_id, answer, why }) {
  const place = `searches/${search_id}/matches/${encodeURIComponent(dance_id)}/report`,
    path = withQuery(place, { dancer: why.match.dancer }),
    file = clips.get(search_id),
    name = el("span", {}, "Evidence report");
  const keep = async (event) => {
    if (!file && !hasToken()) return;
    event.preventDefault();
    name.textContent = "Writing the report …";
    try {
      await save(path, `${answer.filename || "clip"} beside ${why.match.dance}.html`, file);
    } finally {
      name.textContent = "Evidence report";
    }
  };
  return el(
    "a",
    {
      class: "button report",
      href: path,
      target: "_blank",
      rel: "noopener",
      title: "All that speaks for it and against it, on one page to hand on or print",
      onclick: keep,
    },
    icon("page"),
    name,
  );
}

/** @param {Pair} pair */
function heading(pair) {
  const { answer, why, name } = pair;
  const { match } = why,
    several = answer.dancers.length > 1 && `dancer ${match.dancer} of ${answer.dancers.length}`;
  return el(
    "div",
    { class: "hero left compare-head" },
    el(
      "h1",
      {},
      el("span", { class: "faint" }, answer.filename || "Your clip"),
      " beside ",
      el("em", {}, name),
    ),
    el(
      "p",
      { class: "lead" },
      el("b", {}, range(match.query)),
      ` of your clip ${match.verdict === "no match" ? "comes nearest to" : "goes with"} `,
      el("b", {}, range(match.reference)),
      " of the dance.",
    ),
    el(
      "div",
      { class: "facts-line" },
      verdictLine(match),
      el(
        "p",
        { class: "chips" },
        [...changes(match), several].map((text) => text && el("span", { class: "chip" }, text)),
      ),
      reportLink(pair),
    ),
    evidenceLines(match),
  );
}
