// The playground: a plane of tokens to drag, with the dials of the model. What it shows is computed by hardmax.js.

import { clusterPoints, distinct, hull, isDefinite, limiting } from "./hardmax.js";
import { animate, announcer, arrow, colours, copy, field, h, mark, still } from "./live.js";

const LAYERS = 30; // that can always be chosen; more while tokens have not settled by then
const WORK = 4; // milliseconds of a frame that may go into the limit; what is left goes into the next frame
const SPEED = 700; // milliseconds for a layer, when playing
const SHOW = { // what can be shown, and how it is called
  arrows: "who follows whom",
  forest: "trees of the forest",
  trails: "trails",
  halfspace: "half-space of the chosen token",
  hulls: "shrinking hulls",
  K: "K, and S(K) as squares",
  limit: "limit of each token",
};
const TREES = [["blue", "circle"], ["red", "square"], ["green", "diamond"], ["sky", "triangle"], ["faint", "pentagon"]];

const round = (x, digits = 2) => Math.round(x * 10 ** digits) / 10 ** digits + 0;
const text = ([x, y], digits = 2) => `(${x.toFixed(digits)}, ${y.toFixed(digits)})`;
const list = (indices, most = 12) =>
  indices.slice(0, most).map((i) => i + 1).join(", ") + (indices.length > most ? ", …" : "");
const alphaOf = (position) => Number((10 ** (position / 40)).toPrecision(2)); // the dial is logarithmic
const positionOf = (alpha) => Math.round(40 * Math.log10(alpha));

/** A symmetric positive definite matrix as the ellipse <A x, x> = 1, { angle, first, second }, and back. */
function ellipseOf(A) {
  const [[a, b], [, d]] = A ?? [[1, 0], [0, 1]], half = (a + d) / 2, root = Math.hypot((a - d) / 2, b);
  const angle = root ? Math.atan2(2 * b, a - d) / 2 + Math.PI / 2 : 0; // of the longer axis
  return { angle: (angle + 2 * Math.PI) % Math.PI, first: 1 / Math.sqrt(half - root), second: 1 / Math.sqrt(half + root) };
}
function matrixOf({ angle, first, second }) {
  const c = Math.cos(angle), s = Math.sin(angle), p = first ** -2, q = second ** -2;
  const b = round((p - q) * c * s), A = [[round(p * c * c + q * s * s), b], [b, round(p * s * s + q * c * c)]];
  return A[0][0] === 1 && b === 0 && A[1][1] === 1 ? null : A;
}

