/** Whether the gate is in place: what `lockgate doctor` finds. */

import { get, post } from "../api.js";
import { fill, h, untrusted } from "../dom.js";
import { icon } from "../icons.js";
import { command, empty, head } from "../parts.js";
import { button } from "../slow.js";
import { count, moment } from "../words.js";

const STATES = { fail: ["deny", "fails"], warn: ["ask", "to look at"], ok: ["allow", "in order"] };
const SECONDS = 120;

/** The page. The findings are those of the last run; a new one is asked for. */
export async function doctor() {
  const [last, { workspaces }] = await Promise.all([get("doctor"), get("policy")]);
  const state = h("div");
  const where = h(
    "select.input",
    { id: "workspace" },
    h("option", { value: "" }, "this machine, no project"),
    workspaces.map((each) => h("option", { value: each }, each)),
  );
  const draw = (told) => fill(state, shown(told, run, where));
  const run = async () => {
    draw({ ...last, running: true });
    try {
      draw(await post("doctor", { workspace: where.value }, SECONDS));
    } catch (error) {
      draw(await get("doctor"));
      state.prepend(h("p.notice.bad", { role: "alert" }, error.message));
    }
    state.querySelector("[data-result]")?.focus();
  };
  draw(last);
  return {
    title: "Doctor",
    content: h(
      "div",
      {},
      head(
        "Doctor",
        "Whether the gate stands where the agents pass: hooks, sandbox, patterns, people who can be asked.",
      ),
      state,
    ),
  };
}

function shown(told, run, where) {
  const again = h(
    "div.row.after.ends",
    {},
    h("div.field", {}, h("label", { for: "workspace" }, "In the project"), where),
    button(told.running ? "Looking ..." : told.ran_at ? "Look again" : "Look now", run),
    told.ran_at ? h("span.muted.small", {}, "looked at ", moment(told.ran_at)) : null,
  );
  if (told.ran_at === null) {
    return [
      empty(
        "doctor",
        told.running ? "Looking" : "Nobody has looked yet",
        told.running
          ? "It takes a few seconds."
          : [
              "The same as ",
              command("lockgate doctor"),
              " in a terminal. It starts a hook and looks at its answer, and changes nothing.",
            ],
      ),
      again,
    ];
  }
  const by = Object.groupBy(told.checks, (check) => check.state);
  const failed = by.fail?.length ?? 0;
  const warned = by.warn?.length ?? 0;
  return [
    h(
      `section.card.verdict-card.${failed > 0 ? "is-deny" : warned > 0 ? "is-ask" : "is-allow"}`,
      { tabindex: "-1", "data-result": true },
      icon(failed > 0 ? "deny" : warned > 0 ? "ask" : "allow"),
      h(
        "div",
        {},
        h(
          "h2",
          {},
          failed > 0
            ? `${count(failed, "check")} ${failed === 1 ? "fails" : "fail"}`
            : warned > 0
              ? `In place, with ${count(warned, "thing")} to look at`
              : "All in order",
        ),
        h("p", {}, failed > 0 ? "Agents may not be guarded as you think." : "Agents are guarded."),
      ),
    ),
    again,
    Object.entries(STATES).map(([name, [is, title]]) =>
      by[name]
        ? h(
            "section.card",
            {},
            h("h2.row", {}, h(`span.badge.is-${is}`, {}, icon(is), title), ` ${count(by[name].length, "check")}`),
            h("ul.findings", {}, by[name].map(check)),
          )
        : null,
    ),
  ];
}

function check(each) {
  return h(
    "li",
    {},
    h("strong", {}, untrusted(each.name)),
    h("p", {}, untrusted(each.says, { limit: 800 })),
    each.mend ? h("p.mend", {}, h("span.muted.small", {}, "to mend it "), untrusted(each.mend, { limit: 800 })) : null,
  );
}
