/**
 * Server-sent events, read with `fetch`: the browser's own `EventSource` sends no headers, and without the header that
 * proves which page asks the server tells nothing.
 */

import { ApiError, send } from "./api.js";

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
 * @param {(event: object) => void} heard Called for each new record of the audit: a `Ring` of the API with its `kind`, which is
 *   decision, approval, session, or `reset` where everything is to be read anew.
 * @param {(state: "on" | "wait" | "off") => void} changed Called when the line comes and goes.
 * @returns {() => void} Ends it.
 */
export function listen(heard, changed) {
  const ended = new AbortController();
  follow(heard, changed, ended.signal);
  return () => ended.abort();
}

async function follow(heard, changed, signal) {
  let last = "";
  let wait = SOONEST;
  while (!signal.aborted) {
    try {
      const headers = { accept: "text/event-stream", ...(last === "" ? {} : { "last-event-id": last }) };
      const response = await send("GET", "events", { signal, headers });
      changed("on");
      wait = SOONEST;
      for await (const event of events(pieces(response.body))) {
        last = event.id || last;
        take(event, heard);
      }
    } catch (error) {
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
        changed("off");
        return;
      }
    }
    if (!signal.aborted) {
      changed("wait");
      await pause(wait, signal);
      wait = Math.min(wait * 2, LATEST);
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
