// "Show me": places in the text that set the figure before them. In the page's source
// they are plain text, <span data-show="alpha=2/9">…</span>, and stay so without
// JavaScript.

import { button } from "./elements.js";

const EVENT = "hm-show"; // asks a figure to show what a place says
const before = (a, b) => Boolean(a.compareDocumentPosition(b) & 4);

/**
 * Turn the places that this figure can read into buttons. Each sets the last figure of
 * its kind before it, by act(text) there.
 */
export function guide(root, kind, reads, act) {
  root.addEventListener(EVENT, ({ detail }) => {
    act(detail);
    bringIntoView(root);
  });
  const figures = () => [...document.querySelectorAll(`[data-live="${kind}"]`)];
  const free = "span[data-show]:not([data-shown])";
  for (const place of document.querySelectorAll(free)) {
    const detail = place.dataset.show;
    if (!before(root, place) || !reads(detail)) continue;
    place.dataset.shown = "yes";
    const show = button("", () => {
      const figure = figures().findLast((figure) => before(figure, place));
      figure.dispatchEvent(new CustomEvent(EVENT, { detail }));
    });
    show.className = "hm-show";
    show.title = "show this in the figure";
    show.append(...place.childNodes);
    place.append(show);
  }
}

function bringIntoView(root) {
  const { top, bottom } = root.firstElementChild.getBoundingClientRect();
  if (top < 0 || bottom > innerHeight) root.scrollIntoView({ block: "start" });
}
