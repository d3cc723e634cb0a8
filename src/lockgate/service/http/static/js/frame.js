/** What stands around every page: the header, the places to go, what is announced. */

import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { GO, letters } from "./keyboard.js";
import { to } from "./router.js";
import { visible } from "./visible.js";

const PLACES = [
  ["approvals", "Approvals"],
  ["sessions", "Sessions"],
  ["decisions", "Decisions"],
  ["explain", "What if"],
  ["patterns", "Patterns"],
  ["policy", "Policy"],
  ["audit", "Audit chain"],
  ["doctor", "Doctor"],
];
const KEYS = [
  [["j", "k"], "next and previous question"],
  [["a", "a"], "approve it: two presses within four seconds, not one that is held"],
  [["d", "Enter"], "deny it, with a reason if you like"],
  [["Esc"], "take back a first press; close"],
  [["/"], "search, where there is a search"],
  [["?"], "these keys"],
];
const THEMES = ["system", "light", "dark"];

/** The frame: header, navigation, main, and the line that announces what came. */
export class Frame {
  constructor() {
    this.main = h("main", { id: "main", tabindex: "-1" });
    this.#said = h("p.sr-only", { role: "status", "aria-live": "polite" });
    this.#live = h("span.live", { "data-state": "wait" }, "connecting");
    this.#count = h("span.count", { hidden: true });
    this.#where = h("span.place");
    this.#leave = h("button.button.plain", { type: "button", hidden: true }, "Log out");
    this.#links = PLACES.map(([name, title]) =>
      h("a", { href: to(name), "data-place": name }, icon(name), title, name === "approvals" ? this.#count : null),
    );
    this.#places = h(
      "nav.places",
      { id: "places", "aria-label": "Places" },
      h(
        "ul",
        {},
        this.#links.map((link) => h("li", {}, link)),
      ),
    );
    this.#keys = this.#dialog();
  }

  #scopes = new Set();
  #waiting = 0;
  #said;
  #live;
  #count;
  #where;
  #leave;
  #links;
  #places;
  #keys;
  #menu;

  /** Put the frame into the page. `leave` is called when the person logs out. */
  mount(leave) {
    const skip = h("a.skip", { href: "#main" }, "Skip to content");
    skip.addEventListener("click", (event) => {
      event.preventDefault();
      this.main.focus();
    });
    this.#leave.addEventListener("click", leave);
    this.#menu = h(
      "button.button.plain.menu",
      { type: "button", "aria-expanded": "false", "aria-controls": "places" },
      icon("menu"),
      h("span.sr-only", {}, "Menu"),
    );
    this.#menu.addEventListener("click", () => this.#open(this.#menu.getAttribute("aria-expanded") !== "true"));
    const keys = h("button.button.plain.for-keyboard", { type: "button", "aria-label": "Keys" }, h("kbd", {}, "?"));
    keys.addEventListener("click", () => this.keys());
    fill(
      document.body,
      skip,
      h(
        "header.bar",
        {},
        h("a.brand", { href: to("") }, icon("gate"), "Lockgate"),
        this.#where,
        h("div.tools", {}, this.#live, this.#theme(), keys, this.#leave, this.#menu),
      ),
      h("div.shell", {}, this.#places, this.main),
      this.#said,
      this.#keys,
    );
    document.addEventListener("lockgate:page", (event) => this.#mark(event.detail.name || "sessions"));
  }

  /** Say something to a screen reader, without moving the focus. */
  say(text) {
    this.#said.textContent = "";
    setTimeout(() => (this.#said.textContent = text), 50);
  }

  /** Whether the server tells what happens: on, wait or off. */
  live(state) {
    this.#live.dataset.state = state;
    this.#live.textContent = { on: "live", wait: "connecting", off: "not connected" }[state];
  }

  /** How many questions wait. */
  pending(number) {
    this.#count.hidden = number === 0;
    fill(this.#count, String(number), h("span.sr-only", {}, " waiting"));
    this.#waiting = number;
    this.#title();
  }

  /** Who is logged in (`CurrentUser` of the API); `null` for nobody. */
  person(me) {
    this.#scopes = new Set(me?.scopes ?? []);
    this.#where.textContent = me === null ? "" : visible(me.user, 60);
    for (const element of [this.#leave, this.#places, this.#live, this.#menu]) {
      element.hidden = me === null;
    }
  }

  /** Whether who is logged in may do something: `read` or `approve`. */
  able(scope) {
    return this.#scopes.has(scope);
  }

  /** Show the keys there are. */
  keys() {
    if (!this.#keys.open) {
      this.#keys.showModal();
    }
  }

  #open(open) {
    this.#menu.setAttribute("aria-expanded", String(open));
    this.#places.toggleAttribute("data-open", open);
  }

  #title() {
    // A tab in the background tells it too.
    const title = document.title.replace(/^\(\d+\) /, "");
    document.title = this.#waiting > 0 ? `(${this.#waiting}) ${title}` : title;
  }

  #mark(name) {
    this.#title();
    for (const link of this.#links) {
      if (link.dataset.place === name) {
        link.setAttribute("aria-current", "page");
      } else {
        link.removeAttribute("aria-current");
      }
    }
    this.#open(false);
  }

  #theme() {
    const button = h("button.button.plain", { type: "button" });
    const show = () => {
      const chosen = document.documentElement.dataset.theme ?? "system";
      const next = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
      button.title = `Colours: ${chosen}`;
      fill(
        button,
        icon({ light: "sun", dark: "moon" }[chosen] ?? "half"),
        h("span.sr-only", {}, `Colours: ${chosen}. Change to ${next}.`),
      );
      return next;
    };
    show();
    button.addEventListener("click", () => {
      const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "system") + 1) % THEMES.length];
      if (next === "system") {
        delete document.documentElement.dataset.theme;
      } else {
        document.documentElement.dataset.theme = next;
      }
      try {
        localStorage.setItem("lockgate-theme", next);
      } catch {
        // Then it holds until the page is loaded again.
      }
      show();
    });
    return button;
  }

  #dialog() {
    const close = h("button.button", { type: "button" }, "Close");
    const single = h("input", { id: "single-keys", type: "checkbox", checked: letters() });
    single.addEventListener("change", () => letters(single.checked));
    const dialog = h(
      "dialog.keys",
      { "aria-labelledby": "keys-title" },
      h("h2", { id: "keys-title" }, "Keys"),
      h(
        "dl.facts",
        {},
        KEYS.map(([keys, what]) => [
          h(
            "dt",
            {},
            keys.map((key) => [h("kbd", {}, key), " "]),
          ),
          h("dd", {}, what),
        ]),
      ),
      h("h3", {}, h("kbd", {}, "g"), " and then"),
      h(
        "ul.go",
        {},
        Object.entries(GO).map(([key, name]) =>
          h("li", {}, h("kbd", {}, key), " ", PLACES.find(([place]) => place === name)[1]),
        ),
      ),
      h("p.check", {}, single, h("label", { for: "single-keys" }, "Keys of one letter, but for Escape and ?")),
      close,
    );
    close.addEventListener("click", () => dialog.close());
    return dialog;
  }
}
