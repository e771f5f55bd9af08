// The review as text, its words marked by signs and lines, not by colour alone; press a
// word to leave it out.

import { button, h, revise } from "./elements.js";
import { wordsIn } from "./judge.js";

const MOST_WORDS = 600; // that can be pressed; what follows is text

const KINDS = { // how words are marked, and how that is said
  leads: ["★", "leads"],
  follows: ["", "follows"],
  unknown: ["?", "unknown"],
  dropped: ["", "dropped by the model"],
};

/** A text in pieces, { text, word }: in order, all of it, and what of it is a word. */
export function pieces(text) {
  const shown = text.toLowerCase().length === text.length ? text : text.toLowerCase();
  const list = [];
  let at = 0;
  for (const [word, place] of wordsIn(text).slice(0, MOST_WORDS)) {
    if (place > at) list.push({ text: shown.slice(at, place) });
    at = place + word.length;
    list.push({ text: shown.slice(place, at), word });
  }
  return [...list, { text: shown.slice(at) }];
}

function kindOf(word, { net, judged, whole, left }) {
  if (word.length < 2 || net.stop.has(word)) return "dropped";
  if (!net.index.has(word)) return "unknown";
  const of = left.includes(word) ? whole : judged, i = of.names.indexOf(word);
  if (i < 0) return "dropped"; // behind the words that count
  return of.leaders?.includes(i) && !left.includes(word) ? "leads" : "follows";
}

export function markedText(state) {
  const node = h("p", {
    className: "hm-text", role: "group", tabIndex: 0,
    "aria-label": "The review. Press a word to leave it out.",
  });
  const toggle = (word) => {
    const others = state.left.filter((other) => other !== word);
    state.set({ left: others.length < state.left.length ? others : [...others, word] });
  };
  const look = (word) => state.set({ over: state.judged?.names?.indexOf(word) ?? -1 });
  function piece({ text, word }) {
    if (!word || !state.net) return text;
    const kind = kindOf(word, state), [sign, said] = KINDS[kind];
    const className = `hm-word hm-${kind}`;
    if (kind === "dropped") return h("span", { className }, text);
    const mark = sign ? [h("small", { "aria-hidden": true }, sign)] : [];
    if (kind === "unknown") return h("span", { className, title: said }, text, ...mark);
    const out = state.left.includes(word);
    const pressed = { className, "aria-pressed": out, title: out ? "left out" : said };
    const made = revise(button(text, () => toggle(word)), {
      ...pressed, onpointerenter: () => look(word), onfocus: () => look(word),
      onpointerleave: () => state.set({ over: -1 }), onblur: () => state.set({ over: -1 }),
    });
    made.append(...mark);
    made.dataset.word = word;
    return made;
  }
  let drawn = null;
  const update = () => {
    if (drawn === state.words) return;
    drawn = state.words;
    const here = node.contains(document.activeElement) ? document.activeElement : null;
    const buttons = () => [...node.querySelectorAll("button")];
    const focused = here ? buttons().indexOf(here) : -1;
    node.replaceChildren(...pieces(state.text).map(piece));
    if (focused >= 0) buttons()[focused]?.focus();
  };
  return { node, update };
}

export function keyToMarks() {
  return h("p", { className: "hm-legend" },
    h("span", {}, h("strong", { className: "hm-leads" }, "word★"), " leads"),
    h("span", {}, h("strong", { className: "hm-follows" }, "word"), " follows"),
    h("span", {}, h("strong", { className: "hm-unknown" }, "word?"), " unknown"),
    h("span", {}, h("strong", { className: "hm-dropped" }, "word"), " dropped"),
    h("span", {}, h("strong", { "aria-hidden": true }, "▲"), " the mean, judged"));
}
