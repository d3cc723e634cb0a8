/** All decisions, searched; and one of them with its evidence. */

import { get } from "../api.js";
import { fill, h, untrusted } from "../dom.js";
import { callLine, command, empty, head } from "../parts.js";
import { to } from "../router.js";
import { button, gently } from "../slow.js";
import { TIERS, VERDICTS, column, count, moment, verdict } from "../words.js";
import { decision } from "./decision.js";

const PAGE = 50;
const TIMES = [
  ["", "at any time"],
  ["900", "in the last 15 minutes"],
  ["3600", "in the last hour"],
  ["86400", "in the last day"],
  ["604800", "in the last week"],
];
const NAMES = ["text", "verdict", "tool", "session", "within"];

/** The search; `#/decisions/SEQ` is one of them. The search stands in the address, so that it can be linked to. */
export async function decisions(place, frame) {
  if (place.parts[0]) {
    return decision(place.parts[0], frame);
  }
  const search = new Search(place.query);
  await search.load();
  return { title: "Decisions", content: search.element, live: search.live };
}

class Search {
  #form;
  #found = h("ol.items", { "aria-label": "Decisions" });
  #more = h("div.more");
  #said = h("p.muted.small", { role: "status" });
  #asked;
  #timer = 0;
  #turn = 0;

  constructor(query) {
    this.#asked = Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? ""]));
    this.#form = this.#fields();
    this.element = h(
      "div",
      {},
      head("Decisions", "Every call that was decided, the newest first, from the audit."),
      this.#form,
      this.#said,
      this.#found,
      this.#more,
    );
    this.live = gently(async () => {
      // Somebody who has gone on to older ones is not thrown back.
      if (this.#found.children.length <= PAGE) {
        await this.load(false);
      }
    });
  }

  #fields() {
    const asked = this.#asked;
    const input = (name, title, type = "search", placeholder = "") =>
      field(
        title,
        h("input.input", {
          id: `search-${name}`,
          name,
          type,
          value: asked[name],
          placeholder,
          autocomplete: "off",
          spellcheck: "false",
        }),
        `search-${name}`,
      );
    const choice = (name, title, options) =>
      field(
        title,
        h(
          "select.input",
          { id: `search-${name}`, name },
          options.map(([value, text]) => h("option", { value, selected: value === asked[name] }, text)),
        ),
        `search-${name}`,
      );
    const form = h(
      "form.search",
      { role: "search", "aria-label": "Decisions" },
      input("text", "Words", "search", "git push"),
      choice("verdict", "Verdict", [["", "any"], ...Object.keys(VERDICTS).map((word) => [word, word])]),
      input("tool", "Tool", "text", "Bash"),
      input("session", "Session", "text"),
      choice("within", "When", TIMES),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#change();
    });
    form.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#change(), 300);
    });
    return form;
  }

  #change() {
    clearTimeout(this.#timer);
    const data = new FormData(this.#form);
    this.#asked = Object.fromEntries(NAMES.map((name) => [name, String(data.get(name) ?? "").trim()]));
    const query = new URLSearchParams(Object.entries(this.#asked).filter(([, value]) => value !== "")).toString();
    history.replaceState(null, "", query ? `${to("decisions")}?${query}` : to("decisions"));
    this.load().catch((error) => fill(this.#said, `This cannot be searched: ${error.message}`));
  }

  /** Load the first page of what was asked. */
  async load(say = true) {
    const turn = ++this.#turn;
    const page = await this.#page(null);
    if (turn !== this.#turn) {
      return;
    }
    fill(this.#found, page.items.map(row));
    this.#next(page);
    if (say || page.items.length === 0) {
      this.#tell();
    }
  }

  #page(before) {
    const { within, ...asked } = this.#asked;
    const since = within ? new Date(Date.now() - Number(within) * 1000).toISOString() : "";
    return get("decisions", { ...asked, since, before, limit: PAGE });
  }

  #next(page) {
    this.#found.hidden = this.#found.children.length === 0;
    fill(
      this.#more,
      this.#found.children.length === 0 && page.next === null ? this.#nothing() : null,
      page.next === null
        ? null
        : button(page.complete ? "Show older" : "Search on in what is older", async () => {
            const following = await this.#page(page.next);
            this.#found.append(...following.items.map(row));
            this.#next(following);
            this.#tell();
          }),
    );
  }

  #tell() {
    const shown = this.#found.children.length;
    this.#said.textContent = shown === 0 ? "" : `${count(shown, "decision")} shown`;
  }

  #nothing() {
    return Object.values(this.#asked).some(Boolean)
      ? empty(
          "decisions",
          "Nothing matches",
          "Take a filter away, or use fewer words. Words are looked for in the call, its tool, its rules and its reasons.",
        )
      : empty(
          "decisions",
          "Nothing was decided yet",
          ["Once the hooks are in place, every call shows up here: ", command("lockgate install claude-code"), "."],
          ["To try a call without an agent, go to ", h("a", { href: to("explain") }, "What if"), "."],
        );
  }
}

function field(title, element, id) {
  return h("div.field", {}, h("label", { for: id }, title), element);
}

function row(each) {
  return h(
    "li.item.decision-item",
    {},
    h("p.item-verdict", {}, verdict(each.verdict ?? "unknown")),
    h(
      "div.item-main",
      {},
      h("a.item-title", { href: to("decisions", String(each.seq)) }, callLine(each.tool, each.summary)),
      h(
        "p.muted.small.row",
        {},
        moment(each.at),
        h("span", {}, "by ", TIERS[each.tier] ?? each.tier),
        h("a.mono", { href: to("sessions", each.session) }, untrusted(each.session)),
      ),
    ),
    h(
      "p.row.item-facts",
      {},
      each.would_have && each.would_have !== each.verdict
        ? h("span.small.muted", {}, `observed: would be ${each.would_have}`)
        : null,
      each.state ? column(each.state) : null,
    ),
  );
}
