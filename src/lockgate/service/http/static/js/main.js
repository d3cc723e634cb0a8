/** Where the pages begin: who is logged in, which page is shown, and what comes while it is. */

import { ApiError, ask, forget, get, login, logout } from "./api.js";
import { h } from "./dom.js";
import { listen } from "./events.js";
import { Frame } from "./frame.js";
import { shortcuts } from "./keyboard.js";
import { command, empty, head } from "./parts.js";
import { Router } from "./router.js";
import { count } from "./words.js";
import { approvals } from "./pages/approvals.js";
import { audit } from "./pages/audit.js";
import { decisions } from "./pages/decisions.js";
import { doctor } from "./pages/doctor.js";
import { explain } from "./pages/explain.js";
import { loginPage } from "./pages/login.js";
import { patterns } from "./pages/patterns.js";
import { policy } from "./pages/policy.js";
import { sessions } from "./pages/sessions.js";

const frame = new Frame();
const pages = { "": sessions, approvals, audit, decisions, doctor, explain, patterns, policy, sessions };
const shown = Object.fromEntries(Object.entries(pages).map(([name, page]) => [name, (place) => page(place, frame)]));
const router = new Router(frame.main, shown, failed);
let hush = null;

function failed(error) {
  if (!(error instanceof ApiError)) {
    throw error;
  }
  if (error.status === 401) {
    return { title: "Log in", content: loginPage(ended(error.code)) };
  }
  if (error.status === 404) {
    return {
      title: "Not found",
      content: [
        head("Not found"),
        empty(
          "decisions",
          "There is no such thing here",
          "It may have been forgotten since, or the address is not right.",
        ),
      ],
    };
  }
  const again = h("button.button", { type: "button" }, "Try again");
  again.addEventListener("click", () => router.show());
  return {
    title: "Not to be had",
    content: [
      head("This cannot be shown"),
      h("p.notice.bad", { role: "alert" }, error.message),
      h(
        "p",
        {},
        error.status === 0
          ? ["Is ", command("lockgate dashboard"), " still running? Agents are guarded all the same. "]
          : null,
        again,
      ),
    ],
  };
}

/** Log in with the token of a one-time link, which stands behind the `#` so that it reaches no log. */
async function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("login") ?? "";
  if (token === "") {
    return "";
  }
  history.replaceState(null, "", `${location.pathname}#/`);
  try {
    await login(token);
    return "";
  } catch (error) {
    return { "link-here": "", "link-twice": "twice" }[error.code] ?? (error.status === 0 ? "unreachable" : "refused");
  }
}

/** Why a session is over, by the code of what was refused. */
function ended(code) {
  return code === "link-twice" ? "twice" : "expired";
}

function out(why) {
  hush?.();
  hush = null;
  forget();
  frame.pending(0);
  frame.person(null);
  frame.main.replaceChildren(...[loginPage(why)].flat());
  document.title = "Log in · Lockgate";
  frame.main.focus();
}

let waiting = -1;
let asked = 0;

async function pending() {
  const turn = ++asked;
  const { pending: number } = await get("approvals", { state: "pending", limit: 1 });
  if (turn !== asked) {
    return; // a later request was answered sooner, or will be
  }
  frame.pending(number);
  if (waiting >= 0 && number > waiting) {
    frame.say(`${count(number, "call")} ${number === 1 ? "waits" : "wait"} for a person`);
  }
  waiting = number;
}

function heard(event) {
  if (event.kind === "approval" || event.kind === "reset") {
    pending().catch(() => {});
  }
  router.tell(event);
}

async function start() {
  frame.mount(() =>
    logout()
      .catch(() => {})
      .finally(() => out("left")),
  );
  document.addEventListener("lockgate:expired", ({ detail: code }) => hush !== null && out(ended(code)));
  const refused = await enter();
  let me;
  try {
    if (refused === "") {
      await ask();
      me = await get("me");
    }
  } catch (error) {
    out(error.status !== 401 ? "unreachable" : error.code === "link-twice" ? "twice" : "nobody");
    return;
  }
  if (me === undefined) {
    out(refused);
    return;
  }
  frame.person(me);
  hush = listen(heard, (state) => frame.live(state));
  shortcuts(frame, router);
  await Promise.all([router.show(), pending().catch(() => {})]);
}

addEventListener("hashchange", () => {
  if (location.hash.startsWith("#login=")) {
    location.reload();
  }
});
start();
