/** Making elements. Text always goes in as text, never as HTML: names come from people. */

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element with properties and children; `on...` are listeners, `class`, `data-` and `aria-` attributes.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  assign(element, properties);
  element.append(...nodesOf(children));
  return element;
}

/**
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function svg(tag, properties = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, String(value));
  element.append(...nodesOf(children));
  return element;
}

/** @param {(Child | Child[])[]} children @returns {(Node | string)[]} */
function nodesOf(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/** @param {any} element @param {Record<string, any>} properties */
function assign(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.includes("-") || ["class", "role", "for", "list"].includes(name))
      element.setAttribute(name, value);
    else element[name] = value;
  }
}

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

const ICONS = {
  play: "M8 5.5v13l11-6.5z",
  pause: "M7 5h3.5v14H7zM13.5 5H17v14h-3.5z",
  back: "M14.5 5.5 8 12l6.5 6.5",
  upload: "M12 16V4.5M7 9l5-5 5 5M5 15v4.5h14V15",
  camera: "M3.5 7h12v10h-12zM15.5 10.5l5-3v9l-5-3z",
  plus: "M12 5v14M5 12h14",
  bin: "M5 7h14M9.5 7V4.5h5V7M7 7l1 12.5h8L17 7M10.5 10.5v5.5M13.5 10.5v5.5",
  moon: "M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z",
  loop: "M5 10.5V9a3 3 0 0 1 3-3h10M15 3l3 3-3 3M19 13.5V15a3 3 0 0 1-3 3H6M9 21l-3-3 3-3",
  mute: "M4 9.5h3.5L12 5v14l-4.5-4.5H4zM16 9.5l5 5M21 9.5l-5 5",
  sound: "M4 9.5h3.5L12 5v14l-4.5-4.5H4zM15.5 9a4 4 0 0 1 0 6M18 6.5a7.5 7.5 0 0 1 0 11",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 1 0 0-16M12 8v4.5l3 2",
  spark: "M12 4v5M12 15v5M4 12h5M15 12h5M6.5 6.5l2.5 2.5M15 15l2.5 2.5M17.5 6.5 15 9M9 15l-2.5 2.5",
  close: "M6 6l12 12M18 6L6 18",
  tick: "M5 12.5l5 5 9-11",
  question: "M8.5 9a3.5 3.5 0 1 1 5.2 3c-1.2.7-1.7 1.4-1.7 2.7M12 18.4v.1",
  dash: "M6 12h12",
  page: "M6 3.5h8l4 4v13H6zM14 3.5v4h4M9 12h6M9 15.5h6",
  pencil: "M4.5 19.5l1-4.5L16 4.5l3.5 3.5L9 18.5zM13.5 7l3.5 3.5",
  film: "M4 5h16v14H4zM8 5v14M16 5v14M4 9.5h4M4 14.5h4M16 9.5h4M16 14.5h4",
  warn: "M12 4 21 19.5H3zM12 10v4.5M12 17v.1",
};

/** A small drawing beside a text that says the same. @param {keyof typeof ICONS} name */
export const icon = (name) =>
  svg(
    "svg",
    { viewBox: "0 0 24 24", class: `icon ${name}`, "aria-hidden": "true" },
    svg("path", { d: ICONS[name] }),
  );

/**
 * @param {string} text @param {() => void} act @param {Record<string, any>} [more]
 * @param {keyof typeof ICONS} [sign]
 */
export const button = (text, act, more = {}, sign = undefined) =>
  el("button", { type: "button", onclick: act, ...more }, sign && icon(sign), text && el("span", {}, text));

/** A link within the page. @param {string} route @param {Record<string, any>} more @param {...any} children */
export const link = (route, more, ...children) => el("a", { href: `#/${route}`, ...more }, ...children);
