// The mathematics of hmlib for tokens in the plane: attention sets with exact ties, one layer, infinite depth with its
// certificate, hulls, K and S(K). It mirrors attention.py, dynamics.py, limits.py and geometry.py, and a test compares
// the two on random clouds, in a browser. A token is a pair [x, y]; A is [[a, b], [b, c]], or null for the identity.

const EPS = 2 ** -52, SMALLEST = 5e-324;
const MOST_LAYERS = 20_000; // a run that has not settled by then is left uncertified
const MOST_BITS = 2 ** 23; // and so is a run on whole numbers that would need more than this (hmlib goes farther)
const MOST_SHOWN = 400; // layers that a run keeps, for the figure

// Numbers. Floats are taken at their word: where it matters they become whole numbers (BigInt), without rounding.

const view = new DataView(new ArrayBuffer(8));

/** The smallest e with |x| < 2^e, and 0 for 0. */
function exponent(x) {
  if (x === 0) return 0;
  view.setFloat64(0, x);
  const e = (view.getUint16(0) >> 4) & 2047;
  return e ? e - 1022 : exponent(x * 2 ** 54) - 54;
}

/** x 2^e, in two steps, because the power alone may be too large for a float. */
const times2 = (x, e) => x * 2 ** (e >> 1) * 2 ** (e - (e >> 1));

/** Floats as [numerators, denominator]: whole numbers over one power of two. */
function whole(numbers) {
  const least = numbers.reduce((e, x) => Math.min(e, exponent(x)), 0);
  const numerators = numbers.map((x) => {
    const e = exponent(x);
    return BigInt(times2(x, 53 - e)) << BigInt(e - least);
  });
  return [numerators, 1n << BigInt(53 - least)];
}

const pairs = (flat) => Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
const wholePairs = (Z) => (typeof Z[0][0] === "bigint" ? Z : pairs(whole(Z.flat())[0]));
const wholeMatrix = (A) => A && pairs(whole(A.flat())[0]);
const size = (x) => (x < 0n ? -x : x);
const gcd = (a, b) => (b ? gcd(b, a % b) : a);

function bitLength(x) {
  const hex = size(x).toString(16);
  return x ? 4 * hex.length - Math.clz32(parseInt(hex[0], 16)) + 28 : 0;
}

/** n / d, d > 0, as the nearest float. */
function ratio(n, d) {
  let shift = bitLength(n) - bitLength(d) - 64;
  if (shift < 0) n <<= BigInt(-shift);
  else d <<= BigInt(shift);
  let q = size(n) / d;
  if (q * d !== size(n)) { // something follows: a bit that tells a half from more than a half
    q = (q << 1n) | 1n;
    shift -= 1;
  }
  return times2(Number(n < 0n ? -q : q), shift);
}

/** The sum of floats, rounded once, divided by a count. */
function meanOf(numbers, count) {
  const [numerators, denominator] = whole(numbers);
  return ratio(numerators.reduce((sum, x) => sum + x, 0n), denominator) / count;
}

const dot = ([a, b], [c, d]) => a * c + b * d;
const times = (A, [x, y]) => (A ? [A[0][0] * x + A[0][1] * y, A[1][0] * x + A[1][1] * y] : [x, y]);
const same = (z, w) => z[0] === w[0] && z[1] === w[1];

/** Pairs of floats or of whole numbers over 2^e: floats in [-1, 1], at most one rounding away. */
function unit(z, e) {
  if (typeof z[0] !== "bigint") return z.map((x) => times2(x, -e));
  return z.map((x) => (e > 80 ? Number(x >> BigInt(e - 80)) * 2 ** -80 : times2(Number(x), -e)));
}

function top(Z) { // the exponent of the largest coordinate
  if (typeof Z[0][0] !== "bigint") return exponent(Z.reduce((m, z) => Math.max(m, Math.abs(z[0]), Math.abs(z[1])), 0));
  return bitLength(Z.flat().map(size).reduce((m, x) => (x > m ? x : m)));
}

// Attention

/** C_i(Z) = { j : <A z_i, z_j> = max_l <A z_i, z_l> }, all ties kept: an array of indices for each token. */
export function attentionSets(Z, A = null) {
  return setsOf(Z.map((_, i) => i), Z, A);
}

