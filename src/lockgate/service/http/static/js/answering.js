/** Answering a question to a person: two presses, so that nothing is let run by accident. */

import { ApiError, part, post } from "./api.js";
import { fill, h } from "./dom.js";

const LOOKED_AT = 1000;
const AGAIN_AFTER = 400;
const AGAIN_WITHIN = 4000;
const MOST_REASON = 1000;

/** The buttons under a question, and its keys. */
export class Answering {
  #question;
  #frame;
  #done;
  #armed = 0;
  #timer = 0;
  #busy = false;
  #shown = performance.now();
  #approve;
  #deny;
  #form;
  #reason;
  #problem;

  /**
   * @param {object} question `Approval` of the API, as it is shown.
   * @param {import("./frame.js").Frame} frame Says what happens.
   * @param {(changed: boolean) => void} done Called when it is answered, or was by somebody else.
   */
  constructor(question, frame, done) {
    this.#question = question;
    this.#frame = frame;
    this.#done = done;
    const able = frame.able("approve");
    this.#approve = h("button.button.approve", { type: "button", disabled: !able || !question.call.whole });
    this.#approve.addEventListener("click", (event) => this.#press(event.timeStamp));
    // A key that is held presses a button again and again.
    this.#approve.addEventListener("keydown", (event) => event.repeat && event.preventDefault());
    this.#deny = h(
      "button.button.deny",
      { type: "button", disabled: !able, "aria-expanded": "false" },
      "Deny ",
      h("kbd", {}, "d"),
    );
    this.#deny.addEventListener("click", () => this.#ask());
    this.#reason = h("input.input", {
      id: "reason",
      type: "text",
      maxlength: MOST_REASON,
      autocomplete: "off",
      placeholder: "open an issue first",
    });
    this.#problem = h("p.problem", { role: "alert", hidden: true });
    this.#form = h(
      "form.deny-form",
      { hidden: true },
      h(
        "div.field",
        {},
        h("label", { for: "reason" }, "Why not? The agent is told. You can leave it empty."),
        this.#reason,
      ),
      h("button.button.deny", { type: "submit" }, "Deny ", h("kbd", {}, "Enter")),
      this.#cancel(),
    );
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send("deny", { reason: this.#reason.value });
    });
    this.#form.addEventListener("keydown", (event) => event.key === "Escape" && this.disarm());
    this.element = h(
      "div.answer",
      {},
      this.#problem,
      h("div.row", {}, this.#approve, this.#deny, this.#why(able)),
      this.#form,
    );
    this.#label();
  }

  /** A key, on whatever has the focus that takes no text. */
  key(event) {
    if (event.key === "Escape") {
      this.disarm();
    } else if (event.repeat) {
      // Held down: that is no second press.
    } else if (event.key === "a" && !this.#approve.disabled) {
      event.preventDefault();
      this.#press(event.timeStamp);
    } else if (event.key === "d" && !this.#deny.disabled) {
      event.preventDefault();
      this.#ask();
    }
  }

  /** Take back a first press. */
  disarm() {
    const open = !this.#form.hidden;
    clearTimeout(this.#timer);
    this.#armed = 0;
    this.#form.hidden = true;
    this.#deny.setAttribute("aria-expanded", "false");
    this.#label();
    if (open && this.#form.contains(document.activeElement)) {
      this.#deny.focus();
    }
  }

  /** Whether a first press was made, or a reason is being written: nothing may change under it. */
  get busy() {
    return this.#busy || this.#armed > 0 || !this.#form.hidden;
  }

  #cancel() {
    const button = h("button.button.plain", { type: "button" }, "Cancel");
    button.addEventListener("click", () => this.disarm());
    return button;
  }

  #why(able) {
    if (!able) {
      return h("p.small.muted", {}, "You may look, and not answer.");
    }
    return this.#question.call.whole
      ? null
      : h("p.small.muted", {}, "It cannot be shown whole, so it cannot be approved.");
  }

  #press(at) {
    // What is pressed as a question comes up was meant for something else.
    if (this.#busy || at - this.#shown < LOOKED_AT) {
      return;
    }
    const since = at - this.#armed;
    if (this.#armed > 0 && since <= AGAIN_WITHIN) {
      if (since >= AGAIN_AFTER) {
        this.#send("approve", { shown: this.#question.shown });
      }
      return;
    }
    this.disarm();
    this.#armed = at;
    this.#timer = setTimeout(() => this.disarm(), AGAIN_WITHIN);
    this.#label();
    this.#frame.say("Press once more to approve. Escape takes it back.");
  }

  #ask() {
    this.disarm();
    this.#form.hidden = false;
    this.#deny.setAttribute("aria-expanded", "true");
    this.#reason.focus({ preventScroll: true });
  }

  #label() {
    const armed = this.#armed > 0;
    this.#approve.classList.toggle("armed", armed);
    fill(this.#approve, armed ? "Press again to approve " : "Approve once ", h("kbd", {}, "a"));
  }

  async #send(what, body) {
    if (this.#busy) {
      return;
    }
    this.#busy = true;
    this.#approve.disabled = this.#deny.disabled = true;
    try {
      await post(`approvals/${part(this.#question.approval)}/${what}`, body);
      this.#frame.say(what === "approve" ? "Approved. The call runs once." : "Denied. The agent is told.");
      this.#done(false);
    } catch (error) {
      if (!(error instanceof ApiError)) {
        throw error;
      }
      this.#busy = false;
      if (error.status === 409 && error.code !== "signature") {
        this.#frame.say(error.message);
        this.#done(true);
        return;
      }
      this.disarm();
      this.#approve.disabled = !this.#question.call.whole;
      this.#deny.disabled = false;
      this.#problem.hidden = false;
      fill(this.#problem, `It was not answered: ${error.message}`);
    }
  }
}
