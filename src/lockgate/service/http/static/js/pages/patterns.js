/** The pattern library: its groups, its rules, and how often each was found. */

import { get } from "../api.js";
import { fill, h, untrusted } from "../dom.js";
import { card, command, empty, head, table } from "../parts.js";
import { to } from "../router.js";
import { button } from "../slow.js";
import { ago, count } from "../words.js";
import { layers, problems } from "./policy.js";

const PAGE = 50;
const NAMES = ["text", "group", "found"];

/** The page; what is filtered by stands in the address. */
export async function patterns(place) {
  const asked = Object.fromEntries(NAMES.map((name) => [name, place.query.get(name) ?? ""]));
  const ask = (offset) => get("patterns", { ...asked, limit: PAGE, offset });
  const told = await ask("");
  const body = h("tbody");
  const said = h("p.muted.small", { role: "status" });
  const more = h("div.more");
  const show = (page, further) => {
    if (!further) {
      fill(body, page.rules.map(rule));
    } else {
      body.append(...page.rules.map(rule));
    }
    said.textContent = `${count(page.total, "rule")} ${page.total === 1 ? "matches" : "match"}`;
    fill(more, page.next === null ? null : button("Show more", async () => show(await ask(page.next), true)));
  };
  const holder = table("Rules", ["rule", "finds", "severity", "then", "hits"], body, ["hits"]);
  const nothing = empty("patterns", "No rule matches", [
    "Take a filter away, or search for a provider or a kind of credential. ",
    command("lockgate patterns list"),
    " shows all.",
  ]);
  const reload = async () => {
    const page = await ask("");
    show(page, false);
    holder.hidden = page.total === 0;
    nothing.hidden = page.total > 0;
    const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== "")).toString();
    history.replaceState(null, "", query ? `${to("patterns")}?${query}` : to("patterns"));
  };
  show(told, false);
  holder.hidden = told.total === 0;
  nothing.hidden = told.total > 0;
  return {
    title: "Patterns",
    content: h(
      "div",
      {},
      head(
        "Patterns",
        `What is looked for in calls and results, and how often it was found. Library ${told.version.slice(0, 12)}. What was matched is nowhere kept.`,
      ),
      problems(told.problems),
      groups(told.groups),
      card("Rules", filters(asked, told.groups, reload), said, holder, nothing, more),
      layers(told.layers),
    ),
  };
}

function groups(list) {
  return card(
    "Groups",
    table(
      "Groups of patterns",
      ["group", "looks at", "what is found", "where time is over", "rules", "hits"],
      list.map((each) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, h("span", { title: each.id }, untrusted(each.name || each.id))),
          h("td", {}, untrusted(each.side)),
          h("td", {}, untrusted(each.mode)),
          h("td", {}, untrusted(each.fallback), h("span.muted.small", {}, ` after ${each.timeout_ms} ms`)),
          h("td.number-cell", {}, each.rules.toLocaleString("en")),
          h("td.number-cell", {}, hits(each.hits)),
        ),
      ),
      ["rules", "hits"],
    ),
  );
}

function hits(number) {
  return number > 0 ? h("strong", {}, number.toLocaleString("en")) : h("span.muted", {}, "0");
}

function filters(asked, list, reload) {
  const words = h("input.input", {
    id: "pattern-text",
    type: "search",
    value: asked.text,
    placeholder: "stripe",
    autocomplete: "off",
    spellcheck: "false",
  });
  const group = h(
    "select.input",
    { id: "pattern-group" },
    h("option", { value: "" }, "all"),
    list.map((each) => h("option", { value: each.id, selected: each.id === asked.group }, each.name || each.id)),
  );
  const found = h("input", { id: "pattern-found", type: "checkbox", checked: asked.found !== "" });
  let timer = 0;
  const change = () => {
    Object.assign(asked, { text: words.value.trim(), group: group.value, found: found.checked ? "true" : "" });
    clearTimeout(timer);
    timer = setTimeout(() => reload().catch(() => {}), 250);
  };
  const form = h(
    "form.search",
    {
      role: "search",
      "aria-label": "Rules",
      on: {
        input: change,
        submit: (event) => {
          event.preventDefault();
          change();
        },
      },
    },
    h("div.field", {}, h("label", { for: "pattern-text" }, "Words"), words),
    h("div.field", {}, h("label", { for: "pattern-group" }, "Group"), group),
    h("div.check", {}, found, h("label", { for: "pattern-found" }, "only what was found")),
  );
  return form;
}

function rule(each) {
  return h(
    "tr",
    {},
    h(
      "th",
      { scope: "row" },
      h("span.mono.small", {}, untrusted(each.id)),
      h(
        "p.muted.small.plain-text",
        {},
        each.layers.map((layer) => untrusted(layer)),
      ),
    ),
    h("td", {}, untrusted(each.type), each.provider ? h("p.muted.small", {}, untrusted(each.provider)) : null),
    h("td", {}, untrusted(each.severity)),
    h("td", {}, untrusted(each.mode)),
    h("td.number-cell", {}, hits(each.hits), each.last_at ? h("p.muted.small", {}, ago(each.last_at)) : null),
  );
}
