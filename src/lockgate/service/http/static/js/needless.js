/** Saying that a stop was needless: its case becomes a file that a person can report. It is no answer to a question. */

import { ApiError, post } from "./api.js";
import { fill, h, untrusted } from "./dom.js";
import { card } from "./parts.js";

/**
 * A button that writes the case of a stop.
 *
 * @param {string} stop The address of the question, or of the decision, in the API.
 * @param {import("./frame.js").Frame} frame Says what happens.
 */
export function needless(stop, frame) {
  const able = frame.able("approve");
  const told = h("div");
  const button = h("button.button", { type: "button", disabled: !able }, "This stop was needless");
  button.addEventListener("click", async () => {
    button.disabled = true;
    const written = await report(stop, told, frame);
    button.disabled = written;
  });
  return card(
    "Was it needless?",
    h(
      "p.muted",
      {},
      "This writes the call into a file, without credentials, your folder and your name, for you to report.",
      " Nothing is sent, and nothing is let run.",
    ),
    h("div.row", {}, button),
    told,
  );
}

async function report(stop, place, frame) {
  try {
    const { file } = await post(`${stop}/needless`);
    tell(place, frame, "p.notice", "Written. Read it once more before you report it: ", h("code", {}, untrusted(file)));
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) {
      throw error;
    }
    tell(place, frame, "p.notice.bad", `It was not written: ${error.message}`);
    return false;
  }
}

/** It takes the focus of the button, which may be disabled now. */
function tell(place, frame, kind, ...says) {
  const notice = h(kind, { tabindex: "-1" }, says);
  fill(place, notice);
  notice.focus();
  frame.say(notice.textContent);
}
