/** What agents wait with because a person has to decide: the questions, and one of them whole. */

import { Answering } from "../answering.js";
import { ApiError, get, part } from "../api.js";
import { fill, h, untrusted } from "../dom.js";
import { endorsable, tell } from "../endorsing.js";
import { needless } from "../needless.js";
import { callLine, command, empty, head } from "../parts.js";
import { to } from "../router.js";
import { visible } from "../visible.js";
import { count, left } from "../words.js";
import { questionInFull } from "./question.js";

const LOOK_AGAIN = 5000;
const ONE_BELOW_ANOTHER = "(max-width: 68rem)";

/** The page: the list beside the question that is chosen. */
export async function approvals(place, frame) {
  const page = new Approvals(frame);
  await page.load(place.parts[0] ?? "");
  return {
    title: "Approvals",
    content: page.element,
    live: (event) => page.live(event),
    key: (event) => page.key(event),
    leave: () => page.leave(),
  };
}

class Approvals {
  #frame;
  #items = [];
  #chosen = "";
  #state = "";
  #gone = false;
  #overdue = 0;
  #asked = 0;
  #answering = null;
  #skew = 0;
  #list = h("ol.questions", { "aria-label": "Questions" });
  #detail = h("div.question");
  #older = h("div");
  #watch;

  constructor(frame) {
    this.#frame = frame;
    this.element = h(
      "div",
      {},
      head("Approvals", "Calls that wait because a person has to decide. A yes lets exactly this call run, once."),
      h("div.desk", {}, h("div", {}, this.#list, this.#older), this.#detail),
    );
    this.#watch = setInterval(() => this.#tick(), 1000);
  }

  leave() {
    this.#gone = true;
    this.#answering?.disarm();
    clearInterval(this.#watch);
  }

  async load(wanted) {
    await this.#fetch();
    const first = this.#items[0]?.approval ?? "";
    await this.#choose(wanted || first);
  }

  async live(event) {
    if (event.kind !== "approval" && event.kind !== "reset") {
      return;
    }
    await this.#fetch();
    if (this.#chosen === "" && this.#items.length > 0) {
      await this.#choose(this.#items[0].approval);
    } else if (this.#state === "pending" && !this.#items.some((item) => item.approval === this.#chosen)) {
      await this.#choose(this.#chosen);
    }
  }

  key(event) {
    const step = { j: 1, k: -1 }[event.key];
    if (step === undefined) {
      this.#answering?.key(event);
      return;
    }
    if (this.#items.length === 0) {
      return;
    }
    event.preventDefault();
    const at = this.#items.findIndex((item) => item.approval === this.#chosen);
    const next = this.#items[Math.min(Math.max(at < 0 ? 0 : at + step, 0), this.#items.length - 1)];
    this.#choose(next.approval).then(() => {
      this.#list.querySelector("[aria-current]")?.focus();
    });
  }

  /** Read the list anew. An answer that comes after that to a later request is out of date. */
  async #fetch() {
    const turn = ++this.#asked;
    const [waiting, older] = await Promise.all([
      get("approvals", { state: "pending" }),
      get("approvals", { state: "past", limit: 12 }),
    ]);
    if (turn !== this.#asked) {
      return;
    }
    this.#skew = Date.parse(waiting.now) - Date.now();
    this.#items = waiting.items;
    this.#frame.pending(waiting.pending);
    this.#draw();
    fill(this.#older, answered(older.items));
  }

  #draw() {
    const focused = this.#list.contains(document.activeElement) ? document.activeElement.dataset.approval : null;
    fill(
      this.#list,
      this.#items.map((item) => this.#item(item)),
    );
    this.#list.hidden = this.#items.length === 0;
    if (focused) {
      this.#list.querySelector(`[data-approval="${CSS.escape(focused)}"]`)?.focus();
    }
    this.#tick();
  }

