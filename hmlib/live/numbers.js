// Numbers at their word: where it matters, floats become whole numbers (BigInt),
// without rounding. A token is a pair [x, y], A is [[a, b], [b, c]] or null for the
// identity. What is whole takes fractions, too: text, "2/9".

export const EPS = 2 ** -52;
export const SMALLEST = 5e-324;

const bytes = new DataView(new ArrayBuffer(8));

/** The smallest e with |x| < 2^e, and 0 for 0. */
export function exponent(x) {
  if (x === 0) return 0;
  bytes.setFloat64(0, x);
  const e = (bytes.getUint16(0) >> 4) & 2047;
  return e ? e - 1022 : exponent(x * 2 ** 54) - 54;
}

/** x 2^e, in two steps, because the power alone may be too large for a float. */
export const times2 = (x, e) => x * 2 ** (e >> 1) * 2 ** (e - (e >> 1));

/** Floats as [numerators, denominator]: whole numbers over one power of two. */
export function whole(numbers) {
  if (numbers.some((x) => typeof x === "string")) return wholeFractions(numbers);
  const least = numbers.reduce((e, x) => Math.min(e, exponent(x)), 0);
  const numerators = numbers.map((x) => {
    const e = exponent(x);
    return BigInt(times2(x, 53 - e)) << BigInt(e - least);
  });
  return [numerators, 1n << BigInt(53 - least)];
}

/** The same where some are fractions. */
function wholeFractions(numbers) {
  const parts = numbers.map((x) => {
    if (typeof x === "string") return x.split("/").map(BigInt);
    const [[n], d] = whole([x]);
    return [n, d];
  });
  const over = parts.reduce((all, [, d]) => (all / gcd(all, d)) * d, 1n);
  return [parts.map(([n, d]) => n * (over / d)), over];
}

export const pairs = (flat) =>
  Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);

/** Tokens as whole numbers, all the same power of two too large; whole ones stay. */
export const wholePairs = (Z) =>
  typeof Z[0][0] === "bigint" ? Z : pairs(whole(Z.flat())[0]);

export const wholeMatrix = (A) => A && wholePairs(A);

const size = (x) => (x < 0n ? -x : x);

export const gcd = (a, b) => (b ? gcd(b, a % b) : a);

export function bitLength(x) {
  const hex = size(x).toString(16);
  return x ? 4 * hex.length - Math.clz32(parseInt(hex[0], 16)) + 28 : 0;
}

/** n / d, d > 0, as the nearest float. */
export function ratio(n, d) {
  let shift = bitLength(n) - bitLength(d) - 64;
  if (shift < 0) n <<= BigInt(-shift);
  else d <<= BigInt(shift);
  let quotient = size(n) / d;
  if (quotient * d !== size(n)) {
    quotient = (quotient << 1n) | 1n; // a bit that tells a half from more than a half
    shift -= 1;
  }
  return times2(Number(n < 0n ? -quotient : quotient), shift);
}

/** The sum of floats, rounded once, divided by a count. */
export function meanOf(numbers, count) {
  const [numerators, denominator] = whole(numbers);
  return ratio(numerators.reduce((sum, x) => sum + x, 0n), denominator) / count;
}

export const dot = ([a, b], [c, d]) => a * c + b * d;

export const times = (A, [x, y]) =>
  A ? [A[0][0] * x + A[0][1] * y, A[1][0] * x + A[1][1] * y] : [x, y];

export const same = (z, w) => z[0] === w[0] && z[1] === w[1];

/** The largest coordinate, without its sign. */
export const farthest = (Z) =>
  Z.reduce((most, [x, y]) => Math.max(most, Math.abs(x), Math.abs(y)), 0);

/** Points on the way from Z to W. */
export const between = (Z, W, share) =>
  Z.map((z, i) => z.map((x, c) => x + share * (W[i][c] - x)));

/** The exponent of the largest coordinate, of floats or of whole numbers. */
export function top(Z) {
  if (typeof Z[0][0] !== "bigint") return exponent(farthest(Z));
  return bitLength(Z.flat().map(size).reduce((m, x) => (x > m ? x : m)));
}

/** A pair over 2^e: floats in [-1, 1], at most one rounding away. */
export function unit(z, e) {
  if (typeof z[0] !== "bigint") return z.map((x) => times2(x, -e));
  return z.map((x) =>
    e > 80 ? Number(x >> BigInt(e - 80)) * 2 ** -80 : times2(Number(x), -e));
}
