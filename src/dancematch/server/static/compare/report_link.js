/** The evidence on a page to hand on. */

import { hasToken, save, withQuery } from "../service/api.js";
import { el, icon } from "../elements/dom.js";
import { clips } from "../service/searching.js";

/**
 * Saved, with pictures of the clip if this tab still has it; else, unless a token is needed, which a link does not
 * send, to be read in a tab of its own.
 * @param {import("./pair.js").Pair} pair
 */
export function reportLink({ search_id, dance_id, answer, why }) {
  const place = `searches/${search_id}/matches/${encodeURIComponent(dance_id)}/report`,
    path = withQuery(place, { dancer: why.match.dancer }),
    file = clips.get(search_id),
    film = file?.type.startsWith("video/") ? file : undefined,
    name = el("span", {}, "Evidence report");
  const keep = async (event) => {
    if (!film && !hasToken()) return;
    event.preventDefault();
    name.textContent = "Writing the report …";
    try {
      await save(path, `${answer.filename || "clip"} beside ${why.match.dance}.html`, film);
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
