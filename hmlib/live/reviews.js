// The review explorer: a review is typed, its words become tokens and gather, and their
// mean is judged. The model, words and all, loads when it is asked for.

import { Plane } from "./canvas.js";
import { button, field, h, revise, row, status } from "./elements.js";
import { Player, animate } from "./frames.js";
import { drawWords } from "./gathering.js";
import { explain, plain, unpack } from "./judge.js";
import { State, inStep } from "./state.js";

const PACE = 1200; // milliseconds for a layer, when playing
const MOST_VOTES = 6, MOST_UNKNOWN = 8; // that are named

function render({ model, el }) {
  const state = stateOf(model), said = status();
  const canvas = h("canvas", { role: "img" });
  const controls = {
    review: reviewField(state, model.get("examples")),
    layer: layerField(state),
    chips: chipsOf(state),
  };
  const loader = loadButton(state, model);
  const root = page([canvas, ...said.nodes], controls, loader);
  el.append(root);

  const plane = new Plane(canvas, root);
  const player = new Player(state, PACE, () => state.net?.depth ?? 0);
  const update = () => {
    for (const control of Object.values(controls)) control.update();
    revise(canvas, { "aria-label": described(state) });
    said.say(words(state));
    if (state.net) root.dataset.loaded = "yes";
  };
  const frames = animate(canvas, (now) => {
    player.advance(now);
    drawWords(plane, state);
    return state.playing;
  });
  state.watch(["text", "left", "net", "layer", "playing"], () => {
    update();
    frames.ask();
  });
  const part = inStep(state, model, ["text"]);
  update();
  return () => {
    frames.stop();
    part();
    loader.stop();
  };
}

/** The review, what is left out of it, and what follows from them. */
function stateOf(model) {
  const text = model.get("text");
  const state = new State({ text, left: [], net: null, layer: 0, playing: false });
  const judge = () => {
    const { net, text } = state, words = plain(text, net?.stop ?? new Set());
    const left = state.left.filter((word) => words.includes(word));
    const judged = net && explain(net, words, left);
    const whole = left.length ? explain(net, words) : judged;
    Object.assign(state, { words, left, judged, whole });
  };
  judge();
  state.watch(["text", "left", "net"], judge); // the first to hear of it
  return state;
}

function reviewField(state, examples) {
  const area = h("textarea", {
    rows: 5, "aria-label": "Your review",
    oninput: () => state.set({ text: area.value }),
  });
  const choose = () => menu.value && state.set({ text: examples[menu.value - 1][1] });
  const names = examples.map(([name], i) => h("option", { value: i + 1 }, name));
  const menu = h("select", { onchange: choose },
    h("option", { value: "" }, "your own"), ...names);
  const update = () => revise(area, { value: state.text });
  return { node: [field("Review", menu), area], update };
}

function layerField(state) {
  const slider = h("input", {
    type: "range", min: 0, max: 1, value: 0,
    oninput: () => state.set({ layer: +slider.value, playing: false }),
  });
  const shown = h("output");
  const play = button("Play", () => state.set({ playing: !state.playing }));
  const back = button("All words again", () => state.set({ left: [] }));
  const update = () => {
    const layer = Math.floor(state.layer), disabled = !state.net;
    revise(slider, { max: state.net?.depth ?? 1, value: layer, disabled });
    revise(shown, { textContent: layer });
    revise(play, { textContent: state.playing ? "Pause" : "Play", disabled });
    revise(back, { disabled });
  };
  return { node: [field("Layer", slider, shown), row(play, back)], update };
}

