/** Which page is shown: the part of the address behind `#`, so that every page can be linked to and the server serves one file. */

import { fill } from "./dom.js";
import { visible } from "./visible.js";

/**
 * The place in the address.
 *
 * @returns {{name: string, parts: string[], query: URLSearchParams}} `#/sessions/abc?x=1` is `sessions`, `["abc"]`, `x`.
 */
export function place(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [name = "", ...parts] = path.split("/").map(decoded);
  return { name, parts, query: new URLSearchParams(query) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a page. */
export function to(name, ...parts) {
  return `#/${[name, ...parts].map(encodeURIComponent).join("/")}`;
}

/**
 * Show the page that the address names, now and whenever it changes.
 *
 * A page is `async (place, frame) => {title, content, live?, leave?}`: `live(event)` is called for what the server tells,
 * `leave()` when another page takes its place. Focus goes to the heading of a new page, and nowhere else.
 */
export class Router {
  #pages;
  #main;
  #failed;
  #shown = null;
  #turn = 0;
  #missed = null;
  #first = true;

  /**
   * @param {HTMLElement} main Where pages are put.
   * @param {object} pages Pages by name; `""` is shown where no other fits.
   * @param {(error: Error) => {title: string, content: Node}} failed The page for what could not be loaded.
   */
  constructor(main, pages, failed) {
    this.#main = main;
    this.#pages = pages;
    this.#failed = failed;
    addEventListener("hashchange", () => {
      if (location.hash.startsWith("#/") || location.hash === "") {
        this.show();
      }
    });
  }

  /** What is shown now, or `null`. */
  get shown() {
    return this.#shown;
  }

  /** Tell the page of an event. One that is still loading is told when it is there: it may have read its data already. */
  tell(event) {
    this.#missed?.push(event);
    this.#shown?.live?.(event);
  }

  /** Load the page of the address and show it; a later one that is quicker wins. */
  async show() {
    const turn = ++this.#turn;
    const missed = [];
    this.#missed = missed;
    const where = place();
    const page = this.#pages[where.name] ?? this.#pages[""];
    this.#main.setAttribute("aria-busy", "true");
    let made;
    try {
      made = await page(where);
    } catch (error) {
      made = this.#failed(error);
    }
    if (turn !== this.#turn) {
      made.leave?.();
      return;
    }
    this.#shown?.leave?.();
    this.#shown = made;
    fill(this.#main, made.content);
    this.#main.removeAttribute("aria-busy");
    document.title = `${visible(made.title, 80)} · Lockgate`;
    document.dispatchEvent(new CustomEvent("lockgate:page", { detail: where }));
    this.#focus();
    this.#missed = null;
    for (const event of missed) {
      made.live?.(event);
    }
  }

  #focus() {
    scrollTo(0, 0);
    // The first page leaves focus where the browser has it: at the beginning, before the skip link.
    if (!this.#first) {
      const heading = this.#main.querySelector("h1");
      heading?.setAttribute("tabindex", "-1");
      heading?.focus({ preventScroll: true });
    }
    this.#first = false;
  }
}
