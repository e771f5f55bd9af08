// Infinite depth with its certificate: limits.py, in the plane. Each kind of numbers
// keeps the distinct tokens of a layer and takes them to the next. A target is [x, y,
// over], as whole numbers may need a denominator, the size of a tie.

import { anyFraction, valueOf, valuesOf } from "./exact.js";
import { distinct, setsOf } from "./hardmax.js";
import {
  EPS, SMALLEST, between, bitLength, dot, farthest, gcd, meanOf, pairs, ratio, same,
  times, whole, wholeMatrix,
} from "./numbers.js";

const MOST_LAYERS = 20_000; // a run that has not settled by then is left uncertified
const MOST_BITS = 2 ** 23; // and one on whole numbers that needs more (hmlib goes on)
const MOST_SHOWN = 400; // layers that a run keeps, for the figure

class Floats {
  exact = false;
  sure = true;
  blur = 0; // how far each coordinate may be from the exact run
  constructor(Z, alpha) {
    this.Z = Z;
    this.gamma = alpha / (1 + alpha);
    this.rounding = 8 * EPS * farthest(Z) + 2 * SMALLEST; // as in rounding.py
  }
  targets(Z) {
    return Z.slice();
  }
  mean(members, copies) {
    const count = copies.reduce((a, b) => a + b);
    return [0, 1].map((c) => meanOf(members.map((z, k) => z[c] * copies[k]), count));
  }
  advance(target) {
    this.Z = between(this.Z, target, this.gamma);
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
    const [flat, scale] = whole(Z.flat()), [[p], q] = whole([alpha]);
    const common = gcd(p, q);
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
    const old = q * all;
    this.Z = this.Z.map((z, i) => z.map((x, c) => old * x + p * goal[i][c]));
    this.scale *= (p + q) * all;
    return goal.map(([x, y]) => [(p + q) * x, (p + q) * y, 1n]);
  }
  values(points) {
    const float = (x, over) => ratio(x, this.scale * over);
    return points.map(([x, y, over = 1n]) => [float(x, over), float(y, over)]);
  }
  error() {
    return EPS * farthest(this.values(this.Z)) + SMALLEST;
  }
}

/** Layer after layer, until all tokens have settled, or hope is given up. */
class Run {
  certain = false;
  path = []; // of each layer, the tokens and whom they follow
  constructor(cloud, copies, A) { // A in the cloud's numbers
    const all = (value) => Array(cloud.Z.length).fill(value);
    Object.assign(this, { cloud, copies, A, layer: 0, target: cloud.targets(cloud.Z) });
    Object.assign(this, { leader: all(-1), born: all(-1), sets: all(null) });
    this.settled = all(false);
    this.wholeA = cloud.exact ? wholeMatrix(A) : null;
  }

  *layers() {
    const { cloud } = this;
    for (this.layer = 0; this.layer < MOST_LAYERS; this.layer++) {
      if (!this.look()) return;
      if (this.layer < MOST_SHOWN)
        this.path.push({ tokens: cloud.values(cloud.Z), sets: this.sets });
      if (this.settled.every(Boolean)) {
        this.certain = cloud.sure;
        return;
      }
      const before = cloud.Z;
      this.target = cloud.advance(this.target);
      if (!cloud.exact && before.every((z, i) => same(z, cloud.Z[i]))) return;
      const bits = cloud.exact ? bitLength(cloud.scale) * 2 * cloud.Z.length : 0;
      if (bits > MOST_BITS) return;
      yield this;
    }
  }

  /**
   * See whom the others follow, and who of them settles. False where nobody can tell.
   */
  look() {
    const { cloud, leader, settled } = this, { Z, exact } = cloud;
    const asking = Z.map((_, i) => i).filter((i) => !settled[i]);
    const followed = setsOf(asking, Z, this.A, cloud.blur), tied = new Map();
    followed.forEach((set, row) => set.length > 1 && tied.set(row, set));
    if (tied.size && cloud.blur) return false;
    this.sets = this.sets.slice();
    asking.forEach((i, row) => (this.sets[i] = followed[row]));

    const first = followed.map((set) => set[0]), goal = cloud.targets(Z);
    const alone = asking.map((_, row) => !tied.has(row));
    asking.forEach((i, row) => {
      this.target[i] = goal[first[row]];
      if (alone[row] && first[row] === i) leader[i] = i, this.born[i] = this.layer;
    });
    const onto = first.map((j, row) => alone[row] && leader[j] === j);
    asking.forEach((i, row) => {
      if (onto[row]) leader[i] = first[row], settled[i] = true;
    });
    // Whoever follows one that has settled and does not lead is treated as a tie of
    // one.
    const behind = (row) => alone[row] && !onto[row] && settled[first[row]];
    if (exact) asking.forEach((_, row) => behind(row) && tied.set(row, [first[row]]));
    for (const [row, members] of tied)
      this.target[asking[row]] = this.tie(asking[row], members);
    if (exact) this.zero();
    return true;
  }

