/** All that is known of a clip and one of the dances that it was found to be like. */

import { ask, dancePath, recordingPath, withQuery } from "../service/api.js";
import { Alignment } from "./alignment.js";
import { Clock } from "../drawing/player.js";
import { nameMatch } from "../elements/say.js";
import { loadTracks } from "../drawing/stage.js";

/**
 * `name` is that of the dance, `known` its recording that the clip was found in, `described` the whole dance.
 * @typedef {{search_id: string, dance_id: string, name: string, answer: any, why: any, path: Alignment, clock: Clock,
 *   clip: import("../drawing/skeleton.js").Track, dance: import("../drawing/skeleton.js").Track | null, known: any,
 *   described: any}} Pair
 */

/**
 * @param {string} search_id @param {string} dance_id
 * @param {string | number} [dancer] of the clip; without one, the dancer whom the dance fits best
 * @returns {Promise<Pair>}
 */
export async function loadPair(search_id, dance_id, dancer = undefined) {
  const place = `searches/${search_id}/matches/${encodeURIComponent(dance_id)}`;
  const [answer, why, described] = await Promise.all([
    ask(`searches/${search_id}`),
    ask(withQuery(place, { dancer })),
    ask(dancePath(dance_id)),
  ]);
  why.match = { ...why.match, ...answered(answer, why.match) };
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
  const name = nameMatch({ ...why.match, dance: described.name });
  return { search_id, dance_id, name, answer, why, path, clock, clip: own, dance: theirs, known, described };
}

/** The match as the answer has it: one verdict wherever it is told. @param {any} answer @param {any} match */
const answered = ({ dancers }, { dancer, dance_id }) =>
  dancers.find((one) => one.dancer === dancer)?.candidates.find((one) => one.dance_id === dance_id);

/** The path; where none was found, straight through the two ranges of the match. @param {any} why */
function pathOf({ path, match: { query, reference } }) {
  if (path.query.length) return new Alignment(path.query, path.reference);
  return new Alignment([query.start, query.end], [reference.start, reference.end]);
}
