// Who follows whom, and where tokens go: attention.py and dynamics.py, in the plane.
// Tests compare the two on random clouds, in a browser.

import {
  EPS, SMALLEST, dot, meanOf, same, times, times2, top, unit, wholeMatrix, wholePairs,
} from "./numbers.js";

/**
 * C_i(Z) = { j : <A z_i, z_j> = max_l <A z_i, z_l> }, all ties kept: for each token an
 * array of indices.
 */
export function attentionSets(Z, A = null) {
  return setsOf(Z.map((_, i) => i), Z, A);
}

/**
 * The sets of some rows. Scores are floats; those that rounding leaves within reach of
 * the maximum are compared as whole numbers. With a blur, the error of each coordinate
 * of Z, every token that may be in a set is kept.
 */
export function setsOf(rows, Z, A, blur = 0) {
  const n = Z.length, keys = keysOf(Z), { flat } = keys, scores = new Float64Array(n);
  const U = A && A.map((row) => unit(row, top(A)));
  return rows.map((i) => {
    const e = top([Z[i]]), query = unit(Z[i], e), [x, y] = times(U, query);
    const margin = rounding(query, keys, U) + (blur && blurred(blur, e, keys, U));
    let best = -Infinity;
    for (let j = 0; j < n; j++) {
      scores[j] = x * flat[2 * j] + y * flat[2 * j + 1];
      if (scores[j] > best) best = scores[j];
    }
    best -= margin;
    const set = [];
    for (let j = 0; j < n; j++) if (scores[j] >= best) set.push(j);
    const sure = blur || set.every((j) => same(Z[j], Z[set[0]]));
    return sure ? set : compareExactly(Z[i], set, Z, A);
  });
}

/** Tokens over 2^exponent, in a row, and the largest |x| and |y|. */
function keysOf(Z) {
  const e = top(Z), flat = new Float64Array(2 * Z.length), reach = [0, 0];
  Z.forEach((z, j) => unit(z, e).forEach((x, c) => {
    flat[2 * j + c] = x;
    reach[c] = Math.max(reach[c], Math.abs(x));
  }));
  return { flat, reach, exponent: e };
}

/** How far equal scores may be apart, by three roundings: as in attention.py. */
function rounding(query, { reach }, U) {
  const sizes = U && U.map((row) => row.map(Math.abs));
  return 12 * EPS * dot(times(sizes, query.map(Math.abs)), reach) + 32 * SMALLEST;
}

/** And how far because of the blur of query and keys: by 1 of one, all may be equal. */
function blurred(blur, e, keys, U) {
  const weight = U ? Math.abs(U[0][0]) + 2 * Math.abs(U[0][1]) + Math.abs(U[1][1]) : 2;
  const relative = (exponent) => Math.min(1, times2(blur, -exponent));
  const ofQuery = relative(e), ofKey = relative(keys.exponent);
  return 2 * weight * (ofQuery + ofKey + ofQuery * ofKey);
}

function compareExactly(z, set, Z, A) {
  const look = times(wholeMatrix(A), wholePairs([z])[0]);
  const scores = wholePairs(set.map((j) => Z[j])).map((w) => dot(look, w));
  const best = scores.reduce((m, s) => (s > m ? s : m));
  return set.filter((_, k) => scores[k] === best);
}

/** z_i + alpha / (1 + alpha) (m_i - z_i), where m_i is the mean over C_i(Z), the i-th of these sets. */
function step(Z, sets, alpha) {
  const gamma = alpha / (1 + alpha);
  return Z.map((z, i) => {
    const [x, y] = mean(sets[i].map((j) => Z[j]));
    return [z[0] + gamma * (x - z[0]), z[1] + gamma * (y - z[1])];
  });
}

/** One value alone is taken as it is, so that a leader stands still to the last bit. */
function mean(points) {
  if (points.every((p) => same(p, points[0]))) return points[0];
  return [0, 1].map((c) => meanOf(points.map((p) => p[c]), points.length));
}

/** The layers Z^0 to Z^layers, and the attention sets of each but the last. */
export function simulate(Z, alpha, layers, A = null) {
  const tokens = [Z], sets = [];
  for (let k = 0; k < layers; k++) {
    sets.push(attentionSets(tokens[k], A));
    tokens.push(step(tokens[k], sets[k], alpha));
  }
  return { tokens, sets };
}

/**
 * The leaders of some layers: self-followers that have not settled on another before.
 */
export function leadersOf(Z, sets) {
  const { first, inverse } = distinct(Z), leads = new Set(), settled = new Set();
  for (const C of sets) {
    const followed = first.map((i) => inverse[C[i][0]]);
    const alone = first.map((i, k) => C[i].every((j) => inverse[j] === followed[k]));
    const standing = followed.map((v, i) => alone[i] && v === i);
    standing.forEach((stands, i) => stands && !settled.has(i) && leads.add(i));
    followed.forEach((v, i) => alone[i] && standing[v] && settled.add(i));
  }
  return [...leads].sort((a, b) => a - b).map((i) => first[i]);
}

/** The end of everybody's chain, for a forest: follows[i] is whom i follows. */
export function roots(follows) {
  return follows.map((i) => {
    while (follows[i] !== i) i = follows[i];
    return i;
  });
}

/**
 * { first, inverse }: the rows first are the distinct ones, in order of appearance, and
 * row i is a copy of row first[inverse[i]].
 */
export function distinct(Z) {
  const seen = new Map(), first = [];
  const inverse = Z.map((z, i) => {
    const name = `${z[0]} ${z[1]}`; // -0 is 0 here
    if (!seen.has(name)) seen.set(name, first.push(i) - 1);
    return seen.get(name);
  });
  return { first, inverse };
}
