// The review explorer: a review is typed, its words become tokens and gather, and their mean is judged. The words, their
// embedding, alpha, the depth and the decoder come from a file that loads when it is asked for.

import { leadersOf, simulate } from "./hardmax.js";
import { animate, announcer, arrow, colours, field, h, mark, still } from "./live.js";

const LENGTH = 128; // words of a review that count
const SPEED = 1200; // milliseconds for a layer, when playing

/** The words of a review: hmlib.preprocess(text, "plain"), in linear time as there. */
export function plain(text, stop) {
  const lower = text.toLowerCase(), end = lower.lastIndexOf(">") + 1; // behind it there is no tag to look for
  const words = (lower.slice(0, end).replace(/<[^>]+>/g, " ") + lower.slice(end)).match(/[a-z](?:[a-z']*[a-z])?/g) ?? [];
  return words.filter((word) => word.length > 1 && !stop.has(word));
}

/** The stored model as it is used: numbers of words, rows of the embedding. */
export function unpack({ words, embedding, stop, ...numbers }) {
  const bytes = Uint8Array.from(atob(embedding), (c) => c.charCodeAt(0)), rows = new Float32Array(bytes.buffer);
  const names = words.split(" "), index = new Map(names.map((word, i) => [word, i]));
  return { ...numbers, index, stop: new Set(stop), row: (word) => [...rows.subarray(2 * index.get(word), 2 * index.get(word) + 2)] };
}

/** hmlib.explain, with some words left out: tokens are the distinct known words, counts say how often each occurs. */
export function explain(net, words, left = new Set()) {
  const counts = new Map(), unknown = words.filter((word) => !net.index.has(word));
  for (const word of words.filter((word) => net.index.has(word)).slice(0, LENGTH)) counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const word of left) counts.delete(word);
  const names = [...counts.keys()], weights = [...counts.values()], total = weights.reduce((a, b) => a + b, 0);
  if (!total) return { names, unknown };
  const { tokens, sets } = simulate(names.map(net.row), net.alpha, net.depth);
  const means = tokens.map((Z) => [0, 1].map((c) => Z.reduce((s, z, i) => s + weights[i] * z[c], 0) / total));
  const score = (z) => net.weight[0] * z[0] + net.weight[1] * z[1];
  const last = sets.at(-1)?.map((set) => set[0]) ?? names.map((_, i) => i);
  const root = last.map((_, i) => {
    while (last[i] !== i) i = last[i];
    return i;
  });
  const shares = new Map();
  root.forEach((r, i) => shares.set(r, (shares.get(r) ?? 0) + (weights[i] * score(tokens.at(-1)[i])) / total));
  return { names, unknown, weights, tokens, sets, means, root, shares, leaders: leadersOf(tokens[0], sets), logit: score(means.at(-1)) + net.bias };
}

const percent = (logit) => `${Math.round(100 / (1 + Math.exp(-Math.abs(logit))))} %`;
const verdict = (logit) => `${logit > 0 ? "▲ positive" : "▼ negative"}, ${percent(logit)} sure`;

function render({ model, el }) {
  let net = null, layer = 0, playing = 0, said = null, whole = null;
  const left = new Set();

  const area = h("textarea", { rows: 5, value: model.get("text"), oninput: () => judge(), "aria-label": "Your review" });
  const examples = h("select", { onchange: () => examples.value && ((area.value = model.get("examples")[examples.value - 1][1]), judge()) },
    h("option", { value: "" }, "your own"), ...model.get("examples").map(([name], i) => h("option", { value: i + 1 }, name)));
  const load = h("button", { type: "button", onclick: ask }, "Load the model");
  const note = h("span", { className: "hm-note" }, " The model, less than 1 MB, loads only when you ask for it.");
  const canvas = h("canvas", { role: "img" }), pen = canvas.getContext("2d");
  const chips = h("div", { className: "hm-chips", role: "group", "aria-label": "Words of the review. Press one to leave it out." });
  const slider = h("input", { type: "range", min: 0, max: 1, value: 0, oninput: () => ((playing = 0), (layer = +slider.value), refresh()) });
  const shownLayer = h("output"), play = h("button", { type: "button", onclick: start }, "Play");
  const back = h("button", { type: "button", onclick: () => (left.clear(), judge()) }, "All words again");
  const says = h("p", { className: "hm-status" }), aloud = h("p", { className: "hm-aloud", role: "status" }), announce = announcer(aloud);
  const root = h("div", { className: "hm-live", role: "group", "aria-label": "Review explorer: the words of a review gather, and the mean is judged" },
    h("div", { className: "hm-columns" },
      h("div", { className: "hm-stage" }, canvas, says, aloud),
      h("div", { className: "hm-controls" },
        field("Review", examples), area, h("div", { className: "hm-row" }, load, note),
        field("Layer", slider, shownLayer), h("div", { className: "hm-row" }, play, back),
        h("p", {}, "Press a word to leave it out; a word with a question mark is unknown to the model."), chips)));
  root.dataset.live = "reviews";
  el.append(root);

  // The model: from the kernel in JupyterLab; in a page as a script, which works from a file too.
  function ask() {
    load.disabled = true;
    note.textContent = " Loading …";
    if (model.widget_manager) return model.send({ load: true });
    const script = h("script", { src: `${document.documentElement.dataset.content_root ?? ""}_static/${model.get("file")}` });
    script.onload = () => arrived(globalThis.hmlibReviewModel);
    script.onerror = () => arrived(null);
    document.head.append(script);
  }
  function arrived(stored) {
    load.disabled = Boolean(stored);
    note.textContent = stored ? ` ${stored.about}` : " There is no trained model beside this page.";
    if (!stored) return;
    net = unpack(stored);
    slider.max = net.depth;
    judge();
    canvas.closest("[data-live]").dataset.loaded = "yes";
  }
  const answer = (message) => arrived(message.model ?? null);
  model.on("msg:custom", answer);

  function start() {
    playing = playing ? 0 : performance.now();
    refresh();
  }
  function judge() {
    model.set("text", area.value);
    model.save_changes();
    const words = net ? plain(area.value, net.stop) : plain(area.value, new Set());
    for (const word of left) if (!words.includes(word)) left.delete(word);
    said = net && explain(net, words, left);
    whole = net && left.size ? explain(net, words) : said;
    const held = document.activeElement?.dataset?.word;
    chips.replaceChildren(...[...new Set(words)].map((word) => {
      if (net && !net.index.has(word)) return h("span", { className: "hm-chip hm-unknown" }, word, " ?");
      if (!net) return h("span", { className: "hm-chip" }, word);
      const chip = h("button", { type: "button", className: "hm-chip", "aria-pressed": left.has(word), onclick: () => {
        left.has(word) ? left.delete(word) : left.add(word);
        judge();
      } }, word);
      chip.dataset.word = word;
      return chip;
    }));
    if (held) [...chips.children].find((chip) => chip.dataset.word === held)?.focus();
    refresh();
  }

  function draw() {
    const sharp = canvas.width / canvas.clientWidth, { clientWidth: width, clientHeight: height } = canvas, c = colours(root);
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.fillStyle = c.ground;
    pen.fillRect(0, 0, width, height);
    pen.font = "13px system-ui, sans-serif";
    pen.fillStyle = c.ink;
    if (!said?.tokens) return pen.fillText(net ? "No word that the model knows." : "Load the model to see the words gather.", 12, 24);
    const k = Math.floor(layer), share = layer - k, { tokens, means, names, weights } = said;
    const between = (path, i) => (share ? path[k][i].map((x, a) => x + share * (path[k + 1][i][a] - x)) : path[k][i]);
    const T = names.map((_, i) => between(tokens, i)), mean = between(means.map((m) => [m]), 0);
    const reach = 1.2 * Math.max(...tokens[0].flat().map(Math.abs)), scale = Math.min(width, height) / 2 / reach;
    const pixel = ([x, y]) => [width / 2 + x * scale, height / 2 - y * scale];

    // The two sides of the decoder's line, { z : <v, z> + b = 0 }.
    const [a, b] = net.weight, long = Math.hypot(a, b) || 1, u = [a / long, b / long], foot = u.map((x) => (-net.bias / long) * x), far = 4 * reach;
    const edge = [[foot[0] - far * u[1], foot[1] + far * u[0]], [foot[0] + far * u[1], foot[1] - far * u[0]]];
    for (const [side, colour] of [[1, c.orange], [-1, c.blue]]) {
      pen.beginPath();
      for (const p of [...edge, ...edge.slice().reverse().map((q) => [q[0] + side * 2 * far * u[0], q[1] + side * 2 * far * u[1]])]) pen.lineTo(...pixel(p));
      pen.globalAlpha = 0.12;
      pen.fillStyle = colour;
      pen.fill();
      pen.globalAlpha = 1;
      pen.fillStyle = c.ink;
      const [x, y] = pixel(foot.map((f, i) => f + side * 0.75 * reach * u[i]));
      pen.fillText(side > 0 ? "positive" : "negative", Math.min(width - 60, Math.max(4, x - 25)), Math.min(height - 8, Math.max(16, y)));
    }
    const stroke = (colour, thick, dash = []) => ((pen.strokeStyle = colour), (pen.lineWidth = thick), pen.setLineDash(dash), pen.stroke());
    pen.beginPath();
    edge.forEach((p) => pen.lineTo(...pixel(p)));
    stroke(c.ink, 1.3, [6, 4]);

    const sets = said.sets[Math.min(k, said.sets.length - 1)] ?? [], leads = new Set(said.leaders);
    pen.beginPath();
    sets.forEach((set, i) => set[0] !== i && arrow(pen, pixel(T[i]), pixel(T[set[0]]), 7));
    pen.globalAlpha = 0.5;
    stroke(c.ink, 0.8);
    pen.globalAlpha = 1;
    T.forEach((z, i) => {
      if (leads.has(i)) return;
      pen.beginPath();
      mark(pen, "circle", pixel(z), 3.5 + Math.min(4, weights[i] - 1));
      pen.fillStyle = c.sky;
      pen.fill();
      stroke(c.ink, 0.6);
    });
    const label = (text, z, bold) => {
      const [x, y] = pixel(z), wide = pen.measureText(text).width;
      pen.font = `${bold ? "bold " : ""}13px system-ui, sans-serif`;
      pen.fillStyle = c.ink;
      pen.fillText(text, Math.max(2, Math.min(width - wide - 6, x + 9)), Math.max(12, y - 9));
    };
    if (names.length <= 25 && layer === 0) T.forEach((z, i) => leads.has(i) || label(names[i], z));
    for (const i of leads) {
      pen.beginPath();
      mark(pen, "star", pixel(T[i]), 10);
      pen.fillStyle = c.green;
      pen.fill();
      stroke(c.ink, 1);
      label(names[i], T[i], true);
    }
    pen.beginPath();
    mark(pen, "triangle", pixel(mean), 10);
    pen.fillStyle = c.ink;
    pen.fill();
    stroke(c.ground, 1.5);
  }
  function words() {
    if (!net) return "These are the words of the text; the model will drop some. Load it to see them gather and be judged.";
    if (!said.tokens) return "The model knows none of these words, so there is nothing to judge.";
    const votes = [...said.shares].sort((p, q) => Math.abs(q[1]) - Math.abs(p[1])).slice(0, 6);
    const gathered = votes.map(([r, share]) => `${said.names[r]} ${share > 0 ? "+" : "−"}${Math.abs(share).toFixed(2)}`);
    const turned = left.size && whole.tokens ? ` With all words: ${verdict(whole.logit)}.` : "";
    const unknown = said.unknown.length ? ` Unknown: ${[...new Set(said.unknown)].slice(0, 8).join(", ")}.` : "";
    return `${verdict(said.logit)}.${left.size ? ` Left out: ${[...left].join(", ")}.${turned}` : ""} ` +
      `Shares of the places where words gather: ${gathered.join(", ")}; bias ${net.bias.toFixed(2)}.${unknown}`;
  }
  const frames = animate(root, canvas, (now) => {
    const top = net?.depth ?? 0;
    if (playing) {
      const at = Math.min((now - playing) / SPEED, top);
      layer = still.matches ? Math.floor(at) : at;
      if (at >= top) playing = 0;
    }
    layer = Math.min(layer, top);
    draw();
    slider.value = Math.floor(layer);
    slider.disabled = play.disabled = back.disabled = !net;
    shownLayer.textContent = Math.floor(layer);
    play.textContent = playing ? "Pause" : "Play";
    const text = words();
    if (says.textContent !== text) says.textContent = text;
    canvas.setAttribute("aria-label", said?.tokens ? `Layer ${Math.floor(layer)}: ${said.names.length} words, leaders ${said.leaders.map((i) => said.names[i]).join(", ")}.` : "An empty plane");
    announce(text);
    return Boolean(playing);
  });
  function refresh() {
    frames.ask();
  }
  judge();
  return () => {
    frames.stop();
    model.off("msg:custom", answer);
  };
}

export default { render };
