// The forest: everybody follows the longest token of its set, and so ends in a tree.

import { roots } from "./hardmax.js";
import { dot, times } from "./numbers.js";

/** Colours and marks of trees, which say the same. */
const COLOURS = ["blue", "red", "green", "sky", "faint"];
const SHAPES = ["circle", "square", "diamond", "triangle", "pentagon"];

/** [colour, shape] of a tree by its rank: 25 before one comes again. */
export const lookOf = (rank) =>
  [COLOURS[rank % 5], SHAPES[(rank + Math.floor(rank / 5)) % 5]];

/** Of each token the rank of its tree: that of token 1 comes first. */
export function treesOf({ tokens, sets }, A) {
  const square = tokens.map((z) => dot(times(A, z), z));
  const longest = (set) => set.reduce((i, j) => (square[j] > square[i] ? j : i));
  const ends = roots(sets.map(longest)), trees = [...new Set(ends)];
  return ends.map((root) => trees.indexOf(root));
}
