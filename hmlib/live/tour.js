// "Show me": places in the text that set the figure before them. In the page's source
// they are plain text, <span data-show="alpha=2/9">…</span>, and stay so without
// JavaScript.

import { button } from "./elements.js";

/**
 * Turn the places between this figure and the next one of its kind into buttons.
 * act(text) does what a place says; a place that it cannot read stays text.
 */
export function guide(root, kind, reads, act) {
  const before = (a, b) => Boolean(a.compareDocumentPosition(b) & 4);
  const later = [...document.querySelectorAll(`[data-live="${kind}"]`)]
    .filter((other) => other !== root && before(root, other));
  const mine = (place) => before(root, place) && !later.some((o) => before(o, place));
  const free = "span[data-show]:not([data-shown])";
  for (const place of [...document.querySelectorAll(free)].filter(mine)) {
    const text = place.dataset.show;
    if (!reads(text)) continue;
    place.dataset.shown = "yes";
    const show = button("", () => {
      act(text);
      bringIntoView(root);
    });
    show.className = "hm-show";
    show.append(...place.childNodes);
    place.replaceChildren(show);
  }
}

function bringIntoView(root) {
  const { top, bottom } = root.firstElementChild.getBoundingClientRect();
  if (top < 0 || bottom > innerHeight) root.scrollIntoView({ block: "start" });
}
