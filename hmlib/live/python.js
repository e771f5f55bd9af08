// What the figure shows as Python.

import { anyFraction, isFraction, textOf } from "./exact.js";

function pythonOf(x) {
  if (isFraction(x)) return `Fraction(${x.replace("/", ", ")})`;
  return Object.is(x, -0) ? "-0.0" : textOf(x);
}

const arrayOf = (M) =>
  `[${M.map((row) => `[${row.map(pythonOf).join(", ")}]`).join(", ")}]`;

/** Code that has the state to the last bit, and says what hmlib finds. */
export function python(state) {
  const { tokens, alpha, A, layer, chosen, show } = state, k = Math.floor(layer);
  const exact = anyFraction(state), kind = exact ? "object" : "float";
  const row = `path.attention_sets(${k})[${chosen}]`;
  const names = show.map((name) => `"${name}"`).join(", ");
  return `${exact ? "from fractions import Fraction\n\n" : ""}import numpy as np

from hmlib import Playground, limit, simulate

Z = np.array(${arrayOf(tokens)}, ${kind})
alpha = ${pythonOf(alpha)}
A = ${A ? `np.array(${arrayOf(A)}, ${kind})` : "None"}

path = simulate(Z, alpha, layers=${k}, A=A)
print("layer ${k}:", path.tokens[${k}], sep="\\n")
print("token ${chosen + 1} follows", np.flatnonzero(${row}) + 1)
end = limit(Z, alpha, A)
print("leaders:", end.leaders + 1, "born:", end.born)
print("limit:", end.tokens, sep="\\n")
print("certified:", end.certified, "at layer", end.settled_at)

shown = {"layer": ${k}, "show": [${names}], "chosen": ${chosen}}
play = Playground(tokens=Z, alpha=alpha, A=A, **shown)  # the figure, in a notebook
`;
}
