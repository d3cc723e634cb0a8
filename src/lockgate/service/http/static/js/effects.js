/** A call with the parts that have effects marked, and the effects as a list: number, word and line tell them apart. */

import { h, prose, untrusted, untrustedBlock } from "./dom.js";
import { ROWS, label } from "./words.js";

const FAMILIES = {
  fetch: "out",
  fetch_known: "out",
  fetch_search: "out",
  fetch_packages: "out",
  egress: "out",
  execute: "runs",
  execute_runtime: "runs",
  execute_installed: "runs",
  execute_script: "runs",
  persist: "stays",
  destroy: "breaks",
  tamper: "breaks",
  tamper_self: "breaks",
  ingest: "untrusted",
  read_secret: "secret",
};
const GRAVEST = ["breaks", "out", "stays", "runs", "secret", "untrusted"];

/** The kind of line under a part of a call: what leaves, runs, stays or breaks, and what brings labels. */
export function family(row) {
  return FAMILIES[row] ?? "out";
}

/**
 * The whole call.
 *
 * @param {object} call `Call` of the API.
 * @param {object[]} effects `EffectShown` of the API; pieces name them by index.
 */
export function markedCall(call, effects) {
  return h(
    "div.call",
    {},
    h("p.call-tool", {}, h("span.muted", {}, "tool "), h("strong.mono", {}, untrusted(call.tool, { limit: 200 }))),
    call.fields.map((field) =>
      h(
        "div.call-field",
        {},
        h("p.call-name.mono.small", {}, untrusted(field.name, { limit: 200 })),
        h(
          "pre.call-text",
          { tabindex: "0", role: "region", "aria-label": `the call's ${field.name}` },
          pieces(field, effects),
        ),
      ),
    ),
  );
}

function pieces(field, effects) {
  // All of it: what is cut could be what matters.
  return field.pieces.map((piece) =>
    marked(
      piece,
      piece.effects.filter((index) => effects[index] !== undefined),
      effects,
    ),
  );
}

function marked(piece, indices, effects) {
  if (indices.length === 0) {
    return untrustedBlock(piece.text);
  }
  const numbers = indices.map((index) => index + 1).join(",");
  const says = indices.map((index) => `effect ${index + 1}: ${effects[index].row.replaceAll("_", " ")}`).join(", ");
  const kind = `mark.span.is-${gravest(indices.map((index) => effects[index].row))}`;
  // What a line is indented by is marked in none.
  const parts = piece.text.split(/(\n[ \t]*)/);
  return parts.map((text, index) => {
    if (index % 2 === 1) {
      return untrustedBlock(text);
    }
    const ends = index === parts.length - 1;
    const number = [h("sup", { "aria-hidden": "true" }, numbers), h("span.sr-only", {}, ` (${says}) `)];
    return text === "" && !ends ? null : h(kind, { title: says }, untrustedBlock(text), ends ? number : null);
  });
}

function gravest(rows) {
  const families = new Set(rows.map(family));
  return GRAVEST.find((each) => families.has(each));
}

/**
 * The effects that a call has, numbered as in the call.
 *
 * @param {object[]} effects `EffectShown` of the API.
 * @param {number} omitted How many are left out.
 * @param {object[]} reasons `ReasonShown`: which of them the verdict rests on.
 * @param {string} says What is said of these.
 */
export function effectList(effects, omitted = 0, reasons = [], says = "") {
  const decisive = (effect) =>
    reasons.some((reason) => reason.rule === effect.rule && reason.because === effect.because);
  if (effects.length === 0) {
    return h("p.muted", {}, "None: it can neither reach anybody nor change what is trusted.");
  }
  return [
    h(
      "ol.effects",
      {},
      effects.map((effect, index) =>
        h(
          "li",
          {},
          h(`span.number.is-${family(effect.row)}`, { "aria-hidden": "true" }, String(index + 1)),
          h(
            "div",
            {},
            h(
              "p.row",
              {},
              h(
                "span",
                {},
                h("strong.mono", { title: ROWS[effect.row] ?? null }, effect.row),
                " ",
                prose(effect.because),
              ),
              says && decisive(effect) ? h("span.decisive.small", {}, says) : null,
            ),
            h(
              "p.muted.small",
              {},
              effect.what ? [h("code", {}, untrusted(effect.what, { limit: 300 })), " · "] : null,
              "rule ",
              h("code", {}, untrusted(effect.rule, { limit: 200 })),
              effect.gives ? [" · its result gives ", label(effect.gives)] : null,
            ),
          ),
        ),
      ),
    ),
    reasons
      .filter((reason) => !effects.some((effect) => effect.rule === reason.rule && effect.because === reason.because))
      .map(otherReason),
    omitted > 0 ? h("p.muted", {}, `and ${omitted} more effects`) : null,
  ];
}

function otherReason(reason) {
  return h("p.other-reason", {}, prose(reason.because), " ", h("code.muted.small", {}, untrusted(reason.rule)));
}
