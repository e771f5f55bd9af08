// What the figure shows, in words.

import { round } from "./edits.js";

const MOST_NAMED = 8;

const pointText = (z) => `(${z.map((x) => round(x)).join(", ")})`;

const listed = (names) =>
  names.slice(0, MOST_NAMED).join(", ") + (names.length > MOST_NAMED ? ", …" : "");

const joined = (names) =>
  names.length > 1 && names.length <= MOST_NAMED
    ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`
    : listed(names);

export function words(state) {
  const { layer, chosen, course, damage } = state, k = Math.floor(layer);
  const { end } = course, now = course.at(k);
  if (!end) return "The limit is not certified yet: the run goes on.";
  const said = [leadersAt(end, k), certificate(end, k, course), token(course, now, chosen, k)];
  return [damage, ...said].filter(Boolean).join(" ");
}

/** Who leads by now, and who will. */
function leadersAt({ leaders, born }, k) {
  const here = leaders.filter((_, m) => born[m] <= k).map((i) => i + 1);
  const later = leaders.flatMap((i, m) => (born[m] > k ? [[i + 1, born[m]]] : []));
  const count = here.length === 1 ? "1 leader" : `${here.length} leaders`;
  const names = here.length ? `${count}, ${listed(here)}` : "nobody leads";
  const soon = later.map(([i, layer]) => `${i} from layer ${layer}`);
  return `Layer ${k}: ${names}${soon.length ? `; then ${listed(soon)}` : ""}.`;
}

/** What is certain at this layer. */
function certificate({ certified, settledAt, follows }, k, { arrival }) {
  if (!certified)
    return "NOT certified: rounding may have decided, and the limit is only likely.";
  const what = follows.some((leader) => leader < 0) ? "end" : "leader";
  if (k < settledAt)
    return `Not everybody's ${what} is decided yet: that takes until layer ` +
      `${settledAt} (certified).`;
  const way = k < arrival
    ? "they are still on their way"
    : "and to the eye all have arrived";
  return `From layer ${settledAt} on everybody's ${what} is decided (certified); ${way}.`;
}

function token(course, now, chosen, k) {
  const { end, inverse } = course, i = inverse[chosen], set = course.withCopies(now.sets[i]);
  const leads = end.leaders.findIndex((leader) => inverse[leader] === i);
  const name = `Token ${chosen + 1} is at ${pointText(now.tokens[i])}`;
  if (leads >= 0 && end.born[leads] <= k) return `${name} and leads.`;
  const all = set.length === inverse.length && set.length > 1;
  const whom = all ? "all tokens" : joined(set.map((j) => j + 1));
  const tie = now.sets[i].length > 1 ? ", a tie," : "";
  return `${name}, follows ${whom}${tie} and ${fate(end, chosen, leads)}.`;
}

/** Where a token ends: with whom, or where there is no vertex. */
function fate(end, chosen, leads) {
  const leader = end.follows[chosen];
  if (leads >= 0) return `leads from layer ${end.born[leads]} on`;
  if (leader >= 0) return `ends with leader ${leader + 1}`;
  return `ends at ${pointText(end.tokens[chosen])}, which is no vertex`;
}

/** What would become of one more token, the last of a course with it, in words. */
export function probeWords(course, without) {
  const { end } = course, last = course.tokens.length - 1;
  const start = `A token that starts at ${pointText(course.tokens[last])} would `;
  if (!end) return `${start}… the run goes on.`;
  if (!end.certified) return `${start}end where rounding decides: NOT certified.`;
  const first = course.first[course.inverse[last]];
  const leads = end.leaders.indexOf(first);
  const lost = (without?.leaders ?? []).filter((i) => !end.leaders.includes(i));
  const unseats = lost.map((i) => i + 1);
  const lose = lost.length ? `; ${joined(unseats)} would lead no longer` : "";
  const born = end.born[leads], lead = born ? `lead from layer ${born} on` : "lead at once";
  const own = leads >= 0 && first === last; // and not as a copy of one that is there
  return `${start}${own ? lead : fate(end, last, -1).replace("ends", "end")}${lose}.`;
}
