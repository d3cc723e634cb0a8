/** One session: what it was exposed to and when, what was stopped, who works in it. */

import { get, part } from "../api.js";
import { fill, h, prose, untrusted, untrustedBlock } from "../dom.js";
import { endorsable, tell } from "../endorsing.js";
import { icon } from "../icons.js";
import { callLine, card, empty, factsInTwo, head, provenance, sessionLink } from "../parts.js";
import { to } from "../router.js";
import { COLUMNS, ago, label, labels, moment, verdict } from "../words.js";

const PICTURES = {
  began: "gate",
  ended: "gate",
  label: "untrusted",
  stopped: "deny",
  asked: "ask",
  answered: "approvals",
  agent: "agent",
  delegate: "agent",
};

/** The page of one session. */
export async function session(name, frame) {
  const holder = h("div");
  const told = h("div");
  let running = null;
  const load = async () => {
    const found = await get(`sessions/${part(name)}`);
    const results = await endorsable(found.session, frame, answered);
    const open = [...holder.querySelectorAll("details[open]")].map((each) => each.id);
    fill(holder, whole(found, results));
    for (const id of open) {
      const again = document.getElementById(id);
      if (again) {
        again.open = true;
      }
    }
  };
  const answered = async (says) => {
    await load();
    tell(told, frame, says); // beside what is read anew, so that it stays
  };
  await load();
  const live = (event) => {
    const here = event.session === name || event.kind === "reset";
    if (here && !holder.contains(document.activeElement)) {
      running ??= load()
        .catch(() => {})
        .finally(() => (running = null));
    } else if (here) {
      // Somebody reads or moves in it: it is told, and shown when they leave or ask.
      frame.say("Something happened in this session");
      later(holder, load);
    }
  };
  return { title: `Session ${name}`, content: h("div", {}, told, holder), live };
}

function later(holder, load) {
  if (holder.querySelector("[data-later]")) {
    return;
  }
  const show = h("button.button", { type: "button" }, "Show it");
  const notice = h("p.notice", { "data-later": true }, "Something happened in this session. ", show);
  show.addEventListener("click", async () => {
    await load();
    const heading = holder.querySelector("h1");
    heading.tabIndex = -1;
    heading.focus();
  });
  holder.prepend(notice);
}

function whole(told, results) {
  return [
    head(
      ["Session ", h("span.mono", {}, untrusted(told.session, { limit: 200 }))],
      "",
      h("span.row", {}, labels(told.labels)),
    ),
    card(
      null,
      factsInTwo(
        [
          "state",
          [
            h("strong", {}, COLUMNS[told.state] ?? told.state),
            told.live ? null : h("span.muted", {}, `; ended ${ago(told.ended_at)}`),
            told.silent ? h("span.muted", {}, `; last sign ${ago(told.seen_at)}`) : null,
          ],
        ],
        ["client", untrusted(told.client)],
        ["folder", told.cwd ? h("code", {}, untrusted(told.cwd)) : null],
        [
          "began",
          told.started_at
            ? [moment(told.started_at), told.how ? [" ", h("span.muted", {}, "by "), untrusted(told.how)] : null]
            : null,
        ],
        ["last seen", told.seen_at ? [moment(told.seen_at), " ", h("span.muted.small", {}, ago(told.seen_at))] : null],
        ["came from", told.parent ? sessionLink(told.parent) : null],
        [
          "decisions",
          h(
            "a",
            { href: `${to("decisions")}?session=${encodeURIComponent(told.session)}` },
            "all decisions of this session",
          ),
        ],
      ),
    ),
    timeline(told),
    results,
    told.provenance.length > 0 ? card("Where its labels came from", provenance(told.provenance)) : null,
    told.agents.length > 0 ? card("Sub-agents", h("ul.bullets", {}, told.agents.map(agent))) : null,
    told.delegates.length > 0
      ? card("Delegates with clean labels", h("ul.bullets", {}, told.delegates.map(delegate)))
      : null,
  ];
}