/**
 * The sets of some tokens. Scores are computed as floats; those that rounding leaves within reach of the maximum are
 * compared as whole numbers. With a blur, the error of each coordinate of Z, every token that may be in a set is kept.
 */
function setsOf(asking, Z, A, blur = 0) {
  const n = Z.length, e = top(Z), keys = new Float64Array(2 * n);
  const U = A && A.map((row) => unit(row, top(A)));
  let reachX = 0, reachY = 0;
  Z.forEach((z, j) => {
    const [x, y] = unit(z, e);
    keys[2 * j] = x, keys[2 * j + 1] = y;
    reachX = Math.max(reachX, Math.abs(x)), reachY = Math.max(reachY, Math.abs(y));
  });
  const scores = new Float64Array(n), weight = U ? Math.abs(U[0][0]) + 2 * Math.abs(U[0][1]) + Math.abs(U[1][1]) : 2;
  return asking.map((i) => {
    const f = top([Z[i]]), query = unit(Z[i], f), [x, y] = times(U, query), q = query.map(Math.abs);
    let error = dot(times(U && U.map((row) => row.map(Math.abs)), q), [reachX, reachY]);
    error = 12 * EPS * error + 32 * SMALLEST; // two products of length 2, three roundings: as in attention.py
    if (blur) {
      const ofQuery = times2(blur, -Math.max(f, -900)), ofKey = times2(blur, -Math.max(e, -900));
      error += 2 * weight * (ofQuery + ofKey + ofQuery * ofKey);
    }
    let best = -Infinity;
    for (let j = 0; j < n; j++) {
      const score = (scores[j] = x * keys[2 * j] + y * keys[2 * j + 1]);
      if (score > best) best = score;
    }
    best -= error;
    const set = [];
    for (let j = 0; j < n; j++) if (scores[j] >= best) set.push(j);
    return blur || set.every((j) => same(Z[j], Z[set[0]])) ? set : compareExactly(Z[i], set, Z, A);
  });
}

function compareExactly(z, set, Z, A) {
  const look = times(wholeMatrix(A), wholePairs([z])[0]);
  const scores = wholePairs(set.map((j) => Z[j])).map((w) => dot(look, w));
  const best = scores.reduce((m, s) => (s > m ? s : m));
  return set.filter((_, k) => scores[k] === best);
}

// One layer, and many

/** z_i + alpha / (1 + alpha) (m_i - z_i), where m_i is the mean over C_i(Z). */
export function step(Z, alpha, A = null) {
  return stepTo(Z, attentionSets(Z, A), alpha);
}

