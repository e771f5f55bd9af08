// What a figure shows: a few values, and whoever wants to hear of their changes.

/** Equal, as data; large clouds of different sizes are told apart at once. */
export const alike = (a, b) => a === b ||
  (a?.length === b?.length && JSON.stringify(a) === JSON.stringify(b));

export class State {
  #watchers = [];

  constructor(values) {
    Object.assign(this, values);
  }

  /** Take values. Whoever watches one that is new hears of it, once all are there. */
  set(values) {
    const differs = (name) => !alike(this[name], values[name]);
    const fresh = Object.keys(values).filter(differs);
    for (const name of fresh) this[name] = values[name];
    for (const { names, hear } of this.#watchers)
      if (fresh.some((name) => names.includes(name))) hear();
  }

  watch(names, hear) {
    this.#watchers.push({ names, hear });
  }
}

/**
 * Keep values in step with the traits of an anywidget's model, both ways. What is done
 * here is saved a moment later, not at every pixel. Returns a function that ends it.
 */
export function inStep(state, model, names) {
  let saving = 0;
  const save = () => {
    saving = 0;
    model.save_changes();
  };
  // Between two layers, for those who are not here it is the first of them.
  const trait = (name) => (name === "layer" ? Math.floor(state.layer) : state[name]);
  const differs = (name) => !alike(model.get(name), trait(name));
  state.watch(names, () => {
    const fresh = names.filter(differs);
    for (const name of fresh) model.set(name, trait(name));
    if (fresh.length) saving ||= setTimeout(save, 80);
  });
  const hearers = names.map((name) => {
    const hear = () => differs(name) && state.set({ [name]: model.get(name) });
    return [`change:${name}`, hear];
  });
  for (const hearer of hearers) model.on(...hearer);
  return () => {
    clearTimeout(saving);
    for (const hearer of hearers) model.off(...hearer);
  };
}
