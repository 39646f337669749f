/** The recordings of a dance: who, when, where from; move one, make it a dance of its own, remove it. */

import { mayWrite } from "../service/api.js";
import { attempt, editRecording, removeRecording } from "../service/editing.js";
import { recordingPicture } from "../elements/cards.js";
import { askText, danceNames, suggestions } from "../elements/dialogs.js";
import { exclusions } from "./exclusions.js";
import { button, el } from "../elements/dom.js";
import { editable } from "../elements/editable.js";
import { confirmed } from "../elements/notices.js";
import { counted, length } from "../elements/say.js";

/**
 * @param {any} dance @param {string} chosen the id of the recording that is shown
 * @param {(recording: any) => void} choose @param {() => number} now the moment of it that is shown
 */
export const recordingList = (dance, chosen, choose, now) =>
  el(
    "section",
    { class: "recordings-frame", "aria-label": "Recordings" },
    el("h2", {}, counted(dance.recordings.length, "recording")),
    el(
      "ul",
      { class: "recordings" },
      dance.recordings.map((recording) => recordingRow(dance, recording, chosen, choose, now)),
    ),
    otherDances(),
  );

/** The names of dances, for the fields. */
function otherDances() {
  const list = suggestions("other-dances", []);
  if (mayWrite()) danceNames().then((names) => list.append(...names.map((value) => el("option", { value }))));
  return list;
}

/**
 * @param {any} dance @param {any} recording @param {string} chosen @param {(recording: any) => void} choose
 * @param {() => number} now
 */
function recordingRow(dance, recording, chosen, choose, now) {
  const here = recording.recording_id === chosen;
  return el(
    "li",
    { class: here ? "recording card chosen" : "recording card", "data-file": recording.file },
    recordingPicture(recording),
    el(
      "div",
      { class: "recording-text" },
      el("h3", {}, recording.file),
      el("p", { class: "faint small" }, factsOf(recording)),
      fields(dance, recording),
      exclusions(dance, recording, here ? now : () => 0),
      el(
        "div",
        { class: "recording-actions" },
        dance.recordings.length > 1 &&
          button(
            here ? "Shown" : "Show",
            () => choose(recording),
            { "aria-pressed": String(here), "aria-label": `Show ${recording.file}`, class: "toggle" },
            "play",
          ),
        mayWrite() && changesOf(dance, recording),
      ),
    ),
  );
}

/** @param {any} recording */
const factsOf = (recording) =>
  [
    length(recording.seconds),
    counted(recording.dancers, "dancer"),
    recording.period_seconds && `repeats itself every ${recording.period_seconds.toFixed(1)} s`,
  ]
    .filter(Boolean)
    .join(" · ");

/** @param {any} dance @param {any} recording */
function fields(dance, recording) {
  const field = (name, label, more = {}) => {
    const save = (value) => editRecording(dance, recording, { [name]: value || null });
    const value = recording[name] || "";
    if (!value && !mayWrite()) return null;
    const key = `${name} ${recording.recording_id}`;
    const content = editable({ key, label, value, save, ...more }, mayWrite());
    return el("div", {}, el("dt", {}, label), el("dd", {}, content, more.after));
  };
  const address = recording.url?.replace(/^https?:\/\/(www\.)?/, "");
  const follow =
    recording.url &&
    el("a", { href: recording.url, target: "_blank", rel: "noopener noreferrer" }, "open ↗");
  return el(
    "dl",
    { class: "recording-fields" },
    mayWrite() && el("div", {}, el("dt", {}, "dance"), el("dd", {}, danceField(dance, recording))),
    field("performer", "performer"),
    field("date", "date", { placeholder: "2020, 2020-12 or 2020-12-31" }),
    field("url", "link", { placeholder: "https://", most: 2000, shown: address, after: follow }),
  );
}

/** Which dance it is a recording of: another name moves it there, or makes a new dance. @param {any} dance @param {any} recording */
function danceField(dance, recording) {
  const save = async (name) => {
    try {
      await editRecording(dance, recording, { dance: name });
    } catch (error) {
      if (error.error !== "unknown_dance") throw error;
      error.message = `There is no dance called ${name}.`;
      error.offer = {
        text: `Make ${name} a new dance`,
        act: () => attempt(() => editRecording(dance, recording, { new_dance: name })),
      };
      throw error;
    }
  };
  const key = `dance ${recording.recording_id}`;
  return editable({ key, label: "dance of the recording", value: dance.name, required: true, list: "other-dances", save }, true);
}

/** @param {any} dance @param {any} recording */
function changesOf(dance, recording) {
  const last = dance.recordings.length === 1;
  const move = async () => {
    await askText({
      title: `Move ${recording.file}`,
      text: "It becomes a recording of another dance.",
      field: "The other dance",
      yes: "Move it",
      suggested: (await danceNames()).filter((one) => one !== dance.name),
      save: (name) => editRecording(dance, recording, { dance: name }),
    });
  };
  const separate = async () => {
    await askText({
      title: `Make ${recording.file} a dance of its own`,
      field: "Name of the new dance",
      value: recording.file.replace(/\.[^.]+$/, ""),
      yes: "Make it a dance",
      save: (name) => editRecording(dance, recording, { new_dance: name }),
    });
  };
  const remove = async () => {
    const meant = await confirmed(
      `Remove ${recording.file}?`,
      last
        ? `It is the only recording: ${dance.name} goes with it. This cannot be undone.`
        : "What is kept of this recording is deleted. This cannot be undone.",
      "Remove it",
    );
    if (meant) await removeRecording(dance, recording);
  };
  const act = (text, does) =>
    button(text, () => attempt(does), { class: "quiet", "aria-label": `${text}: ${recording.file}` });
  return [
    act("Move", move),
    !last && act("Own dance", separate),
    act("Remove", remove),
  ];
}
