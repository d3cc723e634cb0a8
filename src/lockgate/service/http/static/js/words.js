/** Verdicts, labels and times as people read them. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { visible } from "./visible.js";

export const VERDICTS = {
  allow: "it runs",
  contain: "it runs in a sandbox that reaches nobody",
  judge: "a model is asked first",
  ask: "a person is asked first",
  deny: "it does not run",
};
export const TIERS = {
  labels: "labels",
  local: "effects",
  table: "table",
  containment: "sandbox",
  judge: "judge",
  person: "person",
  patterns: "patterns",
  rules: "rules",
};
export const COLUMNS = {
  clean: "nothing was read that matters",
  untrusted: "read what somebody else wrote",
  secret: "read what must not leave",
  both: "read what somebody else wrote, and what must not leave",
};
export const ROWS = {
  local: "stays on this machine and changes nothing that is trusted",
  ingest: "brings in text that somebody else may have written",
  read_secret: "reads credentials or private data",
  fetch: "reads an address; the address itself can carry data out",
  fetch_known: "reads an address that was seen whole before, or of a trusted domain",
  fetch_search: "sends a query to a search provider",
  fetch_packages: "installs what was committed before the session",
  egress: "can carry data out, or acts outside this machine",
  execute: "runs code that cannot be seen through",
  execute_runtime: "runs code of a language runtime that cannot be seen through",
  execute_installed: "runs what may load packages that a session with untrusted text has installed",
  execute_script: "runs a file of the project",
  persist: "writes where a later session or a person will run or trust it",
  destroy: "removes or overwrites what cannot be brought back",
  tamper: "touches what keeps the agent in bounds",
  tamper_self: "touches the gate itself, or approves itself",
};

/** A verdict: picture, word, colour. Words that are no verdict are shown plainly. */
export function verdict(word, extra = "") {
  const known = Object.hasOwn(VERDICTS, word);
  return h(
    `span.badge${known ? `.is-${word}` : ""}`,
    { title: known ? VERDICTS[word] : null },
    known ? icon(word) : null,
    visible(word, 40),
    extra,
  );
}

/** A label, or the state of none. */
export function label(word) {
  const known = word === "untrusted" || word === "secret";
  return h(`span.badge${known ? `.is-${word}` : ""}`, {}, icon(known ? word : "clean"), visible(word, 40));
}

/** All labels of a subject; `clean` where there are none. */
export function labels(words) {
  return words.length > 0
    ? ["untrusted", "secret"].filter((word) => words.includes(word)).map(label)
    : [label("clean")];
}

/** The words for a column of the table: both labels, one, or clean. */
export function column(word) {
  return word === "both" ? [label("untrusted"), label("secret")] : [label(word)];
}

const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A moment: the clock for today, with the day before that; the whole of it as a title. RFC 3339, or `null`. */
export function moment(at) {
  if (!at) {
    return h("span.muted.small", {}, "time not known");
  }
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  const text = today ? CLOCK.format(date) : `${DAY.format(date)}, ${CLOCK.format(date)}`;
  return h("time.mono.small", { datetime: date.toISOString(), title: FULL.format(date) }, text);
}

/** How long ago, roughly. */
export function ago(at, now = Date.now()) {
  if (!at) {
    return "";
  }
  const passed = Math.max(Math.round((now - Date.parse(at)) / 1000), 0);
  if (passed < 60) {
    return passed < 10 ? "just now" : `${passed} s ago`;
  }
  if (passed < 3600) {
    return `${Math.floor(passed / 60)} min ago`;
  }
  return passed < 86400 ? `${Math.floor(passed / 3600)} h ago` : `${Math.floor(passed / 86400)} d ago`;
}

/** How long a person has left. */
export function left(seconds) {
  const whole = Math.max(Math.ceil(seconds), 0);
  return whole >= 60
    ? `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`
    : `0:${String(whole).padStart(2, "0")}`;
}

/** What a session of a column of the table has read, to go on in a sentence. */
export function hasRead(state) {
  return state === "clean" ? "has read nothing that matters" : `has ${COLUMNS[state] ?? state}`;
}

/** One of several. */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}
