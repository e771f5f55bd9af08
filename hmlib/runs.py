"""A run: layer after layer, until all tokens have settled or hope is given up.

`Floats` know how far rounding may have moved them: while every choice has a gap above
that, it is the choice of the exact run. `Whole` numbers are that run.
"""

from fractions import Fraction
from math import fsum, inf, lcm
from time import perf_counter

import numpy as np

from hmlib import arithmetic, attention, dynamics, frozen, rounding
from hmlib.fast import plane
from hmlib.shapes import Cloud, Mask

MOST_LAYERS = 20_000  # a run that has not settled by then is left uncertified
TOO_SLOW = "a run ends after {} layers. A larger alpha needs fewer."
TOO_MUCH = "the run on whole numbers {}. limit(..., {}=...) gives it more."


class Run:
    """Layer after layer, until all tokens have settled or hope is given up.

    target   where each token goes: for ever, once it has settled; `ahead` says how
    certain  all have settled, and that is proved
    why      it is not; empty where whole numbers may tell what floats cannot
    """

    def __init__(self, cloud, copies, seconds=inf, megabytes=inf):
        n = len(cloud.Z)
        self.cloud, self.copies = cloud, copies
        self.target, self.ahead = cloud.Z.copy(), []
        self.leader, self.born = np.full(n, -1), np.full(n, -1)
        self.settled, self.asked = np.zeros(n, bool), np.arange(n)
        self.certain, self.layer = False, 0
        self._go(seconds, megabytes)

    def guess(self, seconds):
        """Go on with floats taken for exact."""
        cloud, A = self.cloud, self.cloud.A
        A = arithmetic.unit(A, None) if cloud.exact and A is not None else A
        self.target = cloud.values(self.target).astype(float)
        Z, rates = cloud.values(cloud.Z), [float(alpha) for alpha in cloud.rates]
        self.cloud = Floats(Z.astype(float), rates, A, likely=True)
        self._go(seconds, inf)
        self.ahead = []

    def _go(self, seconds, megabytes):
        cloud, self.why = self.cloud, ""
        self.until = perf_counter() + min(seconds, 1e9)
        while self._look():
            if self.settled.all():
                self.certain = cloud.sure
                self.ahead = self.ahead or [cloud.Z - self.target]
                return
            if self.layer == MOST_LAYERS:
                self.why = TOO_SLOW.format(MOST_LAYERS)
                return
            before, alpha = cloud.Z, cloud.rates[min(self.layer, len(cloud.rates) - 1)]
            self.target = cloud.advance(self.target, alpha)
            self.layer += 1
            if cloud.scale.bit_length() * cloud.Z.size > 8_000_000 * megabytes:
                needs = f"needs more than {megabytes} megabytes"
                self.why = TOO_MUCH.format(needs, "megabytes")
            elif perf_counter() > self.until:
                taken = f"has taken its {seconds} seconds"
                self.why = TOO_MUCH.format(taken, "seconds")
            # Floats may stand still; whole numbers, of which the longest leads, grow.
            if self.why or (before == cloud.Z).all():
                return

    def _look(self):
        """See whom the unsettled follow, and who settles. False if that is open."""
        cloud, Z, ask = self.cloud, self.cloud.Z, np.flatnonzero(~self.settled)
        X = (Z if len(self.asked) == len(Z) else Z[self.asked])[None]
        Q = X if len(ask) == X.shape[1] == len(Z) else Z[None, ask]
        who = attention.attend(Q, X, cloud.A, blur=cloud.blur)
        if who.ties and cloud.blur:
            return False
        first, alone = self.asked[who.first[0]], who.alone()[0]
        self.target[ask] = Z.take(first, 0)
        new = ask[alone & (first == ask)]
        self.leader[new], self.born[new] = new, self.layer
        onto = alone & (self.leader.take(first) == first)
        self.leader[ask[onto]], self.settled[ask[onto]] = first[onto], True

        ties = [(ask[rows], self.asked[members]) for _, rows, members in who.ties]
        sets = {i: members for rows, members in ties for i in rows.tolist()}
        # A token at 0, which follows all, settles when all others have.
        for i in sorted(sets, key=lambda i: not Z[i].any()):
            self.target[i] = self._mean(i, sets[i])
        if ties and cloud.exact and self.layer & (self.layer - 1) == 0:
            self._freeze({i: first[[row]] for row, i in enumerate(ask)} | sets)
        large = len(Z) > attention.LARGE and not self.settled.all()
        if large and cloud.sure and not cloud.exact:
            keep = worth_asking(Z, self.born >= 0, self.settled, cloud.blur)
            self.asked = self.asked[keep[self.asked]]
        return True

    def _mean(self, i, members):
        """Where token i goes. It settles if that is there for ever, and the tie too.

        It is if all others in the tie have settled, keep their mean, and nobody is
        farther along it: then all in the tie are as far as the mean along both z_i and
        itself, as are their goals (no farther, and in the mean as far). So the tie
        stays while z_i goes there; and if z_i is in the tie, it is the mean.
        """
        cloud, Z, copies = self.cloud, self.cloud.Z, self.copies[members]
        mean = cloud.mean(Z[members], copies)
        if cloud.exact and self.settled[members[members != i]].all():
            goals = np.where((members == i)[:, None], Z[i], self.target[members])
            stays = (mean == cloud.mean(goals, copies)).all()
            along = mean if cloud.A is None else cloud.A @ mean
            self.settled[i] = stays and (Z @ along).max() == mean @ along
        return mean

    def _freeze(self, sets):
        """All settle if no set ever changes. Tried at layers 0, 1, 2, 4, 8, ..."""
        cloud, rates, settled = self.cloud, self.cloud.rates, self.settled
        sets = {i: members for i, members in sets.items() if not settled[i]}
        if sets and self.layer >= len(rates) - 1:
            given = cloud.Z, self.target, sets, self.copies, rates[-1], cloud.A
            found = frozen.for_ever(*given, self.until)
            if found:
                self.target, self.ahead = found
                settled[:] = True


