/** The sessions of agents, and one of them. */

import { get } from "../api.js";
import { fill, h, untrusted } from "../dom.js";
import { icon } from "../icons.js";
import { command, empty, head } from "../parts.js";
import { button, gently } from "../slow.js";
import { to } from "../router.js";
import { ago, labels } from "../words.js";
import { session } from "./session.js";

const PAGE = 50;
const MOST = 200;

/** The list; `#/sessions/ID` is one of them. */
export async function sessions(place, frame) {
  if (place.parts[0]) {
    return session(place.parts[0], frame);
  }
  const list = h("ol.items", { "aria-label": "Sessions" });
  const more = h("div.more");
  const title = h("p.muted.small");
  let offset = 0;
  const load = async () => {
    const page = await get("sessions", { limit: Math.min(Math.max(offset, PAGE), MOST) });
    const silent = page.silent > 0 ? `${page.silent} without a sign of life, ` : "";
    fill(title, `${page.live - page.silent} running, ${silent}${page.total} in all`);
    fill(list, page.items.map(item));
    next(page);
    return page;
  };
  const next = (page) => {
    offset = list.children.length;
    fill(
      more,
      page.next === null
        ? null
        : button("Show more", async () => {
            const following = await get("sessions", { limit: PAGE, offset: page.next });
            list.append(...following.items.map(item));
            next(following);
          }),
    );
  };
  const first = await load();
  const content = h(
    "div",
    {},
    head("Sessions", "What each agent has been exposed to, and what was stopped because of it.", title),
    first.total === 0 ? nothing() : [list, more],
  );
  const live = gently(async () => {
    const page = await load();
    if (page.total > 0 && !list.isConnected) {
      content.querySelector(".empty")?.replaceWith(list);
    }
  });
  return { title: "Sessions", content, live };
}

function item(each) {
  return h(
    "li.item",
    {},
    h(
      "div.item-main",
      {},
      h("a.mono.item-title", { href: to("sessions", each.session) }, untrusted(each.session)),
      h("p.muted.small", {}, untrusted(each.client), each.cwd ? [" in ", h("code", {}, untrusted(each.cwd))] : null),
    ),
    h("p.row.item-labels", {}, labels(each.labels)),
    h(
      "p.row.item-facts.small",
      {},
      each.pending > 0 ? h("a.badge.is-ask", { href: to("approvals") }, icon("ask"), `${each.pending} waiting`) : null,
      each.blocked > 0 ? h("span.badge.is-deny", {}, icon("deny"), `${each.blocked} stopped`) : null,
      h("span.muted", {}, seen(each)),
    ),
  );
}

/** When a session was last heard of: one whose client was killed has never said that it ended. */
function seen(each) {
  if (!each.live) {
    return `ended ${ago(each.ended_at)}`;
  }
  return each.silent ? `last sign ${ago(each.seen_at)}` : ago(each.seen_at);
}

function nothing() {
  return empty(
    "sessions",
    "No agent was seen yet",
    [
      "Put the gate before your agent's tools: ",
      command("lockgate install claude-code"),
      ". Then every session shows up here by itself.",
    ],
    [
      "To see the main job without an agent: ",
      command("lockgate demo"),
      ". To see whether the hooks are in place: ",
      command("lockgate doctor"),
      ".",
    ],
  );
}
