/** Changes of dances and recordings, each told with a way to take it back. */

import { about, dancePath, forget, recordingPath, say } from "./api.js";
import { tell } from "../elements/notices.js";
import { counted } from "../elements/say.js";
import { forgetMotions } from "../drawing/stage.js";

/** "edited": what is shown may be another by now; its detail is a `Gone`, with `until` for what takes a while. */
export const changes = new EventTarget();

/** @type {Promise<unknown>} */
let shownAnew = Promise.resolve();

/** Until what was changed here is shown as it is now: a change that begins before has dances as they were. */
export const settled = () => shownAnew;

const MOST_TOLD = 3;

/**
 * Dances that are no more, by id, and the view to go to from one.
 * @typedef {{gone: string[], to: string}} Gone
 */

/** Everything that shows dances shows them anew. @param {string[]} [gone] @param {string} [to] */
async function announce(gone = [], to = "dances") {
  forgetMotions();
  const views = [],
    until = (work) => views.push(work);
  const told = about(true).then(() =>
    changes.dispatchEvent(new CustomEvent("edited", { detail: { gone, to, until } })),
  );
  shownAnew = told.then(() => Promise.allSettled(views)).catch(() => null);
  await told;
}

/** @param {string[]} done sentences */
function told(done) {
  const more = done.length - MOST_TOLD,
    rest = more > 0 ? ` And ${counted(more, "more change")}.` : "";
  return done.slice(0, MOST_TOLD).join(". ") + "." + rest;
}

/** Tell what was changed, with a button that takes it back. @param {{changes: string[], edit_id?: string}} answer */
function tellDone(answer) {
  if (!answer.changes.length) return;
  tell(told(answer.changes), "good", { text: "Undo", act: () => attempt(() => undo(answer.edit_id, "Undone")) });
}

/**
 * Take that very edit back, which the service refuses if there has been another since; undone again, it is made again.
 * @param {string | undefined} edit_id @param {"Undone" | "Redone"} done
 */
async function undo(edit_id, done) {
  const answer = await say("POST", "edits/undo", edit_id ? { edit_id } : {});
  const back = done === "Undone" ? "Redone" : "Undone",
    act = () => attempt(() => undo(answer.edit_id, back));
  tell(`${done}: ${told(answer.changes)}`, "good", { text: back === "Undone" ? "Undo" : "Redo", act });
  await announce();
}

/**
 * The same error, with a sentence for who edits and what can be done about it.
 * @param {any} error @param {any} dance that was shown @param {any} values that were to be
 */
function explained(error, dance, values) {
  if (error.status === 412) {
    error.message = `${dance.name} was changed by somebody else meanwhile; reload to see how it is now.`;
    error.offer = { text: "Reload", act: () => announce() };
  } else if (error.error === "dance_exists" && values.name) {
    error.message = `There is a dance called ${values.name} already.`;
    const merge = () => attempt(() => editDance(dance, { merge_into: values.name }));
    error.offer = { text: `Merge with ${values.name}`, act: merge };
  }
  return error;
}

/** Do something, and tell where it did not work. @param {() => Promise<any>} work */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (!error.error) throw error;
    tell(error.message, "bad", error.offer);
    return null;
  }
}

/**
 * @param {{dance_id: string, name: string, etag: string}} dance as it was shown
 * @param {any} values name, labels, collection, notes, add_labels, remove_labels or merge_into
 */
export async function editDance(dance, values) {
  try {
    const answer = await say("PATCH", dancePath(dance.dance_id), values, dance.etag);
    tellDone(answer);
    if (values.merge_into) await announce([dance.dance_id], `dance/${answer.dance.dance_id}`);
    else await announce();
  } catch (error) {
    throw explained(error, dance, values);
  }
}

/** The dance, if this is its last recording, with which it goes. @param {any} dance @returns {string[]} */
const goneWithLast = (dance) => (dance.recordings.length === 1 ? [dance.dance_id] : []);

/**
 * @param {any} dance as it was shown @param {{recording_id: string}} recording of it
 * @param {any} values performer, url, date, dance (to move to), new_dance, exclude or clear_exclusions
 */
export async function editRecording(dance, recording, values) {
  try {
    tellDone(await say("PATCH", recordingPath(recording.recording_id), values, dance.etag));
  } catch (error) {
    throw explained(error, dance, values);
  }
  await announce(values.dance ? goneWithLast(dance) : []);
}

/**
 * Change several dances at once, all of them or none.
 * @param {{dance_id: string, etag: string}[]} dances as they were shown @param {any} values the same for each
 * @param {string[]} [gone] those that are merged into another
 */
export async function editMany(dances, values, gone = []) {
  const edits = dances.map(({ dance_id }) => ({ dance: dance_id, ...values })),
    expected = Object.fromEntries(dances.map(({ dance_id, etag }) => [dance_id, etag]));
  try {
    tellDone(await say("POST", "edits", { edits, expected }));
  } catch (error) {
    throw explained(error, { name: "One of them" }, {});
  }
  await announce(gone);
}

/** Remove dances. @param {{dance_id: string, name: string, etag: string}[]} dances as they were shown */
export async function removeDances(dances) {
  const gone = [];
  try {
    for (const dance of dances) {
      await forget(dancePath(dance.dance_id), dance.etag).catch((error) => {
        throw explained(error, dance, {});
      });
      gone.push(dance.dance_id);
    }
  } finally {
    if (gone.length === 1) tell(`${dances[0].name} is removed.`);
    else if (gone.length) tell(`${counted(gone.length, "dance")} are removed.`);
    await announce(gone);
  }
}

/** @param {any} dance as it was shown @param {{recording_id: string, file: string}} recording of it */
export async function removeRecording(dance, recording) {
  await forget(recordingPath(recording.recording_id), dance.etag).catch((error) => {
    throw explained(error, dance, {});
  });
  tell(`${recording.file} is removed.`);
  await announce(goneWithLast(dance));
}
