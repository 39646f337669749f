/** One dance: what is said of it, its recordings, and the one of them that is shown. */

import { ask, dancePath, mayWrite } from "../service/api.js";
import { addDialog } from "../adding/dialog.js";
import * as adding from "../service/adding.js";
import { attempt, changes, removeDances } from "../service/editing.js";
import { details, nameHeading, removeButton } from "../dance/details.js";
import { lineagePanel } from "../dance/lineage.js";
import { recordingPlayer } from "../dance/player.js";
import { recordingList } from "../dance/recordings.js";
import { button, el, link } from "../elements/dom.js";
import { keepingFocus } from "../elements/editable.js";
import { carryNotices, confirmed } from "../elements/notices.js";

/** @param {HTMLElement} root @param {string[]} parts the dance by id or name, and the id of one of its recordings */
export async function show(root, [wanted, first]) {
  let dance = await ask(dancePath(wanted)),
    chosen = dance.recordings.find((one) => one.recording_id === first) || dance.recordings[0],
    player = await recordingPlayer(chosen);
  const about = el("div", { class: "about-dance" }),
    list = el("div", {}),
    stage = el("div", { class: "contents" }, ...player.stage),
    words = el("div", { class: "contents" }, ...player.words);

  const drawList = () => list.replaceChildren(recordingList(dance, chosen.recording_id, choose, () => player.time()));
  const draw = async () => {
    about.replaceChildren(heading(dance), await details(dance));
    drawList();
  };
  const choose = async (recording) => {
    chosen = recording;
    player.leave();
    player = await recordingPlayer(recording);
    stage.replaceChildren(...player.stage);
    words.replaceChildren(...player.words);
    drawList();
    stage.firstElementChild.scrollIntoView({ block: "center" });
    list.querySelector(".chosen [aria-pressed]")?.focus({ preventScroll: true });
  };
  const renew = async () => {
    dance = await ask(dancePath(dance.dance_id));
    if (!dance.recordings.some((one) => one.recording_id === chosen.recording_id))
      await choose(dance.recordings[0]);
    await keepingFocus(root, draw);
    document.title = `${dance.name} · DanceMatch`;
  };
  const edited = async ({ detail: { gone, to } }) => {
    try {
      if (!gone.includes(dance.dance_id)) await renew();
      else {
        carryNotices();
        location.hash = `#/${to}`;
      }
    } catch {
      carryNotices();
      location.hash = "#/dances"; // an undone change took it away
    }
  };
  await draw();
  root.append(link("dances", { class: "back" }, "‹ all dances"), about, stage, list, lineagePanel(dance), words);
  changes.addEventListener("edited", edited);
  adding.changes.addEventListener("added", renew);
  return {
    keys: (event) => (event.key === "Escape" ? ((location.hash = "#/dances"), true) : player.key(event)),
    leave: () => {
      player.leave();
      changes.removeEventListener("edited", edited);
      adding.changes.removeEventListener("added", renew);
    },
  };
}

/** @param {any} dance */
const heading = (dance) =>
  el(
    "div",
    { class: "bar" },
    nameHeading(dance),
    mayWrite() &&
      el(
        "div",
        { class: "actions" },
        button("Add recordings", () => addDialog([], dance.name), {}, "plus"),
        removeButton(() => attempt(() => remove(dance))),
      ),
  );

/** Remove the dance, if that is really meant. @param {any} dance */
async function remove(dance) {
  const meant = await confirmed(
    `Remove ${dance.name}?`,
    "Everything that is kept of it is deleted. It will not be recognised any more until it is added again.",
    "Remove it",
  );
  if (meant) await removeDances([dance]);
}
