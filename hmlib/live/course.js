// The run of a cloud to its limit, a few milliseconds at a time, and what is known of
// it.

import { clusterPoints, hull } from "./geometry.js";
import { distinct } from "./hardmax.js";
import { limiting } from "./limits.js";
import { between } from "./numbers.js";

const LAYERS = 30; // that can always be chosen; more while tokens settle later
const MOST_CHOSEN = 399;

export class Course {
  run = null; // so far
  end = null; // the limit, once it is known
  #K = null;

  constructor({ tokens, alpha, A }) {
    Object.assign(this, distinct(tokens)); // the run knows copies as one token
    Object.assign(this, { A, steps: limiting(tokens, alpha, A) });
  }

  get running() {
    return !this.end;
  }

  carryOn(milliseconds) {
    const until = performance.now() + milliseconds;
    while (this.running && performance.now() < until) {
      const { done, value } = this.steps.next();
      if (done) this.end = value;
      else this.run = value;
    }
  }

  /** The last layer that can be chosen. */
  get last() {
    return Math.max(LAYERS, Math.min(this.end?.settledAt ?? 0, MOST_CHOSEN));
  }

  /**
   * A layer as far as it is known, { tokens, sets } of the distinct tokens, or nothing.
   */
  at(layer) {
    const path = this.run?.path;
    return this.end ? this.end.at(layer) : path?.[Math.min(layer, path.length - 1)];
  }

  /** Where tokens are on the way to the next layer, with the sets of this one. */
  between(layer) {
    const k = Math.floor(layer), now = this.at(k), share = layer - k;
    if (!now || !share) return now;
    return { ...now, tokens: between(now.tokens, this.at(k + 1).tokens, share) };
  }

  /** { distinct token: the layer in which it is born as a leader }, as a Map. */
  get born() {
    const { end, inverse } = this;
    if (end) return new Map(end.leaders.map((i, m) => [inverse[i], end.born[m]]));
    const births = [...(this.run?.born ?? []).entries()];
    return new Map(births.filter(([, layer]) => layer >= 0));
  }

  /** The polygon K, { corners, points } with the points of S(K), or null so far. */
  get K() {
    if (this.end && !this.#K) {
      const ends = this.end.leaders.map((i) => this.end.tokens[i]);
      const corners = hull(ends).map((i) => ends[i]);
      this.#K = { corners, points: clusterPoints(corners, this.A) };
    }
    return this.#K;
  }
}
