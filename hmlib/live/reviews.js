// The review explorer: a review is typed, its words become tokens and gather, and their
// mean is judged. The model, words and all, loads when it is asked for.

import { Plane } from "./canvas.js";
import { button, field, h, revise, status } from "./elements.js";
import { Player, animate } from "./frames.js";
import { drawWords } from "./gathering.js";
import { explain, plain, unpack } from "./judge.js";
import { copyButtons, inAddress } from "./links.js";
import { keyToMarks, markedText } from "./marked.js";
import { reviewAddress, reviewFrom } from "./reviewlink.js";
import { State, inStep } from "./state.js";
import { guide } from "./tour.js";
import { voteBars } from "./votes.js";

const PACE = 1200; // milliseconds for a layer, when playing
const FEW = 5; // known words: fewer are judged by accident
const MOST_LISTED = 4; // of the words left out
const ADDRESSED = ["text", "left", "layer", "told"];

function render({ model, el }) {
  const state = stateOf(model), said = status(), examples = model.get("examples");
  const canvas = h("canvas", { role: "img" });
  const controls = {
    review: reviewField(state, examples),
    layer: layerField(state),
    marked: markedText(state),
    votes: voteBars(state),
    told: toldBox(state, examples),
  };
  const loader = loadButton(state, model);
  const root = page(canvas, said, controls, loader);
  el.append(root);
  const address = inAddress(state, model, root, {
    kind: "review", at: "notebooks/04_sentiment.html", names: ADDRESSED,
    write: (state) => reviewAddress(state, examples),
    read: (text) => reviewFrom(text, examples),
  });
  const unsaid = "a review of your own is not told: tick the box first";
  root.querySelector(".hm-copy").append(
    ...copyButtons({ "Copy link": address.link }, unsaid));

  const shown = (text) => reviewFrom(text, examples);
  guide(root, "reviews", shown, (text) => state.set({ ...shown(text), over: -1, damage: "" }));

  const plane = new Plane(canvas, root);
  const player = new Player(state, () => PACE, () => state.net?.depth ?? 0);
  const update = () => {
    for (const control of Object.values(controls)) control.update();
    revise(canvas, { "aria-label": described(state) });
    said.say([state.damage, words(state)].filter(Boolean).join(" "));
    if (state.net) root.dataset.loaded = "yes";
  };
  const frames = animate(canvas, (now) => {
    player.advance(now);
    drawWords(plane, state);
    return state.playing;
  });
  state.watch([...ADDRESSED, "net", "playing", "damage"], update);
  state.watch([...ADDRESSED, "net", "playing", "over"], frames.ask);
  const part = inStep(state, model, ["text"]);
  update();
  return () => {
    frames.stop();
    part();
    address.stop();
    loader.stop();
  };
}

/** The review, what is left out of it, and what follows from them. */
function stateOf(model) {
  const state = new State({
    text: model.get("text"), left: [], told: false, damage: "", net: null, layer: 0,
    over: -1, playing: false,
  });
  const judge = () => {
    const { net, text } = state, words = plain(text, net?.stop ?? new Set());
    const left = state.left.filter((word) => words.includes(word));
    const judged = net && explain(net, words, left);
    const whole = net && left.length ? explain(net, words) : judged;
    const layer = Math.min(state.layer, net?.depth ?? state.layer);
    Object.assign(state, { words, left: net ? left : state.left, judged, whole, layer });
  };
  judge();
  state.watch(["text", "left", "net"], judge); // the first to hear of it
  return state;
}

function reviewField(state, examples) {
  const area = h("textarea", {
    rows: 3, "aria-label": "Your review",
    oninput: () => state.set({ text: area.value, told: false, over: -1 }),
  });
  const choose = () => menu.value &&
    state.set({ text: examples[menu.value - 1][1], left: [], layer: 0, over: -1, told: false });
  const names = examples.map(([name], i) => h("option", { value: i + 1 }, name));
  const menu = h("select", { onchange: choose },
    h("option", { value: "" }, "your own"), ...names);
  const update = () => {
    revise(area, { value: state.text });
    const example = examples.findIndex(([, review]) => review === state.text);
    revise(menu, { value: example < 0 ? "" : example + 1 });
  };
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
  return { node: [play, field("Layer", slider, shown), back], update };
}

/** May a link tell a review of one's own? Only if the reader says so. */
function toldBox(state, examples) {
  const box = h("input", {
    type: "checkbox", onchange: () => state.set({ told: box.checked }),
  });
  const node = h("label", { className: "hm-box" }, box,
    h("span", {}, "a link may tell my review's text"));
  const update = () => {
    const example = examples.some(([, review]) => review === state.text);
    revise(box, { checked: state.told, disabled: example });
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
  return { node: h("div", { className: "hm-row" }, load, note), stop: () => model.off("msg:custom", answered) };
}

function page(canvas, said, { review, layer, marked, votes, told }, loader) {
  const root = h(
    "div",
    {
      className: "hm-live", role: "group",
      "aria-label":
        "Review explorer: the words of a review gather, and the mean is judged",
    },
    ...review.node, loader.node, ...said.nodes,
    h("div", { className: "hm-columns" },
      h("div", { className: "hm-stage" }, canvas,
        h("div", { className: "hm-bar" }, ...layer.node)),
      votes.node),
    marked.node, keyToMarks(),
    h("details", { className: "hm-more" },
      h("summary", {}, "More: links, how to read this"),
      h("p", {}, HOW), told.node, h("div", { className: "hm-copy" })));
  root.dataset.live = "reviews";
  return root;
}

const HOW = "Along: how far a word is turned to the positive side. Up: how long it is; " +
  "the longest lead. Each word follows an arrow, layer by layer, and the triangle is " +
  "the mean of all, which is judged. Bars are the leaders' votes: each begins where " +
  "the one before it ends. Press a word in the text to leave it out.";
const ASLEEP = "These are the words of the text; the model will drop some. " +
  "Load it to see them gather and be judged.";
const SPEECHLESS = "The model knows none of these words, so there is nothing to judge.";

function verdict({ logit, sure }) {
  const percent = sure > 0.99 ? "over 99" : Math.round(100 * sure);
  return `${logit > 0 ? "▲ positive" : "▼ negative"}, ${percent} % sure`;
}

/** What that is worth: measured on texts as short as this one, or the model's word. */
const worth = (net) => net.calibration
  ? "about so often such a verdict is right"
  : "by its own account, which is not calibrated";

const some = (words) =>
  words.slice(0, MOST_LISTED).join(", ") + (words.length > MOST_LISTED ? ", …" : "");

function words({ net, left, judged, whole }) {
  if (!net) return ASLEEP;
  if (!judged.tokens) return SPEECHLESS;
  const few = judged.names.length < FEW;
  const said = [
    `${verdict(judged)}: ${worth(net)}.`,
    few && `It knows only ${judged.names.length} of the words: do not trust it.`,
    left.length && `Left out: ${some(left)}.`,
    left.length && `With all words: ${verdict(whole)}.`,
  ];
  return said.filter(Boolean).join(" ");
}

function described({ judged, layer }) {
  if (!judged?.tokens) return "An empty plane";
  const { names, leaders } = judged, led = leaders.map((i) => names[i]).join(", ");
  return `Layer ${Math.floor(layer)}: ${names.length} words, leaders ${led}.`;
}

export default { render };
