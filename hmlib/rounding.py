"""What floats certify: how far rounding moves a token, and which scores are in order.

The constants are those of the lemma "What floats certify" in chapter 2, and
tests/test_floats.py attacks each of them.
"""

import numpy as np

EPS = np.finfo(float).eps
SMALLEST = float(np.finfo(float).smallest_subnormal)


def of_layer(Z) -> float:
    """More than the rounding of one layer moves a coordinate.

    Layers take means, so what came before does not grow.
    """
    return 8 * EPS * float(abs(Z).max()) + 2 * SMALLEST


def of_scores(Q, looks, keys, A=None, blur=0.0) -> np.ndarray:
    """By how much <A q, x> - <A q, y> may be off; beyond that, scores are in order.

    Q     the tokens q that ask, (..., m, d), and `looks` their A q
    keys  the tokens x and y that are asked, (..., n, d)
    blur  how far each coordinate of all of them may be off

    Two products of length d and three roundings are off by less than
    (2 d + 8) eps |q| |A| |x|. And where primes mark what is off,
    |<A q, x - y> - <A q', x' - y'>|
        <= blur (2 |A q'|_1 + |A (x' - y')|_1 + 2 blur |A|).
    """
    d, high, low = Q.shape[-1], keys.max(-2), keys.min(-2)
    reach = np.maximum(high, -low)[..., None] + blur
    lost = 8 * d * d * SMALLEST * (1 + reach.max(-2))  # by underflow
    terms = abs(Q) @ (reach if A is None else abs(A) @ reach)
    error = (2 * d + 8) * EPS * terms[..., 0] + lost
    if blur:
        spread, size = (high - low)[..., None, :], d
        if A is not None:
            spread, size = spread @ abs(A), abs(A).sum()
        apart = 2 * abs(looks).sum(-1) + spread.sum(-1) + 2 * blur * size
        error += 1.01 * blur * apart  # 1.01: this is rounded, too
    return error
