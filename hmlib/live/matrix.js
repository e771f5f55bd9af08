// The matrix A as an ellipse, < A x, x > = 1, to be turned and stretched.

import { edit, round } from "./edits.js";
import { button, h, revise } from "./elements.js";
import { valuesOf } from "./exact.js";
import { isDefinite } from "./geometry.js";
import { alike } from "./state.js";

const SCALE = 30; // pixels for 1
const SHORTEST = 0.4, LONGEST = 2.5;
const AXES = ["first", "second"];
const degrees = (angle) => Math.round((((angle * 180) / Math.PI) % 180 + 180) % 180);

/**
 * A symmetric positive definite matrix as { angle, first, second }: its longer axis
 * first.
 */
function ellipseOf(A) {
  const [[a, b], [, d]] = valuesOf(A) ?? [[1, 0], [0, 1]];
  const half = (a + d) / 2, root = Math.hypot((a - d) / 2, b);
  const angle = root ? Math.atan2(2 * b, a - d) / 2 + Math.PI / 2 : 0;
  const [first, second] = [half - root, half + root].map((x) => 1 / Math.sqrt(x));
  return { angle: (angle + 2 * Math.PI) % Math.PI, first, second };
}

/** And back, in hundredths; null for the identity. */
function matrixOf({ angle, first, second }) {
  const c = Math.cos(angle), s = Math.sin(angle), p = first ** -2, q = second ** -2;
  const a = round(p * c * c + q * s * s), d = round(p * s * s + q * c * c);
  const b = round((p - q) * c * s);
  return a === 1 && b === 0 && d === 1 ? null : [[a, b], [b, d]];
}

export function matrixControl(state) {
  let ellipse = ellipseOf(state.A);
  const outline = h("svg:ellipse", { class: "hm-outline" });
  const handles = AXES.map(() =>
    h("svg:circle", { r: 8, tabindex: 0, role: "slider", class: "hm-handle" }));
  const dial = h(
    "svg:svg",
    {
      viewBox: "-80 -80 160 160", class: "hm-dial", role: "group",
      "aria-label": "the matrix A as an ellipse",
    },
    h("svg:path", { d: "M-78 0H78M0-78V78", class: "hm-cross" }), outline, ...handles);
  const said = h("output", { className: "hm-matrix" });

  function shape(axis, { angle = ellipse.angle, length = ellipse[axis] }) {
    const within = Math.min(LONGEST, Math.max(SHORTEST, length));
    const next = { ...ellipse, angle, [axis]: within }, A = matrixOf(next);
    if (A && !isDefinite(A)) return;
    ellipse = next;
    if (!alike(A, state.A)) edit(state, { A });
    update();
  }

  function listen(handle, axis) {
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      handle.focus();
      event.preventDefault();
    });
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const { left, top, width, height } = dial.getBoundingClientRect();
      const x = event.clientX - left - width / 2, y = top + height / 2 - event.clientY;
      const angle = Math.atan2(y, x) - (axis === "second" ? Math.PI / 2 : 0);
      const length = round((Math.hypot(x, y) * 160) / width / SCALE);
      shape(axis, { angle, length });
    });
    handle.addEventListener("keydown", (event) => {
      const turn = { ArrowLeft: 1, ArrowRight: -1 }[event.key];
      const grow = { ArrowUp: 1.05, ArrowDown: 1 / 1.05 }[event.key];
      if (!turn && !grow) return;
      event.preventDefault();
      const angle = ellipse.angle + ((turn ?? 0) * Math.PI) / 36;
      shape(axis, { angle, length: ellipse[axis] * (grow ?? 1) });
    });
  }

  function update() {
    const { A } = state, rows = A?.map((row) => `[${row.join(", ")}]`).join(", ");
    revise(said, { textContent: A ? `A = [${rows}]` : "A = I" });
    if (!alike(matrixOf(ellipse), A)) ellipse = ellipseOf(A);
    const { angle, first, second } = ellipse, turned = degrees(angle);
    revise(outline, { rx: SCALE * first, ry: SCALE * second });
    revise(outline, { transform: `rotate(${(-angle * 180) / Math.PI})` });
    handles.forEach((handle, k) => {
      const length = SCALE * ellipse[AXES[k]], way = angle + (k * Math.PI) / 2;
      const [value, least, most] =
        k === 0 ? [turned, 0, 180] : [second.toFixed(2), SHORTEST, LONGEST];
      revise(handle, {
        cx: length * Math.cos(way),
        cy: -length * Math.sin(way),
        "aria-label": `${AXES[k]} axis of the ellipse`,
        "aria-valuenow": value,
        "aria-valuemin": least,
        "aria-valuemax": most,
        "aria-valuetext":
          `turned by ${turned} degrees, length ${ellipse[AXES[k]].toFixed(2)}`,
      });
    });
  }

  handles.forEach((handle, k) => listen(handle, AXES[k]));
  const node = h("fieldset", { className: "hm-A" },
    h("legend", {}, "Matrix A: the ellipse ⟨Ax, x⟩ = 1"), dial,
    h("div", {}, said, button("Back to I", () => edit(state, { A: null }))));
  return { node, update };
}
