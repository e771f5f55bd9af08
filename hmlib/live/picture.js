// The picture of the plane: one function for each thing that can be seen, back to
// front.

import { hull } from "./geometry.js";
import { place } from "./labels.js";
import { times } from "./numbers.js";
import { lookOf, treesOf } from "./trees.js";

const MOST_HULLS = 8;
const MANY = 100; // tokens: more are drawn smaller
const MOST_NUMBERED = 40;
const MOST_ARROWS = 6; // of a token; those of the chosen one are drawn in any case
const TOUCHING = 8; // pixels: tokens that are as near have one label
const MOST_JOINED = 6; // in a label

const BEHIND = { hulls, K: polytope, halfspace, limit: ends, trails };

/** What is shown of a state, at its layer or between two. */
export function draw(plane, state) {
  const { course, show } = state;
  plane.clear(state.reach);
  axes(plane);
  const now = course.between(state.layer);
  if (!now) return;
  const scene = {
    ...now, course, plane,
    A: course.A,
    layer: Math.floor(state.layer),
    starts: course.tokens,
    chosen: course.inverse[state.chosen],
    lit: course.inverse[litIn(state)] ?? -1,
    trees: show.includes("forest") ? treesOf(now, course.A, course.born) : null,
    colours: plane.colours,
    many: now.tokens.length > MANY,
  };
  for (const [name, picture] of Object.entries(BEHIND))
    if (show.includes(name)) picture(scene);
  if (scene.lit >= 0 && !show.includes("halfspace")) halfspace(scene, scene.lit, 0.1);
  if (scene.layer) origins(scene);
  if (show.includes("arrows")) followers(scene);
  if (scene.lit >= 0) connections(scene);
  marks(scene);
  ring(scene);
  if (state.probe && state.probed) ghost(scene, state.probed);
  if (scene.tokens.length <= MOST_NUMBERED) labels(scene);
}

/** The token that is looked at: the one under the pointer, or chosen by keys. */
function litIn({ over, focused, held, chosen }) {
  if (over >= 0) return over;
  return focused && !held ? chosen : -1;
}

function axes(plane) {
  const far = 9 * plane.reach;
  plane.lines([[[-far, 0], [far, 0]], [[0, -far], [0, far]]])
    .stroke(plane.colours.faint, 0.7);
}

function hulls({ plane, course, tokens, layer, colours }) {
  for (let k = 0; k <= Math.min(layer, MOST_HULLS); k++) {
    const last = k === layer || k === MOST_HULLS;
    const points = last ? tokens : course.at(k).tokens;
    plane.polygon(hull(points).map((i) => points[i]))
      .fill(colours.sky, 0.12)
      .stroke(colours.blue, k === layer ? 1.5 : 0.7);
  }
}

/** K, and the points of S(K), framed. */
function polytope({ plane, course: { end, K }, colours }) {
  if (!K) return;
  plane.polygon(K.corners)
    .fill(colours.ground)
    .fill(colours.orange, 0.18)
    .stroke(colours.orange, 1.5, { dash: end.certified ? [] : [3, 4] });
  plane.marks("square", K.points.map((s) => s.point), 14).stroke(colours.orange, 2);
}

function halfspace({ plane, tokens, chosen, A, colours }, i = chosen, share = 0.16) {
  const z = tokens[i], look = times(A, z), length = Math.hypot(...look) || 1;
  const u = look.map((x) => x / length), far = 4 * plane.reach;
  const from = (p, ahead, aside) =>
    [p[0] + ahead * u[0] - aside * u[1], p[1] + ahead * u[1] + aside * u[0]];
  const edge = [from(z, 0, far), from(z, 0, -far)];
  plane.polygon([...edge, from(edge[1], 2 * far, 0), from(edge[0], 2 * far, 0)])
    .fill(colours.green, share);
  plane.lines([edge]).stroke(colours.green, 1.2, { dash: [6, 4] });
  plane.arrows([[z, from(z, 0.35 * plane.reach, 0)]], 6).stroke(colours.green, 2);
}

function ends({ plane, course: { end, first }, tokens, colours }) {
  if (!end) return;
  const limits = first.map((i) => end.tokens[i]);
  plane.lines(tokens.map((z, i) => [z, limits[i]]))
    .stroke(colours.ink, 0.8, { dash: [2, 4] });
  plane.marks("diamond", limits, 6)
    .stroke(colours.ink, 1.3, { dash: end.certified ? [] : [2, 2] });
}

