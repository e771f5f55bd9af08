/* SPDX-License-Identifier: MIT */
// A link to a box, an equation or a reference shows it, by mouse and by keyboard. Touch follows the link.
(() => {
  "use strict";
  const WAIT = 250; // milliseconds, so that a pointer on its way opens nothing
  const GAP = 8;
  const card = document.createElement("div");
  card.id = "preview";
  card.setAttribute("role", "tooltip");
  card.hidden = true;
  let link = null;
  let timer = 0;

  const kinds = "div.proof, div.math, div.citation";

  /** What the link leads to: a copy without ids, or null if there is no preview. */
  function content(href) {
    const place = href.split("#");
    if (place.length !== 2 || !place[1]) return null;
    if (place[0] === "") {
      const target = document.getElementById(decodeURIComponent(place[1]));
      const box = target && (target.matches(kinds) ? target : null);
      if (!box) return null;
      const copy = box.cloneNode(true);
      for (const part of copy.querySelectorAll(".headerlink, .box-links, .backrefs, button")) part.remove();
      for (const part of copy.querySelectorAll("a")) part.replaceWith(...part.childNodes);
      for (const part of [copy, ...copy.querySelectorAll("[id]")]) part.removeAttribute("id");
      return copy;
    }
    const stored = [...document.querySelectorAll("template.preview")].find((one) => one.dataset.for === href);
    return stored ? stored.content.cloneNode(true) : null;
  }

  function hide() {
    clearTimeout(timer);
    card.hidden = true;
    if (link) link.removeAttribute("aria-describedby");
    link = null;
  }

  /** Below the link if there is room, above it otherwise; never beyond the window. */
  function place(at) {
    const width = card.offsetWidth;
    const height = card.offsetHeight;
    const left = Math.min(Math.max(at.left, GAP), innerWidth - width - GAP);
    const below = at.bottom + GAP;
    const top = below + height < innerHeight ? below : Math.max(at.top - GAP - height, GAP);
    card.style.left = `${Math.max(left, GAP)}px`;
    card.style.top = `${top}px`;
  }

  async function show(one) {
    const found = content(one.getAttribute("href"));
    hide();
    if (!found) return;
    link = one;
    card.replaceChildren(found);
    card.hidden = false;
    link.setAttribute("aria-describedby", card.id);
    place(link.getBoundingClientRect());
    const raw = card.querySelector(".math") && !card.querySelector("mjx-container");
    if (raw && window.MathJax && window.MathJax.typesetPromise) {
      await window.MathJax.typesetPromise([card]);
      if (link === one) place(link.getBoundingClientRect());
    }
  }

  const linked = (event) => {
    const one = event.target instanceof Element ? event.target.closest("article a.reference.internal") : null;
    return one && one.getAttribute("href").includes("#") ? one : null;
  };

  document.addEventListener("DOMContentLoaded", () => document.body.append(card));
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const one = linked(event);
    if (one === link && link) return;
    if (one) {
      clearTimeout(timer);
      timer = setTimeout(() => show(one), WAIT);
    } else if (!card.contains(event.target)) {
      clearTimeout(timer);
      if (link && document.activeElement !== link) timer = setTimeout(hide, WAIT);
    } else {
      clearTimeout(timer);
    }
  });
  document.addEventListener("focusin", (event) => {
    const one = linked(event);
    if (one && one.matches(":focus-visible")) show(one);
    else if (link) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  const follow = () => {
    if (!link) return;
    const at = link.getBoundingClientRect();
    if (at.bottom < 0 || at.top > innerHeight) hide();
    else place(at);
  };
  addEventListener("scroll", follow, { passive: true });
  addEventListener("resize", follow, { passive: true });
  addEventListener("pagehide", hide);
})();
