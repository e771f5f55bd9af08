// The run of a cloud to its limit, a few milliseconds at a time, and what is known of
// it.

import { valueOf, valuesOf } from "./exact.js";
import { clusterPoints, hull } from "./geometry.js";
import { distinct } from "./hardmax.js";
import { limiting } from "./limits.js";
import { between } from "./numbers.js";
import { alike } from "./state.js";

const LAYERS = 12; // that can always be chosen; more while something moves
const UNKNOWN = 30; // and as long as the limit is not known
const MOST_CHOSEN = 399;
const UNSEEN = 1 / 300; // of the cloud's size: who is as near to the limit has arrived

export class Course {
  run = null; // so far
  end = null; // the limit, once it is known
  #K = null;
  #eventful = new Map();

  constructor({ tokens, alpha, A }) {
    Object.assign(this, distinct(tokens)); // the run knows copies as one token
    this.tokens = valuesOf(tokens);
    this.A = valuesOf(A);
    this.alpha = valueOf(alpha);
    this.steps = limiting(tokens, alpha, A);
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
    if (this.end) this.arrival ??= this.#arrival();
  }

  /** The layer from which on nothing moves that could be seen. */
  #arrival() {
    const { end, alpha } = this;
    if (!end.certified) return UNKNOWN;
    const { tokens } = end.at(end.settledAt);
    const left = Math.max(...this.first.map((i, k) => // after that all of it shrinks
      Math.hypot(...tokens[k].map((x, c) => x - end.tokens[i][c]))));
    const size = Math.max(...this.tokens.flat().map(Math.abs));
    const more = Math.ceil(Math.log(left / (UNSEEN * size)) / Math.log1p(alpha));
    return end.settledAt + Math.max(0, more || 0);
  }

  /** The last layer that is played. */
  get rest() {
    return Math.min(MOST_CHOSEN, this.arrival ?? UNKNOWN);
  }

  /** The last layer that can be chosen. */
  get last() {
    return this.end ? Math.max(LAYERS, this.rest) : UNKNOWN;
  }

  /** Does somebody follow another from the next layer on, or become a leader there? */
  eventful(layer) {
    if (!this.#eventful.has(layer)) {
      const now = this.at(layer), next = this.at(layer + 1);
      const births = [...this.born.values()].includes(layer + 1);
      const turns = !now || !next || !alike(now.sets, next.sets);
      this.#eventful.set(layer, births || turns);
    }
    return this.#eventful.get(layer);
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

  /** The tokens, copies too, that a set of distinct ones stands for. */
  withCopies(set) {
    return this.inverse.flatMap((k, i) => (set.includes(k) ? [i] : []));
  }
}
