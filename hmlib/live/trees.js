// The forest: everybody follows the longest token of its set, and so ends in a tree.

import { roots } from "./hardmax.js";
import { dot, times } from "./numbers.js";

/** Colours and marks of trees, which say the same. */
const COLOURS = ["blue", "red", "green", "sky", "faint"];
const SHAPES = ["circle", "square", "diamond", "triangle", "pentagon"];

const NEVER = 1e9; // is the birth of a root that does not lead

/** [colour, shape] of a tree by its rank: 25 before one comes again. */
export const lookOf = (rank) =>
  [COLOURS[rank % 5], SHAPES[(rank + Math.floor(rank / 5)) % 5]];

/**
 * Of each token the rank of its tree. The trees of leaders come first, in the order in
 * which these are born: so a tree keeps its look while layers go by.
 */
export function treesOf({ tokens, sets }, A, born) {
  const square = tokens.map((z) => dot(times(A, z), z));
  const longest = (set) => set.reduce((i, j) => (square[j] > square[i] ? j : i));
  const ends = roots(sets.map(longest)), birth = (i) => born.get(i) ?? NEVER;
  const trees = [...new Set(ends)].sort((i, j) => birth(i) - birth(j) || i - j);
  return ends.map((root) => trees.indexOf(root));
}
