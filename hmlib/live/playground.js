// The playground: a plane of tokens to drag, with the dials of the model.

import { addressOf, stateFrom } from "./address.js";
import { Plane } from "./canvas.js";
import {
  alphaDial, cloudMenu, layerDial, playButtons, randomTokens, showBoxes, tokenFields,
} from "./controls.js";
import { Course } from "./course.js";
import { begin, reachOf } from "./edits.js";
import { h, revise, status } from "./elements.js";
import { farthest } from "./numbers.js";
import { Player, animate } from "./frames.js";
import { listenToKeys, listenToPointers } from "./gestures.js";
import { legend } from "./legend.js";
import { copyButtons, inAddress } from "./links.js";
import { matrixControl } from "./matrix.js";
import { draw } from "./picture.js";
import { python } from "./python.js";
import { State, alike, inStep } from "./state.js";
import { taskList } from "./tasks.js";
import { guide } from "./tour.js";
import { probeWords, words } from "./words.js";

const WORK = 4; // milliseconds of a frame for the limit; the rest waits for the next
const PACE = 900, QUIET = 350; // milliseconds for a layer: where something happens, or not
const TRAITS = ["tokens", "alpha", "A", "layer", "show", "preset", "chosen"];
const SEEN = ["damage", "focused", "held", "over", "playing", "probe"];

function render({ model, el }) {
  const state = stateOf(model), presets = model.get("presets");
  const canvas = h("canvas", {
    tabIndex: 0, role: "application", "aria-roledescription": "plane of tokens",
  });
  const said = status();
  const controls = {
    play: playButtons(state),
    layer: layerDial(state),
    alpha: alphaDial(state),
    about: aboutOf(state, presets),
    tasks: taskList(state, presets),
    legend: legend(state),
  };
  const folded = { // under "More", and left alone until that is open
    cloud: cloudMenu(state, presets),
    token: tokenFields(state),
    show: showBoxes(state),
    matrix: matrixControl(state),
  };
  const root = page(state, canvas, said, { ...controls, ...folded });
  const fold = root.querySelector(".hm-more");
  el.append(root);
  const write = (state) => addressOf(state, presets);
  const read = (text) => opened(stateFrom(text, presets), presets);
  const names = TRAITS;
  const address = inAddress(state, model, root, {
    kind: "play", at: "book/intro.html", names, write, read,
  });
  root.querySelector(".hm-copy").append(...copyButtons({
    "Copy link": address.link, "Copy as Python": () => python(state),
  }));
  const now = () => Object.fromEntries(TRAITS.map((name) => [name, state[name]]));
  const shown = (text) => stateFrom(text, presets, { ...now(), layer: 0 });
  guide(root, "playground", shown, (text) => begin(state, shown(text)));

  const plane = new Plane(canvas, root);
  const pace = (layer) => (state.course.eventful(layer) ? PACE : QUIET);
  const player = new Player(state, pace, () => state.course.rest);
  let stale = true; // the words and the controls are
  function update() {
    const seen = fold.open ? { ...controls, ...folded } : controls;
    for (const control of Object.values(seen)) control.update();
    const { tokens, chosen, probed, course } = state, name = `token ${chosen + 1} chosen`;
    const label = `Plane with ${tokens.length} tokens, ${name}. Keys: see below.`;
    revise(canvas, { "aria-label": label });
    said.say(probed ? probeWords(probed, course.end) : words(state));
    stale = false;
  }
  const frames = animate(canvas, (now) => {
    player.advance(now);
    for (const course of [state.course, state.probed]) {
      if (!course?.running) continue;
      course.carryOn(WORK);
      stale ||= !course.running;
      break;
    }
    draw(plane, state);
    if (stale) update();
    return state.playing || state.course.running || Boolean(state.probed?.running);
  });
  state.watch([...TRAITS, ...SEEN], () => {
    stale = true;
    frames.ask();
  });
  fold.addEventListener("toggle", update);
  listenToPointers(canvas, plane, state);
  listenToKeys(canvas, state);
  const part = inStep(state, model, TRAITS);
  update(); // named before the first frame, which may be late
  return () => {
    frames.stop();
    part();
    address.stop();
  };
}

