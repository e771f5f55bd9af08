// Labels that do not collide: each is put on that side of its point where there is room.

const SIDES = [ // of a point, best first: where the label is, in x and y
  [1, -1], [-1, -1], [1, 1], [-1, 1], [1, 0], [-1, 0], [0, -1], [0, 1],
];
const HEIGHT = 14;

const overlap = ([a, b, c, d], [e, f, g, j]) =>
  Math.max(0, Math.min(c, g) - Math.max(a, e)) *
  Math.max(0, Math.min(d, j) - Math.max(b, f));

/**
 * Write labels { at, text, font } beside pixels, the first ones first; what is marked,
 * [x, y, radius], is kept free. A label that would hide another is left out, but not
 * one that must be there.
 */
export function place({ pen, width, height, colours }, labels, marked) {
  const taken = marked.map(([x, y, r]) => [x - r, y - r, x + r, y + r]), texts = [];
  for (const { at: [x, y], text, font, must, gap = 8 } of labels) {
    pen.font = font;
    const wide = pen.measureText(text).width;
    let best = null, least = Infinity;
    for (const [right, down] of SIDES) {
      const left = x + gap * right + (wide * (right - 1)) / 2;
      const top = y + gap * down + (HEIGHT * (down - 1)) / 2;
      const box = [left, top, left + wide, top + HEIGHT];
      const inside = overlap(box, [2, 2, width - 2, height - 2]);
      const outside = wide * HEIGHT - inside;
      const over = (list) => list.reduce((sum, other) => sum + overlap(box, other), 0);
      const cost = 9 * outside + 3 * over(texts) + over(taken);
      if (cost < least - 1) (least = cost), (best = box);
    }
    const hidden = texts.some((other) => overlap(best, other) > 4);
    if (hidden && !must) continue;
    texts.push(best);
    pen.lineJoin = "round"; // the ground shines through no line
    Object.assign(pen, { strokeStyle: colours.ground, lineWidth: 3, fillStyle: colours.ink });
    pen.setLineDash([]);
    pen.strokeText(text, best[0], best[3] - 3);
    pen.fillText(text, best[0], best[3] - 3);
  }
}
