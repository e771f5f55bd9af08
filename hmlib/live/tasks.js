// Three things to try with each preset. The figure notices when one is done.

import { startOf } from "./address.js";
import { valueOf } from "./exact.js";
import { h, revise } from "./elements.js";
import { alike } from "./state.js";

const leadsAt = (course, i) => {
  const at = course.end.leaders.findIndex(
    (leader) => course.inverse[leader] === course.inverse[i - 1]);
  return at < 0 ? Infinity : course.end.born[at];
};

/** What a task may ask for; tokens are counted from 1. All that it names must hold. */
const HOLDS = {
  leads: ({ course }, i) => leadsAt(course, i) < Infinity,
  trails: ({ course }, i) => leadsAt(course, i) === Infinity,
  at_once: ({ course }, i) => leadsAt(course, i) === 0,
  later: ({ course }, i) => leadsAt(course, i) >= 1 && leadsAt(course, i) < Infinity,
  leaders: ({ course }, count) => course.end.leaders.length === count,
  vertex: ({ course }, i) => course.end.follows[i - 1] >= 0,
  no_vertex: ({ course }, i) => course.end.follows[i - 1] < 0,
  joins: ({ course }, [i, j]) => course.end.follows[i - 1] === j - 1,
  apart: ({ course }, [i, j]) => !alike(course.end.tokens[i - 1], course.end.tokens[j - 1]),
  follows: ({ course }, [i, ...whom]) => alike(setAt(course, 0, i), whom),
  tied: ({ course }, [i, layer]) => setAt(course, layer, i).length > 1,
  above: ({ alpha }, bound) => valueOf(alpha) > bound,
  tokens: ({ tokens }, count) => tokens.length === count,
  slow: ({ course }, layer) => course.end.settledAt >= layer,
};

const setAt = (course, layer, i) =>
  course.withCopies(course.at(layer).sets[course.inverse[i - 1]]).map((j) => j + 1);

/** Is it so? Only what is certified counts, and tokens that are there. */
export function isDone(when, state) {
  const { end, inverse } = state.course;
  if (!end?.certified) return false;
  return Object.entries(when).every(([name, about]) => {
    const named = name in NAMING ? [about].flat().slice(0, NAMING[name]) : [];
    return named.every((i) => i <= inverse.length) && HOLDS[name](state, about);
  });
}

const NAMING = { // how many tokens are named, at the front
  leads: 1, trails: 1, at_once: 1, later: 1, vertex: 1, no_vertex: 1, joins: 2, apart: 2,
  follows: 1, tied: 1,
};

/** The list: what is done stays so, until another preset is chosen. */
export function taskList(state, presets) {
  const items = Array.from({ length: 3 }, () => {
    const mark = h("span", { className: "hm-mark", "aria-hidden": true });
    const text = h("span");
    const aloud = h("span", { className: "hm-aloud" });
    return { node: h("li", {}, mark, text, aloud), mark, text, aloud };
  });
  const node = h("ul", { className: "hm-tasks", "aria-label": "Things to try" },
    ...items.map((item) => item.node));
  let of = null, done = [];
  const untouched = () => {
    const start = startOf(presets[of]);
    return ["tokens", "alpha", "A"].every((name) => alike(state[name], start[name]));
  };
  const update = () => {
    const { preset } = state, tasks = presets[preset]?.try ?? [];
    if (preset !== of) (of = preset), (done = tasks.map(() => false));
    const fresh = done.includes(false) && !untouched();
    tasks.forEach((task, k) => (done[k] ||= fresh && isDone(task.when, state)));
    items.forEach((item, k) => {
      const said = tasks[k]?.say ?? "";
      revise(item.node, { className: done[k] ? "hm-done" : "", hidden: !said });
      revise(item.mark, { textContent: done[k] ? "☑" : "☐" });
      revise(item.text, { textContent: said });
      revise(item.aloud, { textContent: done[k] ? " Done." : "" });
    });
  };
  return { node, update };
}
