// Where the words of a review are drawn. They live near an arc, too thin to be seen; so
// it is unrolled: how far a word is turned to the positive side goes along, how long
// it is, up. What shortens a word on its way is drawn below, squeezed.

import { dot, farthest } from "./numbers.js";

const THIN = 0.05; // an arc: initial lengths differ by less, relative to the longest
const WIDE = 0.86, LOW = -0.82, FLOOR = -0.25, HIGH = 0.8; // of the half plane

/**
 * { reach, at(z), line } for a plane of this shape: points of the plane, and the
 * decoder's line. Where words do not lie near an arc, they stay where they are.
 */
export function viewOf({ weight, bias }, { tokens, means }, wide) {
  const norm = Math.hypot(...weight) || 1, v = weight.map((x) => x / norm);
  const across = [v[1], -v[0]], all = [...tokens.flat(), ...means];
  const lengths = tokens[0].map((z) => Math.hypot(...z)), longest = Math.max(...lengths);
  const side = Math.sign(dot(across, tokens[0][0])) || 1;
  const arc = all.every((z) => side * dot(across, z) > 0);
  const shortest = Math.min(...lengths), thin = longest - shortest < THIN * longest;
  if (!arc || !thin) return flat(tokens, v, bias / norm);

  const turn = (z) => Math.atan2(dot(v, z), side * dot(across, z));
  const most = Math.max(0.05, ...all.map((z) => Math.abs(turn(z))));
  const span = longest - shortest || 0.001 * longest;
  const squeeze = (length) => Math.asinh((shortest - length) / span);
  const deepest = Math.max(1, ...all.map((z) => squeeze(Math.hypot(...z))));
  const along = (angle) => (WIDE * wide * angle) / most;
  const up = (length) => length >= shortest
    ? FLOOR + ((HIGH - FLOOR) * (length - shortest)) / span
    : FLOOR + ((LOW - FLOOR) * squeeze(length)) / deepest;
  const even = along(Math.asin(Math.max(-1, Math.min(1, -bias / norm / longest))));
  return {
    unrolled: true,
    reach: 1,
    at: (z) => [along(turn(z)), up(Math.hypot(...z))],
    line: { from: [even, 0], ahead: [1, 0] },
    floor: FLOOR,
  };
}

function flat(tokens, v, offset) {
  const from = v.map((x) => -offset * x);
  const reach = 1.2 * (farthest(tokens[0]) || 1);
  return { unrolled: false, reach, at: (z) => z, line: { from, ahead: v } };
}
