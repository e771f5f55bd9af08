// The controls of the playground but for the matrix: each is { node, update }, where
// update brings it in line with the state.

import {
  add, choose, edit, goTo, move, pick, randomise, remove, reset,
} from "./edits.js";
import { button, field, h, revise, row } from "./elements.js";
import { numberOf, textOf, valueOf } from "./exact.js";
import { alike } from "./state.js";

const SHOW = { // what can be shown, and how it is called
  arrows: "who follows whom",
  forest: "trees of the forest",
  trails: "trails",
  halfspace: "half-space of the chosen token",
  hulls: "shrinking hulls",
  K: "K, and S(K) as squares",
  limit: "limit of each token",
  basin: "basin under the pointer",
};

const dial = (least, most, oninput) =>
  h("input", { type: "range", min: least, max: most, oninput });

const countField = (label, about) =>
  h("input", { type: "number", "aria-label": label, ...about });

/** A field for a decimal or a fraction: what is no such thing is marked, not taken. */
function exactField(label, take) {
  const typed = () => {
    const x = numberOf(input.value), taken = x !== null && take(x) !== false;
    revise(input, { "aria-invalid": !taken });
  };
  const input = h("input", {
    type: "text", className: "hm-exact", "aria-label": label, autocomplete: "off",
    spellcheck: false, oninput: typed, onblur: () => show(true),
    title: "a decimal, or a fraction such as 2/9",
  });
  let shown = 0;
  const show = (always) => { // "0." is 0, and stays as it is
    if (!always && alike(numberOf(input.value), shown)) return;
    input.value = textOf(shown);
    if (document.activeElement === input) input.select(); // what is typed next replaces it
    revise(input, { "aria-invalid": false });
  };
  const update = (x) => {
    const fresh = x !== shown;
    shown = x;
    if (fresh || document.activeElement !== input) show();
  };
  return { input, update };
}

export function cloudMenu(state, presets) {
  const names = Object.keys(presets).map((name) => h("option", { value: name }, name));
  const menu = h("select", { onchange: () => choose(state, presets, menu.value) },
    ...names, h("option", { value: "", disabled: true }, "your own"));
  const update = () => {
    const preset = presets[state.preset];
    const as = preset && alike(preset.tokens, state.tokens) ? state.preset : "";
    revise(menu, { value: as });
  };
  return { node: field("Cloud", menu), update };
}

export function layerDial(state) {
  const slider = dial(0, 0, () => goTo(state, +slider.value)), shown = h("output");
  const update = () => {
    const layer = Math.floor(state.layer);
    revise(slider, { max: Math.max(layer, state.course.last), value: layer });
    revise(shown, { textContent: layer });
  };
  return { node: field("Layer", slider, shown), update };
}

export function playButtons(state) {
  const play = button("Play", () => state.set({ playing: !state.playing }));
  const again = button("Reset", () => reset(state));
  const update = () => revise(play, { textContent: state.playing ? "Pause" : "Play" });
  return { node: [play, again], update };
}

export function alphaDial(state) { // logarithmic
  const alphaOf = (position) => Number((10 ** (position / 40)).toPrecision(2));
  const slider = dial(-80, 60, () => edit(state, { alpha: alphaOf(+slider.value) }));
  const take = (alpha) => valueOf(alpha) > 0 && edit(state, { alpha });
  const typed = exactField("alpha, a decimal or a fraction", take);
  const update = () => {
    const { alpha } = state, value = Math.round(40 * Math.log10(valueOf(alpha)));
    revise(slider, { value, "aria-valuetext": `alpha ${alpha}` });
    typed.update(alpha);
  };
  return { node: h("div", { className: "hm-pair" }, field("α", slider), typed.input), update };
}

/** The chosen token by its number, and its coordinates. */
export function tokenFields(state) {
  const choice = countField("number of the chosen token", {
    min: 1,
    step: 1,
    oninput: () => state.tokens[choice.value - 1] && pick(state, choice.value - 1),
  });
  const coordinates = ["x", "y"].map((name, c) =>
    exactField(`${name} of the chosen token`, (x) =>
      move(state, state.tokens[state.chosen].map((y, d) => (d === c ? x : y)))));
  const update = () => {
    const { tokens, chosen } = state;
    revise(choice, { max: tokens.length });
    if (Number(choice.value) !== chosen + 1) choice.value = chosen + 1;
    coordinates.forEach((typed, c) => typed.update(tokens[chosen][c]));
  };
  const [x, y] = coordinates.map((typed) => typed.input);
  const node = [
    row(field("Token", choice), field("x", x), field("y", y)),
    row(button("Add token", () => add(state)),
      button("Remove token", () => remove(state))),
  ];
  return { node, update };
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

export function randomTokens(state) {
  const about = { min: 1, max: 500, value: 20 };
  const many = countField("how many random tokens", about);
  const count = () => Math.max(1, Math.min(500, Math.round(+many.value) || 20));
  return row(button("Random tokens", () => randomise(state, count())), many);
}
