"""The attention sets are those of the definition, ties, duplicates and all, on floats and on Fractions."""

import tracemalloc

import numpy as np
import oracle
import pytest
from clouds import FLOATS, FRACTIONS, SMALL, clouds, definite, models
from hypothesis import given
from hypothesis import strategies as st
from oracle import as_sets

from hmlib import alone, attention_sets, fast, follow, roots


@given(models(numbers=FRACTIONS))
def test_the_definition_on_fractions(model):
    assert as_sets(attention_sets(*model)) == oracle.attention_sets(*model)


@given(models(numbers=st.one_of(SMALL, FLOATS)))
def test_the_definition_on_floats(model):
    Z, A = model
    assert as_sets(attention_sets(Z.astype(float), A)) == oracle.attention_sets(
        Z.astype(float), A
    )


@given(st.integers(0, 10**6))
def test_near_ties_are_decided_exactly(seed):
    """Duplicates, rotated lattices and tokens one rounding apart, with a general A: what a matrix product gets wrong."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 24), rng.integers(1, 5)
    Z = rng.normal(size=(n, d))
    if seed % 3 == 1:
        Z = Z[rng.integers(0, n, n)]
    if seed % 3 == 2:
        Z = np.round(Z) @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    Z = np.concatenate(
        [Z, np.nextafter(Z[: n // 2], rng.choice([-9, 9], size=(n // 2, d)))]
    )
    R = rng.normal(size=(d, d))
    A = R.T @ R + 0.1 * np.eye(d)
    A = (A + A.T) / 2
    assert as_sets(attention_sets(Z, A)) == oracle.attention_sets(Z, A)


def test_a_matrix_product_alone_gets_duplicates_wrong():
    """The trap is real: for some of these clouds scores of equal rows differ, or a rounded score beats the true one."""
    wrong = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(8, 7))[rng.integers(0, 8, 20)]
        Z = np.concatenate([Z, Z + 1e-16 * rng.normal(size=Z.shape)])
        scores = Z @ Z.T
        naive = scores == scores.max(1, keepdims=True)
        ours = attention_sets(Z)
        assert as_sets(ours) == oracle.attention_sets(Z)
        wrong += (naive != ours).any()
    assert wrong > 0


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-20, 1e20, 1e160, 1e300])
def test_huge_and_tiny_numbers(scale):
    Z = np.array([[1, -1], [3, -1], [1, -3], [3.5, 1], [0, 0], [5e-324, 0]]) * [
        scale,
        scale,
    ]
    A = np.array([[2, 1], [1, 1]])
    for B in (None, A, A * 1e-300, A * 1e300):
        assert as_sets(attention_sets(Z, B)) == oracle.attention_sets(Z, B)


def test_one_cloud_may_span_all_magnitudes():
    Z = [
        [1e300, 1.0],
        [1e-300, 1.0],
        [-1e-300, 2.0],
        [1e-320, 0],
        [1e300, 1.0 + 2**-52],
    ]
    assert as_sets(attention_sets(Z)) == oracle.attention_sets(Z)


@given(models(most=6))
def test_follow_is_the_first_of_the_set(model):
    for Z in (model[0], model[0].astype(float)):
        C = attention_sets(Z, model[1])
        assert (follow(Z, model[1]) == C.argmax(-1)).all()


@given(st.data())
def test_a_batch_is_its_clouds_one_by_one(data):
    d, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5))
    batch = np.array(
        data.draw(st.lists(SMALL, min_size=6 * n * d, max_size=6 * n * d))
    ).reshape(2, 3, n, d)
    mask = np.array(
        data.draw(st.lists(st.booleans(), min_size=6 * n, max_size=6 * n))
    ).reshape(2, 3, n)
    mask[..., 0] = True
    A = data.draw(definite(d))
    C = attention_sets(batch, A, mask=mask)
    c = follow(batch, A, mask=mask)
    for b in np.ndindex(2, 3):
        expected = oracle.attention_sets(batch[b], A, mask[b])
        assert as_sets(C[b]) == expected
        assert c[b].tolist() == [min(C, default=-1) for C in expected]


@given(models(numbers=SMALL))
def test_blocks_of_any_size_give_the_same(model):
    Z, whole = np.stack([model[0].astype(float)] * 3), attention_sets(*model)
    with pytest.MonkeyPatch.context() as patch:
        for size in (1, 3, 40):
            patch.setattr(fast, "BLOCK", size)
            assert (attention_sets(Z, model[1]) == whole).all()


@given(clouds())
def test_padding_follows_nobody_and_is_followed_by_nobody(Z):
    padded = np.concatenate([Z, 100 + abs(Z)])
    mask = np.arange(len(padded)) < len(Z)
    C = attention_sets(padded, mask=mask)
    assert (C[: len(Z), : len(Z)] == attention_sets(Z)).all()
    assert not C[len(Z) :].any() and not C[:, len(Z) :].any()
    assert (follow(padded, mask=mask)[len(Z) :] == -1).all()


def test_follow_holds_no_n_by_n_array():
    Z = np.random.default_rng(0).normal(size=(6000, 2))
    tracemalloc.start()
    c = follow(Z)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6 < 8 * len(Z) ** 2  # bytes
    some = np.random.default_rng(1).integers(0, len(Z), 50)
    assert (c[some] == (Z[some] @ Z.T).argmax(1)).all()


# What the definition implies (exactly, on rationals).


@given(models(numbers=FRACTIONS), st.randoms(use_true_random=False))
def test_permutations(model, random):
    Z, A = model
    p = np.array(random.sample(range(len(Z)), len(Z)))
    assert (attention_sets(Z[p], A) == attention_sets(Z, A)[p][:, p]).all()


@given(models(numbers=FRACTIONS), st.integers(1, 50), st.integers(1, 50))
def test_positive_scaling_changes_no_set(model, factor, of_A):
    Z, A = model
    assert (attention_sets(factor * Z, A) == attention_sets(Z, A)).all()
    if A is not None:
        assert (attention_sets(Z, of_A * A) == attention_sets(Z, A)).all()


@given(models(numbers=FRACTIONS))
def test_whatever_is_followed_lies_in_the_half_space(model):
    from hmlib import half_space

    Z, A = model
    for z, C in zip(Z, attention_sets(Z, A), strict=True):
        side = half_space(z, A).side(Z)
        assert (side[C] >= 0).all() and (side[C] == side.max()).all()


@given(models(numbers=FRACTIONS))
def test_who_is_followed_is_longer(model):
    """Whom I follow is I myself or strictly longer, and ahead of me; so following the arrows never circles."""
    Z, A = model
    A = np.eye(Z.shape[1], dtype=int).astype(object) if A is None else A
    length = (Z @ A * Z).sum(-1)
    score = Z @ A @ Z.T
    zero = (Z == 0).all(-1)
    for i, j in np.argwhere(attention_sets(Z, A)):
        assert score[i, j] >= length[i]
        if not zero[i] and (Z[i] != Z[j]).any():
            assert length[j] > length[i]


@given(clouds(distinct=True))
def test_the_longest_token_follows_itself_alone(Z):
    """So there is a leader at layer 0."""
    length = (Z * Z).sum(-1)
    C = attention_sets(Z)
    for i in np.nonzero(length == length.max())[0]:
        assert (C[i].sum() == 1 and C[i, i]) or length[i] == 0


# Trees


@given(models(nonzero=True), st.integers(0, 2))
def test_everybody_has_a_root(model, more):
    """Chains end, at tokens that follow themselves; in a batch as in its clouds."""
    Z, A = model
    c = follow(np.stack([Z] * 2**more), A)
    for follows, ends in zip(c, roots(c), strict=True):
        for i, end in enumerate(ends):
            while follows[i] != i:
                i = follows[i]
            assert i == end


@pytest.mark.parametrize(
    ("follows", "said"),
    [
        ([1, 2, 0, 0], "goes round in circles"),
        ([1, 0], "goes round in circles"),
        ([[1, 1], [0, 2]], "goes from 0 to 2: expected 0 to 1, the number of a token"),
        ([-1, 0], "goes from -1 to 0: expected 0 to 1, the number of a token"),
        ([0.0], r"shape \(1,\) and type float64: expected int, the number of a token"),
    ],
)
def test_roots_are_those_of_a_forest(follows, said):
    with pytest.raises(ValueError, match=rf"^follows .*{said}"):
        roots(follows)


@given(models())
def test_following_oneself_alone(model):
    C = attention_sets(*model)
    assert alone(C).tolist() == [set(np.flatnonzero(c)) == {i} for i, c in enumerate(C)]
    with pytest.raises(ValueError, match=r"^C has shape .* expected attention sets"):
        alone(C.astype(int))
