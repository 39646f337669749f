/** The browser's storage; where it is forbidden, memory until the page is closed. */

class Memory {
  #kept = new Map();
  getItem(name) {
    return this.#kept.get(name) ?? null;
  }
  setItem(name, value) {
    this.#kept.set(name, value);
  }
  removeItem(name) {
    this.#kept.delete(name);
  }
}

/** @param {"localStorage" | "sessionStorage"} name @returns {Pick<Storage, "getItem" | "setItem" | "removeItem">} */
function storage(name) {
  try {
    const kept = window[name]; // the very look at it throws where it is forbidden
    return kept || new Memory();
  } catch {
    return new Memory();
  }
}

/** For good. */
export const always = storage("localStorage");
/** For this visit. */
export const visit = storage("sessionStorage");
