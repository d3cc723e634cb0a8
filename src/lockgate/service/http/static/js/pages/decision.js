/** One decision, in full. */

import { get, part } from "../api.js";
import { h, untrusted } from "../dom.js";
import { effectList } from "../effects.js";
import { needless } from "../needless.js";
import { card, facts, factsInTwo, head, matches, provenance, sessionLink, values } from "../parts.js";
import { to } from "../router.js";
import { VERDICTS, column, moment, verdict } from "../words.js";

const DECIDED_BY = {
  labels: "its labels: nothing was read that matters",
  local: "the call has no effect",
  table: "the policy table",
  containment: "it could run where it reaches nobody",
  judge: "the judge",
  person: "a person",
  patterns: "the pattern library, whatever the table says",
  rules: "a rule or a plugin, whatever the table says",
};

const STOPS = new Set(["ask", "deny"]);

/** The page of one decision. */
export async function decision(seq, frame) {
  const told = await get(`decisions/${part(seq)}`);
  const word = told.verdict ?? "unknown";
  return {
    title: `Decision ${told.seq}`,
    content: h(
      "div",
      {},
      head(`Decision ${told.seq}`, "", verdict(word)),
      card(
        null,
        h(
          "p.lead",
          {},
          h("strong.mono", {}, untrusted(told.tool, { limit: 120 })),
          VERDICTS[word] ? `: ${VERDICTS[word]}.` : "",
          " Decided by ",
          DECIDED_BY[told.tier] ?? told.tier,
          ".",
        ),
        factsInTwo(
          [
            "when",
            [
              moment(told.at),
              told.ms !== null
                ? h("span.muted.small", {}, ` in ${told.ms.toLocaleString("en", { maximumFractionDigits: 1 })} ms`)
                : null,
            ],
          ],
          ["session", sessionLink(told.session, told.agent)],
          ["client", untrusted(told.client)],
          ["folder", told.cwd ? h("code", {}, untrusted(told.cwd)) : null],
          ["policy", h("code", {}, untrusted(told.profile))],
          ["state", told.state ? h("span.row", {}, column(told.state)) : null],
          ["would have", told.would_have ? verdict(told.would_have) : null],
          ["question", told.approval ? h("a", { href: to("approvals", told.approval) }, told.approval) : null],
        ),
      ),
      card(
        "The call",
        h("p.muted.small", {}, "As the audit keeps it: without credentials, long texts cut."),
        values(told.input),
      ),
      card(
        "What it can do",
        effectList(told.effects, told.effects_omitted, told.verdict === "allow" ? [] : told.reasons, "this decided"),
      ),
      told.provenance.length > 0 ? card("What the session had read", provenance(told.provenance)) : null,
      told.judge ? card("What the judge said", judge(told.judge)) : null,
      matches(told.guardrail),
      told.related.length > 0
        ? card(
            "What came of it",
            h(
              "ul.bullets",
              {},
              told.related.map((each) =>
                h(
                  "li",
                  {},
                  moment(each.at),
                  " ",
                  h("strong", {}, each.event),
                  " ",
                  untrusted(each.text, { limit: 600 }),
                ),
              ),
            ),
          )
        : null,
      STOPS.has(told.verdict) ? needless(`decisions/${part(seq)}`, frame) : null,
      card(
        "In the audit chain",
        facts(
          ["call", h("code.small", {}, told.digest)],
          ["this link", h("code.small", {}, told.record)],
          ["the one before", h("code.small", {}, told.previous)],
        ),
      ),
    ),
  };
}

function judge(said) {
  return facts(
    [
      "says",
      said.failed
        ? ["nothing: ", untrusted(said.failed, { limit: 600 })]
        : said.flagged
          ? "it objects"
          : "it does not object",
    ],
    ["because", said.reason ? untrusted(said.reason, { limit: 1000 }) : null],
    ["model", said.model ? h("code", {}, untrusted(said.model)) : null],
    ["took", said.cached ? "no time: asked before" : `${Math.round(said.ms)} ms`],
  );
}
