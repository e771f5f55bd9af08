"""The clustering theorem on random exact instances, and for each hypothesis an example of what happens without it."""

from fractions import Fraction

import numpy as np
import oracle
import pytest
from certificate import rejected
from clouds import ALPHAS, EMERGING, FRACTIONS, SMALL, awkward, generic, models, square
from hypothesis import given, settings
from hypothesis import strategies as st

from hmlib import (
    attention_sets,
    cluster_points,
    leaders,
    limit,
    limit_polytope,
    project,
    simulate,
)

instances = models(
    numbers=st.one_of(SMALL, FRACTIONS), distinct=True, nonzero=True, most=7
)


def scores(A, X, Y):
    """<A x, y> for all rows of X and Y."""
    return X @ Y.T if A is None else X @ A @ Y.T


# Under the hypotheses


@given(instances, ALPHAS)
def test_every_token_converges_to_S(model, alpha):
    """Theorem, 2: the limit of every token is in the finite set S(K); so it is on the boundary, and not 0."""
    Z, A = model
    end = limit(Z, alpha, A)
    assert end.certified
    S = set(map(tuple, cluster_points(end.tokens[end.leaders], A).points))
    assert {tuple(z) for z in end.tokens} <= S
    reach = scores(A, end.tokens, end.tokens[end.leaders]).max(1)
    assert (reach == square(end.tokens, A)).all() and (reach > 0).all()


@given(instances, ALPHAS)
def test_leaders_are_the_vertices(model, alpha):
    """Theorem, 1 and 3: each leader reaches its vertex of K in finitely many layers; distinct ones, and all are taken."""
    Z, A = model
    end = limit(Z, alpha, A)
    K = end.tokens[end.leaders]
    assert len(K) >= 1 and len({tuple(v) for v in K}) == len(K)
    for i, k in zip(end.leaders, end.born, strict=True):
        assert (end.at(int(k))[i] == end.tokens[i]).all()
    for i in range(len(K)):  # each is a vertex of the hull of all limits
        others = np.array([z for z in end.tokens if (z != K[i]).any()], object)
        assert len(others) == 0 or (project(K[i], others) != K[i]).any()
    for z in end.tokens:  # and there are no further ones
        assert (project(z, K) == z).all()


@given(instances, ALPHAS)
def test_other_limits_are_projections_of_the_origin(model, alpha):
    """Theorem, 4: a point of S that is no vertex of K is the A-projection of 0 onto a face of K."""
    Z, A = model
    K = limit_polytope(Z, alpha, A)
    for s, face in zip(*cluster_points(K, A), strict=True):
        assert (project(0 * s, K[face], A) == s).all()
        u = s if A is None else A @ s
        assert (
            np.flatnonzero(K @ u == (K @ u).max()).tolist() == face
        )  # a face indeed: what is farthest in a direction


@given(instances, ALPHAS)
def test_the_hull_of_any_layer_contains_K(model, alpha):
    """K is the limit of the hulls: inside all of them, and reached by the leaders."""
    Z, A = model
    K, path = limit_polytope(Z, alpha, A), simulate(Z, alpha, 3, A)
    for X in path.tokens:
        assert all((project(v, X) == v).all() for v in K)


@given(instances, ALPHAS)
def test_strict_exposure(model, alpha):
    """The Gram matrix of the leaders has its strict row maximum on the diagonal."""
    Z, A = model
    K = limit_polytope(Z, alpha, A)
    G = scores(A, K, K)
    assert all(
        G[i, j] < G[i, i] for i in range(len(K)) for j in range(len(K)) if i != j
    )


@given(instances)
def test_whatever_is_strictly_exposed_is_a_leader_configuration(model):
    """The other way: points with such a Gram matrix all lead, from the start, and stay."""
    Z, A = model
    keep = []
    for z in Z:  # greedily, the points that go together
        G = scores(A, np.array([*keep, z]), np.array([*keep, z]))
        if all(
            G[i, j] < G[i, i] for i in range(len(G)) for j in range(len(G)) if i != j
        ):
            keep.append(z)
    end = limit(np.array(keep), 1, A)
    assert (
        end.leaders.tolist() == list(range(len(keep)))
        and (end.tokens == keep).all()
        and not end.born.any()
    )


