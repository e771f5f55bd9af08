// The forest: everybody follows the longest token of its set, and so ends in a tree.

import { roots } from "./hardmax.js";
import { dot, times } from "./numbers.js";

/** Colours and marks of trees, which say the same. */
export const LOOKS = [
  ["blue", "circle"], ["red", "square"], ["green", "diamond"], ["sky", "triangle"],
  ["faint", "pentagon"],
];

/** Of each token the number of its tree. */
export function treesOf({ tokens, sets }, A) {
  const square = tokens.map((z) => dot(times(A, z), z));
  const longest = (set) => set.reduce((i, j) => (square[j] > square[i] ? j : i));
  const ends = roots(sets.map(longest)), trees = [...new Set(ends)];
  return ends.map((root) => trees.indexOf(root));
}
