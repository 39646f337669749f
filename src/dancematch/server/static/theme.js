/* Light or dark, before anything is painted: as chosen here, else as the system has it. */
(() => {
  "use strict";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    /* storage may be forbidden */
  }
  const colours = /** @type {HTMLLinkElement} */ (document.getElementById("dark"));
  const show = () => {
    document.documentElement.dataset.theme = chosen || (dark.matches ? "dark" : "light");
    colours.media = chosen ? (chosen === "dark" ? "all" : "not all") : "(prefers-color-scheme: dark)";
  };
  const tell = () => {
    show();
    dispatchEvent(new Event("themechange"));
  };
  dark.addEventListener("change", tell);
  addEventListener("choosetheme", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("theme", chosen);
    } catch {
      /* then for this visit only */
    }
    tell();
  });
  show();
})();
