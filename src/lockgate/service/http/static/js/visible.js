/**
 * Untrusted text as pieces that cannot hide anything: the same characters as `lockgate.core.display_text.visible` escapes in a
 * terminal (controls, zero-width and bidirectional marks, tags, lone surrogates) become escapes that one can read.
 */

const UNSAFE =
  /[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
const SHORT = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\u001b", "\\e"],
]);

/** The escape of one character, as a person reads it. */
export function escaped(character) {
  const short = SHORT.get(character);
  if (short !== undefined) {
    return short;
  }
  const code = character.codePointAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}

/**
 * A text as pieces: plain ones, and escapes.
 *
 * @param {string} text Any text; it may come from an attacker.
 * @param {boolean} block Whether line breaks and tabs stay what they are.
 * @returns {{text: string, escape: boolean}[]}
 */
export function pieces(text, block = false) {
  const found = [];
  let from = 0;
  for (const match of text.matchAll(UNSAFE)) {
    const character = match[0];
    if (block && (character === "\n" || character === "\t")) {
      continue;
    }
    if (match.index > from) {
      found.push({ text: text.slice(from, match.index), escape: false });
    }
    found.push({ text: escaped(character), escape: true });
    from = match.index + character.length;
  }
  if (from < text.length) {
    found.push({ text: text.slice(from), escape: false });
  }
  return found;
}

/** A text on one line with its escapes written out, for attributes, titles and announcements. */
export function visible(text, limit = 400) {
  const shown = pieces(String(text))
    .map((piece) => piece.text)
    .join("");
  return shown.length <= limit ? shown : `${shown.slice(0, limit - 1)}…`;
}