@given(instances, ALPHAS)
@settings(max_examples=60)
def test_the_energy_is_finite(model, alpha):
    """The squared steps of a token never exceed the largest squared length less its own; so steps go to 0."""
    Z, A = model
    path = simulate(Z, alpha, 12, A).tokens
    spent = sum(square(moved, A) for moved in np.diff(path, axis=0))
    assert (spent <= square(Z, A).max() - square(Z, A)).all()


def test_settled_layers_have_the_exact_rate():
    """From the certificate on, what is left of the way shrinks by exactly 1 / (1 + alpha) in each layer."""
    for seed in range(120):
        Z, alpha, A = awkward(seed)
        end = limit(Z, alpha, A)
        path = simulate(Z, alpha, end.settled_at + 4, A).tokens
        for k in range(end.settled_at, end.settled_at + 4):
            assert (
                (1 + alpha) * (path[k + 1] - end.tokens) == path[k] - end.tokens
            ).all()


def test_generic_clouds_end_at_leaders():
    """F: off a null set every C_i is a single token at every layer, and every token ends at a leader."""
    for seed in range(500):
        Z, alpha, A = generic(seed)
        end = limit(Z, alpha, A)
        assert (end.follows >= 0).all() and end.settled_at < 200
        for k in range(min(end.settled_at + 1, 4)):
            assert (attention_sets(end.at(k), A).sum(-1) == 1).all()


@given(
    models(numbers=FRACTIONS, nonzero=True, most=5),
    st.lists(ALPHAS, min_size=1, max_size=5),
)
@settings(max_examples=60)
def test_alpha_may_change_from_layer_to_layer(model, alphas):
    Z, A = model
    assert rejected(limit(Z, alphas, A), Z, alphas, A) is None


def test_the_window_of_alpha():
    """Token 2 of Fig. 2, row 2, leads exactly for (5 - sqrt 13)/6 < alpha < (5 + sqrt 13)/6: 9 r^2 - 11 r + 3 < 0."""
    low, high = (5 - np.sqrt(13)) / 6, (5 + np.sqrt(13)) / 6
    for alpha, inside in ((low, -1), (high, 1)):
        near = Fraction(alpha).limit_denominator(10**9)
        for sign in (-1, 1):
            a = near + sign * Fraction(1, 10**8)
            r = 1 / (1 + a)
            leads = 1 in leaders(EMERGING, a)
            assert leads == (9 * r**2 - 11 * r + 3 < 0) == (sign != inside)


def test_a_token_may_lead_in_many_windows_of_alpha():
    """The set of alpha for which a token leads need not be an interval."""
    chain = np.array([[7, -6], [9, -4], [11, 0], [12, 8]], dtype=object)
    leads = {
        a: 0 in leaders(chain, Fraction(a))
        for a in ("2/3", "1/3", "2/7", "2/9", "2/11")
    }
    assert leads == {"2/3": True, "1/3": False, "2/7": True, "2/9": False, "2/11": True}


@given(models(numbers=FRACTIONS), st.data())
def test_where_a_further_token_leads_at_once(model, data):
    """At x != 0, outside all balls with diameter from 0 to z_j, and nowhere else (Thales)."""
    Z, A = model
    x = np.array(
        [
            Fraction(v)
            for v in data.draw(st.tuples(*[FRACTIONS] * Z.shape[1]).filter(any))
        ]
    )
    others = Z[(x != Z).any(1)]
    leads = attention_sets(np.vstack([others, x]), A)[-1].tolist() == [False] * len(
        others
    ) + [True]
    outside = 4 * square(x - others / 2, A) > square(others, A)
    assert leads == outside.all()