function stepTo(Z, sets, alpha) {
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

/** The layers Z^0 to Z^layers, with the attention sets of each but the last: { tokens, sets }. */
export function simulate(Z, alpha, layers, A = null) {
  const tokens = [Z], sets = [];
  for (let k = 0; k < layers; k++) {
    sets.push(attentionSets(tokens[k], A));
    tokens.push(stepTo(tokens[k], sets[k], alpha));
  }
  return { tokens, sets };
}

/** The leaders found in some layers, given their sets: self-followers that have not settled on another before. */
export function leadersOf(Z, sets) {
  const { first, of } = distinct(Z), leads = new Set(), settled = new Set();
  for (const C of sets) {
    const one = first.map((i) => (C[i].every((j) => of[j] === of[C[i][0]]) ? of[C[i][0]] : -1));
    one.forEach((v, i) => v === i && !settled.has(i) && leads.add(i));
    one.forEach((v, i) => v >= 0 && one[v] === v && settled.add(i));
  }
  return [...leads].sort((a, b) => a - b).map((i) => first[i]);
}

/** { first, of }: the rows first are the distinct ones in order of appearance; row i is a copy of row first[of[i]]. */
export function distinct(Z) {
  const seen = new Map(), first = [];
  const of = Z.map((z, i) => {
    const name = `${z[0]} ${z[1]}`; // -0 is 0 here
    if (!seen.has(name)) seen.set(name, first.push(i) - 1);
    return seen.get(name);
  });
  return { first, of };
}

// Infinite depth. Each way of counting keeps the distinct tokens of a layer, and knows how to take the next one.
// A target is [x, y, over]: whole numbers may need a denominator, the size of a tie.

class Floats {
  exact = false;
  sure = true;
  blur = 0; // how far each coordinate may be from the exact run
  constructor(Z, alpha) {
    this.Z = Z;
    this.gamma = alpha / (1 + alpha);
    const far = Z.reduce((m, z) => Math.max(m, Math.abs(z[0]), Math.abs(z[1])), 0);
    this.rounding = 8 * EPS * far + 2 * SMALLEST; // as in rounding.py
  }
  targets(Z) {
    return Z.slice();
  }
  mean(members, copies) {
    const count = copies.reduce((a, b) => a + b);
    return [0, 1].map((c) => meanOf(members.map((z, k) => z[c] * copies[k]), count));
  }
  advance(target) {
    const { gamma } = this;
    this.Z = this.Z.map(([x, y], i) => [x + gamma * (target[i][0] - x), y + gamma * (target[i][1] - y)]);
    this.blur += this.rounding;
    return target;
  }
  values(points) {
    return points.map(([x, y]) => [x, y]);
  }
  error() {
    return this.blur;
  }
}

/** Floats taken for exact: a likely answer where there is no certain one. */
class RoughFloats extends Floats {
  sure = false;
  constructor(Z, alpha) {
    super(Z, alpha);
    this.rounding = 0;
  }
}

/** Whole numbers, scale times too large: the model without its normalisation. */
class Whole {
  exact = true;
  sure = true;
  blur = 0;
  constructor(Z, alpha) {
    const [flat, scale] = whole(Z.flat()), [[p], q] = whole([alpha]), common = gcd(p, q);
    Object.assign(this, { Z: pairs(flat), scale, p: p / common, q: q / common });
  }
  targets(Z) {
    return Z.map(([x, y]) => [x, y, 1n]);
  }
  mean(members, copies) {
    const sum = (c) => members.reduce((s, z, k) => s + z[c] * BigInt(copies[k]), 0n);
    return [sum(0), sum(1), BigInt(copies.reduce((a, b) => a + b))];
  }
  advance(target) {
    const { p, q } = this, all = target.reduce((m, t) => (m / gcd(m, t[2])) * t[2], 1n);
    const goal = target.map(([x, y, over]) => [x * (all / over), y * (all / over)]);
    this.Z = this.Z.map(([x, y], i) => [q * all * x + p * goal[i][0], q * all * y + p * goal[i][1]]);
    this.scale *= (p + q) * all;
    return goal.map(([x, y]) => [(p + q) * x, (p + q) * y, 1n]);
  }
  values(points) {
    return points.map(([x, y, over = 1n]) => [ratio(x, this.scale * over), ratio(y, this.scale * over)]);
  }
  error() {
    return EPS * this.values(this.Z).flat().reduce((m, x) => Math.max(m, Math.abs(x)), 0) + SMALLEST;
  }
}

/** Layer after layer, until all tokens have settled, or hope is given up. */
class Run {
  certain = false;
  path = []; // of each layer, the tokens and whom they follow
  constructor(cloud, copies, A) {
    const n = cloud.Z.length, all = (value) => Array(n).fill(value);
    Object.assign(this, { cloud, copies, A, target: cloud.targets(cloud.Z), layer: 0 });
    Object.assign(this, { leader: all(-1), born: all(-1), settled: all(false), sets: all(null) });
    this.wholeA = cloud.exact ? wholeMatrix(A) : null;
  }

  *layers() {
    const { cloud } = this;
    for (this.layer = 0; this.layer < MOST_LAYERS; this.layer++) {
      if (!this.look()) return;
      if (this.layer < MOST_SHOWN) this.path.push({ tokens: cloud.values(cloud.Z), sets: this.sets });
      if (this.settled.every(Boolean)) {
        this.certain = cloud.sure;
        return;
      }
      const before = cloud.Z;
      this.target = cloud.advance(this.target);
      if (!cloud.exact && before.every((z, i) => same(z, cloud.Z[i]))) return;
      if (cloud.exact && bitLength(cloud.scale) * 2 * cloud.Z.length > MOST_BITS) return;
      yield this;
    }
  }

  /** See whom the unsettled tokens follow, and who of them settles. False where that cannot be told. */
  look() {
    const { cloud, leader, settled } = this, { Z, exact } = cloud;
    const ask = Z.map((_, i) => i).filter((i) => !settled[i]);
    const found = setsOf(ask, Z, this.A, cloud.blur), tied = new Map();
    found.forEach((set, row) => set.length > 1 && tied.set(row, set));
    if (tied.size && cloud.blur) return false;
    this.sets = this.sets.slice();
    ask.forEach((i, row) => (this.sets[i] = found[row]));

    const first = found.map((set) => set[0]), alone = ask.map((_, row) => !tied.has(row)), goal = cloud.targets(Z);
    ask.forEach((i, row) => {
      this.target[i] = goal[first[row]];
      if (alone[row] && first[row] === i) leader[i] = i, this.born[i] = this.layer;
    });
    const onto = ask.map((_, row) => alone[row] && leader[first[row]] === first[row]);
    ask.forEach((i, row) => onto[row] && ((leader[i] = first[row]), (settled[i] = true)));
    // Whoever follows one that has settled and does not lead is treated as a tie of one.
    if (exact) ask.forEach((_, r) => alone[r] && !onto[r] && settled[first[r]] && tied.set(r, [first[r]]));
    for (const [row, members] of tied) this.target[ask[row]] = this.tie(ask[row], members);
    if (exact) this.zero();
    return true;
  }

  /** Where token i goes now: the mean of its set. It settles if that point is there for ever, and the tie too. */
  tie(i, members) {
    const { cloud, settled } = this, { Z } = cloud;
    const copies = members.map((j) => this.copies[j]), m = cloud.mean(members.map((j) => Z[j]), copies);
    if (!cloud.exact || !members.every((j) => j === i || settled[j])) return m;
    const [x, y, over] = m, sum = [x, y]; // the mean is sum / over
    if (members.includes(i) && !same(sum, [over * Z[i][0], over * Z[i][1]])) return m;
    const goals = members.map((j) => (j === i ? [...Z[i], 1n] : this.target[j]));
    const all = goals.reduce((a, g) => a * g[2], 1n);
    const still = [0, 1].every((c) =>
      goals.reduce((s, g, k) => s + BigInt(copies[k]) * g[c] * (all / g[2]), 0n) === sum[c] * all);
    const looks = [times(this.wholeA, sum), times(this.wholeA, Z[i])];
    const level = ([a, b, o], look) => dot(look, [a, b]) * over === dot(look, sum) * o;
    const ties = looks.every((look) => goals.every((g) => level(g, look)) && members.every((j) => level([...Z[j], 1n], look)));
    settled[i] = still && ties && Z.every((z) => dot(looks[0], z) * over <= dot(looks[0], sum));
    return m;
  }

  /** A token at 0 follows all. It stays there if all others have settled, and balance, now and in the end. */
  zero() {
    const { cloud: { Z }, settled, target, copies } = this, zero = Z.map(([x, y]) => x === 0n && y === 0n);
    if (settled.every(Boolean) || !settled.every((s, i) => s || zero[i])) return;
    const all = target.reduce((m, t) => m * t[2], 1n), sum = (f) => Z.reduce((s, _, i) => s + BigInt(copies[i]) * f(i), 0n);
    const balance = [0, 1].every((c) => sum((i) => Z[i][c]) === 0n && sum((i) => (target[i][c] * all) / target[i][2]) === 0n);
    if (balance) settled.fill(true);
  }
}

/**
 * lim Z^k, in steps: a generator that yields after each layer the run so far, and returns the limit.
 * tokens, leaders, born, follows, certified, settledAt (null without a certificate) and errorBound are those of
 * hmlib.limit; path holds the layers up to there, and at(k) any layer: { tokens, sets } for the distinct tokens first.
 */
export function* limiting(Z, alpha, A = null) {
  const { first, of } = distinct(Z), copies = first.map(() => 0);
  for (const i of of) copies[i] += 1;
  const settled = (run) => run.settled.filter(Boolean).length;
  let run, known; // what is only likely names no leaders: they are those of the run that got farthest for certain
  for (const way of [Floats, Whole, RoughFloats]) {
    run = new Run(new way(first.map((i) => Z[i]), alpha), copies, A);
    yield* run.layers();
    if (run.cloud.sure && (!known || run.certain || settled(run) >= settled(known))) known = run;
    if (run.certain) break;
  }
  const { cloud, certain, layer, path } = run, { leader, born } = known, target = cloud.values(run.target);
  const leads = first.map((_, i) => i).filter((i) => born[i] >= 0);
  const last = path.at(-1), spread = (c) => Math.max(...Z.map((z) => z[c])) - Math.min(...Z.map((z) => z[c]));
  return {
    first, of, path,
    tokens: of.map((i) => target[i]),
    leaders: leads.map((i) => first[i]),
    born: leads.map((i) => born[i]),
    follows: of.map((i) => (leader[i] < 0 ? -1 : first[leader[i]])),
    certified: certain,
    settledAt: certain ? layer : null,
    errorBound: certain ? cloud.error() : Math.max(spread(0), spread(1)),
    at(k) { // what was not certified has come to rest, or is not known any farther
      if (k < path.length || !run.settled.every(Boolean) || layer >= MOST_SHOWN) return path[Math.min(k, path.length - 1)];
      const left = Math.exp(-(k - path.length + 1) * Math.log1p(alpha));
      return { tokens: last.tokens.map((z, i) => z.map((x, c) => target[i][c] + left * (x - target[i][c]))), sets: last.sets };
    },
  };
}

export function limit(Z, alpha, A = null) {
  const steps = limiting(Z, alpha, A);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

// Geometry

/** The corners of the hull, counter-clockwise from the leftmost (of these the lowest), as indices. */
export function hull(points) {
  const order = points.map((_, i) => i).sort((i, j) => points[i][0] - points[j][0] || points[i][1] - points[j][1]);
  const distinctOnes = order.filter((i, k) => k === 0 || !same(points[i], points[order[k - 1]]));
  if (distinctOnes.length < 3) return distinctOnes;
  const chain = (indices) => {
    const line = [];
    for (const i of indices) {
      while (line.length > 1 && turn(points[line.at(-2)], points[line.at(-1)], points[i]) <= 0) line.pop();
      line.push(i);
    }
    return line.slice(0, -1);
  };
  return [...chain(distinctOnes), ...chain(distinctOnes.reverse())];
}

/** Positive if the way from a over b to c turns left; exact where rounding leaves that open. */
function turn(a, b, c) {
  const left = (b[0] - a[0]) * (c[1] - a[1]), right = (b[1] - a[1]) * (c[0] - a[0]);
  if (Math.abs(left - right) > 8 * EPS * (Math.abs(left) + Math.abs(right))) return left - right;
  const [p, q, r] = wholePairs([a, b, c]);
  const area = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
  return area > 0n ? 1 : area < 0n ? -1 : 0;
}

/** The points of S(K) for the polygon K with these corners, in hull order: { point, face } with one corner or two. */
export function clusterPoints(corners, A = null) {
  const m = corners.length;
  if (m === 0) return [];
  const [flat, scale] = whole(corners.flat()), V = pairs(flat), B = wholeMatrix(A), found = [];
  const AV = V.map((v) => times(B, v)), at = (i) => (i + m) % m;
  // s is farthest in its own direction if the corners beside its face are not farther.
  const add = (s, over, face) => {
    const look = times(B, s), level = dot(look, V[face[0]]);
    const beside = [V[at(face[0] - 1)], V[at(face.at(-1) + 1)]];
    if (level > 0n && beside.every((v) => dot(look, v) <= level))
      found.push({ point: s.map((x) => ratio(x, over * scale)), face });
  };
  V.forEach((v, i) => add(v, 1n, [i]));
  for (let i = 0; i < (m > 2 ? m : m - 1); i++) {
    const j = at(i + 1), u = dot(AV[j], V[j]) - dot(AV[j], V[i]), w = dot(AV[i], V[i]) - dot(AV[i], V[j]);
    if (u > 0n && w > 0n) add([u * V[i][0] + w * V[j][0], u * V[i][1] + w * V[j][1]], u + w, [i, j]);
  }
  return found;
}

/** Is A symmetric positive definite? Exactly. */
export function isDefinite(A) {
  const [[a, b], [c, d]] = wholeMatrix(A);
  return b === c && a > 0n && a * d > b * c;
}