  /**
   * Where token i goes now: the mean of its set, sum / over. It settles if that point
   * is there for ever, and the tie too: runs.py says why it is enough to ask this.
   */
  tie(i, members) {
    const { cloud, settled } = this, { Z } = cloud;
    const copies = members.map((j) => this.copies[j]);
    const mean = cloud.mean(members.map((j) => Z[j]), copies);
    if (!cloud.exact || !members.every((j) => j === i || settled[j])) return mean;
    const [x, y, over] = mean, sum = [x, y];
    const goals = members.map((j) => (j === i ? [...Z[i], 1n] : this.target[j]));
    const all = goals.reduce((a, g) => a * g[2], 1n);
    const share = (g, k, c) => BigInt(copies[k]) * g[c] * (all / g[2]);
    const still = [0, 1].every(
      (c) => goals.reduce((s, g, k) => s + share(g, k, c), 0n) === sum[c] * all);
    const along = times(this.wholeA, sum);
    const beyond = (z) => dot(along, z) * over > dot(along, sum);
    settled[i] = still && !Z.some(beyond);
    return mean;
  }

  /**
   * A token at 0 follows all, and stays if they have settled and balance: now, and
   * then.
   */
  zero() {
    const { cloud: { Z }, settled, target, copies } = this;
    const zero = Z.map(([x, y]) => x === 0n && y === 0n);
    if (settled.every(Boolean) || !settled.every((s, i) => s || zero[i])) return;
    const all = target.reduce((m, t) => m * t[2], 1n);
    const sum = (f) => Z.reduce((s, _, i) => s + BigInt(copies[i]) * f(i), 0n);
    const now = (c) => sum((i) => Z[i][c]) === 0n;
    const then = (c) => sum((i) => (target[i][c] * all) / target[i][2]) === 0n;
    if ([0, 1].every((c) => now(c) && then(c))) settled.fill(true);
  }
}

/**
 * lim Z^k, in steps: a generator that yields the run so far after each layer, and
 * returns the limit. Its tokens, leaders, born, follows, certified, settledAt (null
 * without a certificate) and errorBound are those of hmlib.limit. at(k) is any layer, {
 * tokens, sets } of the distinct tokens; first and inverse are theirs. Where a number
 * is a fraction, all are taken exactly.
 */
export function* limiting(Z, alpha, A = null) {
  const { first, inverse } = distinct(Z), copies = first.map(() => 0);
  for (const i of inverse) copies[i] += 1;
  const settled = (run) => run.settled.filter(Boolean).length;
  const rational = anyFraction({ tokens: Z, alpha, A }), points = first.map((i) => Z[i]);
  const gain = valueOf(alpha), near = valuesOf(A), exactA = rational ? wholeMatrix(A) : A;
  let run, known; // what is only likely names no leaders: these are of what is certain
  for (const Numbers of rational ? [Whole, RoughFloats] : [Floats, Whole, RoughFloats]) {
    const exactly = Numbers === Whole, given = exactly ? points : valuesOf(points);
    const cloud = new Numbers(given, exactly ? alpha : gain);
    run = new Run(cloud, copies, exactly ? exactA : near);
    yield* run.layers();
    const farther = !known || run.certain || settled(run) >= settled(known);
    if (run.cloud.sure && farther) known = run;
    if (run.certain) break;
  }
  const { cloud, certain, layer } = run, { leader, born } = known;
  const target = cloud.values(run.target);
  const leads = first.map((_, i) => i).filter((i) => born[i] >= 0);
  const spread = [0, 1].map((c) => points.map((z) => valueOf(z[c])))
    .map((values) => Math.max(...values) - Math.min(...values));
  return {
    first,
    inverse,
    tokens: inverse.map((i) => target[i]),
    leaders: leads.map((i) => first[i]),
    born: leads.map((i) => born[i]),
    follows: inverse.map((i) => (leader[i] < 0 ? -1 : first[leader[i]])),
    certified: certain,
    settledAt: certain ? layer : null,
    errorBound: certain ? cloud.error() : Math.max(...spread),
    at: (k) => layerOf(run, target, gain, k),
  };
}

/** Layer k: kept, or in closed form. An uncertified run is not known any farther. */
function layerOf({ path, settled, layer }, target, alpha, k) {
  const last = path.at(-1), over = settled.every(Boolean) && layer < MOST_SHOWN;
  if (k < path.length || !over) return path[k] ?? last;
  const left = Math.exp(-(k - path.length + 1) * Math.log1p(alpha));
  const near = (x, goal) => goal + left * (x - goal);
  const tokens = last.tokens.map((z, i) => z.map((x, c) => near(x, target[i][c])));
  return { tokens, sets: last.sets };
}

export function limit(Z, alpha, A = null) {
  const steps = limiting(Z, alpha, A);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
