// The picture of the explorer: words gather, and their mean is on one side of a line.

import { place } from "./labels.js";
import { between } from "./numbers.js";
import { viewOf } from "./unrolled.js";

const MOST_NAMED = 40;
const FONT = "13px system-ui, sans-serif";

export function drawWords(plane, { net, judged, layer, over }) {
  plane.clear(1);
  if (!judged?.tokens) {
    const none = "No word that the model knows.";
    write(plane, net ? none : "Load the model to see the words gather.", 12, 24);
    return;
  }
  const view = viewOf(net, judged, plane.width / plane.height);
  plane.reach = view.reach;
  const k = Math.floor(layer), { tokens, means, sets } = judged;
  const at = (path) => between(path[k], path[k + 1] ?? path[k], layer - k).map(view.at);
  const scene = { ...judged, plane, layer, view, over, colours: plane.colours };
  scene.tokens = at(tokens);
  scene.mean = at(means.map((mean) => [mean]))[0];
  scene.sets = sets[Math.min(k, sets.length - 1)] ?? [];
  sides(scene);
  arrowsToFollowed(scene);
  wordsAndLeaders(scene);
  plane.marks("triangle", [scene.mean], 10)
    .fill(plane.colours.ink)
    .stroke(plane.colours.ground, 1.5);
  names(scene);
}

/** The two sides of the decoder's line, { z : <v, z> + b = 0 }. */
function sides({ plane, view: { unrolled, floor, line: { from, ahead } }, colours }) {
  const { width, height, reach } = plane, far = 8 * reach;
  const point = (along, aside) =>
    [from[0] + along * ahead[0] - aside * ahead[1],
      from[1] + along * ahead[1] + aside * ahead[0]];
  for (const [side, colour, name] of
    [[1, colours.orange, "positive"], [-1, colours.blue, "negative"]]) {
    const ends = [point(0, far), point(0, -far)];
    plane.polygon([...ends, point(2 * side * far, -far), point(2 * side * far, far)])
      .fill(colour, 0.12);
    if (unrolled) continue;
    const [x, y] = plane.pixel(point(0.75 * side * reach, 0));
    const left = Math.min(width - 60, Math.max(4, x - 25));
    write(plane, name, left, Math.min(height - 8, Math.max(16, y)));
  }
  plane.lines([[point(0, far), point(0, -far)]])
    .stroke(colours.ink, 1.3, { dash: [6, 4] });
  if (!unrolled) return;
  plane.lines([[[-far, floor], [far, floor]]]).stroke(colours.faint, 0.7, { dash: [2, 4] });
  write(plane, "← negative", 8, height - 8);
  write(plane, "positive →", width - 74, height - 8);
  write(plane, "↑ longer: leads", 8, 18);
}

function arrowsToFollowed({ plane, tokens, sets, over, colours }) {
  const arrows = (chosen) => sets.flatMap(([j], i) =>
    j !== i && chosen(i, j) ? [[tokens[i], tokens[j]]] : []);
  plane.arrows(arrows(() => true), 7).stroke(colours.ink, 0.8, { share: 0.5 });
  plane.arrows(arrows((i, j) => i === over || j === over), 7).stroke(colours.ink, 2.2);
}

function wordsAndLeaders({ plane, tokens, weights, leaders, over, colours }) {
  const leads = new Set(leaders);
  tokens.forEach((z, i) => {
    const size = 3.5 + Math.min(4, weights[i] - 1);
    if (leads.has(i)) plane.marks("star", [z], 10).fill(colours.green);
    else plane.marks("circle", [z], size).fill(colours.sky);
    plane.stroke(colours.ink, 0.8);
    if (i === over) plane.marks("circle", [z], 14).stroke(colours.ink, 2);
  });
}

/** Leaders are named always, the others at the start, where there is room. */
function names({ plane, tokens, names: words, mean, leaders, layer, over }) {
  const leads = new Set(leaders), order = [over, ...leads, ...words.keys()];
  const shown = [...new Set(order)].filter((i) => i >= 0 &&
    (leads.has(i) || i === over || (layer === 0 && words.length <= MOST_NAMED)));
  const labels = shown.map((i) => {
    const strong = leads.has(i) || i === over;
    const font = `${strong ? "bold " : ""}${FONT}`;
    const label = { at: plane.pixel(tokens[i]), text: words[i], font, gap: 9 };
    return { ...label, must: i === over, far: strong };
  });
  const marked = [...tokens.map((z) => [...plane.pixel(z), 7]), [...plane.pixel(mean), 10]];
  place(plane, labels, marked);
}

function write(plane, text, x, y) {
  plane.pen.font = FONT;
  plane.pen.fillStyle = plane.colours.ink;
  plane.pen.fillText(text, x, y);
}