@given(
    models(numbers=st.one_of(SMALL, FRACTIONS), most=7),
    st.lists(ALPHAS, min_size=1, max_size=4),
)
def test_the_theorem_for_any_cloud(model, alphas):
    """thm-general: zeros, copies and an alpha for each layer. Limits in S(K) or 0, a leader at every vertex, exposed."""
    Z, A = model
    if not Z.any():
        return
    end = limit(Z, alphas, A)
    assert end.certified
    K = end.tokens[end.leaders]
    S = set(map(tuple, cluster_points(K, A).points))
    always = (simulate(Z, alphas, end.settled_at + 3, A).tokens == 0).all(-1).all(0)
    for z, zero in zip(end.tokens, always, strict=True):
        assert tuple(z) in S if z.any() else zero
    assert 0 in end.born and len({tuple(v) for v in K}) == len(K)
    for i in range(len(K)):
        others = np.array([z for z in end.tokens if (z != K[i]).any()], object)
        assert len(others) == 0 or (project(K[i], others) != K[i]).any()
    assert all((project(z, K) == z).all() for z in end.tokens)
    G = scores(A, K, K)
    assert all(
        G[i, i] > G[i, j] for i in range(len(K)) for j in range(len(K)) if i != j
    )
    for i, z in enumerate(end.tokens):  # whoever ends at a vertex has settled there
        at = [v for v in end.leaders if (end.tokens[v] == z).all()]
        assert end.follows[i] == (at[0] if at else -1)


# Without them


def run(Z, alpha, A, layers):
    """The formula for any matrix, by the oracle: the layers of tokens."""
    path = [oracle.exact(Z)]
    for _ in range(layers):
        path.append(oracle.step(path[-1], alpha, A))
    return path


def test_without_symmetry_all_may_collapse_without_a_leader():
    """<A x, x> = |x|^2, but A turns by 76 degrees: each corner of a triangle follows the next, for ever, towards 0."""
    A, triangle = [[1, -4], [4, 1]], [[8, 0], [-4, 7], [-4, -7]]
    path = run(triangle, 1, A, 60)
    assert all(oracle.attention_sets(Z, A) == [{1}, {2}, {0}] for Z in path)
    assert oracle.leaders([np.array(Z) for Z in path], A) == []
    assert max(abs(x) for z in path[60] for x in z) < Fraction(1, 10**15)


def test_without_definiteness_tokens_may_collide_and_nobody_lead():
    """A = -I: two opposite tokens follow each other, and with alpha = 1 they meet in one layer."""
    A = [[-1, 0], [0, -1]]
    path = run([[1, 0], [-1, 0]], 1, A, 3)
    assert oracle.attention_sets(path[0], A) == [{1}, {0}]
    assert path[1] == [[0, 0], [0, 0]]
    assert oracle.leaders([np.array(Z) for Z in path[:1]], A) == []


def test_an_indefinite_matrix_may_lose_the_energy_inequality():
    """A = diag(1, -1): a token's own length |z|^2 = <A z, z> may be negative, and whoever it follows behind it."""
    A, Z = np.diag([1, -1]), [[0, 1], [0, -1], [2, 0]]
    path = run(Z, 1, A.tolist(), 1)
    assert oracle.attention_sets(Z, A.tolist())[0] == {1} and path[1][0] == [0, 0]
    with pytest.raises(
        ValueError, match="not positive definite: its smallest eigenvalue is -1"
    ):
        limit(Z, 1, A)


def test_copies_and_the_literal_definition():
    """Two equal tokens: C_1 = C_2 = {1, 2}, so by the letter nobody leads. Counting values, one leader."""
    Z = [[1, 0], [1, 0]]
    assert oracle.attention_sets(Z) == [{0, 1}, {0, 1}]
    assert leaders(Z, 1).tolist() == [0]


def test_a_zero_token_may_end_inside():
    """{0, e, -e}: the limit 0 is in the interior of K (relative to it), and no point of S."""
    end = limit([[0, 0], [1, 0], [-1, 0]], 1)
    assert end.tokens[0].tolist() == [0, 0]
    assert [0, 0] not in cluster_points(end.tokens[end.leaders]).points.tolist()


def test_alphas_that_fade_away_may_stop_short():
    """With a finite sum of alphas tokens still come to rest, but not in S."""
    alphas = [Fraction(1, 2**k) for k in range(1, 30)] + [Fraction(1, 10**30)]
    path = simulate(
        [[Fraction(0), Fraction(1, 2)], [Fraction(0), Fraction(2)]], alphas, 60
    )
    assert float(path.tokens[-1][0, 1]) == pytest.approx(
        float(path.tokens[40][0, 1]), abs=1e-20
    )
    assert path.tokens[-1][0, 1] < Fraction(3, 2)
