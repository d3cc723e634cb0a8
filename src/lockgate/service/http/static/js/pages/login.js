/** What somebody sees who is not logged in, and how to be. */

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { command } from "../parts.js";

const WHY = {
  nobody: [
    "Log in from your terminal",
    "This page answers for your agents, so it takes nobody who only knows its address.",
  ],
  refused: [
    "This link does not work any more",
    "A link works once, and not for long. If you did not use it yourself, somebody else may have: have a new one made, and look at what was approved.",
  ],
  twice: [
    "Two browsers have used the same link",
    "So whoever was first was logged out, and nobody else was let in. If both were yours, have a new link made. If not, somebody else has read it: look at what was approved before you go on.",
  ],
  expired: [
    "You were logged out",
    "The session was over, or was ended elsewhere. Nothing that you had open was answered.",
  ],
  left: ["You are logged out", "The cookie of this browser counts for nothing any more."],
  unreachable: [
    "The dashboard does not answer",
    "It was stopped, or this machine cannot reach it. Agents are guarded all the same: the gate is a process of its own.",
  ],
};

/** The page for one of these reasons. */
export function loginPage(why) {
  const [title, sentence] = WHY[why] ?? WHY.nobody;
  return h(
    "section.login",
    {},
    icon("gate"),
    h("h1", {}, title),
    h("p", {}, sentence),
    h("p", {}, "In a terminal on the machine that the agents run on:"),
    h("p", {}, command("lockgate dashboard")),
    h(
      "p.muted.small",
      {},
      "It prints a link that opens this page and logs this browser in. The link is for you alone.",
    ),
  );
}
