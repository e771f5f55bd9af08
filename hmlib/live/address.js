// Every state is an address: the part of a link behind its #, and back. What a link
// says is only ever text that is compared and numbers that are read; links.py reads the
// same.

import { numberOf, textOf, valueOf } from "./exact.js";
import { isDefinite } from "./geometry.js";
import { alike } from "./state.js";

export const MOST_SIGNS_OF_LINK = 60_000;
const MOST_TOKENS = 1000, LAST_LAYER = 10_000;
const SHOWN = ["arrows", "forest", "trails", "halfspace", "hulls", "K", "limit", "basin"];

/** Four signs that change if a link is cut or altered: FNV-1a, modulo 36^4. */
export function sumOf(text) {
  let sum = 0x811c9dc5;
  for (const sign of text) sum = Math.imul(sum ^ sign.codePointAt(0), 0x01000193) >>> 0;
  return (sum % 36 ** 4).toString(36).padStart(4, "0");
}

export const sealed = (text) => `${text}&sum=${sumOf(text)}`;

/** The text that was sealed, or null if it is not as it was. */
export function unsealed(text) {
  const [, body, sum] = /^(.*)&sum=([0-9a-z]{4})$/s.exec(text) ?? [];
  return body !== undefined && sumOf(body) === sum ? body : null;
}

/** "a=1&b=2" as a Map; null if it is nothing like that, or has a name twice. */
export function fieldsOf(text) {
  const fields = new Map();
  for (const part of text.split("&")) {
    const at = part.indexOf("="), name = part.slice(0, at);
    if (at < 1 || fields.has(name)) return null;
    fields.set(name, part.slice(at + 1));
  }
  return fields;
}

export const fieldsText = (fields) =>
  [...fields].map(([name, value]) => `${name}=${value}`).join("&");

export const hyphened = (name) => name.replaceAll(" ", "-");

/** What a preset shows, with whatever it does not say. */
export const startOf = ({ tokens, alpha, A, token = 1, show = ["arrows"] }) =>
  ({ tokens, alpha, A, layer: 0, chosen: token - 1, show });

const WRITTEN = { // how what is not as in the preset is said
  tokens: (tokens) => tokens.map((z) => z.map(textOf).join()).join("_"),
  alpha: textOf,
  A: (A) => (A ? [A[0][0], A[0][1], A[1][1]].map(textOf).join() : "I"),
  layer: (layer) => String(layer),
  chosen: (chosen) => String(chosen + 1),
  show: (show) => show.join(),
};
const NAMES = { chosen: "token" }; // in a link tokens are counted from 1
const nameOf = (key) => NAMES[key] ?? key;

/** A state as text: its preset, and what differs from it. */
export function addressOf(state, presets) {
  const base = presets[state.preset] ? state.preset : Object.keys(presets)[0];
  const start = startOf(presets[base]), now = { ...state };
  now.layer = Math.floor(state.layer);
  const fields = new Map([["play", hyphened(base)]]);
  for (const [key, write] of Object.entries(WRITTEN))
    if (!alike(now[key], start[key])) fields.set(nameOf(key), write(now[key]));
  return fieldsText(fields);
}

const wholeNumber = (text, most) =>
  /^\d{1,5}$/.test(text) && Number(text) <= most ? Number(text) : null;

const linked = (text) => (/^[-0-9./e]+$/.test(text) ? numberOf(text) : null);

function numbersOf(text, count) {
  const numbers = text.split(",").map(linked);
  return numbers.length === count && !numbers.includes(null) ? numbers : null;
}

const READ = { // and how it is read; null is damage
  tokens(text) {
    const tokens = text.split("_", MOST_TOKENS + 1).map((z) => numbersOf(z, 2));
    return tokens.length > MOST_TOKENS || tokens.includes(null) ? null : tokens;
  },
  alpha(text) {
    const alpha = linked(text);
    return alpha !== null && valueOf(alpha) > 0 ? alpha : null;
  },
  A(text) {
    if (text === "I") return "I";
    const [a, b, c] = numbersOf(text, 3) ?? [], A = [[a, b], [b, c]];
    return a !== undefined && isDefinite(A) ? A : null;
  },
  layer: (text) => wholeNumber(text, LAST_LAYER),
  chosen: (text) => (wholeNumber(text, MOST_TOKENS) || 0) - 1,
  show(text) {
    const names = text ? text.split(",") : [];
    const right = names.every((name) => SHOWN.includes(name));
    return right && new Set(names).size === names.length ? names : null;
  },
};

/**
 * The state that a text says, with what a preset says of the rest; without a preset,
 * what a state says. Null if the text is damaged.
 */
export function stateFrom(text, presets, now = null) {
  const fields = text.length <= MOST_SIGNS_OF_LINK ? fieldsOf(text) : null;
  if (!fields) return null;
  const named = fields.get("play");
  const preset = Object.keys(presets).find((name) => hyphened(name) === named);
  if (preset === undefined && (named !== undefined || !now)) return null;
  const state = preset === undefined ? { ...now } : startOf(presets[preset]);
  state.preset = preset ?? now.preset;
  fields.delete("play");
  for (const [key, read] of Object.entries(READ)) {
    const written = fields.get(nameOf(key));
    if (written === undefined) continue;
    const value = read(written);
    if (value === null) return null;
    state[key] = value === "I" ? null : value;
    fields.delete(nameOf(key));
  }
  const chosen = state.chosen >= 0 && state.chosen < state.tokens.length;
  return fields.size || !chosen ? null : state;
}
