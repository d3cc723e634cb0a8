/**
 * The only place where elements are made. Text becomes text nodes and nothing else: there is no way from a string to
 * markup here, and the page's policy (`require-trusted-types-for 'script'; trusted-types 'none'`) allows none.
 */

import { pieces } from "./visible.js";

const SVG = "http://www.w3.org/2000/svg";
const ATTRIBUTES = new Set([
  "id",
  "class",
  "role",
  "title",
  "lang",
  "dir",
  "for",
  "name",
  "type",
  "value",
  "placeholder",
  "rows",
  "cols",
  "scope",
  "colspan",
  "rowspan",
  "datetime",
  "autocomplete",
  "spellcheck",
  "tabindex",
  "min",
  "max",
  "maxlength",
  "inputmode",
  "headers",
  "start",
]);

/**
 * Make an element.
 *
 * @param {string} tag Its name, with classes behind dots: `p.muted`.
 * @param {object} given Attributes; `on` holds listeners, `aria-*` and `data-*` are taken as they are; a value that is
 *   `null`, `undefined` or `false` is left out, `true` is written as an empty attribute.
 * @param {...any} children Elements, strings (trusted or not: they become text as they are), lists; `null` is left out.
 */
export function h(tag, given = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length > 0) {
    element.className = classes.join(" ");
  }
  for (const [key, value] of Object.entries(given)) {
    set(element, key, value);
  }
  append(element, children);
  return element;
}

function set(element, key, value) {
  if (value === null || value === undefined || value === false) {
    return;
  }
  if (key === "on") {
    for (const [event, listener] of Object.entries(value)) {
      element.addEventListener(event, listener);
    }
  } else if (key === "class") {
    element.classList.add(...String(value).split(" ").filter(Boolean));
  } else if (key === "href") {
    element.setAttribute("href", local(value));
  } else if (["hidden", "disabled", "checked", "open", "required", "selected", "readOnly"].includes(key)) {
    element[key] = value;
  } else if (ATTRIBUTES.has(key) || key.startsWith("aria-") || key.startsWith("data-")) {
    element.setAttribute(key, value === true ? "" : String(value));
  } else {
    throw new TypeError(`not an attribute that pages set: ${key}`);
  }
}

/** Pages link to places inside themselves only: what an attacker wrote is never a link. */
function local(value) {
  if (!value.startsWith("#") && !/^[a-z][a-z0-9./-]*$/.test(value)) {
    throw new TypeError("a link must lead to a place in the dashboard");
  }
  return value;
}

/** Append children: elements, strings, lists of them; `null` and `false` are left out. */
export function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) {
      parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
  return parent;
}

/** Replace all that is in an element. */
export function fill(parent, ...children) {
  parent.replaceChildren();
  return append(parent, children);
}

/** Untrusted text on one line; `limit` characters of it, with a button for the rest. */
export function untrusted(text, { limit = 0 } = {}) {
  return shown(String(text ?? ""), false, limit);
}

/** A sentence of the gate's, in which names stand between backticks. They may be untrusted, and are text as all else. */
export function prose(text, limit = 600) {
  const parts = String(text ?? "")
    .slice(0, limit)
    .split(/`([^`]+)`/);
  return h(
    "span",
    {},
    parts.map((part, index) =>
      part === "" ? null : index % 2 === 1 ? h("code", {}, untrusted(part)) : untrusted(part),
    ),
  );
}

/** Untrusted text as it is laid out, line breaks kept. */
export function untrustedBlock(text, { limit = 0 } = {}) {
  return shown(String(text ?? ""), true, limit);
}

function shown(text, block, limit) {
  const holder = h("bdi.untrusted");
  if (limit > 0 && text.length > limit) {
    const end = limit - (text.codePointAt(limit - 1) > 0xffff ? 1 : 0);
    const rest = text.length - end;
    const more = h("button.link", { type: "button" }, `show all (${rest.toLocaleString("en")} more characters)`);
    more.addEventListener("click", () => {
      holder.tabIndex = -1;
      fill(holder, escapes(text, block));
      holder.focus();
    });
    return append(holder, [escapes(text.slice(0, end), block), "… ", more]);
  }
  return append(holder, escapes(text, block));
}

/** The nodes of a text: escapes stand in elements of their own, so that nobody takes them for the text itself. */
export function escapes(text, block = false) {
  return pieces(text, block).map((piece) =>
    piece.escape
      ? h("span.escape", { title: "a character that cannot be seen, written as an escape" }, piece.text)
      : piece.text,
  );
}

/** A picture of lines, drawn from our own paths. It says nothing to a screen reader: words stand beside it. */
export function drawing(paths, { box = "0 0 16 16", classes = "icon" } = {}) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", box);
  svg.setAttribute("class", classes);
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("focusable", "false");
  for (const d of paths) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}