/** The traits, what nobody else needs to know, and the run that follows from them. */
function stateOf(model) {
  const traits = Object.fromEntries(TRAITS.map((name) => [name, model.get(name)]));
  const here = {
    damage: "", focused: false, held: false, over: -1, playing: false, probe: null,
  };
  const state = new State({
    ...traits, ...here, home: traits, reach: reachOf(traits.tokens),
    course: new Course(traits), probed: null,
  });
  state.watch(["tokens", "alpha", "A"], () => { // the first to hear of it
    const { tokens, chosen } = state;
    state.course = new Course(state);
    state.chosen = Math.min(chosen, tokens.length - 1);
    state.over = Math.min(state.over, tokens.length - 1);
  });
  state.watch(["tokens", "held"], () => {
    const far = farthest(state.course.tokens), { reach } = state;
    if (!state.held && (far > 0.97 * reach || far < reach / 2))
      state.reach = reachOf(state.tokens);
  });
  state.watch(["tokens", "alpha", "A", "probe"], () => {
    const { probe, tokens, alpha, A } = state;
    state.probed = probe && new Course({ tokens: [...tokens, probe], alpha, A });
  });
  return state;
}

/** What a link says, with the plane that fits; Reset leads back to its preset. */
function opened(said, presets) {
  if (!said) return null;
  const { tokens, alpha, token = 1 } = presets[said.preset];
  const home = { ...said, tokens, alpha, A: null, layer: 0, chosen: token - 1 };
  return { ...said, home, reach: reachOf(said.tokens), playing: false };
}

function aboutOf(state, presets) {
  const node = h("p", { className: "hm-about" });
  const update = () => {
    const { preset, tokens } = state, { about, tokens: its } = presets[preset] ?? {};
    const own = about && `Your own cloud, made from "${preset}".`;
    revise(node, { textContent: (alike(its, tokens) ? about : own) ?? "" });
  };
  return { node, update };
}

function page(state, canvas, said, controls) {
  const { play, layer, alpha, about, tasks, cloud, token, show, matrix } = controls;
  const root = h(
    "div",
    {
      className: "hm-live", role: "group",
      "aria-label": "Playground: tokens in the plane, and who follows whom",
    },
    canvas,
    h("div", { className: "hm-bar" }, ...play.node, layer.node, alpha.node),
    ...said.nodes, controls.legend.node, about.node, tasks.node,
    h("details", { className: "hm-more" },
      h("summary", {}, "More: other clouds, what is shown, A, coordinates, links"),
      h("div", { className: "hm-columns" },
        h("div", { className: "hm-controls" },
          cloud.node, ...token.node, randomTokens(state), matrix.node),
        h("div", { className: "hm-controls" }, show.node,
          h("div", { className: "hm-controls hm-copy" }),
          h("ul", { className: "hm-keys" },
            ...KEYS_AND_GESTURES.map((way) => h("li", {}, way)))))));
  root.dataset.live = "playground";
  return root;
}

const KEYS_AND_GESTURES = [
  "Drag a token, or its starting point (hollow) at a later layer.",
  "Double-click the plane to add one there.",
  "With the plane in focus: N and P choose the next and the previous token, arrow keys " +
    "move it (with Shift in small steps), Insert adds a token, Delete removes the " +
    "chosen one, [ and ] go through the layers, Space plays.",
  "With the basin shown, point at the plane or touch it: the figure says where one more " +
    "token would end that starts there. W, A, S and D move this probe, too.",
  "On the ellipse: drag the handles, or focus one and use the arrow keys.",
  "Fractions such as 2/9 are taken at their word.",
];

export default { render };
