/** What pages are put together from. */

import { append, h, untrusted, untrustedBlock } from "./dom.js";
import { icon } from "./icons.js";
import { to } from "./router.js";
import { label, moment } from "./words.js";

const LONG = 600;

/** A page's heading, and a sentence under it. */
export function head(title, sentence = "", ...beside) {
  return h(
    "header.page-head",
    {},
    h("div.row", {}, h("h1", {}, title), beside),
    sentence ? h("p.muted", {}, sentence) : null,
  );
}

/** A part of a page, with a heading. */
export function card(title, ...children) {
  return h("section.card", {}, title ? h("h2", {}, title) : null, children);
}

/**
 * Nothing to show, and what to do about it.
 *
 * @param {string} picture The name of an icon.
 * @param {string} title What there is not.
 * @param {...any} children Sentences; use `command` for what to type.
 */
export function empty(picture, title, ...children) {
  return h(
    "section.empty",
    {},
    icon(picture),
    h("h2", {}, title),
    children.map((child) => h("p", {}, child)),
  );
}

/** Something to type in a terminal. */
export function command(text) {
  return h("code.command", {}, text);
}

/** Facts in two columns where there is room for them. */
export function factsInTwo(...pairs) {
  const list = facts(...pairs);
  list.classList.add("two");
  return list;
}

/** Facts as a list of names and values; those without a value are left out. */
export function facts(...pairs) {
  const list = h("dl.facts");
  for (const [name, value] of pairs) {
    if (value !== null && value !== undefined && value !== "" && value !== false) {
      append(list, [h("dt", {}, name), h("dd", {}, value)]);
    }
  }
  return list;
}

/**
 * A table that can be wider than the page: it can be reached and scrolled with the keyboard.
 *
 * @param {string} caption What it shows.
 * @param {string[]} columns Their names.
 * @param {any} body Rows, or an element `tbody` that is filled elsewhere.
 * @param {string[]} numbers The columns of numbers, which stand at the right.
 */
export function table(caption, columns, body, numbers = []) {
  const heads = columns.map((name) =>
    h("th", { scope: "col", class: numbers.includes(name) ? "number-cell" : "" }, name),
  );
  return h(
    "div.scroll",
    { tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption.sr-only", {}, caption),
      h("thead", {}, h("tr", {}, heads)),
      body instanceof HTMLElement ? body : h("tbody", {}, body),
    ),
  );
}

/** A call in one line: its tool, and what of it matters. The server's line begins with the tool, which is said once. */
export function callLine(tool, summary) {
  const rest = summary.startsWith(`${tool}: `) ? summary.slice(tool.length + 2) : summary === tool ? "" : summary;
  return h(
    "span.call-line",
    {},
    h("strong.mono", {}, untrusted(tool, { limit: 60 })),
    " ",
    h("span.mono.small", {}, untrusted(rest)),
  );
}

/** A session's id as a link to its page. */
export function sessionLink(session, agent = "") {
  return [
    h("a.mono", { href: to("sessions", session) }, untrusted(session, { limit: 0 })),
    agent ? [" › ", h("span.mono", {}, untrusted(agent))] : null,
  ];
}

/** Where labels came from, as a list. */
export function provenance(sources) {
  return h(
    "ol.sources",
    {},
    sources.map((source) =>
      h(
        "li",
        {},
        label(source.label),
        h(
          "div",
          {},
          untrusted(source.source, { limit: LONG }),
          h(
            "p.muted.small",
            {},
            moment(source.at),
            source.tool ? [" · by ", h("code", {}, untrusted(source.tool, { limit: 120 }))] : null,
            source.origin ? [" · inherited from ", h("code", {}, untrusted(source.origin, { limit: 120 }))] : null,
            source.state === "pending" ? " · its result has not come yet" : null,
          ),
        ),
      ),
    ),
  );
}

/** What the pattern library found. */
export function matches(guardrail) {
  if (!guardrail || guardrail.matches.length === 0) {
    return null;
  }
  const more = guardrail.matches_omitted;
  return card(
    "What the patterns found",
    h(
      "ul.findings",
      {},
      guardrail.matches.map((match) =>
        h(
          "li",
          {},
          h("strong", {}, untrusted(match.type)),
          h("span.badge", {}, `severity ${match.severity}`),
          h(
            "p.muted.small",
            {},
            "in ",
            h("code", {}, untrusted(match.path)),
            " by ",
            h("code", {}, untrusted(match.rule)),
            match.encoding.length > 0 ? `, decoded from ${match.encoding.join(", ")}` : "",
            ". The value is nowhere kept.",
          ),
        ),
      ),
    ),
    more > 0 ? h("p.muted", {}, `and ${more} more`) : null,
  );
}

/** An object of JSON as names and values, laid out to be read. */
export function values(object) {
  return h(
    "dl.values",
    {},
    Object.entries(object ?? {}).map(([name, value]) => [
      h("dt.mono", {}, untrusted(name, { limit: 200 })),
      h(
        "dd",
        {},
        h(
          "pre.call-text",
          {},
          untrustedBlock(typeof value === "string" ? value : JSON.stringify(value, null, 1), { limit: 4000 }),
        ),
      ),
    ]),
  );
}
