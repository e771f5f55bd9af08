// The controls of the playground but for the matrix: each is { node, update }, where
// update brings it in line with the state.

import {
  add, choose, edit, move, pick, randomise, remove, show,
} from "./edits.js";
import { button, copy, field, h, revise, row } from "./elements.js";
import { alike } from "./state.js";
import { python } from "./words.js";

const SHOW = { // what can be shown, and how it is called
  arrows: "who follows whom",
  forest: "trees of the forest",
  trails: "trails",
  halfspace: "half-space of the chosen token",
  hulls: "shrinking hulls",
  K: "K, and S(K) as squares",
  limit: "limit of each token",
};

const dial = (least, most, oninput) =>
  h("input", { type: "range", min: least, max: most, oninput });

const number = (label, about) =>
  h("input", { type: "number", "aria-label": label, ...about });

export function cloudMenu(state, presets) {
  const names = Object.keys(presets).map((name) => h("option", { value: name }, name));
  const menu = h("select", { onchange: () => choose(state, presets, menu.value) },
    ...names, h("option", { value: "" }, "your own"));
  const about = h("p", { className: "hm-about" });
  const update = () => {
    const preset = presets[state.preset];
    const as = preset && alike(preset.tokens, state.tokens) ? state.preset : "";
    revise(menu, { value: as });
    revise(about, { textContent: presets[as]?.about ?? "" });
  };
  return { node: [field("Cloud", menu), about], update };
}

export function layerDial(state) {
  const slider = dial(0, 0, () => show(state, +slider.value)), shown = h("output");
  const update = () => {
    const layer = Math.floor(state.layer);
    revise(slider, { max: state.course.last, value: layer });
    revise(shown, { textContent: layer });
  };
  return { node: field("Layer", slider, shown), update };
}

export function playButton(state) {
  const node = button("Play", () => state.set({ playing: !state.playing }));
  const update = () => revise(node, { textContent: state.playing ? "Pause" : "Play" });
  return { node, update };
}

export function alphaDial(state) { // logarithmic
  const alphaOf = (position) => Number((10 ** (position / 40)).toPrecision(2));
  const slider = dial(-80, 60, () => edit(state, { alpha: alphaOf(+slider.value) }));
  const shown = h("output");
  const update = () => {
    const value = Math.round(40 * Math.log10(state.alpha));
    revise(slider, { value, "aria-valuetext": `alpha ${state.alpha}` });
    revise(shown, { textContent: Number(state.alpha.toPrecision(4)) });
  };
  return { node: field("α", slider, shown), update };
}

/** The chosen token by its number, and its coordinates. */
export function tokenFields(state) {
  const choice = number("number of the chosen token", {
    min: 1,
    step: 1,
    oninput: () => state.tokens[choice.value - 1] && pick(state, choice.value - 1),
  });
  const typed = (c) => {
    const x = coordinates[c].value, z = [...state.tokens[state.chosen]];
    z[c] = Number(x);
    if (x !== "" && Number.isFinite(z[c])) move(state, z);
  };
  const coordinates = ["x", "y"].map((name, c) =>
    number(`${name} of the chosen token`, { step: 0.05, oninput: () => typed(c) }));
  const update = () => {
    const { tokens, chosen } = state, values = [chosen + 1, ...tokens[chosen]];
    revise(choice, { max: tokens.length });
    [choice, ...coordinates].forEach((input, k) => { // "0." is 0, and stays as it is
      if (Number(input.value) !== values[k]) input.value = values[k];
    });
  };
  const [x, y] = coordinates;
  return { node: row(field("Token", choice), field("x", x), field("y", y)), update };
}

export function showBoxes(state) {
  const toggle = (name) => {
    const others = state.show.filter((other) => other !== name);
    state.set({ show: boxes[name].checked ? [...others, name] : others });
  };
  const boxes = {};
  for (const name of Object.keys(SHOW))
    boxes[name] = h("input", { type: "checkbox", name, onchange: () => toggle(name) });
  const labels = Object.entries(SHOW).map(([name, label]) =>
    h("label", { className: "hm-box" }, boxes[name], h("span", {}, label)));
  const update = () => {
    for (const name of Object.keys(SHOW))
      revise(boxes[name], { checked: state.show.includes(name) });
  };
  return { node: h("fieldset", {}, h("legend", {}, "Show"), ...labels), update };
}

/** Buttons that need no update. */
export const tokenButtons = (state) => [
  button("Add token", () => add(state)),
  button("Remove token", () => remove(state)),
];

export function randomTokens(state) {
  const many = number("how many random tokens", { min: 1, max: 500, value: 20 });
  const count = () => Math.max(1, Math.min(500, Math.round(+many.value) || 20));
  return row(button("Random tokens", () => randomise(state, count())), many);
}

export function copyButton(state) {
  const note = h("span", { className: "hm-note" });
  const code = h("pre", { hidden: true, tabIndex: 0, "aria-label": "hmlib code" });
  const copied = async () => {
    const done = await copy(python(state), code);
    note.textContent = done ? "copied" : "select and copy";
  };
  return [row(button("Copy as Python", copied), note), code];
}
