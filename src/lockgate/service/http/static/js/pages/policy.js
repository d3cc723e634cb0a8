/** The policy as tables that can be read: a row for what a call can do, a column for what its session has read. */

import { get } from "../api.js";
import { fill, h, untrusted } from "../dom.js";
import { card, command, facts, head } from "../parts.js";
import { COLUMNS, ROWS, VERDICTS, column, count, verdict } from "../words.js";

const STATES = Object.keys(COLUMNS);

/** The page. A cell can be chosen: it is explained under its table. */
export async function policy(place) {
  const workspace = place.query.get("workspace") ?? "";
  const told = await get("policy", { workspace });
  const content = h(
    "div",
    {},
    head(
      "Policy",
      "What a call gets, by what it can do and what its session has read. A call with several effects gets the strictest; where several policies hold, the strictest of those.",
    ),
    workspaces(told),
    problems(told.problems),
    told.tables.map((each, index) => table(each, index)),
    card(
      "Words",
      h(
        "dl.facts",
        {},
        Object.entries(VERDICTS).map(([word, says]) => [h("dt", {}, verdict(word)), h("dd", {}, says)]),
      ),
    ),
    layers(told.layers),
    settings(told.settings),
    told.notes.length > 0
      ? card(
          "Notes",
          h(
            "ul.bullets",
            {},
            told.notes.map((each) => h("li", {}, untrusted(each, { limit: 600 }))),
          ),
        )
      : null,
  );
  return { title: "Policy", content };
}

function workspaces(told) {
  if (told.workspaces.length === 0) {
    return null;
  }
  const choose = h(
    "select.input",
    { id: "workspace" },
    h("option", { value: "" }, "this machine, no project"),
    told.workspaces.map((each) => h("option", { value: each, selected: each === told.workspace }, each)),
  );
  choose.addEventListener("change", () => (location.hash = `#/policy?workspace=${encodeURIComponent(choose.value)}`));
  return h("div.field.narrow", {}, h("label", { for: "workspace" }, "In the project"), choose);
}

/** Files of which something is wrong. */
export function problems(list) {
  return list.length === 0
    ? null
    : h(
        "section.notice.bad",
        { "aria-label": "Problems" },
        h(
          "ul",
          {},
          list.map((each) =>
            h(
              "li",
              {},
              h("code", {}, untrusted(each.file), each.line ? `:${each.line}` : ""),
              " ",
              h("code", {}, untrusted(each.key)),
              " ",
              untrusted(each.problem, { limit: 600 }),
            ),
          ),
        ),
      );
}

function table(told, index) {
  const explained = h(
    "div.explained",
    { id: `cell-${index}`, role: "status" },
    h("p.muted", {}, "Choose a cell to have it explained."),
  );
  const order = Object.keys(ROWS);
  const place = (row) => (order.indexOf(row.row) + order.length + 1) % (order.length + 1);
  const rows = told.rows
    .toSorted((one, other) => place(one) - place(other))
    .map((row) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, h("span.mono", {}, row.row), h("p.muted.small.plain-text", {}, ROWS[row.row] ?? "")),
        STATES.map((state) => cell(row, state, index, explained)),
      ),
    );
  return h(
    "section.card.policy",
    {},
    h(
      "h2",
      { id: `policy-${index}` },
      "Profile ",
      h("span.mono", {}, untrusted(told.profile)),
      told.shadow
        ? h("span.muted.small", {}, " records what ", h("code", {}, untrusted(told.shadow)), " would have said")
        : null,
    ),
    h(
      "div.scroll",
      { tabindex: "0", role: "region", "aria-labelledby": `policy-${index}` },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "a call that ..."),
            STATES.map((state) => h("th", { scope: "col", title: COLUMNS[state] }, state)),
          ),
        ),
        h("tbody", {}, rows),
      ),
    ),
    explained,
  );
}

function cell(row, state, index, explained) {
  const told = row.cells.find((each) => each.column === state);
  if (told === undefined) {
    return h("td", {}, "");
  }
  const chain = told.verdicts.map((word, at) => [
    at > 0 ? h("span.or.muted.small", {}, " else ") : null,
    verdict(word),
  ]);
  const button = h(
    "button.cell",
    { type: "button", "aria-describedby": `cell-${index}` },
    chain,
    told.flagged ? h("span.muted.small", {}, ` flagged: ${told.flagged}`) : null,
  );
  button.addEventListener("click", () => {
    for (const other of explained.parentElement.querySelectorAll(".cell[aria-pressed=true]")) {
      other.setAttribute("aria-pressed", "false");
    }
    button.setAttribute("aria-pressed", "true");
    fill(explained, chainInWords(row, state, told));
  });
  return h("td", {}, button);
}

function chainInWords(row, state, told) {
  return [
    h(
      "p",
      {},
      h(
        "strong",
        {},
        `A call that ${ROWS[row.row] ?? row.row}, in a session that has ${state === "clean" ? "read nothing that matters" : COLUMNS[state]}:`,
      ),
    ),
    h(
      "ol.chain",
      {},
      told.verdicts.map((word, at) =>
        h(
          "li",
          {},
          verdict(word),
          ` ${VERDICTS[word]}`,
          at < told.verdicts.length - 1
            ? h(
                "span.muted",
                {},
                word === "contain"
                  ? ", where this machine has a sandbox and the call can work in one; else"
                  : ", where a judge is set up; else",
              )
            : ".",
        ),
      ),
    ),
    told.flagged ? h("p", {}, "What the judge flags gets ", verdict(told.flagged), " instead.") : null,
    h("p.muted.small", {}, "Written in ", h("code", {}, untrusted(told.layer)), "."),
  ];
}

/** The files that a configuration or library is put together from. */
export function layers(list) {
  return card(
    "Files",
    h(
      "ul.findings",
      {},
      list.map((each) =>
        h(
          "li",
          {},
          h("strong", {}, untrusted(each.name)),
          " ",
          h(
            `span.badge${each.state === "valid" ? ".is-allow" : each.state === "absent" ? "" : ".is-deny"}`,
            {},
            each.state,
          ),
          " ",
          h("code.small", {}, untrusted(each.path)),
          each.sha256 ? h("p.muted.small.mono", {}, each.sha256) : null,
        ),
      ),
    ),
    h(
      "p.muted.small",
      {},
      "A project's own file counts once you trust it: ",
      command("lockgate trust"),
      ". To see where a value comes from: ",
      command("lockgate config show"),
      ".",
    ),
  );
}

function settings(list) {
  return h(
    "details.card",
    {},
    h("summary", {}, `All other settings (${count(list.length, "value")})`),
    facts(
      ...list.map((each) => [
        h("code", {}, untrusted(each.key)),
        h(
          "span",
          {},
          h("code", {}, untrusted(JSON.stringify(each.value), { limit: 300 })),
          h("span.muted.small", {}, " ", untrusted(each.layer)),
        ),
      ]),
    ),
  );
}
