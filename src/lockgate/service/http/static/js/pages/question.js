/** One question to a person, whole: the call with its effects, why it is asked, what the session has read. */

import { h, untrusted, untrustedBlock } from "../dom.js";
import { effectList, markedCall } from "../effects.js";
import { card, facts, matches, provenance, sessionLink } from "../parts.js";
import { ago, column, hasRead, moment } from "../words.js";

const STATES = {
  approved: "Approved: the call may run once",
  used: "Approved, and the call has run",
  denied: "Denied: the call does not run",
  expired: "Nobody answered in time: the call does not run",
  changed: "What it rested on has changed: another question takes its place",
};

/** All that a person has to see of a question (`Approval` of the API) before they answer it, and `sources` to endorse. */
export function questionInFull(question, sources = null) {
  const waits = question.state === "pending";
  return [
    h(
      "header.question-head",
      {},
      h("h2", {}, waits ? "May this call run, once?" : STATES[question.state]),
      waits ? h("span.badge.is-ask", {}, h("span.mono", { "data-until": question.expires_at })) : null,
      h(
        "p.muted.small",
        {},
        "question ",
        h("code", {}, question.approval),
        waits
          ? null
          : [
              " · ",
              untrusted(question.decided_by || "nobody answered"),
              question.decided_at ? [" · ", moment(question.decided_at)] : null,
            ],
      ),
    ),
    !waits && question.reason
      ? card("The reason that was given", h("p", {}, untrusted(question.reason, { limit: 1000 })))
      : null,
    question.brief
      ? card(
          "A delegate with clean labels would act on this brief",
          h("pre.call-text", {}, untrustedBlock(question.brief)),
        )
      : null,
    card(
      "The exact call",
      markedCall(question.call, question.effects),
      question.reaches.length > 0
        ? h(
            "dl.facts.reaches",
            {},
            h("dt", {}, "can reach"),
            question.reaches.map((each) => h("dd.mono", {}, untrusted(each, { limit: 600 }))),
          )
        : null,
    ),
    card(
      "Why you are asked",
      h("p.because", {}, because(question)),
      effectList(question.effects, question.effects_omitted, question.reasons, "this is why"),
    ),
    card(
      "What this session has read",
      question.provenance.length > 0
        ? provenance(question.provenance)
        : h("p.muted", {}, "Nothing that gives it a label."),
    ),
    sources,
    matches(question.guardrail),
    card(
      "Who asks",
      facts(
        ["session", sessionLink(question.session, question.agent)],
        ["client", untrusted(question.client)],
        ["folder", h("code", {}, untrusted(question.cwd))],
        ["policy", h("code", {}, untrusted(question.profile))],
        ["state", question.column ? h("span.row", {}, column(question.column)) : null],
        ["asked", h("span", {}, moment(question.asked_at), " ", h("span.muted.small", {}, ago(question.asked_at)))],
      ),
    ),
    waits ? after() : null,
  ];
}

function because(question) {
  const policy = ["The policy ", h("code", {}, untrusted(question.profile)), " wants a person's yes"];
  return question.column
    ? [policy, `, because this session ${hasRead(question.column)}, and the call can do this:`]
    : [policy, ". The call can do this:"];
}

function after() {
  return card(
    "What happens then",
    facts(
      ["Approve", "Exactly this call runs, once. The session keeps its labels, and the next call is decided anew."],
      ["Deny", "It does not run, and the agent is told so, with your reason."],
      ["Neither", "When the time is over it is as if you had denied it."],
    ),
  );
}
