// What can be done to the cloud.

import { startOf } from "./address.js";
import { valuesOf } from "./exact.js";
import { farthest } from "./numbers.js";

export const edit = (state, values) => state.set({ playing: false, ...values });

export const round = (x, digits = 2) => Math.round(x * 10 ** digits) / 10 ** digits + 0;

/** How far a plane reaches that shows these tokens, in x and in y. */
export const reachOf = (tokens) => 1.15 * (farthest(valuesOf(tokens)) || 1);

export function pick(state, i) {
  const n = state.tokens.length;
  state.set({ chosen: (i + n) % n });
}

/** Put the chosen token somewhere else. */
export const move = (state, z) =>
  edit(state, { tokens: state.tokens.map((w, i) => (i === state.chosen ? z : w)) });

export const goTo = (state, layer) => state.set({ layer, playing: false });

export function add(state, z) {
  const { tokens, reach } = state, n = tokens.length;
  const turned = 2.4 * n; // by the golden angle: new tokens do not hide one another
  z ??= [0.5 * reach * Math.cos(turned), 0.5 * reach * Math.sin(turned)];
  edit(state, { tokens: [...tokens, z.map((x) => round(x))], chosen: n });
}

export function remove(state) {
  const tokens = state.tokens.filter((_, i) => i !== state.chosen);
  if (tokens.length) edit(state, { tokens });
}

export function randomise(state, n) {
  const normal = () =>
    Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  const tokens = Array.from({ length: n }, () => [round(normal()), round(normal())]);
  edit(state, { tokens, layer: 0, reach: reachOf(tokens) });
}

/** A preset by its name, as it starts; what is shown stays, unless it says what. */
export function choose(state, presets, name) {
  const preset = presets[name], { show, ...start } = startOf(preset);
  begin(state, { ...start, preset: name, show: preset.show ?? state.show });
}

/** Show these values, to which Reset leads back. */
export function begin(state, values) {
  const reach = reachOf(values.tokens);
  state.set({ ...values, home: values, reach, playing: false });
}

export const reset = (state) => begin(state, state.home);
