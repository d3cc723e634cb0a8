/** The pictures, as paths on a 16 by 16 ground. Each stands beside a word that says the same. */

import { drawing } from "./dom.js";

const PATHS = {
  gate: ["M3 14V6.5a5 5 0 0 1 10 0V14", "M1.5 14h13", "M8 1.5V14", "M5.5 8v6", "M10.5 8v6"],
  allow: ["M3 8.5l3.2 3.2L13 4.8"],
  contain: ["M2.5 2.5h11v11h-11z", "M6 6h4v4H6z"],
  judge: ["M8 2v11.5", "M3 4h10", "M5 13.5h6", "M3 4l-1.6 4.4h3.2z", "M13 4l-1.6 4.4h3.2z"],
  ask: ["M5.6 6a2.4 2.4 0 1 1 3.4 2.2c-.7.3-1 .8-1 1.6", "M8 12.6v.1"],
  deny: ["M3.5 3.5l9 9", "M12.5 3.5l-9 9"],
  untrusted: ["M8 2L1.8 13.2h12.4z", "M8 6.4v3.2", "M8 11.4v.1"],
  secret: ["M5 8.6a3 3 0 1 0 0-.1z", "M7.8 8.5h6.4v2.4", "M11.4 8.5v1.8"],
  clean: ["M8 2.5a5.5 5.5 0 1 0 .01 0z"],
  sessions: ["M2 3.5h12", "M2 8h12", "M2 12.5h7"],
  approvals: ["M8 2v4.5", "M5 6.5V3.2", "M11 6.5V3.2", "M3.2 6.5h9.6v3.2a4 4 0 0 1-4 4H7.2a4 4 0 0 1-4-4z"],
  decisions: ["M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10z", "M10.8 10.8L14 14"],
  patterns: ["M3 3h4v4H3z", "M9 9h4v4H9z", "M9 3h4v4H9z", "M3 9h4v4H3z"],
  policy: ["M2.5 3h11v10h-11z", "M2.5 6.4h11", "M6 3v10"],
  explain: [
    "M4 3h8a1.5 1.5 0 0 1 1.5 1.5v5A1.5 1.5 0 0 1 12 11H7l-3 2.8V11a1.5 1.5 0 0 1-1.5-1.5v-5A1.5 1.5 0 0 1 4 3z",
  ],
  audit: [
    "M6.5 9.5l3-3",
    "M7 5.2l1.6-1.6a2.7 2.7 0 0 1 3.8 3.8L10.8 9",
    "M9 10.8l-1.6 1.6a2.7 2.7 0 0 1-3.8-3.8L5.2 7",
  ],
  doctor: ["M8 13.6S2.2 10.2 2.2 6.2A3 3 0 0 1 8 5a3 3 0 0 1 5.8 1.2c0 4-5.8 7.4-5.8 7.4z"],
  menu: ["M2 4h12", "M2 8h12", "M2 12h12"],
  sun: [
    "M8 5a3 3 0 1 0 .01 0z",
    "M8 1v1.6",
    "M8 13.4V15",
    "M1 8h1.6",
    "M13.4 8H15",
    "M3 3l1.2 1.2",
    "M11.8 11.8L13 13",
    "M13 3l-1.2 1.2",
    "M4.2 11.8L3 13",
  ],
  half: ["M8 2.2a5.8 5.8 0 1 0 .01 0z", "M8 2.2v11.6", "M10.2 3v10", "M12.3 4.4v7.2"],
  moon: ["M13.5 9.8A6 6 0 0 1 6.2 2.5a6 6 0 1 0 7.3 7.3z"],
  agent: ["M4 6h8v6.5H4z", "M8 3v3", "M6.4 9v.1", "M9.6 9v.1"],
  clock: ["M8 2.2a5.8 5.8 0 1 0 .01 0z", "M8 5v3.2l2.2 1.4"],
  arrow: ["M3 8h10", "M9.5 4.5L13 8l-3.5 3.5"],
};

/** The names there are. */
export const ICONS = Object.keys(PATHS);

/** One picture. */
export function icon(name) {
  return drawing(PATHS[name] ?? PATHS.clean);
}
