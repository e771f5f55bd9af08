// What mouse, finger and keys do to the plane.

import { valueOf } from "./exact.js";
import { add, goTo, move, pick, remove, round } from "./edits.js";

const NEAR = { touch: 26, mouse: 14 }; // pixels
const MOVED = 3; // pixels: less is no drag

/** The token under a pointer, where it is drawn or where it started; or -1. */
function nearest(plane, state, event) {
  const { chosen, course } = state, p = plane.point(event);
  const now = course.between(state.layer)?.tokens;
  const distance = (z) => Math.hypot(z[0] - p[0], z[1] - p[1]);
  let best = -1, least = (NEAR[event.pointerType] ?? NEAR.mouse) / plane.scale;
  course.tokens.forEach((z, i) => {
    const places = now ? [now[course.inverse[i]], z] : [z];
    const near = Math.min(...places.map(distance));
    if (near < least || (near === least && i === chosen)) (least = near), (best = i);
  });
  return best;
}

export function listenToPointers(canvas, plane, state) {
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    const i = nearest(plane, state, event);
    canvas.focus({ preventScroll: true });
    if (i < 0) {
      state.set({ probe: probeAt(event) }); // a finger points by touching
      return;
    }
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    drag = { from: plane.point(event), z: state.course.tokens[i], moved: false };
    state.set({ chosen: i, held: true, over: -1, probe: null });
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) {
      point(event);
      return;
    }
    const by = plane.point(event).map((x, c) => x - drag.from[c]), { reach } = state;
    const within = (x) => Math.min(reach, Math.max(-reach, x));
    drag.moved ||= Math.hypot(...by) * plane.scale > MOVED;
    const z = drag.z.map((x, c) => round(within(x + by[c])));
    if (drag.moved) move(state, z);
  });
  const point = (event) => {
    if (event.pointerType === "touch") return;
    state.set({ over: nearest(plane, state, event), probe: probeAt(event) });
  };
  const probeAt = (event) => (state.show.includes("basin") ? plane.point(event) : null);
  const drop = () => {
    drag = null;
    state.set({ held: false });
  };
  canvas.addEventListener("pointerup", drop);
  canvas.addEventListener("pointercancel", drop);
  canvas.addEventListener("pointerleave", ({ pointerType }) => {
    if (drag) return;
    state.set(pointerType === "touch" ? { over: -1 } : { over: -1, probe: null });
  });
  canvas.addEventListener("focus", () => state.set({ focused: true }));
  canvas.addEventListener("blur", () => state.set({ focused: false, probe: null }));
  canvas.addEventListener("dblclick", (event) => {
    if (nearest(plane, state, event) < 0) add(state, plane.point(event));
  });
  // A finger on a token drags it; elsewhere it scrolls the page.
  const grasp = (event) => {
    const { clientX, clientY } = event.touches[0];
    const finger = { clientX, clientY, pointerType: "touch" };
    if (nearest(plane, state, finger) >= 0) event.preventDefault();
  };
  canvas.addEventListener("touchstart", grasp, { passive: false });
}

const WAYS = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
};

const PROBES = { a: [-1, 0], d: [1, 0], w: [0, 1], s: [0, -1] };

const KEYS = {
  n: (state) => pick(state, state.chosen + 1),
  p: (state) => pick(state, state.chosen - 1),
  Insert: (state) => add(state),
  Delete: remove,
  Backspace: remove,
  "]": (state) => goTo(state, Math.min(state.course.last, Math.floor(state.layer) + 1)),
  "[": (state) => goTo(state, Math.max(0, Math.ceil(state.layer) - 1)),
  " ": (state) => state.set({ playing: !state.playing }),
};

export function listenToKeys(canvas, state) {
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const way = WAYS[key], does = KEYS[key], probe = PROBES[key];
    if (way) move(state, nudged(state, way, event.shiftKey));
    else if (probe) movedProbe(state, probe);
    else if (does) does(state);
    else return;
    event.preventDefault();
  });
}

const pace = ({ reach }) => 0.05 * (reach > 4 ? 10 : 1);

/** A coordinate that is not moved stays as it is, a fraction too. */
function nudged({ tokens, chosen, reach }, way, small) {
  const by = pace({ reach }) * (small ? 0.2 : 1);
  return tokens[chosen].map((x, c) => (way[c] ? round(valueOf(x) + by * way[c]) : x));
}

/** The probe goes on from where it is; first it is shown, in the middle. */
function movedProbe(state, way) {
  const show = [...new Set([...state.show, "basin"])];
  const probe = state.probe?.map((x, c) => round(x + 2 * pace(state) * way[c]));
  state.set({ show, probe: probe ?? [0.25 * state.reach, 0.25 * state.reach] });
}
