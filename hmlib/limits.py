"""Infinite depth, certified: run until every token has settled, then go on in closed form.

A token i settles when C_i = {v} and C_v = {v}: nothing ever changes that, and z_i^(k+t) = v + (1+alpha)^-t (z_i^k - v).
Nearly always that is all there is to it. With exact ties a token may settle on the mean of several, for which the
same is true as long as that mean, and the tie, stay where they are.

Floats are run as floats, with a bound on how far rounding may have moved the tokens. While every choice has a gap above
that bound, it is the choice of the exact run. Where one has not, the run is repeated on whole numbers.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum, lcm, prod

import numpy as np

from hmlib import attention, dynamics, inputs, routes
from hmlib.inputs import distinct

MOST_LAYERS = 20_000  # a run that has not settled by then is left uncertified
MOST_BITS = 2**29  # and so is a run on whole numbers that would need more memory than this


@dataclass(frozen=True)
class Limit:
    """The state at infinite depth, and how it is known."""

    tokens: np.ndarray  # (n, d), the limit of every token
    leaders: np.ndarray  # (m,), indices of the leaders; of equal tokens the first
    born: np.ndarray  # (m,), the layer from which each leads
    follows: np.ndarray  # (n,), the leader where a token ends, -1 where that is no vertex
    certified: bool  # is all of this so, and not only likely?
    settled_at: int | None  # the layer at which every token has settled; None without a certificate
    error_bound: float  # how far a coordinate of `tokens` may be from the truth; 0 is exact
    _start: tuple = field(repr=False)
    _settled: np.ndarray = field(repr=False)

    def at(self, layer):
        """The tokens of any layer: in closed form from `settled_at` on, simulated before."""
        Z, rates, A = self._start
        layer, since = inputs.count(layer, "layer"), self.settled_at
        if since is None or layer < since:
            for k in range(layer):
                Z = dynamics.step(Z, rates[min(k, len(rates) - 1)], A)
            return Z
        left = prod(1 / (1 + alpha) for alpha in rates[since:layer])
        left *= (1 / (1 + rates[-1])) ** max(0, layer - max(since, len(rates)))
        return self.tokens + left * (self._settled - self.tokens)


def leaders(Z, alpha, A=None):
    """The tokens that at some layer follow themselves alone, C_i(Z^k) = {i}: int (m,).

    >>> leaders([[1, 0], [2, 1], [2, -1]], alpha=1)
    array([1, 2])

    Arguments as for `limit`, which says besides when each begins to lead, and whether all this is certain.
    """
    return limit(Z, alpha, A).leaders


def limit(Z, alpha, A=None):
    """lim Z^k for k to infinity, with its leaders and a certificate.

    >>> end = limit([[1, 0.5], [2, 1], [2, -1]], alpha=1)
    >>> end.tokens.tolist(), end.leaders.tolist(), end.follows.tolist()
    ([[2.0, 1.0], [2.0, 1.0], [2.0, -1.0]], [1, 2], [1, 1, 2])
    >>> end.certified, end.settled_at, end.at(10**6).tolist()[0]
    (True, 0, [2.0, 1.0])

    Z      one cloud, (n, d), of floats or Fractions
    alpha  a number > 0, or one per layer: a sequence goes on with its last value
    A      symmetric positive definite, (d, d); the identity if None
    """
    Z = inputs.cloud(Z)
    if Z.ndim != 2:
        raise ValueError(f"Z has shape {Z.shape}: expected one cloud, (n, d); take the clouds of a batch one by one.")
    rates, A = inputs.rates(alpha, Z), inputs.matrix(A, Z)
    first, of = distinct(Z)
    ways = [_Whole] if Z.dtype == object else [_Floats, _Whole]
    for way in [*ways, _RoughFloats]:
        run = _Run(way(Z if len(first) == len(Z) else Z[first], rates), np.bincount(of), A)
        if run.certain:
            break

    names = np.append(first, -1)  # of a distinct token, the first of its copies
    leads = np.flatnonzero(run.born >= 0)  # in order: `first` increases
    return Limit(
        tokens=run.cloud.values(run.target)[of],
        leaders=first[leads],
        born=run.born[leads],
        follows=names[run.leader[of]],
        certified=run.certain,
        settled_at=run.layer if run.certain else None,
        error_bound=run.cloud.error() if run.certain else float(np.ptp(Z, axis=0).max()),
        _start=(Z, rates, A),
        _settled=run.cloud.values(run.cloud.Z)[of],
    )


class _Floats:
    """Distinct tokens as floats, each coordinate within `blur` of the exact run."""

    exact, sure = False, True

    def __init__(self, Z, rates):
        self.Z, self.rates, self.blur = Z, rates, 0.0
        # More than the rounding of a layer. Layers take means, so what came before does not grow.
        self._rounding = 16 * inputs.EPS * float(abs(Z).max()) + 16 * float(np.finfo(float).smallest_subnormal)

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


class _RoughFloats(_Floats):
    """Floats taken for exact: a likely answer where there is no certain one."""

    sure = False

    def __init__(self, Z, rates):
        super().__init__(Z.astype(float), [float(alpha) for alpha in rates])
        self._rounding = 0.0


class _Whole:
    """Distinct tokens as whole numbers, `scale` times too large: the model without its normalisation."""

    exact, sure, blur = True, True, 0.0

    def __init__(self, Z, rates):
        self.rates, self._rational = [Fraction(alpha) for alpha in rates], Z.dtype == object
        Z = inputs.like(Z, np.empty(0, object))
        self.Z, self.scale = inputs.integers(Z), lcm(*(x.denominator for x in Z.flat))

    def mean(self, X, copies):
        return copies.astype(object) @ X * Fraction(1, int(copies.sum()))

    def advance(self, target, alpha):
        whole = lcm(*(x.denominator for x in target.flat))  # means of ties are fractions
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
        return 0.0 if self._rational else inputs.EPS * float(abs(self.values(self.Z)).max())


class _Run:
    """Layer after layer, until all tokens have settled or hope is given up."""

    def __init__(self, cloud, copies, A):
        n = len(cloud.Z)
        self.cloud, self.copies, self.A = cloud, copies, A
        self.target = cloud.Z  # where each token goes: for ever, once it has settled
        self.leader, self.born = np.full(n, -1), np.full(n, -1)
        self.settled, self.heard = np.zeros(n, bool), None
        self.certain = False
        for self.layer in range(MOST_LAYERS):
            if not self._look():
                return
            if self.settled.all():
                self.certain = cloud.sure
                return
            before = cloud.Z
            self.target = cloud.advance(self.target, cloud.rates[min(self.layer, len(cloud.rates) - 1)])
            at_rest = not cloud.exact and (before == cloud.Z).all()
            if at_rest or (cloud.exact and cloud.scale.bit_length() * cloud.Z.size > MOST_BITS):
                return

    def _look(self):
        """See whom the unsettled tokens follow, and who of them settles. False where that cannot be told."""
        Z, ask, blur = self.cloud.Z, np.flatnonzero(~self.settled), self.cloud.blur
        first, ties = attention.choose(Z[None], self.A, self.heard, ask, blur)
        if ties and blur:
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
        if self.cloud.exact:  # whoever follows one that has settled and does not lead is treated as a tie of one
            tied |= {row: first[[row]] for row in np.flatnonzero(alone & ~onto & self.settled[first])}
        for row, members in tied.items():
            self.target[ask[row]] = self._tied(ask[row], members)
        if self.cloud.exact:
            self._zero()
        elif self.cloud.sure:
            self._forget()
        return True

    def _forget(self):
        """Who has settled inside the octagon of the leaders goes on in it: nobody will follow him, nobody need look."""
        Z = self.cloud.Z
        if Z.shape[1] == 2 and len(Z) > attention.TILE and not self.settled.all():
            polygon = routes.octagon(*Z[self.born >= 0].T)
            outside = routes.outside(*np.ascontiguousarray(Z.T), polygon, 8 * self.cloud.blur)
            heard = ~self.settled
            heard[outside] = True
            self.heard = heard[None] if self.heard is None else heard[None] & self.heard

    def _tied(self, i, members):
        """Where token i goes now: the mean of its set. It settles if that point is there for ever, and the tie too."""
        Z, copies, others = self.cloud.Z, self.copies[members], members[members != i]
        mean = self.cloud.mean(Z[members], copies)
        if self.cloud.exact and self.settled[others].all() and (len(others) == len(members) or (mean == Z[i]).all()):
            goals = np.where((members == i)[:, None], Z[i], self.target[members])
            looks = np.stack([mean, Z[i]]) if self.A is None else np.stack([mean, Z[i]]) @ self.A
            level = (looks @ mean)[:, None]
            stays = (mean == self.cloud.mean(goals, copies)).all()
            ties = (looks @ Z[members].T == level).all() and (looks @ goals.T == level).all()
            self.settled[i] = stays and ties and (Z @ looks[0]).max() == level[0, 0]
        return mean

    def _zero(self):
        """A token at 0 follows all. It stays there if all others have settled, and balance, now and in the end."""
        zero = ~self.cloud.Z.any(-1)
        if (self.settled | zero).all() and not self.settled.all():
            copies = self.copies.astype(object)
            if not (copies @ self.cloud.Z).any() and not (copies @ self.target).any():
                self.settled |= zero