def worth_asking(Z: Cloud, leads: Mask, settled: Mask, blur: float) -> Mask:
    """Who may still be followed: bool (n,).

    In the plane, who has settled inside the octagon of the leaders goes on in it:
    nobody will follow him. `blur` is how far each coordinate may be off.
    """
    if Z.shape[1] != 2:
        return np.ones(len(Z), bool)
    corners = plane.octagon(*Z[leads].T)
    may = ~settled
    may[plane.outside(*np.ascontiguousarray(Z.T), corners, 8 * blur)] = True
    return may


# The two kinds of numbers


class Floats:
    """Distinct tokens as floats, each coordinate within `blur` of the exact run.

    likely  take floats for exact: for an answer where there is no certain one
    """

    exact, scale = False, 1

    def __init__(self, Z, rates, A, likely=False):
        self.Z, self.rates, self.A, self.sure = Z, rates, A, not likely
        self.blur, self._rounding = 0.0, 0.0 if likely else rounding.of_layer(Z)

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
        return float(self.blur)


class Whole:
    """Distinct tokens as whole numbers, `scale` times too large: no normalisation."""

    exact, sure, blur = True, True, 0.0

    def __init__(self, Z, rates, A):
        self.rates = [Fraction(alpha) for alpha in rates]
        self.A = None if A is None else arithmetic.integers(A)  # scaled: the same sets
        self._rational, Z = Z.dtype == object, arithmetic.rationals(Z)
        self.Z = arithmetic.integers(Z)
        self.scale = lcm(*(x.denominator for x in Z.flat))

    def mean(self, X, copies):
        return copies.astype(object) @ X * Fraction(1, int(copies.sum()))

    def advance(self, target, alpha):
        p, q = alpha.numerator, alpha.denominator
        whole = lcm(*(x.denominator for x in target.flat))  # of ties: fractions
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
        if self._rational:
            return 0.0
        return rounding.EPS * float(abs(self.values(self.Z)).max()) + rounding.SMALLEST
