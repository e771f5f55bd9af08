"""Half-spaces and the separation of a vertex."""

from fractions import Fraction

import numpy as np
import pytest
from clouds import FRACTIONS, clouds, definite
from hypothesis import assume, given
from hypothesis import strategies as st

from hmlib import attention_sets, half_space
from hmlib.geometry import separation_radius


@given(st.data())
def test_the_boundary_passes_through_the_token(data):
    Z = data.draw(clouds(numbers=FRACTIONS, most=1))
    H = half_space(Z[0], data.draw(definite(Z.shape[1])))
    assert H.side(Z)[0] == 0 and H.contains(Z)[0]
    assert isinstance(H.offset, Fraction)
    if (Z != 0).any():
        assert not H.contains(Z - H.normal)[0] and H.contains(Z + H.normal)[0]


def test_a_token_at_zero_has_the_whole_space():
    assert half_space([0, 0]).contains([[1, 5], [-3, 2]]).all()


@given(clouds(numbers=FRACTIONS, distinct=True, nonzero=True), st.integers(0, 10**6))
def test_separation(Z, seed):
    """Within delta every point of the hull looks past all others, at s; and it is s that the hull's tokens follow."""
    A = np.eye(Z.shape[1]) if seed % 2 else np.diag(np.arange(1, Z.shape[1] + 1))
    Z = Z.astype(float)
    s, others = Z[0], Z[1:]
    assume(len(others) and ((s - others) @ A @ s).min() > 1e-9)
    delta = separation_radius(s, others, A)
    assert delta > 0
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(len(others)), 200)
    inward = weights @ others - s
    length = np.sqrt((inward @ A * inward).sum(-1, keepdims=True))
    x = s + inward * np.minimum(
        1, delta * rng.uniform(0.001, 0.999, (200, 1)) / length
    )  # in the hull, nearer than delta
    to_s, to_others = ((s - x) @ A * x).sum(-1), (others @ A @ x.T - (x @ A * x).sum(-1)).max(0)
    moved = (x != s).any(-1)
    assert (to_s[moved] > 0).all() and (to_others < 0).all()
    follow = attention_sets(np.vstack([s, others, x[:1]]), A)[-1]
    assert follow[0] and follow.sum() == 1


def test_beyond_delta_it_may_fail():
    """The radius is of the right size: 1.72 times as far from this vertex, a point looks at another one."""
    s, others = np.array([1.0, 1]), np.array([[1.0, -1], [-1, -1], [-1, 1]])
    x = np.array([1, -0.01])
    assert np.linalg.norm(x - s) / separation_radius(s, others) == pytest.approx(1.01 / 0.5858, abs=1e-3)
    assert (others - x) @ x @ [1, 0, 0] > 0
