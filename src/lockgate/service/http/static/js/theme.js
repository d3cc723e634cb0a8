// Before anything is painted: the colours that this person chose here, else those of the system.
"use strict";
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("lockgate-theme");
  } catch {
    // A browser that keeps nothing uses the system's colours.
  }
  if (chosen === "light" || chosen === "dark") {
    document.documentElement.dataset.theme = chosen;
  }
})();
