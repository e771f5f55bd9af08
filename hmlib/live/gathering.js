// The picture of the explorer: words gather, and their mean is on one side of a line.

import { between, farthest } from "./numbers.js";

const MOST_NAMED = 25;

export function drawWords(plane, { net, judged, layer }) {
  plane.clear(1.2 * (farthest(judged?.tokens?.[0] ?? []) || 1));
  if (!judged?.tokens) {
    const none = "No word that the model knows.";
    write(plane, net ? none : "Load the model to see the words gather.", 12, 24);
    return;
  }
  const k = Math.floor(layer), { tokens, means, sets } = judged;
  const at = (path) => between(path[k], path[k + 1] ?? path[k], layer - k);
  const scene = { ...judged, plane, layer, net, colours: plane.colours };
  scene.tokens = at(tokens);
  scene.mean = at(means.map((mean) => [mean]))[0];
  scene.sets = sets[Math.min(k, sets.length - 1)] ?? [];
  sides(scene);
  arrowsToFollowed(scene);
  wordsAndLeaders(scene);
  plane.marks("triangle", [scene.mean], 10)
    .fill(plane.colours.ink)
    .stroke(plane.colours.ground, 1.5);
}

/** The two sides of the decoder's line, { z : <v, z> + b = 0 }. */
function sides({ plane, net: { weight, bias }, colours }) {
  const { width, height, reach } = plane, length = Math.hypot(...weight) || 1;
  const u = weight.map((x) => x / length), far = 4 * reach;
  const from = (ahead, aside) => {
    const along = ahead - bias / length;
    return [along * u[0] - aside * u[1], along * u[1] + aside * u[0]];
  };
  for (const [side, colour, name] of
    [[1, colours.orange, "positive"], [-1, colours.blue, "negative"]]) {
    const ahead = 2 * side * far;
    plane.polygon([from(0, far), from(0, -far), from(ahead, -far), from(ahead, far)])
      .fill(colour, 0.12);
    const [x, y] = plane.pixel(from(0.75 * side * reach, 0));
    const left = Math.min(width - 60, Math.max(4, x - 25));
    write(plane, name, left, Math.min(height - 8, Math.max(16, y)));
  }
  plane.lines([[from(0, far), from(0, -far)]])
    .stroke(colours.ink, 1.3, { dash: [6, 4] });
}

function arrowsToFollowed({ plane, tokens, sets, colours }) {
  const arrows = sets.map(([j], i) => [tokens[i], tokens[j]]);
  const moving = arrows.filter((_, i) => sets[i][0] !== i);
  plane.arrows(moving, 7).stroke(colours.ink, 0.8, { share: 0.5 });
}

function wordsAndLeaders({ plane, tokens, names, weights, leaders, layer, colours }) {
  const leads = new Set(leaders);
  tokens.forEach((z, i) => {
    if (leads.has(i)) return;
    const size = 3.5 + Math.min(4, weights[i] - 1);
    plane.marks("circle", [z], size).fill(colours.sky).stroke(colours.ink, 0.6);
  });
  const named = names.length <= MOST_NAMED && layer === 0;
  if (named) tokens.forEach((z, i) => leads.has(i) || label(plane, names[i], z));
  for (const i of leads) {
    plane.marks("star", [tokens[i]], 10).fill(colours.green).stroke(colours.ink, 1);
    label(plane, names[i], tokens[i], "bold ");
  }
}

/** The name of a token beside it, within the picture. */
function label(plane, text, z, weight = "") {
  plane.pen.font = font(weight);
  const [x, y] = plane.pixel(z), wide = plane.pen.measureText(text).width;
  const left = Math.max(2, Math.min(plane.width - wide - 6, x + 9));
  write(plane, text, left, Math.max(12, y - 9), weight);
}

const font = (weight) => `${weight}13px system-ui, sans-serif`;

function write(plane, text, x, y, weight = "") {
  plane.pen.font = font(weight);
  plane.pen.fillStyle = plane.colours.ink;
  plane.pen.fillText(text, x, y);
}
