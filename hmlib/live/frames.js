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
 */
export class Player {
  constructor(state, milliseconds, last) {
    Object.assign(this, { state, milliseconds, last });
    state.watch(["playing"], () => {
      if (!state.playing) return;
      if (state.layer >= last()) state.set({ layer: 0 });
      this.began = performance.now() - state.layer * milliseconds;
    });
  }

  advance(now) {
    const { state } = this, last = this.last();
    if (!state.playing) return;
    const reached = Math.max(state.layer, (now - this.began) / this.milliseconds);
    const layer = Math.min(still.matches ? Math.floor(reached) : reached, last);
    state.set({ layer, playing: reached < last });
  }
}