function render({ model, el }) {
  // What is on screen: the traits, and besides them what nobody else needs to know.
  let Z = model.get("tokens"), alpha = model.get("alpha"), A = model.get("A"), layer = model.get("layer");
  let chosen = 0, playing = 0, steps = null, end = null, run = null, ellipse = ellipseOf(A), reach = 1, K = null, first, of;
  const show = new Set(model.get("show")), presets = model.get("presets");

  // The elements.
  const canvas = h("canvas", { tabIndex: 0, role: "application", "aria-roledescription": "plane of tokens" });
  const pen = canvas.getContext("2d");
  const preset = h("select", { onchange: () => choose(preset.value) },
    ...Object.keys(presets).map((name) => h("option", { value: name }, name)), h("option", { value: "" }, "your own"));
  const about = h("p", { className: "hm-about" });
  const alphaDial = h("input", { type: "range", min: -80, max: 60, oninput: () => change({ alpha: alphaOf(+alphaDial.value) }) });
  const alphaShown = h("output");
  const layerDial = h("input", { type: "range", min: 0, max: LAYERS, oninput: () => (pause(), change({ layer: +layerDial.value })) });
  const layerShown = h("output");
  const play = h("button", { type: "button", onclick: () => (playing ? pause() : start()) }, "Play");
  const boxes = Object.entries(SHOW).map(([name, label]) => {
    const box = h("input", { type: "checkbox", checked: show.has(name), name, onchange: () => {
      box.checked ? show.add(name) : show.delete(name);
      model.set("show", [...show]);
      save();
      refresh();
    } });
    return h("label", { className: "hm-box" }, box, h("span", {}, label));
  });
  const number = (label, oninput, about) => h("input", { type: "number", "aria-label": label, oninput, ...about });
  const which = number("number of the chosen token", () => Z[which.value - 1] && pick(which.value - 1), { min: 1, step: 1 });
  const place = [0, 1].map((c) => {
    const input = number(`${"xy"[c]} of the chosen token`, () => {
      if (input.value !== "" && Number.isFinite(+input.value)) put(chosen, Z[chosen].map((x, k) => (k === c ? +input.value : x)), false);
    }, { step: 0.05 });
    return input;
  });
  const many = number("how many random tokens", () => {}, { min: 1, max: 500, value: 20 });
  const button = (label, onclick) => h("button", { type: "button", onclick }, label);
  const copied = h("span", { className: "hm-note" }), code = h("pre", { hidden: true, tabIndex: 0, "aria-label": "hmlib code" });
  const says = h("p", { className: "hm-status" }), aloud = h("p", { className: "hm-aloud", role: "status" });
  const announce = announcer(aloud);

  const outline = h("svg:ellipse", { class: "hm-outline" });
  const handles = [0, 1].map((axis) => h("svg:circle", { r: 8, tabindex: 0, role: "slider", class: "hm-handle" }));
  const dial = h("svg:svg", { viewBox: "-80 -80 160 160", class: "hm-dial", role: "group", "aria-label": "the matrix A as an ellipse" },
    h("svg:path", { d: "M-78 0H78M0-78V78", class: "hm-cross" }), outline, ...handles);
  const matrix = h("output", { className: "hm-matrix" });

  const root = h("div", { className: "hm-live", role: "group", "aria-label": "Playground: tokens in the plane, and who follows whom" },
    h("div", { className: "hm-columns" }, h("div", { className: "hm-stage" }, canvas, says, aloud),
    h("div", { className: "hm-controls" },
      field("Cloud", preset), about,
      field("Layer", layerDial, layerShown),
      h("div", { className: "hm-row" }, play, button("Add token", () => add()), button("Remove token", () => remove())),
      field("α", alphaDial, alphaShown),
      h("div", { className: "hm-row" }, field("Token", which), field("x", place[0]), field("y", place[1])),
      h("fieldset", {}, h("legend", {}, "Show"), ...boxes),
      h("fieldset", { className: "hm-A" }, h("legend", {}, "Matrix A: the ellipse ⟨Ax, x⟩ = 1"), dial,
        h("div", {}, matrix, button("Back to I", () => change({ A: null })))),
      h("div", { className: "hm-row" }, button("Random tokens", random), many),
      h("div", { className: "hm-row" }, button("Copy as Python", async () => {
        copied.textContent = (await copy(python(), code)) ? "copied" : "select and copy";
      }), copied), code,
      h("details", {}, h("summary", {}, "Keys and gestures"), h("p", {},
        "Drag a token, or its starting point (hollow) at a later layer. Double-click the plane to add one there. " +
        "With the plane in focus: N and P choose the next and the previous token, arrow keys move it (with Shift in small steps), " +
        "Insert adds a token, Delete removes the chosen one, [ and ] go through the layers, Space plays. " +
        "On the ellipse: drag the handles, or focus one and use the arrow keys.")))));
  root.dataset.live = "playground";
  el.append(root);

  // Changes. Whoever causes one, it goes through here: the traits, the dials, the picture.
  let saving = 0;
  const save = () => (saving ||= setTimeout(() => ((saving = 0), model.save_changes()), 80)); // not at every pixel
  function change(next) {
    if ("tokens" in next) Z = next.tokens;
    if ("alpha" in next) alpha = next.alpha;
    if ("layer" in next) layer = next.layer;
    if ("A" in next && JSON.stringify(next.A) !== JSON.stringify(A)) {
      A = next.A;
      ellipse = next.ellipse ?? ellipseOf(A);
    }
    for (const name of ["tokens", "alpha", "A", "layer"]) if (name in next) model.set(name, next[name]);
    const moved = "tokens" in next || "alpha" in next || "A" in next;
    if (moved && !("preset" in next)) next.preset = "";
    if ("preset" in next) model.set("preset", next.preset);
    save();
    if (moved) begin();
    refresh();
  }
  function begin() { // the run to the limit, from the start; frames carry it on
    chosen = Math.min(chosen, Z.length - 1);
    const far = Math.max(...Z.map((z) => Math.max(Math.abs(z[0]), Math.abs(z[1]))));
    if (!dragging && (far > reach || far < 0.5 * reach)) reach = 1.15 * (far || 1);
    ({ first, of } = distinct(Z)); // the run knows copies as one token
    steps = limiting(Z, alpha, A);
    run = end = K = null;
  }
  function carryOn() {
    const until = performance.now() + WORK;
    while (steps && performance.now() < until) {
      const { done, value } = steps.next();
      if (done) (end = value), (steps = null);
      else run = value;
    }
  }
  const outside = { tokens: () => Z, alpha: () => alpha, A: () => A, layer: () => layer };
  const heard = Object.entries(outside).map(([name, mine]) => {
    const hear = () => {
      if (JSON.stringify(model.get(name)) === JSON.stringify(mine())) return;
      if (name === "tokens") Z = model.get(name);
      if (name === "alpha") alpha = model.get(name);
      if (name === "A") (A = model.get(name)), (ellipse = ellipseOf(A));
      if (name === "layer") layer = model.get(name);
      if (name !== "layer") begin();
      refresh();
    };
    model.on(`change:${name}`, hear);
    return [name, hear];
  });

  function choose(name) {
    const { tokens, alpha: a, A: B, layer: k = 0 } = presets[name] ?? { tokens: Z, alpha, A, layer };
    pause();
    chosen = 0;
    reach = 0;
    change({ tokens, alpha: a, A: B, layer: k, preset: name });
  }
  const pick = (i) => ((chosen = (i + Z.length) % Z.length), refresh());
  const put = (i, z, rounded = true) => change({ tokens: Z.map((w, k) => (k === i ? (rounded ? z.map((x) => round(x)) : z) : w)) });
  function add(z) {
    const angle = 2.4 * Z.length; // turns by the golden angle: new tokens do not hide one another
    chosen = Z.length;
    change({ tokens: [...Z, (z ?? [0.5 * reach * Math.cos(angle), 0.5 * reach * Math.sin(angle)]).map((x) => round(x))] });
  }
  function remove() {
    if (Z.length > 1) change({ tokens: Z.filter((_, i) => i !== chosen) });
  }
  function random() {
    const n = Math.max(1, Math.min(500, Math.round(+many.value) || 20));
    const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
    reach = 0;
    change({ tokens: Array.from({ length: n }, () => [round(normal()), round(normal())]) });
  }
  const last = () => Math.max(LAYERS, Math.min(end?.settledAt ?? 0, 399));
  function start() {
    playing = performance.now() - (layer >= last() ? 0 : layer * SPEED);
    if (layer >= last()) change({ layer: 0 });
    refresh();
  }
  const pause = () => ((playing = 0), refresh());

  // The matrix.
  function stretch(axis, next) {
    const within = (x) => Math.min(2.5, Math.max(0.4, x)), name = axis ? "second" : "first";
    const shape = { ...ellipse, ...next, [name]: within(next[name] ?? ellipse[name]) };
    const B = matrixOf(shape);
    if (!B || isDefinite(B)) change({ A: B, ellipse: shape });
    ellipse = shape;
  }
  handles.forEach((handle, axis) => {
    const at = (event) => {
      const box = dial.getBoundingClientRect(), scale = 160 / box.width / 30;
      return [(event.clientX - box.left - box.width / 2) * scale, (box.top + box.height / 2 - event.clientY) * scale];
    };
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      handle.focus();
      event.preventDefault();
    });
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const [x, y] = at(event), length = Math.hypot(x, y), turned = Math.atan2(y, x) - (axis ? Math.PI / 2 : 0);
      stretch(axis, { [axis ? "second" : "first"]: round(length), angle: turned });
    });
    handle.addEventListener("keydown", (event) => {
      const turn = { ArrowLeft: 1, ArrowRight: -1 }[event.key], grow = { ArrowUp: 1.05, ArrowDown: 1 / 1.05 }[event.key];
      if (!turn && !grow) return;
      event.preventDefault();
      stretch(axis, { angle: ellipse.angle + (turn ?? 0) * (Math.PI / 36), [axis ? "second" : "first"]: ellipse[axis ? "second" : "first"] * (grow ?? 1) });
    });
  });

  // The plane: from tokens to pixels and back.
  let dragging = null;
  let width = 1, height = 1; // measured once a frame: asking the page is slow
  const scale = () => Math.min(width, height) / 2 / reach;
  const pixel = ([x, y]) => [width / 2 + x * scale(), height / 2 - y * scale()];
  const plane = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left - box.width / 2) / scale(), (box.top + box.height / 2 - event.clientY) / scale()];
  };
  const shown = () => { // the tokens of the layer, or between two layers when playing
    const k = Math.floor(layer), now = stateAt(k);
    if (k === layer || !now) return now;
    const then = stateAt(k + 1), share = layer - k;
    return { ...now, tokens: now.tokens.map((z, i) => z.map((x, c) => x + share * (then.tokens[i][c] - x))) };
  };
  const stateAt = (k) => (end ? end.at(k) : run?.path[Math.min(k, run.path.length - 1)]);
  function nearest(event) {
    const p = plane(event), wide = (event.pointerType === "touch" ? 26 : 14) / scale();
    const state = shown();
    let best = -1, least = wide;
    Z.forEach((z, i) => {
      for (const place of [state ? state.tokens[of[i]] : z, z]) {
        const far = Math.hypot(place[0] - p[0], place[1] - p[1]);
        if (far < least || (far === least && i === chosen)) (least = far), (best = i);
      }
    });
    return best;
  }
  canvas.addEventListener("pointerdown", (event) => {
    const i = nearest(event);
    canvas.focus({ preventScroll: true });
    if (i < 0) return;
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    dragging = { from: plane(event), z: Z[i], moved: false };
    pick(i);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!dragging) return;
    const p = plane(event), within = (x) => Math.min(reach, Math.max(-reach, x));
    const z = dragging.z.map((x, c) => round(within(x + p[c] - dragging.from[c])));
    dragging.moved ||= Math.hypot(p[0] - dragging.from[0], p[1] - dragging.from[1]) * scale() > 3;
    if (dragging.moved && (z[0] !== Z[chosen][0] || z[1] !== Z[chosen][1])) put(chosen, z);
  });
  const drop = () => {
    dragging = null;
    refresh();
  };
  canvas.addEventListener("pointerup", drop);
  canvas.addEventListener("pointercancel", drop);
  canvas.addEventListener("dblclick", (event) => nearest(event) < 0 && add(plane(event)));
  // A finger on a token drags it; elsewhere it scrolls the page.
  canvas.addEventListener("touchstart", (event) => {
    const { clientX, clientY } = event.touches[0];
    if (nearest({ clientX, clientY, pointerType: "touch" }) >= 0) event.preventDefault();
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const pace = (event.shiftKey ? 0.01 : 0.05) * (reach > 4 ? 10 : 1);
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const does = {
      n: () => pick(chosen + 1), p: () => pick(chosen - 1), Insert: () => add(), Delete: remove, Backspace: remove,
      "]": () => (pause(), change({ layer: Math.min(last(), Math.floor(layer) + 1) })),
      "[": () => (pause(), change({ layer: Math.max(0, Math.ceil(layer) - 1) })), " ": () => (playing ? pause() : start()),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if ((!way && !does) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    way ? put(chosen, Z[chosen].map((x, c) => x + pace * way[c])) : does();
  });

  // The picture.
  function draw() {
    ({ clientWidth: width, clientHeight: height } = canvas);
    const sharp = canvas.width / width, c = colours(root), state = shown();
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.fillStyle = c.ground;
    pen.fillRect(0, 0, width, height);
    const line = (colour, thick, dash = []) => ((pen.strokeStyle = colour), (pen.lineWidth = thick), pen.setLineDash(dash));
    const path = (points, close) => {
      pen.beginPath();
      points.forEach((p, i) => pen[i ? "lineTo" : "moveTo"](...pixel(p)));
      if (close) pen.closePath();
    };
    const fill = (colour, share) => {
      pen.globalAlpha = share;
      pen.fillStyle = colour;
      pen.fill();
      pen.globalAlpha = 1;
    };
    line(c.faint, 0.7);
    path([[-reach * 9, 0], [reach * 9, 0]]);
    pen.stroke();
    path([[0, -reach * 9], [0, reach * 9]]);
    pen.stroke();
    if (!state) return;
    const k = Math.floor(layer), T = state.tokens, n = T.length;

    if (show.has("hulls"))
      for (let j = 0; j <= Math.min(k, 8); j++) {
        const points = j === k || j === 8 ? T : stateAt(j).tokens;
        path(hull(points).map((i) => points[i]), true);
        fill(c.sky, 0.12);
        line(c.blue, j === k ? 1.5 : 0.7);
        pen.stroke();
      }
    if (show.has("K") && end) {
      K ??= polygon();
      path(K.corners, true);
      fill(c.orange, 0.18);
      line(c.orange, 1.5, end.certified ? [] : [3, 4]);
      pen.stroke();
      for (const { point, face } of K.S) {
        pen.beginPath();
        mark(pen, face.length > 1 ? "square" : "circle", pixel(point), face.length > 1 ? 6 : 11);
        line(face.length > 1 ? c.ink : c.orange, 1);
        if (face.length > 1) fill(c.green, 1);
        pen.stroke();
      }
    }
    if (show.has("halfspace")) {
      const z = T[of[chosen]], [x, y] = A ? [A[0][0] * z[0] + A[0][1] * z[1], A[1][0] * z[0] + A[1][1] * z[1]] : z;
      const length = Math.hypot(x, y) || 1, u = [x / length, y / length], far = 4 * reach;
      const edge = [[z[0] - far * u[1], z[1] + far * u[0]], [z[0] + far * u[1], z[1] - far * u[0]]];
      path([...edge, ...edge.reverse().map((p) => [p[0] + 2 * far * u[0], p[1] + 2 * far * u[1]])], true);
      fill(c.green, 0.16);
      line(c.green, 1.2, [6, 4]);
      path(edge);
      pen.stroke();
      line(c.green, 2);
      pen.beginPath();
      arrow(pen, pixel(z), pixel([z[0] + 0.35 * reach * u[0], z[1] + 0.35 * reach * u[1]]), 6);
      pen.stroke();
    }
    if (show.has("limit") && end) {
      line(c.ink, 0.8, [2, 4]);
      pen.beginPath();
      T.forEach((z, i) => (pen.moveTo(...pixel(z)), pen.lineTo(...pixel(end.tokens[first[i]]))));
      pen.stroke();
      line(c.ink, 1.3, end.certified ? [] : [2, 2]);
      pen.beginPath();
      T.forEach((_, i) => mark(pen, "diamond", pixel(end.tokens[first[i]]), 6));
      pen.stroke();
    }
    if (show.has("trails") && k) {
      line(c.blue, 0.8);
      pen.beginPath();
      for (let i = 0; i < n; i++)
        for (let j = 0; j <= k; j++) {
          const z = pixel(stateAt(j).tokens[i]);
          j ? pen.lineTo(...z) : pen.moveTo(...z);
          if (j === k) pen.lineTo(...pixel(T[i]));
        }
      pen.stroke();
    }
    if (k) { // where the tokens started, and can be dragged
      line(c.faint, 1);
      pen.beginPath();
      for (const z of Z) {
        const [x, y] = pixel(z);
        pen.moveTo(x + 3, y);
        pen.arc(x, y, 3, 0, 7);
      }
      pen.stroke();
    }

    const born = new Map(end ? end.leaders.map((i, m) => [of[i], end.born[m]]) : (run?.born ?? []).map((b, i) => [i, b]).filter((p) => p[1] >= 0));
    const leads = (i) => born.has(i) && born.get(i) <= k, tree = show.has("forest") ? roots(state.sets) : null;
    const look = (i) => (tree ? TREES[tree.get(i) % TREES.length] : TREES[0]);
    if (show.has("arrows")) {
      line(c.ink, n > 100 ? 0.5 : 1);
      pen.globalAlpha = 0.75;
      pen.beginPath();
      T.forEach((z, i) => {
        for (const j of state.sets[i]) if (j !== i && (state.sets[i].length <= 6 || i === of[chosen])) arrow(pen, pixel(z), pixel(T[j]), n > 100 ? 4 : 8);
      });
      pen.stroke();
      pen.globalAlpha = 1;
    }
    const r = n > 100 ? 3 : 5.5, stars = [], alike = new Map(); // tokens of one look are one path
    T.forEach((_, i) => {
      if (leads(i)) return stars.push(i);
      if (!alike.has(look(i))) alike.set(look(i), []);
      alike.get(look(i)).push(i);
    });
    line(c.ink, n > 100 ? 0.4 : 0.8);
    for (const [[colour, shape], members] of alike) {
      pen.beginPath();
      for (const i of members) mark(pen, shape, pixel(T[i]), shape === "circle" ? r : 1.25 * r);
      fill(c[colour], 1);
      pen.stroke();
    }
    for (const i of stars) {
      pen.beginPath();
      mark(pen, "star", pixel(T[i]), 11);
      fill(tree ? c[look(i)[0]] : c.orange, 1);
      pen.stroke();
    }
    pen.beginPath();
    mark(pen, "circle", pixel(T[of[chosen]]), 13);
    line(c.ink, 2);
    pen.stroke();
    if (n <= 40) {
      pen.fillStyle = c.ink;
      pen.font = "12px system-ui, sans-serif";
      first.forEach((i, at) => pen.fillText(i + 1, pixel(T[at])[0] + 9, pixel(T[at])[1] - 9));
    }
  }
  /** Of each token the number of its tree: the root of the chain of longest followed tokens. */
  function roots(sets) {
    const norm = (z) => (A ? A[0][0] * z[0] ** 2 + 2 * A[0][1] * z[0] * z[1] + A[1][1] * z[1] ** 2 : z[0] ** 2 + z[1] ** 2);
    const T = shown().tokens, to = sets.map((set) => set.reduce((a, b) => (norm(T[b]) > norm(T[a]) ? b : a)));
    const names = new Map();
    return new Map(to.map((_, i) => {
      let root = i;
      for (let hops = 0; to[root] !== root && hops <= to.length; hops++) root = to[root];
      if (!names.has(root)) names.set(root, names.size);
      return [i, names.get(root)];
    }));
  }
  function polygon() {
    const ends = end.leaders.map((i) => end.tokens[i]), corners = hull(ends).map((i) => ends[i]);
    return { corners, S: clusterPoints(corners, A) };
  }

  // In words.
  function words() {
    const k = Math.floor(layer), state = stateAt(k);
    if (!end) return "The limit is not certified yet: the run goes on.";
    const C = of.map((i, at) => [i, at]).filter(([i]) => state.sets[of[chosen]].includes(i)).map(([, at]) => at);
    const led = end.leaders.map((i, m) => `${i + 1}${end.born[m] ? ` (from layer ${end.born[m]})` : ""}`);
    const limit = end.certified
      ? `Certified at layer ${end.settledAt}: every token has settled.`
      : "NOT certified: rounding may have decided, and the limit is only likely.";
    const follows = C.length === Z.length && C.length > 1 ? "all tokens" : list(C);
    return `Layer ${k}. ${led.length === 1 ? "One leader" : `${led.length} leaders`}: ${led.slice(0, 12).join(", ")}${led.length > 12 ? ", …" : ""}. ${limit} ` +
      `Token ${chosen + 1} is at ${text(state.tokens[of[chosen]])}, follows ${follows} and ends at ${text(end.tokens[chosen])}` +
      `${end.follows[chosen] < 0 ? ", which is no vertex." : end.follows[chosen] === chosen ? ", itself a leader." : `, with leader ${end.follows[chosen] + 1}.`}`;
  }
  function python() {
    const k = Math.floor(layer), rows = (M) => `[${M.map((row) => `[${row.join(", ")}]`).join(", ")}]`;
    return `import numpy as np

from hmlib import limit, simulate

Z = np.array(${rows(Z)}, float)
alpha = ${alpha}
A = ${A ? `np.array(${rows(A)})` : "None"}

path = simulate(Z, alpha, layers=${k}, A=A)
print("layer ${k}:", path.tokens[${k}], sep="\\n")
print("token ${chosen + 1} follows", np.flatnonzero(path.attention_sets(${k})[${chosen}]) + 1)
end = limit(Z, alpha, A)
print("leaders:", end.leaders + 1, "born:", end.born)
print("limit:", end.tokens, sep="\\n")
print("certified:", end.certified, "at layer", end.settled_at)
`;
  }

  // One frame: go on with the run and with the play, draw, and bring the controls up to date.
  let stale = true;
  const frames = animate(root, canvas, (now) => {
    if (playing) {
      const at = Math.min(Math.max(layer, (now - playing) / SPEED), last()), next = still.matches ? Math.floor(at) : at;
      if (Math.floor(next) !== Math.floor(layer)) {
        model.set("layer", Math.floor(next));
        save();
        stale = true;
      }
      layer = Math.max(0, next);
      if (at >= last()) playing = 0;
    }
    const before = end;
    carryOn();
    draw();
    if (stale || end !== before) controls();
    stale = false;
    return Boolean(playing || steps);
  });
  function controls() {
    const k = Math.floor(layer), set = (node, name, value) => node[name] !== value && (node[name] = value);
    const attribute = (node, name, value) => node.getAttribute(name) !== String(value) && node.setAttribute(name, value);
    set(layerDial, "max", String(last()));
    set(layerDial, "value", String(k));
    set(layerShown, "textContent", String(k));
    set(alphaDial, "value", String(positionOf(alpha)));
    set(alphaShown, "textContent", String(Number(alpha.toPrecision(4))));
    attribute(alphaDial, "aria-valuetext", `alpha ${alpha}`);
    set(play, "textContent", playing ? "Pause" : "Play");
    const called = model.get("preset"), named = JSON.stringify(presets[called]?.tokens) === JSON.stringify(Z) ? called : "";
    set(preset, "value", named);
    set(about, "textContent", presets[named]?.about ?? "");
    set(which, "max", String(Z.length));
    for (const [input, value] of [[which, chosen + 1], [place[0], Z[chosen][0]], [place[1], Z[chosen][1]]])
      if (Number(input.value) !== value) input.value = value;
    set(matrix, "textContent", A ? `A = [[${A[0].join(", ")}], [${A[1].join(", ")}]]` : "A = I");
    const { angle, first, second } = ellipse, degrees = Math.round((((angle * 180) / Math.PI) % 180 + 180) % 180);
    for (const [name, value] of Object.entries({ rx: 30 * first, ry: 30 * second, transform: `rotate(${(-angle * 180) / Math.PI})` }))
      attribute(outline, name, value);
    handles.forEach((handle, axis) => {
      const length = axis ? second : first, turned = angle + (axis * Math.PI) / 2;
      const about = { cx: 30 * length * Math.cos(turned), cy: -30 * length * Math.sin(turned) };
      about["aria-label"] = `${axis ? "second" : "first"} axis of the ellipse`;
      about["aria-valuenow"] = axis ? second.toFixed(2) : degrees;
      about["aria-valuemin"] = axis ? 0.4 : 0;
      about["aria-valuemax"] = axis ? 2.5 : 180;
      about["aria-valuetext"] = `turned by ${degrees} degrees, length ${length.toFixed(2)}`;
      for (const [name, value] of Object.entries(about)) attribute(handle, name, value);
    });
    const said = words();
    set(says, "textContent", said);
    attribute(canvas, "aria-label", `Plane with ${Z.length} tokens, token ${chosen + 1} chosen. Keys: see below.`);
    announce(said);
  }
  function refresh() {
    stale = true;
    frames.ask();
  }

  reach = 0;
  begin();
  controls(); // named before the first frame, which may be late
  refresh();
  return () => {
    frames.stop();
    clearTimeout(saving);
    for (const [name, hear] of heard) model.off(`change:${name}`, hear);
  };
}

export default { render };
