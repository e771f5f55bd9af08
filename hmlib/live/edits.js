// What can be done to the cloud. Whatever is done, it is no preset any more.

import { farthest } from "./numbers.js";

export const edit = (state, values) => state.set({ preset: "", ...values });

export const round = (x, digits = 2) => Math.round(x * 10 ** digits) / 10 ** digits + 0;

/** How far a plane reaches that shows these tokens, in x and in y. */
export const reachOf = (tokens) => 1.15 * (farthest(tokens) || 1);

export function pick(state, i) {
  const n = state.tokens.length;
  state.set({ chosen: (i + n) % n });
}

/** Put the chosen token somewhere else. */
export const move = (state, z) =>
  edit(state, { tokens: state.tokens.map((w, i) => (i === state.chosen ? z : w)) });

export const show = (state, layer) => state.set({ layer, playing: false });

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
  edit(state, { tokens, reach: reachOf(tokens) });
}

/** A preset by its name; a name that is none keeps the cloud, as one's own. */
export function choose(state, presets, name) {
  const { tokens, alpha, A, layer } = { layer: 0, ...(presets[name] ?? state) };
  const reach = reachOf(tokens), start = { chosen: 0, playing: false, preset: name };
  state.set({ tokens, alpha, A, layer, reach, ...start });
}
