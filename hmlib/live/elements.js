// Elements of a page, made of text alone.

/** An element with properties, attributes (aria, data, role, for) and children. */
export function h(tag, about = {}, ...children) {
  const node = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  node.dataset.lmSuppressShortcuts = "true"; // else JupyterLab takes arrows and letters
  node.append(...children.flat()); // strings are text, never markup
  return revise(node, about);
}

/** Give a node what is new about it: what is as it should be is left in peace. */
export function revise(node, about) {
  for (const [name, value] of Object.entries(about)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (!(name in node) || node instanceof SVGElement) {
      if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
    } else if (String(node[name]) !== String(value)) node[name] = value;
  }
  return node;
}

/** A labelled control; the label stands before it, a value after it. */
export const field = (label, control, ...after) =>
  h("label", { className: "hm-field" }, h("span", {}, label), control, ...after);

export const row = (...children) => h("div", { className: "hm-row" }, ...children);

export const button = (label, onclick) =>
  h("button", { type: "button", onclick }, label);

/** The words about a figure, to be read: on the page, and aloud once all is at rest. */
export function status() {
  const shown = h("p", { className: "hm-status" });
  const aloud = h("p", { className: "hm-aloud", role: "status" });
  let timer = 0;
  const say = (text) => {
    if (text === shown.textContent) return;
    revise(shown, { textContent: text });
    clearTimeout(timer);
    timer = setTimeout(() => revise(aloud, { textContent: text }), 500);
  };
  return { nodes: [shown, aloud], say };
}

/** Copy a text; where the browser does not let us, it stays on the page, selected. */
export async function copy(text, shown) {
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