function agent(each) {
  return h(
    "li",
    {},
    h("strong.mono", {}, untrusted(each.agent, { limit: 120 })),
    each.type ? [" ", untrusted(each.type, { limit: 120 })] : null,
    h("span.muted", {}, ` ${each.state} `),
    labels(each.labels),
  );
}

function delegate(each) {
  return h(
    "li",
    {},
    h("strong", {}, each.state),
    " ",
    h("code", {}, each.brief),
    each.text ? h("pre.call-text", {}, untrustedBlock(each.text, { limit: 1000 })) : null,
  );
}

/**
 * The time line. Two lanes run beside it, one for each label: empty until the label comes, filled from there on.
 * What a lane shows is said in words too.
 */
function timeline(told) {
  if (told.timeline.length === 0) {
    return card(
      "Time line",
      empty(
        "clock",
        "Nothing happened yet",
        "What the agent reads, what that makes of the session and what is stopped comes here as it happens.",
      ),
    );
  }
  const held = inherited(told);
  return h(
    "section.card",
    {},
    h("h2", {}, "Time line"),
    h(
      "p.muted.small.lanes-legend",
      {},
      "The lanes: ",
      h("span.row", {}, label("untrusted"), label("secret")),
      " filled from the moment on at which the session has that label.",
    ),
    told.timeline_omitted > 0
      ? h(
          "p.muted",
          {},
          `${told.timeline_omitted} older entries are not shown. `,
          h("a", { href: `${to("decisions")}?session=${encodeURIComponent(told.session)}` }, "All decisions"),
        )
      : null,
    h(
      "ol.timeline",
      {},
      shown(told.timeline).map((each) => entry(each, held)),
    ),
  );
}

function shown(moments) {
  // What a sub-agent begins with is what its agent has: that is no news.
  return moments.filter((each) => !(each.kind === "label" && each.agent && each.origin));
}

function inherited(told) {
  // Where older entries are left out, a label whose coming is not in the list was there before.
  const coming = new Set(
    told.timeline.filter((each) => each.kind === "label" && !each.agent).map((each) => each.label),
  );
  return new Set(told.labels.filter((each) => !coming.has(each)));
}

function entry(each, held) {
  const before = new Set(held);
  if (each.kind === "label" && !each.agent) {
    held.add(each.label);
  }
  const lane = (name) =>
    h(`span.lane.lane-${name}`, {
      class: before.has(name) ? "held" : held.has(name) ? "comes" : "",
      "aria-hidden": "true",
    });
  const stops = each.kind === "stopped";
  return h(
    `li.moment.moment-${each.kind}`,
    {},
    h("span.moment-at", {}, each.at ? moment(each.at) : null),
    h("span.lanes", {}, lane("untrusted"), lane("secret")),
    h(
      "div.moment-what",
      {},
      h(
        "p.row",
        {},
        each.kind === "label"
          ? [h("span.sr-only", {}, "now "), label(each.label)]
          : stops
            ? verdict(each.verdict ?? "deny")
            : h("span.badge", {}, icon(PICTURES[each.kind]), each.kind),
        each.tool ? callLine(each.tool, each.text) : h("span", {}, untrusted(each.text, { limit: 320 })),
        each.agent
          ? h("span.muted.small", {}, "sub-agent ", h("code", {}, untrusted(each.agent, { limit: 60 })))
          : null,
        link(each),
        each.pending ? h("span.muted.small", {}, "its result has not come yet") : null,
      ),
      each.because ? h("p.muted", {}, prose(each.because)) : null,
      each.origin
        ? h("p.muted.small", {}, "inherited from ", h("code", {}, untrusted(each.origin, { limit: 120 })))
        : null,
    ),
  );
}

function link(each) {
  if (each.approval) {
    return h("a.why", { href: to("approvals", each.approval) }, "the question");
  }
  return each.decision === null
    ? null
    : h("a.why", { href: to("decisions", String(each.decision)) }, each.kind === "stopped" ? "why" : "the call");
}
