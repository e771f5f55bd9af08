// A review and its verdict: hmlib.preprocess and hmlib.explain for a model in the
// plane.

import { leadersOf, roots, simulate } from "./hardmax.js";
import { dot } from "./numbers.js";

const LENGTH = 128; // words of a review that count

/** The words of a text, tags left out, and where each stands: [[word, place], ...]. */
export function wordsIn(text) {
  const lower = text.toLowerCase(), blank = (tag) => " ".repeat(tag.length);
  const end = lower.lastIndexOf(">") + 1; // behind it there is no tag to look for
  const bare = lower.slice(0, end).replace(/<[^>]+>/g, blank) + lower.slice(end);
  const found = [...bare.matchAll(/[a-z](?:[a-z']*[a-z])?/g)];
  return found.map((match) => [match[0], match.index]);
}

/** The words of a review: preprocess(text, "plain"), in linear time as there. */
export const plain = (text, stop) =>
  wordsIn(text).map(([word]) => word).filter((word) => word.length > 1 && !stop.has(word));

/** The stored model as it is used: numbers of words, rows of the embedding. */
export function unpack({ words, embedding, stop, ...numbers }) {
  const bytes = Uint8Array.from(atob(embedding), (c) => c.charCodeAt(0));
  const rows = new Float32Array(bytes.buffer);
  const index = new Map(words.split(" ").map((word, i) => [word, i]));
  const row = (word) => [0, 1].map((c) => rows[2 * index.get(word) + c]);
  return { ...numbers, index, stop: new Set(stop), row };
}

/**
 * explain(model, words) with some words left out. Tokens are the distinct known words,
 * weights say how often each occurs; if there are none, nothing is said of them.
 */
export function explain(net, words, left = []) {
  const known = words.filter((word) => net.index.has(word)).slice(0, LENGTH);
  const unknown = words.filter((word) => !net.index.has(word));
  const counts = new Map();
  for (const word of known) counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const word of left) counts.delete(word);
  const names = [...counts.keys()], weights = [...counts.values()];
  if (!names.length) return { names, unknown };

  const { tokens, sets } = simulate(names.map(net.row), net.alpha, net.depth);
  const total = weights.reduce((a, b) => a + b);
  const mean = (Z, c) => Z.reduce((s, z, i) => s + weights[i] * z[c], 0) / total;
  const means = tokens.map((Z) => [mean(Z, 0), mean(Z, 1)]);
  const follows = sets.at(-1)?.map((set) => set[0]) ?? names.map((_, i) => i);
  const root = roots(follows), shares = new Map(), ends = tokens.at(-1);
  root.forEach((r, i) => {
    const share = (weights[i] * dot(net.weight, ends[i])) / total;
    shares.set(r, (shares.get(r) ?? 0) + share);
  });
  const leaders = leadersOf(tokens[0], sets);
  const logit = dot(net.weight, means.at(-1)) + net.bias;
  const sure = howSure(logit, total, net.calibration ?? [1, 0]);
  const path = { tokens, sets, means, root, leaders };
  return { names, unknown, weights, ...path, shares, logit, sure };
}

/** hmlib.explanation.Calibration.sure, of a verdict that rests on n words. */
export function howSure(logit, n, [scale, few]) {
  return 0.5 + 0.5 * Math.tanh(((scale * n) / (n + few)) * Math.abs(logit) / 2);
}
