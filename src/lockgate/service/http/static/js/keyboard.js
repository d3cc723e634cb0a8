/** Keys that work on every page. A page has its own in `keys`. */

import { to } from "./router.js";

/** Where `g` and a letter lead. */
export const GO = {
  a: "approvals",
  s: "sessions",
  d: "decisions",
  w: "explain",
  p: "patterns",
  t: "policy",
  c: "audit",
  h: "doctor",
};
const SECONDS = 1.5;

/** Whether keys of one letter do anything: who speaks to their machine may not want that. A value changes it. */
export function letters(wanted) {
  try {
    if (wanted !== undefined) {
      localStorage.setItem("lockgate-letters", wanted ? "on" : "off");
    }
    return localStorage.getItem("lockgate-letters") !== "off";
  } catch {
    return true;
  }
}

/** Whether a key is meant for what has the focus, and for no shortcut. */
export function typing(target) {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName))
  );
}

/** Listen for keys, as long as the page lives. */
export function shortcuts(frame, router) {
  let went = 0;
  document.addEventListener("keydown", (event) => {
    const dialog = document.querySelector("dialog[open]") !== null;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || dialog) {
      return;
    }
    const going = went > 0 && event.timeStamp - went < SECONDS * 1000;
    went = 0;
    if (typing(event.target) && event.key !== "Escape") {
      return;
    }
    if (event.key.length === 1 && event.key !== "?" && !letters()) {
      return;
    }
    if (going && Object.hasOwn(GO, event.key)) {
      event.preventDefault();
      location.hash = to(GO[event.key]);
    } else if (event.key === "g" && !event.repeat) {
      went = event.timeStamp;
    } else if (event.key === "?") {
      event.preventDefault();
      frame.keys();
    } else if (event.key === "/" && frame.main.querySelector("input[type=search]")) {
      event.preventDefault();
      frame.main.querySelector("input[type=search]").focus();
    } else {
      router.shown?.key?.(event);
    }
  });
}