function trails({ plane, course, tokens, layer, colours }) {
  if (!layer) return;
  const path = Array.from({ length: layer + 1 }, (_, k) => course.at(k).tokens);
  const trail = (_, i) => [...path, tokens].map((Z) => Z[i]);
  plane.lines(tokens.map(trail)).stroke(colours.blue, 0.8);
}

/** Where the tokens started, and can be dragged. */
function origins({ plane, starts, colours }) {
  plane.marks("circle", starts, 3).stroke(colours.faint, 1);
}

function followers({ plane, tokens, sets, chosen, many, colours }) {
  const drawn = [];
  sets.forEach((set, i) => {
    if (set.length > MOST_ARROWS && i !== chosen) return;
    for (const j of set) if (j !== i) drawn.push([tokens[i], tokens[j]]);
  });
  plane.arrows(drawn, many ? 4 : 8)
    .stroke(colours.ink, many ? 0.5 : 1, { share: 0.75 });
}

/** Whom the token that is looked at follows, and who follows it. */
function connections({ plane, tokens, sets, lit, colours }) {
  const to = sets[lit].filter((j) => j !== lit).map((j) => [tokens[lit], tokens[j]]);
  plane.arrows(to, 8).stroke(colours.blue, 2.5);
  const from = tokens.filter((_, i) => i !== lit && sets[i].includes(lit));
  plane.marks("circle", from, 10).stroke(colours.blue, 1.5, { dash: [3, 3] });
}

/**
 * Leaders are stars; the others have the look of their tree, and one path for each
 * look. Who follows several is hollow on its right.
 */
function marks({ plane, course, tokens, sets, layer, trees, many, colours }) {
  const { born } = course, leads = (i) => born.get(i) <= layer;
  const r = many ? 3 : 5.5, thin = many ? 0.4 : 0.8, alike = new Map();
  tokens.forEach((z, i) => {
    const rank = trees?.[i] ?? 0;
    if (leads(i)) return;
    if (!alike.has(rank)) alike.set(rank, []);
    alike.get(rank).push(z);
  });
  for (const [rank, points] of alike) {
    const [colour, shape] = lookOf(rank);
    plane.marks(shape, points, shape === "circle" ? r : 1.25 * r)
      .fill(colours[colour])
      .stroke(colours.ink, thin);
  }
  plane.marks("half", tokens.filter((_, i) => sets[i].length > 1 && !leads(i)), r)
    .fill(colours.ground)
    .stroke(colours.ink, thin);
  tokens.forEach((z, i) => {
    if (!leads(i)) return;
    const colour = trees ? lookOf(trees[i])[0] : "orange";
    plane.marks("star", [z], 11).fill(colours[colour]).stroke(colours.ink, thin);
  });
}

function ring({ plane, tokens, chosen, colours }) {
  plane.marks("circle", [tokens[chosen]], 13).stroke(colours.ink, 2);
}

/** One more token under the pointer, and where it would end. */
function ghost({ plane, colours }, { tokens, end }) {
  const z = tokens.at(-1), last = tokens.length - 1;
  if (end?.certified) {
    const leads = end.leaders.includes(last);
    plane.lines([[z, end.tokens[last]]]).stroke(colours.red, 2, { dash: [2, 4] });
    plane.marks("circle", [end.tokens[last]], leads ? 4 : 15).stroke(colours.red, 2);
  }
  plane.marks(end?.leaders.includes(last) ? "star" : "circle", [z], 8)
    .fill(colours.ground)
    .stroke(colours.red, 2);
}

/** The numbers of tokens, of those that touch as one label. */
function labels({ plane, course, tokens, lit, chosen }) {
  const groups = [];
  tokens.forEach((z, k) => {
    const [x, y] = plane.pixel(z);
    const near = ({ at: [u, v] }) => Math.hypot(x - u, y - v) < TOUCHING;
    const group = groups.find(near) ?? { at: [x, y], names: [] };
    if (!group.names.length) groups.push(group);
    group.names.push(...course.withCopies([k]).map((i) => i + 1));
    group.must ||= k === lit || k === chosen;
  });
  const written = groups.map(({ at, names, must }) => {
    const some = names.sort((a, b) => a - b).slice(0, MOST_JOINED).join(", ");
    const text = names.length > MOST_JOINED ? `${some}, …` : some;
    return { at, text, must, font: "13px system-ui, sans-serif" };
  });
  const marked = groups.map(({ at }) => [...at, 7]);
  place(plane, written.sort((a, b) => Boolean(b.must) - Boolean(a.must)), marked);
}
