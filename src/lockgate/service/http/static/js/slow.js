/** What takes a moment: buttons that wait, and lists that are loaded anew while somebody moves in them. */

import { h } from "./dom.js";

/** A button that does something slow. It can be pressed again when that is done. */
export function button(text, action, classes = "") {
  const element = h("button.button", { type: "button", class: classes }, text);
  element.addEventListener("click", async () => {
    element.disabled = true;
    try {
      await action();
    } finally {
      element.disabled = false;
    }
  });
  return element;
}

/** Load one after the other, and once more where something came meanwhile. Focus stays on the link that it is on. */
export function gently(load) {
  let running = false;
  let again = false;
  return async () => {
    again = true;
    if (running) {
      return;
    }
    running = true;
    while (again) {
      again = false;
      const at = document.activeElement?.getAttribute?.("href");
      try {
        await load();
      } catch {
        // The header tells that the server is gone; what is shown stays.
      }
      if (at && document.activeElement === document.body) {
        document.querySelector(`main a[href="${CSS.escape(at)}"]`)?.focus({ preventScroll: true });
      }
    }
    running = false;
  };
}
