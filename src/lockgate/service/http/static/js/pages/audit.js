/** Whether the record of what was decided is whole. */

import { get, post } from "../api.js";
import { fill, h, untrusted } from "../dom.js";
import { icon } from "../icons.js";
import { card, command, facts, head } from "../parts.js";
import { to } from "../router.js";
import { button, gently } from "../slow.js";
import { ago, count, moment } from "../words.js";

const SECONDS = 300;

/** The page. A check of the whole chain is asked for, and not made by itself. */
export async function audit() {
  const state = h("div");
  const draw = (told) => fill(state, shown(told, check));
  const check = async () => {
    draw({ ...(await get("audit")), verifying: true });
    try {
      draw(await post("audit/verify", {}, SECONDS));
    } catch (error) {
      draw(await get("audit"));
      state.prepend(h("p.notice.bad", { role: "alert" }, error.message));
    }
    state.querySelector("[data-result]")?.focus();
  };
  draw(await get("audit"));
  return {
    title: "Audit chain",
    content: h(
      "div",
      {},
      head(
        "Audit chain",
        "Every decision is a link of a chain: who changes, removes or adds one, breaks it. The last link is sealed with a key of this installation.",
      ),
      state,
    ),
    live: gently(async () => {
      if (!state.contains(document.activeElement)) {
        draw(await get("audit"));
      }
    }),
  };
}

function shown(told, check) {
  const verified = told.verified;
  return [
    result(verified, told.verifying),
    card(
      "The chain",
      facts(
        ["records", told.records.toLocaleString("en")],
        [
          "last record",
          told.head ? h("a", { href: to("decisions", String(told.head.seq)) }, String(told.head.seq)) : null,
        ],
        ["its digest", told.head ? h("code.small", {}, told.head.digest) : null],
      ),
      h("p.row.after", {}, button(told.verifying ? "Checking ..." : "Check every link now", check)),
    ),
    card(
      "Keep proof elsewhere",
      h(
        "p",
        {},
        "Who can write to this machine's files and has its key can write a new chain. Note the last digest somewhere else from time to time, and compare:",
      ),
      h("p", {}, command("lockgate audit verify"), " ", command("lockgate audit export")),
    ),
  ];
}

function result(verified, verifying) {
  if (verifying) {
    return h(
      "section.card.verdict-card",
      {},
      icon("clock"),
      h("div", {}, h("h2", {}, "Checking"), h("p.muted", {}, "Every link is computed anew.")),
    );
  }
  if (!verified) {
    return h(
      "section.card.verdict-card",
      {},
      icon("audit"),
      h(
        "div",
        {},
        h("h2", {}, "Not checked by this dashboard yet"),
        h("p.muted", {}, "It takes a second for some ten thousand records."),
      ),
    );
  }
  const fine = verified.ok && verified.against_count === 0;
  return h(
    `section.card.verdict-card.${fine ? "is-allow" : "is-deny"}`,
    { tabindex: "-1", role: "status", "data-result": true },
    icon(fine ? "allow" : "deny"),
    h(
      "div",
      {},
      h("h2", {}, !verified.ok ? "The chain does not hold" : fine ? "The chain holds" : "The state contradicts it"),
      verified.ok
        ? h("p", {}, `All ${count(verified.records, "record")} are as they were written.`)
        : h(
            "p",
            {},
            untrusted(verified.problem),
            verified.seq !== null ? ` At record ${verified.seq}; those before it hold.` : "",
          ),
      ...contradictions(verified),
      h("p.small", {}, "checked ", moment(verified.at), ` (${ago(verified.at)}), in ${verified.seconds.toFixed(2)} s`),
    ),
  );
}

/** What answers and labels say against the chain: only the command mends it, and asks a person. */
function contradictions(verified) {
  const more = verified.against_count - verified.against.length;
  if (verified.against_count === 0) {
    return [];
  }
  return [
    h("ul", {}, ...verified.against.map((each) => h("li", {}, untrusted(each)))),
    more > 0 ? h("p", {}, `And ${more} more.`) : "",
    h("p", {}, "Look at each, then: ", command("lockgate audit accept")),
  ];
}
