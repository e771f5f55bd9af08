// What the figure shows, in words and as Python.

const MOST_NAMED = 12;

const text = ([x, y], digits = 2) => `(${x.toFixed(digits)}, ${y.toFixed(digits)})`;

const listed = (names) =>
  names.slice(0, MOST_NAMED).join(", ") + (names.length > MOST_NAMED ? ", …" : "");

export function words({ tokens, layer, chosen, course }) {
  const { end, inverse } = course, k = Math.floor(layer), now = course.at(k);
  if (!end) return "The limit is not certified yet: the run goes on.";
  return `Layer ${k}. ${leaders(end)}. ${certificate(end)} ` +
    `Token ${chosen + 1} is at ${text(now.tokens[inverse[chosen]])}, ` +
    `follows ${followed(now.sets[inverse[chosen]], inverse)} ` +
    `and ends at ${text(end.tokens[chosen])}${place(end.follows[chosen], chosen)}.`;
}

function leaders({ leaders, born }) {
  const birth = (layer) => (layer ? ` (from layer ${layer})` : "");
  const count = leaders.length === 1 ? "One leader" : `${leaders.length} leaders`;
  return `${count}: ${listed(leaders.map((i, m) => `${i + 1}${birth(born[m])}`))}`;
}

const certificate = ({ certified, settledAt }) => certified
  ? `Certified at layer ${settledAt}: every token has settled.`
  : "NOT certified: rounding may have decided, and the limit is only likely.";

/** A set of distinct tokens, with their copies. */
function followed(set, inverse) {
  const tokens = inverse.map((_, i) => i).filter((i) => set.includes(inverse[i]));
  const all = tokens.length === inverse.length && tokens.length > 1;
  return all ? "all tokens" : listed(tokens.map((i) => i + 1));
}

function place(leader, i) {
  if (leader < 0) return ", which is no vertex";
  return leader === i ? ", itself a leader" : `, with leader ${leader + 1}`;
}

export function python({ tokens, alpha, A, layer, chosen }) {
  const array = (M) => `[${M.map((row) => `[${row.join(", ")}]`).join(", ")}]`;
  const k = Math.floor(layer), row = `path.attention_sets(${k})[${chosen}]`;
  return `import numpy as np

from hmlib import limit, simulate

Z = np.array(${array(tokens)}, float)
alpha = ${alpha}
A = ${A ? `np.array(${array(A)})` : "None"}

path = simulate(Z, alpha, layers=${k}, A=A)
print("layer ${k}:", path.tokens[${k}], sep="\\n")
print("token ${chosen + 1} follows", np.flatnonzero(${row}) + 1)
end = limit(Z, alpha, A)
print("leaders:", end.leaders + 1, "born:", end.born)
print("limit:", end.tokens, sep="\\n")
print("certified:", end.certified, "at layer", end.settled_at)
`;
}
