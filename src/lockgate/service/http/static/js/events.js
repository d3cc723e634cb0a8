/**
 * Server-sent events, read with `fetch`: the browser's own `EventSource` sends no headers, and without the header that
 * proves which page asks the server tells nothing.
 */

import { ApiError, send } from "./api.js";

const CHANNEL = "lockgate-events";
const SOONEST = 1000;
const LATEST = 15000;

/**
 * Events out of a stream (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * @param {AsyncIterable<string>} texts Pieces of the stream, cut anywhere.
 * @yields {{id: string, kind: string, data: string}}
 */
export async function* events(texts) {
  let rest = "";
  let id = "";
  let kind = "message";
  let data = [];
  for await (const text of texts) {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      const at = line.indexOf(":");
      const name = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
      if (line === "") {
        if (data.length > 0) {
          yield { id, kind, data: data.join("\n") };
        }
        data = [];
        kind = "message";
      } else if (name === "data") {
        data.push(value);
      } else if (name === "event") {
        kind = value;
      } else if (name === "id") {
        id = value;
      }
    }
  }
}

/**
 * Hear what happens, as it happens. A line that breaks is taken up again, from where it was.
 *
 * All tabs of a browser share one line, for it opens no more than six at once to a server: one tab has it, and tells the
 * others. Where that one is closed, the next takes its place.
 *
 * @param {(event: object) => void} heard Called for each new record of the audit: an `EventNotice` of the API with its `kind`, which is
 *   decision, approval, session, or `reset` where everything is to be read anew.
 * @param {(state: "on" | "wait" | "off") => void} changed Called when the line comes and goes.
 * @returns {() => void} Ends it.
 */
export function listen(heard, changed) {
  const ended = new AbortController();
  const tabs = new Tabs(heard, changed);
  const follow = () => tabs.lead(ended.signal);
  if (navigator.locks === undefined) {
    follow();
  } else {
    navigator.locks.request(CHANNEL, { signal: ended.signal }, follow).catch(() => {});
  }
  ended.signal.addEventListener("abort", () => tabs.close(), { once: true });
  return () => ended.abort();
}

/** What one tab tells the others of the line, and hears of it. */
class Tabs {
  constructor(heard, changed) {
    this.#heard = heard;
    this.#changed = changed;
    this.#others.addEventListener("message", ({ data }) => this.#told(data));
    this.#others.postMessage({ state: "?" });
  }

  #heard;
  #changed;
  #others = new BroadcastChannel(CHANNEL);
  #state = "wait";
  #leads = false;
  #last = "";

  /** Have the line, until it is not to be had or no longer wanted. */
  async lead(signal) {
    this.#leads = true;
    let gap = this.#state === "on" && this.#last === ""; // nobody knows from where to go on
    let wait = SOONEST;
    while (!signal.aborted) {
      try {
        const since = this.#last === "" ? {} : { "last-event-id": this.#last };
        const response = await send("GET", "events", { signal, headers: { accept: "text/event-stream", ...since } });
        this.#is("on");
        wait = SOONEST;
        if (gap) {
          this.#hear({ kind: "reset", data: "{}", id: "" });
          gap = false;
        }
        for await (const event of events(pieces(response.body))) {
          this.#hear(event);
        }
      } catch (error) {
        if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
          this.#is("off");
          return;
        }
      }
      if (!signal.aborted) {
        this.#is("wait");
        await pause(wait, signal);
        wait = Math.min(wait * 2, LATEST);
      }
    }
  }

  close() {
    this.#others.close();
  }

  #is(state) {
    this.#state = state;
    this.#changed(state);
    this.#others.postMessage({ state, last: this.#last });
  }

  #hear(event) {
    this.#last = event.id || this.#last;
    this.#others.postMessage({ event, last: this.#last });
    take(event, this.#heard);
  }

  #told({ state, event, last }) {
    if (state === "?") {
      if (this.#leads) {
        this.#others.postMessage({ state: this.#state, last: this.#last });
      }
      return;
    }
    this.#last = last || this.#last;
    if (state !== undefined) {
      this.#state = state;
      this.#changed(state);
    }
    if (event !== undefined) {
      take(event, this.#heard);
    }
  }
}

function take({ kind, data }, heard) {
  let ring;
  try {
    ring = JSON.parse(data);
  } catch {
    return; // what cannot be read tells nothing
  }
  heard({ ...ring, kind });
}

async function* pieces(body) {
  // Not every browser iterates a stream.
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    yield next.value;
  }
}

function pause(milliseconds, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });
}
