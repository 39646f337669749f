/** The last searches of this browser, to be opened again or deleted. */

import { button, el, link } from "./dom.js";
import { moment } from "./say.js";
import { dancePicture } from "./cards.js";
import { badge } from "./verdicts.js";
import * as recent from "../service/recent.js";

/** Empty where there are none. */
export function recentList() {
  const element = el("section", { class: "recent", "aria-label": "Recent searches" });
  const draw = () => {
    const searches = recent.all();
    element.hidden = !searches.length;
    const drop = (some) => {
      recent.drop(some);
      draw();
      (element.querySelector("button") || document.getElementById("main"))?.focus();
    };
    element.replaceChildren(
      el(
        "div",
        { class: "bar" },
        el("h2", {}, "Recent searches"),
        button("Delete all", () => drop(searches), { class: "quiet" }),
      ),
      el(
        "ul",
        {},
        searches.map((search) => row(search, () => drop([search]))),
      ),
      el("p", { class: "faint small" }, "This list is kept in this browser alone; clips are forgotten within the hour."),
    );
  };
  draw();
  return element;
}

/** @param {import("../service/recent.js").Recent} search @param {() => void} drop */
function row(search, drop) {
  const { search_id, filename, created, verdict, dance, dance_id } = search,
    name = dance || "No known dance";
  const place = recent.isHeld(search) ? `search/${search_id}` : dance_id && `dance/${encodeURIComponent(dance_id)}`;
  return el(
    "li",
    { class: "card" },
    dance_id ? dancePicture({ dance_id, motion: true, poster: null }) : el("span", { class: "thumbnail none" }, "?"),
    el(
      "div",
      { class: "recent-text" },
      place ? link(place, { class: "whole ellipsis", title: name }, name) : el("b", { class: "ellipsis" }, name),
      badge(verdict),
      el("span", { class: "faint small ellipsis", title: filename || "" }, filename || "your clip"),
      el("span", { class: "faint small" }, moment(created)),
    ),
    button("", drop, { class: "quiet round", "aria-label": `Delete the search for ${filename || "your clip"}` }, "close"),
  );
}
