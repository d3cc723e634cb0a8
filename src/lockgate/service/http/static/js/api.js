/** Asking the server. Its answers are JSON; what is in them may have been written by an attacker. */

const BASE = "api/v1/";
const CSRF = "lockgate-csrf";
const SECONDS = 30;
const PATIENCE = 200; // milliseconds for another tab to answer

/** The server said no, or said nothing. */
export class ApiError extends Error {
  /**
   * @param {number} status The status; 0 where there was no answer.
   * @param {object} problem What the server says of it (RFC 9457).
   */
  constructor(status, problem = {}) {
    super(problem.detail || problem.title || (status ? `the server answered ${status}` : "the server does not answer"));
    this.status = status;
    this.code = problem.code ?? "";
    this.state = problem.state ?? null;
  }
}

function kept(value) {
  // A tab that may keep nothing has to log in again after it is loaded anew.
  try {
    if (value === null) {
      sessionStorage.removeItem(CSRF);
    } else if (value !== undefined) {
      sessionStorage.setItem(CSRF, value);
    }
    return sessionStorage.getItem(CSRF);
  } catch {
    return null;
  }
}

let csrf = kept();
let told = () => {};

// Another tab of this browser has logged in: it tells a new one what proves that. Only pages of this origin hear it.
// All tabs share one cookie, so that a fresh login is that of all of them.
const tabs = new BroadcastChannel("lockgate");
tabs.addEventListener("message", ({ data }) => {
  if (data === "who?" && csrf !== null) {
    tabs.postMessage({ csrf });
  } else if (typeof data?.csrf === "string" && (csrf === null || data.fresh)) {
    csrf = kept(data.csrf);
    told();
  }
});

/** Find out whether this browser is logged in already, in another tab. */
export async function ask() {
  if (csrf !== null) {
    return;
  }
  await new Promise((done) => {
    told = done;
    setTimeout(done, PATIENCE);
    tabs.postMessage("who?");
  });
}

/** Send one request with what proves who asks. Throws `ApiError` where it is refused, or where nobody answers. */
export async function send(method, path, { body, signal, headers = {} } = {}) {
  let response;
  csrf ??= kept();
  try {
    response = await fetch(BASE + path, {
      method,
      credentials: "same-origin",
      redirect: "error",
      cache: "no-store",
      signal,
      headers: {
        accept: "application/json",
        ...(csrf === null ? {} : { "x-csrf-token": csrf }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new ApiError(0);
  }
  if (response.ok) {
    return response;
  }
  const error = new ApiError(response.status, (await response.json().catch(() => null)) ?? {});
  if (response.status === 401) {
    document.dispatchEvent(new CustomEvent("lockgate:expired", { detail: error.code }));
  }
  throw error;
}

async function request(method, path, body, seconds = SECONDS) {
  const response = await send(method, path, { body, signal: AbortSignal.timeout(seconds * 1000) });
  return response.json().catch(() => null);
}

/** Look something up; parameters that are empty are left out. */
export function get(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return request("GET", query ? `${path}?${query}` : path);
}

/** Do something; `seconds` is how long it may take. */
export function post(path, body = {}, seconds = SECONDS) {
  return request("POST", path, body, seconds);
}

/** One part of a path. */
export function part(text) {
  return encodeURIComponent(text);
}

/** Exchange the token of a one-time link for a session. Whether this browser used it before, another tab can prove. */
export async function login(token) {
  await ask();
  ({ csrf } = await post("login", { token }));
  kept(csrf);
  tabs.postMessage({ csrf, fresh: true });
}

/** End the session. */
export async function logout() {
  try {
    await post("logout");
  } finally {
    forget();
  }
}

/** Forget what belongs to a session that is over. */
export function forget() {
  csrf = null;
  kept(null);
}