  #item(item) {
    const button = h(
      "button.question-item",
      {
        type: "button",
        "data-approval": item.approval,
        "aria-current": item.approval === this.#chosen ? "true" : null,
      },
      callLine(item.tool, item.summary),
      h(
        "span.row.spread.small",
        {},
        h("span.muted", {}, untrusted(visible(item.session, 40))),
        h("span.mono", { "data-until": item.expires_at }, ""),
      ),
    );
    button.addEventListener("click", async () => {
      await this.#choose(item.approval);
      if (matchMedia(ONE_BELOW_ANOTHER).matches) {
        this.#detail.scrollIntoView();
      }
    });
    return h("li", {}, button);
  }

  async #choose(approval) {
    if (approval === "") {
      this.#chosen = "";
      this.#answering = null;
      fill(this.#detail, nothing());
      return;
    }
    const question = await get(`approvals/${part(approval)}`);
    const same = () => this.#gone || (approval === this.#chosen && question.state === this.#state);
    const sources = same() || question.state !== "pending" ? null : await this.#sources(question.session);
    if (same()) {
      return; // somebody is elsewhere by now, or it is shown as it is: nobody's place in it is lost
    }
    const inside = this.#detail.contains(document.activeElement);
    this.#answering?.disarm();
    this.#chosen = approval;
    this.#state = question.state;
    this.#skew = Date.parse(question.now) - Date.now();
    history.replaceState(null, "", to("approvals", approval));
    this.#show(question, sources);
    this.#draw();
    if (inside) {
      this.#heading();
    }
  }

  #heading() {
    const title = this.#detail.querySelector("h2");
    title?.setAttribute("tabindex", "-1");
    title?.focus({ preventScroll: true });
  }

  /** What its session has read and may be endorsed: read before the question is shown, so that nothing moves then. */
  async #sources(session) {
    const place = h("div");
    const told = h("div");
    const draw = async () => {
      const found = await endorsable(session, this.#frame, async (says) => {
        await draw();
        tell(told, this.#frame, says);
      });
      fill(place, told, found);
    };
    await draw().catch((error) => {
      if (!(error instanceof ApiError)) {
        throw error;
      }
    });
    return place;
  }

  #show(question, sources) {
    const waits = question.state === "pending";
    this.#answering = waits ? new Answering(question, this.#frame, (changed) => this.#answered(changed)) : null;
    fill(
      this.#detail,
      questionInFull(question, sources),
      this.#answering?.element ?? null,
      needless(`approvals/${part(question.approval)}`, this.#frame),
    );
    this.#tick();
  }

  async #answered(changed) {
    const approval = this.#chosen;
    this.#state = "";
    await this.#choose(approval);
    await this.#fetch();
    this.#heading();
    scrollTo(0, 0);
    if (changed) {
      this.#detail.prepend(
        h(
          "p.notice",
          { role: "alert" },
          "It was answered, or has changed, since you looked at it. This is how it is now.",
        ),
      );
    }
  }

  #tick() {
    const now = Date.now() + this.#skew;
    for (const element of this.element.querySelectorAll("[data-until]")) {
      const seconds = (Date.parse(element.dataset.until) - now) / 1000;
      element.textContent = seconds > 0 ? `${left(seconds)} left` : "time is over";
      element.classList.toggle("urgent", seconds < 30);
    }
    // The time of a question passes without a word from the server.
    if (this.#items.some((item) => Date.parse(item.expires_at) < now) && now - this.#overdue > LOOK_AGAIN) {
      this.#overdue = now;
      this.live({ kind: "approval" }).catch(() => {});
    }
  }
}

function answered(items) {
  if (items.length === 0) {
    return null;
  }
  return h(
    "details.older",
    {},
    h("summary", {}, `Answered or over: ${count(items.length, "question")}`),
    h(
      "ul",
      {},
      items.map((item) =>
        h(
          "li",
          {},
          h("a.small", { href: to("approvals", item.approval) }, item.state),
          " ",
          callLine(item.tool, item.summary),
        ),
      ),
    ),
  );
}

function nothing() {
  return empty(
    "approvals",
    "Nobody waits for you",
    "A call comes here where the policy wants a person's yes and nobody sits before the agent. As long as this page is open, such agents wait for your answer instead of being refused.",
    [
      "To be told without looking, name a program or an address under ",
      command("approvals:"),
      " in lockgate.yaml: ",
      command("lockgate doctor"),
      " says whether somebody is told.",
    ],
    ["To try it: ", command("lockgate demo"), " asks one question, in the terminal."],
  );
}
