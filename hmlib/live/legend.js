// What the marks of the picture mean; only those that are to be seen.

import { h, revise } from "./elements.js";

const SIGNS = [ // sign, meaning, whether it is to be seen
  ["★", "leads", () => true],
  ["●", "follows", ({ show }) => !show.includes("forest")],
  ["◐", "tied", ({ course, layer }) => tied(course, layer)],
  ["●◆■", "one tree each", ({ show }) => show.includes("forest")],
  ["→", "whom it follows", ({ show }) => show.includes("arrows")],
  ["○", "where it started", ({ layer }) => layer >= 1],
  ["◎", "chosen", () => true],
  ["─", "its way", ({ show, layer }) => show.includes("trails") && layer >= 1],
  ["▭", "hull of a layer", ({ show }) => show.includes("hulls")],
  ["▰", "K", ({ show }) => show.includes("K")],
  ["□", "in S(K)", ({ show }) => show.includes("K")],
  ["◇", "limit", ({ show }) => show.includes("limit")],
  ["▨", "half-space", ({ show }) => show.includes("halfspace")],
  ["◌", "one more token", ({ probe }) => Boolean(probe)],
];

function tied(course, layer) {
  const now = course.between(layer);
  return Boolean(now) && now.sets.some((set) => set.length > 1);
}

export function legend(state) {
  const items = SIGNS.map(([sign, meaning]) =>
    h("span", {}, h("strong", { "aria-hidden": true }, sign), ` ${meaning}`));
  const node = h("p", { className: "hm-legend" }, ...items);
  const update = () => SIGNS.forEach(([, , seen], k) =>
    revise(items[k], { hidden: !seen(state) }));
  return { node, update };
}
