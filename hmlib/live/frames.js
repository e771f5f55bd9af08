// Frames: a figure is drawn while something moves, and only then.

export const still = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

/**
 * Draw a canvas when it has to be: work(now) runs in an animation frame after ask(),
 * and again in the next one if it returns true. The theme, the size of the window and
 * the screen ask too. stop() lets go of everything.
 */
export function animate(canvas, work) {
  let frame = 0;
  const run = (now) => {
    frame = 0;
    if (work(now)) ask();
  };
  const ask = () => (frame ||= requestAnimationFrame(run));
  const resized = new ResizeObserver(() => {
    const { width, height } = canvas.getBoundingClientRect();
    const sharp = Math.min(devicePixelRatio || 1, 2);
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

/**
 * Layers go by while state.playing, up to last(): state.layer, between two of them too.
 * Each takes pace(layer) milliseconds.
 */
export class Player {
  #before = 0; // the time of the frame before

  constructor(state, pace, last) {
    Object.assign(this, { state, pace, last });
    state.watch(["playing"], () => {
      if (!state.playing) return;
      if (state.layer >= last()) state.set({ layer: 0 });
      this.#before = performance.now();
      this.reached = state.layer;
    });
  }

  advance(now) {
    const { state } = this, last = this.last();
    if (!state.playing) return;
    let left = Math.max(0, now - this.#before); // of the time since then
    this.#before = Math.max(now, this.#before);
    while (left > 0 && this.reached < last) { // each layer at its own pace
      const next = Math.floor(this.reached) + 1, pace = this.pace(next - 1);
      const whole = (next - this.reached) * pace, done = left >= whole;
      this.reached = done ? next : this.reached + left / pace;
      left -= done ? whole : left;
    }
    this.reached = Math.min(this.reached, last);
    const layer = still.matches ? Math.floor(this.reached) : this.reached;
    state.set({ layer, playing: this.reached < last });
  }
}
