// SPDX-License-Identifier: MIT
// Live figures without a kernel. A page of the book carries the state of its anywidgets, their code included, as
// Jupyter stores it; this draws them where they were displayed. What other widgets would draw is left to JupyterLab.
(async () => {
  const stored = (kind) => document.querySelectorAll(`script[type="application/vnd.jupyter.widget-${kind}+json"]`);
  const models = new Map();
  for (const { textContent } of stored("state"))
    for (const [id, { state }] of Object.entries(JSON.parse(textContent).state)) models.set(id, modelOf(state));

  /** What a figure asks of its model. There is no kernel: nothing is sent, and nobody else changes anything. */
  function modelOf(state) {
    const heard = new Map();
    const tell = (event, ...what) => [...(heard.get(event) ?? [])].forEach((hear) => hear(...what));
    return {
      get: (name) => state[name],
      set(name, value) {
        if (state[name] === value) return;
        state[name] = value;
        tell(`change:${name}`, value);
        tell("change");
      },
      on: (event, hear) => heard.set(event, [...(heard.get(event) ?? []), hear]),
      off: (event, hear) => heard.set(event, (heard.get(event) ?? []).filter((other) => other !== hear)),
      save_changes() {},
      send() {},
    };
  }

  // The book keeps code apart, in files that all pages share: "@" and the name of one.
  const text = (value) => (value?.startsWith("@") ? window.liveCode[value.slice(1)] : value);
  const modules = new Map(); // a figure shown twice loads its code once
  const load = (code) => {
    if (!modules.has(code)) modules.set(code, import(URL.createObjectURL(new Blob([code], { type: "text/javascript" }))));
    return modules.get(code);
  };
  for (const place of stored("view")) {
    const model = models.get(JSON.parse(place.textContent).model_id);
    if (!model?.get("_esm")) continue;
    const el = document.createElement("div"), style = document.createElement("style");
    style.textContent = text(model.get("_css"));
    place.before(style, el);
    try {
      (await load(text(model.get("_esm")))).default.render({ model, el });
    } catch (error) {
      el.textContent = `This live figure could not start (${error}). The picture before it shows the same, standing still.`;
      console.error(error);
    }
  }
})();
