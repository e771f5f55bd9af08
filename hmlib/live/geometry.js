// Hulls, the cluster points S(K) and positive definite matrices: geometry.py, in the
// plane.

import {
  EPS, dot, pairs, ratio, same, times, whole, wholeMatrix, wholePairs,
} from "./numbers.js";

/**
 * The indices of the hull's corners, counter-clockwise from the leftmost (and lowest).
 */
export function hull(points) {
  const order = points.map((_, i) => i).sort(
    (i, j) => points[i][0] - points[j][0] || points[i][1] - points[j][1]);
  const corners = order.filter(
    (i, k) => k === 0 || !same(points[i], points[order[k - 1]]));
  if (corners.length < 3) return corners;
  const chain = (indices) => {
    const line = [];
    for (const i of indices) {
      const turns = () => turn(points[line.at(-2)], points[line.at(-1)], points[i]) > 0;
      while (line.length > 1 && !turns()) line.pop();
      line.push(i);
    }
    return line.slice(0, -1);
  };
  return [...chain(corners), ...chain(corners.reverse())];
}

/**
 * Positive if the way over three points turns left; exact where rounding hides that.
 */
function turn(a, b, c) {
  const left = (b[0] - a[0]) * (c[1] - a[1]), right = (b[1] - a[1]) * (c[0] - a[0]);
  if (Math.abs(left - right) > 8 * EPS * (Math.abs(left) + Math.abs(right)))
    return left - right;
  const [p, q, r] = wholePairs([a, b, c]);
  return Number((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]));
}

/**
 * The points of S(K) for the polygon K with these corners, in hull order, each with its
 * face of one corner or two: { point, face }.
 */
export function clusterPoints(corners, A = null) {
  const m = corners.length;
  if (m === 0) return [];
  const [flat, scale] = whole(corners.flat()), V = pairs(flat), B = wholeMatrix(A);
  const AV = V.map((v) => times(B, v)), around = (i) => (i + m) % m, points = [];
  // s is farthest in its own direction if the corners beside its face are not farther.
  const add = (s, over, face) => {
    const look = times(B, s), level = dot(look, V[face[0]]);
    const beside = [V[around(face[0] - 1)], V[around(face.at(-1) + 1)]];
    if (level > 0n && beside.every((v) => dot(look, v) <= level))
      points.push({ point: s.map((x) => ratio(x, over * scale)), face });
  };
  V.forEach((v, i) => add(v, 1n, [i]));
  for (let i = 0; i < (m > 2 ? m : m - 1); i++) {
    const j = around(i + 1), [v, w] = [V[i], V[j]];
    const a = dot(AV[j], w) - dot(AV[j], v), b = dot(AV[i], v) - dot(AV[i], w);
    if (a > 0n && b > 0n) add(v.map((x, c) => a * x + b * w[c]), a + b, [i, j]);
  }
  return points;
}

/** Is A symmetric positive definite? Exactly. */
export function isDefinite(A) {
  const [[a, b], [c, d]] = wholeMatrix(A);
  return b === c && a > 0n && a * d > b * c;
}
