// Labels that do not collide: each is put on that side of its point where there is room.

const SIDES = [ // of a point, best first: where the label is, in x and y
  [1, -1], [-1, -1], [1, 1], [-1, 1], [1, 0], [-1, 0], [0, -1], [0, 1],
];
const HEIGHT = 14;
const FARTHER = [0, 14, 28, 42]; // pixels, for a label that may; a line leads to it

const overlap = ([a, b, c, d], [e, f, g, j]) =>
  Math.max(0, Math.min(c, g) - Math.max(a, e)) *
  Math.max(0, Math.min(d, j) - Math.max(b, f));

/**
 * Write labels { at, text, font } beside pixels, the first ones first; what is marked,
 * [x, y, radius], is kept free. A label that would hide another is left out, but not
 * one that must be there; one that may stand far off finds room there.
 */
export function place({ pen, width, height, colours }, labels, marked) {
  const taken = marked.map(([x, y, r]) => [x - r, y - r, x + r, y + r]), texts = [];
  const over = (box, list) => list.reduce((sum, other) => sum + overlap(box, other), 0);
  for (const { at, text, font, must, far, gap = 8 } of labels) {
    pen.font = font;
    const wide = pen.measureText(text).width;
    let best = null, least = Infinity;
    for (const more of far ? FARTHER : [0]) {
      for (const side of SIDES) {
        const box = beside(at, side, gap + more, wide);
        const inside = overlap(box, [2, 2, width - 2, height - 2]);
        const outside = wide * HEIGHT - inside, hidden = over(box, texts);
        const crossed = more ? crossings(at, box, texts) : 0;
        const cost =
          9 * outside + 3 * hidden + over(box, taken) + 2 * more + 40 * crossed;
        if (cost < least - 1) (least = cost), (best = { box, more, hidden });
      }
    }
    if (best.hidden > 4 && !must) continue;
    texts.push(best.box);
    if (best.more) leadTo(pen, at, best.box, colours);
    writeIn(pen, text, best.box, colours);
  }
}

/** The box of a label on one side of a point. */
function beside([x, y], [right, down], gap, wide) {
  const left = x + gap * right + (wide * (right - 1)) / 2;
  const top = y + gap * down + (HEIGHT * (down - 1)) / 2;
  return [left, top, left + wide, top + HEIGHT];
}

function writeIn(pen, text, [left, , , bottom], colours) {
  pen.lineJoin = "round"; // the ground shines through no line
  Object.assign(pen, { strokeStyle: colours.ground, lineWidth: 3, fillStyle: colours.ink });
  pen.setLineDash([]);
  pen.strokeText(text, left, bottom - 3);
  pen.fillText(text, left, bottom - 3);
}

/** The place of a label that is nearest to its point. */
function nearestOf([left, top, right, bottom], [x, y]) {
  const within = (u, low, high) => Math.min(high, Math.max(low, u));
  return [within(x, left, right), within(y, top, bottom)];
}

/** How much of the line to a label runs through others, in eighths. */
function crossings(at, box, texts) {
  const to = nearestOf(box, at), eighths = [1, 2, 3, 4, 5, 6, 7];
  const points = eighths.map((k) => at.map((x, c) => x + (k / 8) * (to[c] - x)));
  const within = ([x, y], [left, top, right, bottom]) =>
    x > left && x < right && y > top && y < bottom;
  return points.filter((p) => texts.some((other) => within(p, other))).length;
}

/** A line from a point to its label. */
function leadTo(pen, at, box, colours) {
  Object.assign(pen, { strokeStyle: colours.faint, lineWidth: 1 });
  pen.setLineDash([]);
  pen.beginPath();
  pen.moveTo(...at);
  pen.lineTo(...nearestOf(box, at));
  pen.stroke();
}