/** The words: press one to leave it out. */
function chipsOf(state) {
  const node = h("div", {
    className: "hm-chips", role: "group",
    "aria-label": "Words of the review. Press one to leave it out.",
  });
  const toggle = (word) => {
    const others = state.left.filter((other) => other !== word);
    state.set({ left: others.length < state.left.length ? others : [...others, word] });
  };
  const chip = (word) => {
    const { net, left } = state;
    if (!net) return h("span", { className: "hm-chip" }, word);
    if (!net.index.has(word))
      return h("span", { className: "hm-chip hm-unknown" }, word, " ?");
    const pressed = { className: "hm-chip", "aria-pressed": left.includes(word) };
    const made = revise(button(word, () => toggle(word)), pressed);
    made.dataset.word = word;
    return made;
  };
  let drawn = null; // the state of these chips
  const update = () => {
    const { words, left, net } = state, focused = document.activeElement?.dataset?.word;
    if (drawn === state.words) return;
    drawn = words;
    node.replaceChildren(...[...new Set(words)].map(chip));
    if (focused)
      [...node.children].find((chip) => chip.dataset.word === focused)?.focus();
  };
  return { node, update };
}

/**
 * The model comes from the kernel in JupyterLab, and in a page as a script, which works
 * from a file too.
 */
function loadButton(state, model) {
  const load = button("Load the model", ask);
  const note = h("span", { className: "hm-note" },
    " The model, less than 1 MB, loads only when you ask for it.");
  function ask() {
    load.disabled = true;
    note.textContent = " Loading …";
    if (model.widget_manager) {
      model.send({ load: true });
      return;
    }
    const home = document.documentElement.dataset.content_root ?? "";
    const script = h("script", { src: `${home}_static/${model.get("file")}` });
    script.onload = () => take(globalThis.hmlibReviewModel);
    script.onerror = () => take(null);
    document.head.append(script);
  }
  function take(stored) {
    load.disabled = Boolean(stored);
    const none = "There is no trained model beside this page.";
    note.textContent = ` ${stored ? stored.about : none}`;
    if (stored) state.set({ net: unpack(stored) });
  }
  const answered = (message) => take(message.model ?? null);
  model.on("msg:custom", answered);
  return { node: row(load, note), stop: () => model.off("msg:custom", answered) };
}

function page(stage, { review, layer, chips }, loader) {
  const root = h(
    "div",
    {
      className: "hm-live", role: "group",
      "aria-label":
        "Review explorer: the words of a review gather, and the mean is judged",
    },
    h("div", { className: "hm-columns" },
      h("div", { className: "hm-stage" }, ...stage),
      h("div", { className: "hm-controls" },
        review.node, loader.node, layer.node, h("p", {}, HOW), chips.node)));
  root.dataset.live = "reviews";
  return root;
}

const HOW = "Press a word to leave it out; " +
  "a word with a question mark is unknown to the model.";
const ASLEEP = "These are the words of the text; the model will drop some. " +
  "Load it to see them gather and be judged.";
const SPEECHLESS = "The model knows none of these words, so there is nothing to judge.";

function verdict(logit) {
  const sure = Math.round(100 / (1 + Math.exp(-Math.abs(logit))));
  return `${logit > 0 ? "▲ positive" : "▼ negative"}, ${sure} % sure`;
}

function words({ net, left, judged, whole }) {
  if (!net) return ASLEEP;
  if (!judged.tokens) return SPEECHLESS;
  const votes = [...judged.shares].sort((p, q) => Math.abs(q[1]) - Math.abs(p[1]));
  const gathered = votes.slice(0, MOST_VOTES).map(([root, share]) =>
    `${judged.names[root]} ${share > 0 ? "+" : "−"}${Math.abs(share).toFixed(2)}`);
  const unknown = [...new Set(judged.unknown)].slice(0, MOST_UNKNOWN);
  const said = [
    `${verdict(judged.logit)}.`,
    left.length && `Left out: ${left.join(", ")}.`,
    left.length && `With all words: ${verdict(whole.logit)}.`,
    `Shares of the places where words gather: ${gathered.join(", ")};`,
    `bias ${net.bias.toFixed(2)}.`,
    unknown.length && `Unknown: ${unknown.join(", ")}.`,
  ];
  return said.filter(Boolean).join(" ");
}

function described({ judged, layer }) {
  if (!judged?.tokens) return "An empty plane";
  const { names, leaders } = judged, led = leaders.map((i) => names[i]).join(", ");
  return `Layer ${Math.floor(layer)}: ${names.length} words, leaders ${led}.`;
}

export default { render };
