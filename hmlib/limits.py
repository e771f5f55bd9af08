"""Infinite depth, certified: run until every token has settled, then go on in closed form.

A token i settles when C_i = {v} and C_v = {v}: nothing ever changes that, and z_i^(k+t) = v + (1+alpha)^-t (z_i^k - v).
Nearly always that is all there is to it. With exact ties a token may settle on the mean of several, for which the
same is true as long as that mean, and the tie, stay where they are. Ties whose mean moves are a matter of `frozen`.

Floats are run as floats, with a bound on how far rounding may have moved the tokens. While every choice has a gap above
that bound, it is the choice of the exact run. Where one has not, the run is repeated on whole numbers.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import comb, exp, fsum, inf, lcm, log1p, prod
from time import perf_counter

import numpy as np

from hmlib import arithmetic, attention, dynamics, frozen, inputs, rounding, routes
from hmlib.arithmetic import distinct
from hmlib.shapes import Cloud, Indices, Matrix, Rates

MOST_LAYERS = 20_000  # a run that has not settled by then is left uncertified
MOST_BITS = 2**24  # of a number that `at` works out exactly


@dataclass(frozen=True)
class Limit:
    """The state at infinite depth, and how it is known."""

    tokens: (
        np.ndarray
    )  # (n, d), the limit of every token; where it is not `sure`, only likely
    leaders: np.ndarray  # (m,), indices of the leaders, of equal tokens the first; without a certificate there may be more
    born: np.ndarray  # (m,), the layer from which each leads
    follows: (
        np.ndarray
    )  # (n,), the leader where a token ends, -1 where that is no vertex, or not known
    certified: bool  # is all of this so, and not only likely?
    settled_at: (
        int | None
    )  # the layer at which every token has settled; None without a certificate
    error_bound: (
        float  # how far a coordinate of `tokens` may be from the truth; 0 is exact
    )
    sure: (
        np.ndarray
    )  # bool (n,): whose limit is certain; with a certificate, everybody's
    why: str  # why there is no certificate, and what to do; empty with one
    _start: tuple = field(repr=False)
    _ahead: list = field(repr=False)

    @property
    def K(self) -> Cloud:
        """The vertices of the limit of the convex hulls: where the leaders are, (m, d)."""
        return self.tokens[self.leaders]

    def polytope(self) -> Cloud:
        """K in order, for certain, or a ValueError: see `limit_polytope`."""
        K = certain(self).K
        return K[counter_clockwise(K)] if K.shape[1] == 2 else K

    def at(self, layer: int) -> Cloud:
        """The tokens of any layer: in closed form from `settled_at` on, simulated before.

        Floats are off by at most `error_bound` and 7 eps times the largest coordinate.
        """
        Z, rates, A = self._start
        layer, since = inputs.count(layer, "layer"), self.settled_at
        if since is None and layer > MOST_LAYERS:
            raise ValueError(
                f"layer is {layer}, but this limit is not certified: expected at most {MOST_LAYERS}, which are simulated. "
                f"Not certified, because {self.why}"
            )
        if since is None or layer < since:
            path = [*rates[:layer], *rates[-1:] * (layer - len(rates))]
            for alpha in path:
                Z = dynamics.step(Z, alpha, A)
            return Z if Z.dtype == self.tokens.dtype else Z.astype(float)
        early, late, steps = (
            rates[since:layer],
            max(0, layer - max(since, len(rates))),
            layer - since,
        )
        if self.tokens.dtype == object:
            if late * (1 + rates[-1]).numerator.bit_length() > MOST_BITS:
                raise ValueError(
                    f"layer is {layer}: its exact tokens have too many digits. Pass Z as floats."
                )
            left = (
                prod(1 / (1 + alpha) for alpha in early) * (1 / (1 + rates[-1])) ** late
            )
        else:
            left = exp(
                -fsum(log1p(alpha) for alpha in early)
                - min(late, 10**300) * log1p(rates[-1])
            )
        return self.tokens + (
            left and sum(left * comb(steps, k) * q for k, q in enumerate(self._ahead))
        )


def leaders(Z: Cloud, alpha: Rates, A: Matrix | None = None) -> Indices:
    """The tokens that at some layer follow themselves alone, C_i(Z^k) = {i}: int (m,).

    >>> leaders([[1, 0], [2, 1], [2, -1]], alpha=1)
    array([1, 2])

    Arguments as for `limit`, which says besides when each begins to lead. All of them, for certain, or a ValueError.
    """
    return certain(limit(Z, alpha, A)).leaders


def limit_polytope(Z: Cloud, alpha: Rates, A: Matrix | None = None) -> Cloud:
    """The vertices of K, the limit of the convex hulls of the tokens: where the leaders are.

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
    """The order of a convex polygon's vertices: from left to right below, and back above."""
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
    raise ValueError(
        f"The limit of this cloud of shape {end.tokens.shape} could not be certified: {end.why}"
    )


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
    megabytes  and what its tokens may. Where that is not enough, there is no certificate: floats go on from there, and
               the answer says of each token whether it is sure.
    """
    Z = inputs.cloud(Z)
    if Z.ndim != 2:
        raise ValueError(
            f"Z has shape {Z.shape}: expected one cloud, (n, d); take the clouds of a batch one by one."
        )
    rates, A = inputs.rates(alpha, inputs.summable(Z)), inputs.matrix(A, Z)
    seconds, megabytes = (
        inputs.amount(seconds, "seconds"),
        inputs.amount(megabytes, "megabytes"),
    )
    first, of = distinct(Z)
    X, copies = Z if len(first) == len(Z) else Z[first], np.bincount(of)

    run = None if Z.dtype == object else _Run(_Floats(X, rates, A), copies)
    if run is None or run.open:
        whole = _Run(_Whole(X, rates, A), copies, seconds, megabytes)
        run = run if run and run.settled.sum() > whole.settled.sum() else whole
        run.why = whole.why
    sure, leader, born = run.settled, run.leader, run.born
    if not run.certain:
        run.guess(seconds)
    names = np.append(first, -1)  # of a distinct token, the first of its copies
    leads = np.flatnonzero(born >= 0)  # in order: `first` increases
    return Limit(
        tokens=run.cloud.values(run.target)[of],
        leaders=first[leads],
        born=born[leads],
        follows=names[leader[of]],
        certified=run.certain,
        settled_at=run.layer if run.certain else None,
        error_bound=float(
            run.cloud.error() if run.certain else np.ptp(Z, axis=0).max()
        ),
        sure=sure[of],
        why=""
        if run.certain
        else f"by layer {run.layer}, {np.sum(~sure[of])} of {len(Z)} tokens had not settled: {run.why}",
        _start=run.cloud.start(Z, rates, A),
        _ahead=[run.cloud.values(q)[of] for q in run.ahead],
    )


class _Floats:
    """Distinct tokens as floats, each coordinate within `blur` of the exact run."""

    exact, sure = False, True

    def __init__(self, Z, rates, A):
        self.Z, self.rates, self.A, self.blur = Z, rates, A, 0.0
        self._rounding = rounding.of_layer(Z)

    def mean(self, X, copies):
        return np.array([fsum(x) / copies.sum() for x in (X * copies[:, None]).T])

    def advance(self, target, alpha):
        """Take one layer; return the targets on the scale of the new tokens."""
        self.Z = dynamics.advance(self.Z, target, alpha)
        self.blur += self._rounding
        return target

    def values(self, X):
        return X

    def error(self):
        return self.blur

    def start(self, *model):
        """The model, in numbers from which it may be simulated."""
        return model


class _RoughFloats(_Floats):
    """Floats taken for exact, from a layer on where there is no certain answer: a likely one."""

    sure = False

    def __init__(self, cloud):
        A = (
            cloud.A
            if cloud.A is None or not cloud.exact
            else arithmetic.unit(cloud.A, None)
        )
        super().__init__(
            cloud.values(cloud.Z).astype(float),
            [float(alpha) for alpha in cloud.rates],
            A,
        )
        self._rounding = 0.0


class _Whole:
    """Distinct tokens as whole numbers, `scale` times too large: the model without its normalisation."""

    exact, sure, blur = True, True, 0.0

    def __init__(self, Z, rates, A):
        self.rates, self._rational = (
            [Fraction(alpha) for alpha in rates],
            Z.dtype == object,
        )
        self.A = (
            None if A is None else arithmetic.integers(A)
        )  # times a positive number: the same sets
        Z = arithmetic.rationals(Z)
        self.Z, self.scale = (
            arithmetic.integers(Z),
            lcm(*(x.denominator for x in Z.flat)),
        )

    def mean(self, X, copies):
        return copies.astype(object) @ X * Fraction(1, int(copies.sum()))

    def advance(self, target, alpha):
        whole = lcm(
            *(x.denominator for x in target.flat)
        )  # means of ties are fractions
        p, q = alpha.numerator, alpha.denominator
        target = np.frompyfunc(int, 1, 1)(target * whole)
        self.Z = q * whole * self.Z + p * target
        self.scale *= (p + q) * whole
        return (p + q) * target

    def values(self, X):
        if self._rational:
            return np.frompyfunc(Fraction, 2, 1)(X, self.scale)
        return (X / self.scale).astype(float)

    def error(self):
        """Values that are rounded once."""
        return (
            0.0
            if self._rational
            else rounding.EPS * float(abs(self.values(self.Z)).max())
            + rounding.SMALLEST
        )

    def start(self, Z, rates, A):
        return (
            arithmetic.rationals(Z),
            self.rates,
            None if A is None else arithmetic.rationals(A),
        )


class _Run:
    """Layer after layer, until all tokens have settled or hope is given up."""

    def __init__(self, cloud, copies, seconds=inf, megabytes=inf):
        n = len(cloud.Z)
        self.cloud, self.copies = cloud, copies
        self.target, self.ahead = (
            cloud.Z,
            [],
        )  # where each token goes: for ever, once it has settled; and how
        self.leader, self.born = np.full(n, -1), np.full(n, -1)
        self.settled, self.heard = np.zeros(n, bool), None
        self.certain, self.open, self.why = False, False, ""
        self.layer = 0
        self._go(seconds, megabytes)

    def _go(self, seconds, megabytes):
        cloud, self.until = self.cloud, perf_counter() + seconds
        while self._look():
            if self.settled.all():
                self.certain = cloud.sure
                self.ahead = self.ahead or [cloud.Z - self.target]
                return
            if self.layer == MOST_LAYERS:
                self.why = f"a run ends after {MOST_LAYERS} layers. A larger alpha needs fewer."
                return
            before = cloud.Z
            self.target = cloud.advance(
                self.target, cloud.rates[min(self.layer, len(cloud.rates) - 1)]
            )
            self.layer += 1
            if (
                cloud.exact
                and cloud.scale.bit_length() * cloud.Z.size > 8e6 * megabytes
            ):
                self.why = f"the run on whole numbers needs more than {megabytes} megabytes. limit(..., megabytes=...) gives it more."
                return
            if perf_counter() > self.until:
                self.why = f"the run on whole numbers has taken its {seconds} seconds. limit(..., seconds=...) gives it more."
                return
            if not cloud.exact and (before == cloud.Z).all():
                break
        self.open = True  # what floats cannot tell

    def guess(self, seconds):
        """Go on with floats taken for exact. What is known by now stays as it is."""
        target = self.cloud.values(self.target).astype(float)
        self.settled, self.leader, self.born = (
            self.settled.copy(),
            self.leader.copy(),
            self.born.copy(),
        )
        self.cloud, self.target, why, layer = (
            _RoughFloats(self.cloud),
            target,
            self.why,
            self.layer,
        )
        self._go(seconds, inf)
        self.why, self.layer, self.ahead = why, layer, []

    def _look(self):
        """See whom the unsettled tokens follow, and who of them settles. False where that cannot be told."""
        cloud, Z, ask = self.cloud, self.cloud.Z, np.flatnonzero(~self.settled)
        first, ties = attention.choose(Z[None], cloud.A, self.heard, ask, cloud.blur)
        if ties and cloud.blur:
            return False

        tied = {row: members for rows, members in ties for row in rows.tolist()}
        alone = np.ones(len(ask), bool)
        alone[list(tied)] = False
        if len(ask) == len(Z):
            self.target = Z.take(first, 0)
        else:
            self.target = self.target.copy()
            self.target[ask] = Z.take(first, 0)
        new = ask[alone & (first == ask)]
        self.leader[new], self.born[new] = new, self.layer
        onto = alone & (self.leader.take(first) == first)
        self.leader[ask[onto]], self.settled[ask[onto]] = first[onto], True
        if cloud.exact:  # whoever follows one that has settled and does not lead is treated as a tie of one
            tied |= {
                row: first[[row]]
                for row in np.flatnonzero(alone & ~onto & self.settled[first])
            }
        for row, members in tied.items():
            self.target[ask[row]] = self._tied(ask[row], members)
        if cloud.exact:
            self._zero()
            if (
                ties
                and self.layer & (self.layer - 1) == 0
                and self.layer >= len(cloud.rates) - 1
            ):
                self._freeze(
                    {
                        ask[row]: tied.get(row, first[[row]])
                        for row in np.flatnonzero(~self.settled[ask])
                    }
                )
        elif cloud.sure:
            self._forget()
        return True

    def _freeze(self, sets):
        """All settle if no set changes any more. That is looked for at layers 0, 1, 2, 4, 8, ..."""
        found = frozen.for_ever(
            self.cloud.Z,
            self.target,
            sets,
            self.copies,
            self.cloud.rates[-1],
            self.cloud.A,
            self.until,
        )
        if sets and found:
            self.target, self.ahead = found
            self.settled[:] = True

    def _forget(self):
        """Who has settled inside the octagon of the leaders goes on in it: nobody will follow him, nobody need look."""
        Z = self.cloud.Z
        if Z.shape[1] == 2 and len(Z) > attention.TILE and not self.settled.all():
            polygon = routes.octagon(*Z[self.born >= 0].T)
            outside = routes.outside(
                *np.ascontiguousarray(Z.T), polygon, 8 * self.cloud.blur
            )
            heard = ~self.settled
            heard[outside] = True
            self.heard = heard[None] if self.heard is None else heard[None] & self.heard

    def _tied(self, i, members):
        """Where token i goes now: the mean of its set. It settles if that point is there for ever, and the tie too."""
        Z, copies, others = self.cloud.Z, self.copies[members], members[members != i]
        mean = self.cloud.mean(Z[members], copies)
        if (
            self.cloud.exact
            and self.settled[others].all()
            and (len(others) == len(members) or (mean == Z[i]).all())
        ):
            goals = np.where((members == i)[:, None], Z[i], self.target[members])
            looks = (
                np.stack([mean, Z[i]])
                if self.cloud.A is None
                else np.stack([mean, Z[i]]) @ self.cloud.A
            )
            level = (looks @ mean)[:, None]
            stays = (mean == self.cloud.mean(goals, copies)).all()
            ties = (looks @ Z[members].T == level).all() and (
                looks @ goals.T == level
            ).all()
            self.settled[i] = stays and ties and (Z @ looks[0]).max() == level[0, 0]
        return mean

    def _zero(self):
        """A token at 0 follows all. It stays there if all others have settled, and balance, now and in the end."""
        zero = ~self.cloud.Z.any(-1)
        if (self.settled | zero).all() and not self.settled.all():
            copies = self.copies.astype(object)
            if not (copies @ self.cloud.Z).any() and not (copies @ self.target).any():
                self.settled |= zero
