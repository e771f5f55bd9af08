// Numbers that a reader types or a link carries, at their word: a decimal is the float
// that Python reads, too, and a fraction that no float holds stays a fraction, as text:
// "2/9", in lowest terms.

import { gcd, ratio, whole } from "./numbers.js";

const DECIMAL = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/;
const FRACTION = /^(-?\d{1,40})\/(\d{1,40})$/;
const MOST_SIGNS = 60; // of a number; hmlib/live/links.py has the same bounds
const LARGEST = 2 ** 1000; // and so has hmlib's inputs

const floats = new Map(); // of fractions that have been met: they are asked for often

/** A number for those who draw or guess: itself, or the float nearest to a fraction. */
export function valueOf(x) {
  if (typeof x !== "string") return x;
  if (!floats.has(x)) floats.set(x, ratio(...x.split("/").map(BigInt)));
  return floats.get(x);
}

export const valuesOf = (Z) => Z && Z.map((z) => z.map(valueOf));

export const isFraction = (x) => typeof x === "string";

export const anyFraction = ({ tokens, alpha, A }) =>
  [alpha, ...tokens.flat(), ...(A ?? []).flat()].some(isFraction);

/** What a text says, a float or a fraction; null if it is no number. */
export function numberOf(text) {
  const tidy = text.trim().replace("\u2212", "-").toLowerCase();
  if (tidy.length > MOST_SIGNS) return null;
  const [, n, d] = FRACTION.exec(tidy) ?? [];
  if (n === undefined && !DECIMAL.test(tidy)) return null;
  const x = n === undefined ? Number(tidy) : fraction(BigInt(n), BigInt(d));
  return x !== null && Math.abs(valueOf(x)) <= LARGEST ? x : null;
}

function fraction(n, d) {
  if (d === 0n) return null;
  const common = gcd(n < 0n ? -n : n, d), [p, q] = [n / common, d / common];
  const near = ratio(p, q), [[m], over] = whole([near]);
  return p * over === m * q ? near : `${p}/${q}`;
}

/** A number as text from which `numberOf` reads it again, to the last bit. */
export const textOf = (x) => (Object.is(x, -0) ? "-0" : String(x).replace("+", ""));
