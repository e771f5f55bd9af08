// What the live figures share: elements made of text alone, colours of the page, frames only while something moves.

/** An element with properties, attributes (aria, data, role, for) and children; strings are text, never markup. */
function h(tag, about = {}, ...children) {
  const node = tag.includes(":")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && !tag.includes(":")) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.dataset.lmSuppressShortcuts = "true"; // else JupyterLab takes arrows and letters for its own
  node.append(...children);
  return node;
}

/** A labelled control; the label stands before it, a value after it. */
const field = (label, control, ...after) => h("label", { className: "hm-field" }, h("span", {}, label), control, ...after);

/** The colours that live.css sets for the page's theme. */
function colours(root) {
  const style = getComputedStyle(root);
  const names = ["ink", "ground", "faint", "orange", "sky", "green", "blue", "red"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--hm-${name}`).trim()]));
}

const still = matchMedia("(prefers-reduced-motion: reduce)"), dark = matchMedia("(prefers-color-scheme: dark)");

/**
 * A canvas that is drawn when it has to be: work(now) runs in an animation frame after ask(), and again in the next one
 * if it returns true. The theme, the size of the window and the screen ask too. stop() lets go of everything.
 */
function animate(root, canvas, work) {
  let frame = 0;
  const run = (now) => {
    frame = 0;
    if (work(now)) ask();
  };
  const ask = () => (frame ||= requestAnimationFrame(run));
  const resized = new ResizeObserver(() => {
    const { width, height } = canvas.getBoundingClientRect(), sharp = Math.min(devicePixelRatio || 1, 2);
    canvas.width = Math.max(1, Math.round(width * sharp));
    canvas.height = Math.max(1, Math.round(height * sharp));
    ask();
  });
  resized.observe(canvas);
  const theme = new MutationObserver(ask);
  for (const node of [document.documentElement, document.body])
    theme.observe(node, { attributeFilter: ["data-theme", "data-jp-theme-light"] });
  still.addEventListener("change", ask);
  dark.addEventListener("change", ask);
  const stop = () => {
    cancelAnimationFrame(frame);
    resized.disconnect();
    theme.disconnect();
    still.removeEventListener("change", ask);
    dark.removeEventListener("change", ask);
  };
  return { ask, stop };
}

/** Add to the path a star with five points, a regular polygon or a circle. */
function mark(pen, shape, [x, y], r) {
  if (shape === "circle") {
    pen.moveTo(x + r, y);
    pen.arc(x, y, r, 0, 2 * Math.PI);
  } else {
    const corners = { star: 10, triangle: 3, diamond: 4, square: 4, pentagon: 5 }[shape];
    const turn = shape === "square" ? Math.PI / 4 : 0;
    for (let i = 0; i < corners; i++) {
      const far = shape === "star" && i % 2 ? 0.42 * r : r, angle = (2 * Math.PI * i) / corners + turn;
      pen[i ? "lineTo" : "moveTo"](x + far * Math.sin(angle), y - far * Math.cos(angle));
    }
    pen.closePath();
  }
}

function arrow(pen, [x, y], [u, v], gap) {
  const far = Math.hypot(u - x, v - y);
  if (far < 2 * gap) return;
  const [dx, dy] = [(u - x) / far, (v - y) / far], [a, b] = [u - gap * dx, v - gap * dy], head = Math.min(7, far / 3);
  pen.moveTo(x + 0.6 * gap * dx, y + 0.6 * gap * dy);
  pen.lineTo(a, b);
  pen.moveTo(a - head * (dx + 0.45 * dy), b - head * (dy - 0.45 * dx));
  pen.lineTo(a, b);
  pen.lineTo(a - head * (dx - 0.45 * dy), b - head * (dy + 0.45 * dx));
}

/** Tell a screen reader, once what happens has come to rest. */
function announcer(node) {
  let timer = 0;
  return (text) => {
    clearTimeout(timer);
    timer = setTimeout(() => text !== node.textContent && (node.textContent = text), 500);
  };
}

/** Copy a text; where the browser does not let us, the text stays on the page, selected. */
async function copy(text, shown) {
  shown.textContent = text;
  shown.hidden = false;
  getSelection().selectAllChildren(shown);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
