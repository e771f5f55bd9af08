// A canvas as a plane around 0, and what is drawn there.

/** Points to pixels and back; a path is laid, then filled and stroked. */
export class Plane {
  width = 1;
  height = 1;
  reach = 1; // of the shorter side: it shows [-reach, reach]

  constructor(canvas, root) {
    Object.assign(this, { canvas, root, pen: canvas.getContext("2d") });
  }

  clear(reach) { // once a frame: asking the page for sizes and colours is slow
    const { canvas, pen } = this, { clientWidth: width, clientHeight: height } = canvas;
    const sharp = canvas.width / width;
    Object.assign(this, { width, height, reach, colours: coloursOf(this.root) });
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.fillStyle = this.colours.ground;
    pen.fillRect(0, 0, width, height);
  }

  get scale() {
    return Math.min(this.width, this.height) / 2 / this.reach;
  }

  pixel([x, y]) {
    return [this.width / 2 + x * this.scale, this.height / 2 - y * this.scale];
  }

  /** The point under a pointer. */
  point({ clientX, clientY }) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    return [clientX - left - width / 2, top + height / 2 - clientY]
      .map((x) => x / this.scale);
  }

  /** A path of several lines, each through some points. */
  lines(lines, close = false) {
    this.pen.beginPath();
    for (const points of lines) {
      points.forEach((z, i) => this.pen[i ? "lineTo" : "moveTo"](...this.pixel(z)));
      if (close) this.pen.closePath();
    }
    return this;
  }

  polygon(points) {
    return this.lines([points], true);
  }

  /** A path of stars with five points, circles, their right halves or polygons. */
  marks(shape, points, radius) {
    this.pen.beginPath();
    for (const z of points) mark(this.pen, shape, this.pixel(z), radius);
    return this;
  }

  /** A path of arrows [from, to], which end a gap before the token. */
  arrows(arrows, gap) {
    this.pen.beginPath();
    for (const ends of arrows) arrow(this.pen, ...ends.map((z) => this.pixel(z)), gap);
    return this;
  }

  fill(colour, share = 1) {
    this.pen.globalAlpha = share;
    this.pen.fillStyle = colour;
    this.pen.fill();
    this.pen.globalAlpha = 1;
    return this;
  }

  stroke(colour, thick, { dash = [], share = 1 } = {}) {
    this.pen.globalAlpha = share;
    Object.assign(this.pen, { strokeStyle: colour, lineWidth: thick });
    this.pen.setLineDash(dash);
    this.pen.stroke();
    this.pen.globalAlpha = 1;
    return this;
  }
}

/** The colours that live.css sets for the page's theme. */
function coloursOf(root) {
  const style = getComputedStyle(root);
  const names = ["ink", "ground", "faint", "orange", "sky", "green", "blue", "red"];
  const value = (name) => style.getPropertyValue(`--hm-${name}`).trim();
  return Object.fromEntries(names.map((name) => [name, value(name)]));
}

const CORNERS = { star: 10, triangle: 3, diamond: 4, square: 4, pentagon: 5 };

function mark(pen, shape, [x, y], radius) {
  if (shape === "circle") {
    pen.moveTo(x + radius, y);
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  if (shape === "half") {
    pen.moveTo(x, y - radius);
    pen.arc(x, y, radius, -Math.PI / 2, Math.PI / 2);
    pen.closePath();
    return;
  }
  const turn = shape === "square" ? Math.PI / 4 : 0;
  for (let i = 0; i < CORNERS[shape]; i++) {
    const r = shape === "star" && i % 2 ? 0.42 * radius : radius;
    const angle = (2 * Math.PI * i) / CORNERS[shape] + turn;
    pen[i ? "lineTo" : "moveTo"](x + r * Math.sin(angle), y - r * Math.cos(angle));
  }
  pen.closePath();
}

function arrow(pen, [x, y], [u, v], gap) {
  const length = Math.hypot(u - x, v - y);
  if (length < 2 * gap) return;
  const [dx, dy] = [(u - x) / length, (v - y) / length], head = Math.min(7, length / 3);
  const [a, b] = [u - gap * dx, v - gap * dy];
  pen.moveTo(x + 0.6 * gap * dx, y + 0.6 * gap * dy);
  pen.lineTo(a, b);
  pen.moveTo(a - head * (dx + 0.45 * dy), b - head * (dy - 0.45 * dx));
  pen.lineTo(a, b);
  pen.lineTo(a - head * (dx - 0.45 * dy), b - head * (dy + 0.45 * dx));
}
