// The picture of the plane: one function for each thing that can be seen, back to
// front.

import { hull } from "./geometry.js";
import { times } from "./numbers.js";
import { LOOKS, treesOf } from "./trees.js";

const MOST_HULLS = 8;
const MANY = 100; // tokens: more are drawn smaller
const MOST_NUMBERED = 40;
const MOST_ARROWS = 6; // of a token; those of the chosen one are drawn in any case

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
    A: state.A,
    layer: Math.floor(state.layer),
    starts: state.tokens,
    chosen: course.inverse[state.chosen],
    trees: show.includes("forest") ? treesOf(now, state.A) : null,
    colours: plane.colours,
    many: now.tokens.length > MANY,
  };
  for (const [name, picture] of Object.entries(BEHIND))
    if (show.includes(name)) picture(scene);
  if (scene.layer) origins(scene);
  if (show.includes("arrows")) followers(scene);
  marks(scene);
  ring(scene);
  if (scene.tokens.length <= MOST_NUMBERED) labels(scene);
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

/** K, and the points of S(K): corners as circles, those on edges as squares. */
function polytope({ plane, course: { end, K }, colours }) {
  if (!K) return;
  plane.polygon(K.corners)
    .fill(colours.orange, 0.18)
    .stroke(colours.orange, 1.5, { dash: end.certified ? [] : [3, 4] });
  const on = (corners) =>
    K.points.filter((s) => s.face.length === corners).map((s) => s.point);
  plane.marks("circle", on(1), 11).stroke(colours.orange, 1);
  plane.marks("square", on(2), 6).fill(colours.green).stroke(colours.ink, 1);
}

function halfspace({ plane, tokens, chosen, A, colours }) {
  const z = tokens[chosen], look = times(A, z), length = Math.hypot(...look) || 1;
  const u = look.map((x) => x / length), far = 4 * plane.reach;
  const from = (p, ahead, aside) =>
    [p[0] + ahead * u[0] - aside * u[1], p[1] + ahead * u[1] + aside * u[0]];
  const edge = [from(z, 0, far), from(z, 0, -far)];
  plane.polygon([...edge, from(edge[1], 2 * far, 0), from(edge[0], 2 * far, 0)])
    .fill(colours.green, 0.16);
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

/**
 * Leaders are stars; the others have the look of their tree, and one path for each
 * look.
 */
function marks({ plane, course, tokens, layer, trees, many, colours }) {
  const { born } = course, leads = (i) => born.get(i) <= layer;
  const lookOf = (i) => LOOKS[(trees?.[i] ?? 0) % LOOKS.length];
  const r = many ? 3 : 5.5, thin = many ? 0.4 : 0.8;
  for (const look of LOOKS) {
    const alike = tokens.filter((_, i) => !leads(i) && lookOf(i) === look);
    const [colour, shape] = look;
    plane.marks(shape, alike, shape === "circle" ? r : 1.25 * r)
      .fill(colours[colour])
      .stroke(colours.ink, thin);
  }
  tokens.forEach((z, i) => {
    if (!leads(i)) return;
    const colour = trees ? lookOf(i)[0] : "orange";
    plane.marks("star", [z], 11).fill(colours[colour]).stroke(colours.ink, thin);
  });
}

function ring({ plane, tokens, chosen, colours }) {
  plane.marks("circle", [tokens[chosen]], 13).stroke(colours.ink, 2);
}

function labels({ plane, course, tokens, colours }) {
  plane.pen.fillStyle = colours.ink;
  plane.pen.font = "12px system-ui, sans-serif";
  course.first.forEach((i, k) => {
    const [x, y] = plane.pixel(tokens[k]);
    plane.pen.fillText(i + 1, x + 9, y - 9);
  });
}
