// The address of a review explorer: which example, what is left out, which layer; of a
// review of one's own nothing, unless the reader wants its text to be told.

import { fieldsOf, fieldsText, hyphened } from "./address.js";

const MOST_TEXT = 20_000, MOST_LEFT = 200, LAST_DEPTH = 1000;
const OWN = "own";

/** Text as signs that a link may have, and back; null if it was no text. */
function packText(text) {
  const bytes = Array.from(new TextEncoder().encode(text), (b) => String.fromCharCode(b));
  return btoa(bytes.join("")).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}

function unpackText(packed) {
  try {
    const bytes = atob(packed.replace(/-/g, "+").replace(/_/g, "/"));
    const codes = Uint8Array.from(bytes, (sign) => sign.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(codes);
  } catch {
    return null;
  }
}

/** The state as text; "" if that would tell a text that is the reader's own. */
export function reviewAddress({ text, left, layer, told }, examples) {
  const example = examples.find(([, review]) => review === text);
  if ((!example && !told) || text.length > MOST_TEXT) return "";
  const fields = new Map([["review", example ? hyphened(example[0]) : OWN]]);
  if (!example) fields.set("text", packText(text));
  if (left.length) fields.set("left", left.slice(0, MOST_LEFT).join());
  if (layer >= 1) fields.set("layer", String(Math.floor(layer)));
  return fieldsText(fields);
}

/** And back: { text, left, layer, told }, or null if it is damaged. */
export function reviewFrom(address, examples) {
  const fields = fieldsOf(address);
  if (!fields) return null;
  const named = fields.get("review"), own = named === OWN;
  const example = examples.find(([name]) => hyphened(name) === named);
  const text = own ? unpackText(fields.get("text") ?? "") : example?.[1];
  const left = fields.get("left")?.split(",", MOST_LEFT + 1) ?? [];
  const layer = fields.get("layer") ?? "0";
  const known = ["review", "left", "layer", ...(own ? ["text"] : [])];
  const right = text && text.length <= MOST_TEXT && left.length <= MOST_LEFT &&
    left.every((word) => /^[a-z][a-z']{0,60}$/.test(word)) &&
    /^\d{1,4}$/.test(layer) && Number(layer) <= LAST_DEPTH &&
    [...fields.keys()].every((name) => known.includes(name));
  return right ? { text, left, layer: Number(layer), told: own, playing: false } : null;
}
