// The playground: a plane of tokens to drag, with the dials of the model.

import { Plane } from "./canvas.js";
import {
  alphaDial, cloudMenu, copyButton, layerDial, playButton, randomTokens, showBoxes,
  tokenButtons, tokenFields,
} from "./controls.js";
import { Course } from "./course.js";
import { reachOf } from "./edits.js";
import { h, revise, row, status } from "./elements.js";
import { Player, animate } from "./frames.js";
import { listenToKeys, listenToPointers } from "./gestures.js";
import { matrixControl } from "./matrix.js";
import { farthest } from "./numbers.js";
import { draw } from "./picture.js";
import { State, inStep } from "./state.js";
import { words } from "./words.js";

const WORK = 4; // milliseconds of a frame for the limit; the rest waits for the next
const PACE = 700; // milliseconds for a layer, when playing
const TRAITS = ["tokens", "alpha", "A", "layer", "show", "preset"];

function render({ model, el }) {
  const state = stateOf(model), presets = model.get("presets");
  const canvas = h("canvas", {
    tabIndex: 0, role: "application", "aria-roledescription": "plane of tokens",
  });
  const said = status();
  const controls = {
    cloud: cloudMenu(state, presets),
    layer: layerDial(state),
    play: playButton(state),
    alpha: alphaDial(state),
    token: tokenFields(state),
    show: showBoxes(state),
    matrix: matrixControl(state),
  };
  const root = page(state, [canvas, ...said.nodes], controls);
  el.append(root);

  const plane = new Plane(canvas, root);
  const player = new Player(state, PACE, () => state.course.last);
  let stale = true; // the words and the controls are
  function update() {
    for (const control of Object.values(controls)) control.update();
    const { tokens, chosen } = state, name = `token ${chosen + 1} chosen`;
    const label = `Plane with ${tokens.length} tokens, ${name}. Keys: see below.`;
    revise(canvas, { "aria-label": label });
    said.say(words(state));
    stale = false;
  }
  const frames = animate(canvas, (now) => {
    player.advance(now);
    if (state.course.running) {
      state.course.carryOn(WORK);
      stale ||= !state.course.running;
    }
    draw(plane, state);
    if (stale) update();
    return state.playing || state.course.running;
  });
  state.watch([...TRAITS, "chosen", "playing", "held"], () => {
    stale = true;
    frames.ask();
  });
  listenToPointers(canvas, plane, state);
  listenToKeys(canvas, state);
  const part = inStep(state, model, TRAITS);
  update(); // named before the first frame, which may be late
  return () => {
    frames.stop();
    part();
  };
}

/** The traits, what nobody else needs to know, and the run that follows from them. */
function stateOf(model) {
  const traits = Object.fromEntries(TRAITS.map((name) => [name, model.get(name)]));
  const reach = reachOf(traits.tokens), course = new Course(traits);
  const here = { chosen: 0, playing: false, held: false };
  const state = new State({ ...traits, ...here, reach, course });
  state.watch(["tokens", "alpha", "A"], () => { // the first to hear of it
    const { tokens, chosen, reach, held } = state, far = farthest(tokens);
    state.course = new Course(state);
    state.chosen = Math.min(chosen, tokens.length - 1);
    if (!held && (far > reach || far < reach / 2)) state.reach = reachOf(tokens);
  });
  return state;
}

function page(state, stage, { cloud, layer, play, alpha, token, show, matrix }) {
  const root = h(
    "div",
    {
      className: "hm-live", role: "group",
      "aria-label": "Playground: tokens in the plane, and who follows whom",
    },
    h("div", { className: "hm-columns" },
      h("div", { className: "hm-stage" }, ...stage),
      h("div", { className: "hm-controls" },
        cloud.node, layer.node, row(play.node, ...tokenButtons(state)), alpha.node,
        token.node, show.node, matrix.node, randomTokens(state), ...copyButton(state),
        h("details", {},
          h("summary", {}, "Keys and gestures"), h("p", {}, KEYS_AND_GESTURES)))));
  root.dataset.live = "playground";
  return root;
}

const KEYS_AND_GESTURES = [
  "Drag a token, or its starting point (hollow) at a later layer.",
  "Double-click the plane to add one there.",
  "With the plane in focus: N and P choose the next and the previous token,",
  "arrow keys move it (with Shift in small steps), Insert adds a token,",
  "Delete removes the chosen one, [ and ] go through the layers, Space plays.",
  "On the ellipse: drag the handles, or focus one and use the arrow keys.",
].join(" ");

export default { render };
