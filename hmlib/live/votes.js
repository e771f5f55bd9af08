// The leaders' votes as bars, each beginning where the one before it ends: they add up
// to the verdict.

import { h } from "./elements.js";

const MOST_BARS = 7; // leaders that have one of their own

const signed = (x) => `${x < 0 ? "\u2212" : "+"}${Math.abs(x).toFixed(2)}`;

/** [name, vote] of leaders, largest first, the rest together, the bias, and the sum. */
export function votesOf({ names, shares, logit }, bias) {
  const all = [...shares].map(([root, share]) => [names[root], share]);
  all.sort((p, q) => Math.abs(q[1]) - Math.abs(p[1]));
  const rest = all.slice(MOST_BARS), sum = rest.reduce((s, [, share]) => s + share, 0);
  const others = rest.length ? [[`${rest.length} more`, sum]] : [];
  return { rows: [...all.slice(0, MOST_BARS), ...others, ["bias", bias]], total: logit };
}

export function voteBars(state) {
  const node = h("div", {
    className: "hm-votes", role: "list", "aria-label": "Votes that add up to the verdict",
  });
  let drawn = null;
  const update = () => {
    const { judged, net } = state;
    if (drawn === judged) return;
    drawn = judged;
    node.replaceChildren(...(judged?.tokens ? bars(votesOf(judged, net.bias)) : []));
  };
  return { node, update };
}

function bars({ rows, total }) {
  const ends = rows.reduce((sums, [, x]) => [...sums, sums.at(-1) + x], [0]);
  const low = Math.min(...ends), high = Math.max(...ends), wide = high - low || 1;
  const share = (x) => `${(100 * (x - low)) / wide}%`;
  const bar = (name, from, to, className) => {
    const strip = h("span", { className: "hm-strip", "aria-hidden": true });
    const fill = h("span", { className: to < from ? "hm-minus" : "hm-plus" });
    fill.style.left = share(Math.min(from, to));
    fill.style.width = `${(100 * Math.abs(to - from)) / wide}%`;
    const zero = h("span", { className: "hm-zero" });
    zero.style.left = share(0);
    strip.append(fill, zero);
    return h("div", { className: `hm-vote ${className}`, role: "listitem" },
      h("span", { className: "hm-who" }, name), strip, h("span", {}, signed(to - from)));
  };
  const parts = rows.map(([name], k) => bar(name, ends[k], ends[k + 1], ""));
  return [...parts, bar("sum", 0, total, "hm-sum")];
}
