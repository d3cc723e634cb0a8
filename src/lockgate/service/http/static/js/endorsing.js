/** Saying that a result is fine, which made a session untrusted: it is shown, and asked about, before it counts. */

import { ApiError, get, part, post } from "./api.js";
import { fill, h, untrusted, untrustedBlock } from "./dom.js";
import { card } from "./parts.js";
import { count, moment } from "./words.js";

const LOOKED_AT = 1000;
const AGAIN_AFTER = 400;

/**
 * The results that made a session untrusted, each with a button where it may be endorsed.
 *
 * @param {string} session The session.
 * @param {import("./frame.js").Frame} frame Says what happens.
 * @param {(says: string) => void} after Called with what came of an answer: the list is to be read anew.
 * @returns {Promise<HTMLElement | null>} `null` where there is none.
 */
export async function endorsable(session, frame, after) {
  const { items } = await get("results", { session });
  return items.length > 0 ? list(items, frame, after) : null;
}

/** What came of an answer. It takes the focus of the button that is gone. */
export function tell(place, frame, says) {
  const told = h("p.notice", { tabindex: "-1" }, untrusted(says));
  fill(place, told);
  told.focus();
  frame.say(says);
}

function list(items, frame, after) {
  return card(
    "What made it untrusted",
    h(
      "p.muted",
      {},
      "Where you know such a text, say so. That holds for this result alone: what is read later gives the label anew.",
    ),
    h(
      "ol.results",
      {},
      items.map((item, index) => h("li", {}, whole(item, index), answer(item, index, frame, after))),
    ),
  );
}

function whole(item, index) {
  return [
    item.sources.map((source) => h("p.result-source", {}, untrusted(source))),
    h(
      "p.muted.small",
      {},
      moment(item.at),
      " · by ",
      h("code", {}, untrusted(item.tool, { limit: 120 })),
      item.agent ? [" · sub-agent ", h("code", {}, untrusted(item.agent, { limit: 120 }))] : null,
    ),
    item.text
      ? [
          h(
            "pre.call-text",
            { tabindex: "0", role: "region", "aria-label": `what result ${index + 1} says` },
            untrustedBlock(item.text),
          ),
          h("p.muted.small", {}, item.more > 0 ? `${count(item.more, "more line")} not shown` : "That is all of it."),
        ]
      : null,
  ];
}

function answer(item, index, frame, after) {
  if (item.problem || !item.result) {
    return h("p", {}, "cannot be endorsed: ", untrusted(item.problem, { limit: 600 }));
  }
  const drawn = performance.now();
  const able = frame.able("approve");
  const begin = h(
    "button.button",
    { type: "button", disabled: !able, "aria-expanded": "false", "aria-describedby": `endorse-${index}` },
    "This source is fine",
  );
  const question = h("p", { tabindex: "-1" }, "Is this text fine, so that the session is not held back by it?");
  const yes = h("button.button.approve", { type: "button" }, "Yes, it is fine");
  const no = h("button.button.plain", { type: "button" }, "Cancel");
  const asked = h("div.endorse", { role: "group", "aria-label": "Is this text fine?", hidden: true }, question);
  asked.append(h("div.row", {}, yes, no));
  let since = 0;
  const close = () => {
    asked.hidden = true;
    begin.setAttribute("aria-expanded", "false");
    begin.focus();
  };
  begin.addEventListener("click", (event) => {
    // What is pressed as it comes up was meant for something else.
    if (event.timeStamp - drawn < LOOKED_AT) {
      return;
    }
    since = event.timeStamp;
    asked.hidden = false;
    begin.setAttribute("aria-expanded", "true");
    question.focus();
  });
  no.addEventListener("click", close);
  asked.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    }
  });
  yes.addEventListener("keydown", (event) => event.repeat && event.preventDefault());
  yes.addEventListener("click", async (event) => {
    if (event.timeStamp - since < AGAIN_AFTER) {
      return;
    }
    yes.disabled = no.disabled = begin.disabled = true;
    after(await endorsed(item));
  });
  return [
    h("div.row", {}, begin, h("span.sr-only", { id: `endorse-${index}` }, `result ${index + 1}`)),
    able ? null : h("p.small.muted", {}, "You may look, and not answer."),
    asked,
  ];
}

async function endorsed(item) {
  try {
    const { left } = await post(`results/${part(item.result)}/endorse`, { session: item.session, shown: item.shown });
    return `Endorsed; the session is ${left.length > 0 ? `still ${left.join(" and ")}` : "clean"} now.`;
  } catch (error) {
    if (!(error instanceof ApiError)) {
      throw error;
    }
    return `It was not endorsed: ${error.message}`;
  }
}
