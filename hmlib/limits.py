"""Infinite depth, certified: run until all tokens have settled, go on in closed form.

A token i settles when C_i = {v} and C_v = {v}: nothing ever changes that, and
z_i^(k+t) = v + (1+alpha)^-t (z_i^k - v). Nearly always that is all there is to it. With
exact ties a token may settle on the mean of several, for which the same is true as long
as that mean, and the tie, stay where they are. If the mean moves, see `frozen`.

Floats are run as floats, with a bound on how far rounding may have moved the tokens.
While every choice has a gap above that bound, it is the choice of the exact run. Where
one has not, the run is repeated on whole numbers.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import comb, exp, fsum, log1p, prod

import numpy as np

from hmlib import arithmetic, dynamics, inputs, rounding, runs
from hmlib.shapes import Cloud, Indices, Mask, Matrix, Rates

MOST_BITS = 2**24  # of a number that `at` works out exactly


@dataclass(frozen=True, eq=False)
class Limit:
    """The state at infinite depth, and how it is known.

    tokens       the limit of each token; where it is not `sure`, only likely
    leaders      (m,), of equal tokens the first; without a certificate there may be
                 more
    born         (m,), the layer from which each leads
    follows      (n,), the leader where a token ends; -1 if that is no vertex, or not
                 known
    certified    is all of this so, and not only likely?
    settled_at   the layer at which all have settled; None without a certificate
    error_bound  how far a coordinate of `tokens` may be from the truth; 0 is exact
    sure         bool (n,): whose limit is certain; with a certificate, everybody's
    why          why there is no certificate, and what to do; empty with one
    """

    tokens: Cloud
    leaders: Indices
    born: Indices
    follows: Indices
    certified: bool
    settled_at: int | None
    error_bound: float
    sure: Mask
    why: str
    _start: tuple = field(repr=False)
    _ahead: list = field(repr=False)

    @property
    def K(self) -> Cloud:
        """The vertices of the limit of the hulls: where the leaders are, (m, d)."""
        return self.tokens[self.leaders]

    def polytope(self) -> Cloud:
        """K in order, for certain, or a ValueError: see `limit_polytope`."""
        K = certain(self).K
        return K[counter_clockwise(K)] if K.shape[1] == 2 else K

    def at(self, layer: int) -> Cloud:
        """The tokens of any layer: in closed form from `settled_at` on, else simulated.

        Floats are off by at most `error_bound` and 7 eps times the largest coordinate.
        """
        layer, since = inputs.count(layer, "layer"), self.settled_at
        if since is not None and layer >= since:
            left = self._left(since, layer)
            ahead = self._ahead if left else []  # no float holds every binomial
            moves = [left * comb(layer - since, k) * q for k, q in enumerate(ahead)]
            return self.tokens + sum(moves)
        if since is None and layer > runs.MOST_LAYERS:
            most = f"at most {runs.MOST_LAYERS}, which are simulated"
            why = f"Not certified, because {self.why.rstrip('.')}"
            given = f"layer is {layer}, but this limit is not certified"
            inputs.refuse(given, f"{most}. {why}")
        Z, rates, A = self._start
        for alpha in [*rates[:layer], *rates[-1:] * (layer - len(rates))]:
            Z = dynamics.step(Z, alpha, A)
        return Z.copy() if Z.dtype == self.tokens.dtype else Z.astype(float)

    def _left(self, since, layer):
        """The product of 1 / (1 + alpha) over the layers from one to another."""
        _, rates, _ = self._start
        early, last = rates[since:layer], rates[-1]
        late = max(0, layer - max(since, len(rates)))  # layers with the last alpha
        if self.tokens.dtype != object:
            early = fsum(log1p(alpha) for alpha in early)
            return exp(-early - min(late * Fraction(log1p(last)), 1000))
        if late * (1 + last).numerator.bit_length() > MOST_BITS:
            many = "its exact tokens have too many digits. Pass Z as floats."
            raise ValueError(f"layer is {layer}: {many}")
        return prod(1 / (1 + alpha) for alpha in early) * (1 / (1 + last)) ** late


def limit(
    Z: Cloud,
    alpha: Rates,
    A: Matrix | None = None,
    *,
    seconds: float = 20,
    megabytes: float = 64,
) -> Limit:
    """lim Z^k for k to infinity, with its leaders and a certificate.

    >>> end = limit([[1, 0.5], [2, 1], [2, -1]], alpha=1)
    >>> end.tokens.tolist(), end.leaders.tolist(), end.follows.tolist()
    ([[2.0, 1.0], [2.0, 1.0], [2.0, -1.0]], [1, 2], [1, 1, 2])
    >>> end.certified, end.settled_at, end.at(10**6).tolist()[0]
    (True, 0, [2.0, 1.0])

    Z          one cloud, (n, d), of floats or Fractions
    alpha      a number > 0, or one per layer: a sequence goes on with its last value
    A          symmetric positive definite, (d, d); the identity if None
    seconds    what a run on whole numbers may take, where floats leave a choice open
    megabytes  and what its tokens may. Where that is not enough, there is no
               certificate: floats go on from there, and the answer says of each token
               if it is sure.
    """
    Z = inputs.cloud(Z)
    one = "one cloud, (n, d); take the clouds of a batch one by one"
    inputs.check(Z.ndim == 2, "Z", Z, one)
    rates, A = inputs.rates(alpha, inputs.summable(Z)), inputs.matrix(A, Z)
    seconds = inputs.amount(seconds, "seconds")
    megabytes = inputs.amount(megabytes, "megabytes")
    first, value = arithmetic.distinct(Z)
    X, copies = Z if len(first) == len(Z) else Z[first], np.bincount(value)

    run = None if Z.dtype == object else runs.Run(runs.Floats(X, rates, A), copies)
    if run is None or not (run.certain or run.why):
        whole = runs.Run(runs.Whole(X, rates, A), copies, seconds, megabytes)
        run = run if run and run.settled.sum() > whole.settled.sum() else whole
        run.why = whole.why
    sure, leader, born = run.settled.copy(), run.leader.copy(), run.born.copy()
    why, model = "", (Z, rates, A)
    if run.certain:
        error = run.cloud.error()
    else:
        unsettled = f"{np.sum(~sure[value])} of {len(Z)} tokens had not settled"
        why = f"by layer {run.layer}, {unsettled}: {run.why}"
        error = _guess(run, Z, seconds, why)
    if run.certain and run.cloud.exact:
        exact = None if A is None else arithmetic.rationals(A)
        model = arithmetic.rationals(Z), run.cloud.rates, exact
    leads = np.flatnonzero(born >= 0)  # in order: `first` increases
    return Limit(
        tokens=run.cloud.values(run.target)[value],
        leaders=first[leads],
        born=born[leads],
        follows=np.append(first, -1)[leader[value]],
        certified=run.certain,
        settled_at=run.layer if run.certain else None,
        error_bound=error,
        sure=sure[value],
        why=why,
        _start=model,
        _ahead=[run.cloud.values(q)[value] for q in run.ahead],
    )


def _guess(run, Z, seconds, why):
    """Go on with floats; returns how far they may be from the truth."""
    try:
        run.guess(seconds)
        spread, size = float(np.ptp(Z, axis=0).max()), float(abs(Z).max())
    except OverflowError:
        inputs.refuse(why, "numbers that float64 holds, to go on with floats")
    rounded = Z.dtype == object  # once, to be a float
    return spread + rounded * (rounding.EPS * size + rounding.SMALLEST)


def leaders(Z: Cloud, alpha: Rates, A: Matrix | None = None) -> Indices:
    """The tokens that at some layer follow themselves alone, C_i(Z^k) = {i}: int (m,).

    >>> leaders([[1, 0], [2, 1], [2, -1]], alpha=1)
    array([1, 2])

    Arguments as for `limit`, which says besides when each begins to lead. All of them,
    for certain, or a ValueError.
    """
    return certain(limit(Z, alpha, A)).leaders


def limit_polytope(Z: Cloud, alpha: Rates, A: Matrix | None = None) -> Cloud:
    """The vertices of K, the limit of the hulls of the tokens: where the leaders are.

    >>> limit_polytope([[1, 1], [0.5, 0], [-1, 1], [-1, -1], [1, -1]], alpha=1)
    array([[-1., -1.],
           [ 1., -1.],
           [ 1.,  1.],
           [-1.,  1.]])

    Z, alpha, A  as for `limit`
    Returns (m, d): in the plane counter-clockwise from the leftmost (of these the
    lowest), else as the leaders come. All of them, for certain, or a ValueError.
    """
    return limit(Z, alpha, A).polytope()


def counter_clockwise(vertices: Cloud) -> Indices:
    """The order of a convex polygon's vertices: to the right below, and back above."""
    P = arithmetic.integers(vertices)
    right = sorted(range(len(P)), key=lambda i: tuple(P[i]))
    dx, dy = P[right[-1]] - P[right[0]]
    above = (P - P[right[0]]) @ np.array([-dy, dx]) > 0
    below = [i for i in right if not above[i]]
    return np.array(below + [i for i in reversed(right) if above[i]])


def certain(end: Limit) -> Limit:
    """The limit, if it has a certificate."""
    if end.certified:
        return end
    cloud = f"this cloud of shape {end.tokens.shape}"
    raise ValueError(f"The limit of {cloud} could not be certified: {end.why}")
