// The address of the page follows the figure, and the figure a link that is opened.

import { MOST_SIGNS_OF_LINK, sealed, unsealed } from "./address.js";
import { button, copy, h, row } from "./elements.js";

const SOON = 400; // milliseconds: an address does not follow every pixel

/**
 * Keep a figure and the page's address in step. kind names it there, with its number
 * on the page if it is not the first, at is its page on the site. write(state) is its text, or "" for none, read
 * (text) what it says, or null. Returns { link, stop }.
 */
export function inAddress(state, model, root, { kind, at, names, write, read }) {
  const before = [...document.querySelectorAll(`[data-live="${root.dataset.live}"]`)]
    .filter((other) => other.compareDocumentPosition(root) & 4).length;
  const key = before ? `${kind}${before + 1}` : kind;
  const home = model.widget_manager && `${model.get("site")}${at}`;
  const address = () => {
    const text = write(state);
    return text && `#${key}${sealed(text).slice(kind.length)}`;
  };
  const link = () => {
    const hash = home ? address().replace(key, kind) : address();
    if (!hash || hash.length > MOST_SIGNS_OF_LINK) return "";
    return (home ?? location.href.split("#")[0]) + hash;
  };
  if (home !== undefined) return { link, stop() {} };

  let timer = 0, opening = false;
  const show = () => {
    timer = 0;
    const hash = address(), mine = location.hash.startsWith(`#${key}=`);
    if (hash && hash.length <= MOST_SIGNS_OF_LINK) history.replaceState(null, "", hash);
    else if (mine) history.replaceState(null, "", location.href.split("#")[0]);
  };
  state.watch(names, () => {
    if (opening) return;
    state.set({ damage: "" });
    if (!state.playing) timer ||= setTimeout(show, SOON);
  });
  const open = () => {
    const hash = decoded(location.hash);
    if (!hash.startsWith(`#${key}=`)) return;
    clearTimeout(timer);
    const text = unsealed(kind + hash.slice(1 + key.length));
    const said = text === null ? null : read(text);
    opening = true;
    if (said) state.set({ ...said, damage: "" });
    else state.set({ damage: DAMAGED });
    opening = false;
    root.scrollIntoView?.({ block: "nearest" });
  };
  open();
  addEventListener("hashchange", open);
  return {
    link,
    stop() {
      clearTimeout(timer);
      removeEventListener("hashchange", open);
    },
  };
}

const DAMAGED = "This link is damaged, cut off perhaps: the figure is shown as it starts.";

function decoded(text) { // messengers like to write %2F for /
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Buttons that copy texts, { name: () => text }; each text stays to be seen. */
export function copyButtons(texts, unsaid = "too long for a link: copy it as Python") {
  const note = h("span", { className: "hm-note", role: "status" });
  const shown = h("pre", { hidden: true, tabIndex: 0, "aria-label": "what was copied" });
  const copied = async (text) => {
    if (!text) {
      note.textContent = unsaid;
      return;
    }
    note.textContent = (await copy(text, shown)) ? "copied" : "select and copy";
  };
  const buttons = Object.entries(texts).map(([name, text]) =>
    button(name, () => copied(text())));
  return [row(...buttons, note), shown];
}
