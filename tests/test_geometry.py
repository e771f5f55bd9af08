"""Half-spaces, the separation of a vertex, projections, and cluster points."""

import re
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import oracle
import pytest
from clouds import FLOATS, FRACTIONS, clouds, definite, models
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

from hmlib import attention_sets, geometry, half_space, limit_polytope
from hmlib.geometry import cluster_points, project, separation_radius


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
    to_s, to_others = (
        ((s - x) @ A * x).sum(-1),
        (others @ A @ x.T - (x @ A * x).sum(-1)).max(0),
    )
    moved = (x != s).any(-1)
    assert (to_s[moved] > 0).all() and (to_others < 0).all()
    follow = attention_sets(np.vstack([s, others, x[:1]]), A)[-1]
    assert follow[0] and follow.sum() == 1


def test_beyond_delta_it_may_fail():
    """The radius is of the right size: 1.72 times as far from this vertex, a point looks at another one."""
    s, others = np.array([1.0, 1]), np.array([[1.0, -1], [-1, -1], [-1, 1]])
    x = np.array([1, -0.01])
    assert np.linalg.norm(x - s) / separation_radius(s, others) == pytest.approx(
        1.01 / 0.5858, abs=1e-3
    )
    assert (others - x) @ x @ [1, 0, 0] > 0


# Projections


def exact(rows):
    return np.array(oracle.exact(rows), dtype=object)


def inner(A, x, Y):
    """<A x, y> for each row y."""
    return [oracle.dot(oracle.times(A, x), y) for y in Y]


def distance_to_hull(y, vertices):
    """From the weights that a float solver finds."""
    V = np.vstack([vertices.astype(float).T, np.ones(len(vertices))])
    return nnls(V, np.append(y.astype(float), 1))[1]


def is_nearest(y, x, vertices, A):
    """No vertex lies on the near side: <A (y - x), v - y> >= 0 for each."""
    return min(inner(A, y - x, vertices - y)) >= 0


@given(st.data())
def test_projection(data):
    """In the hull and nearest, which decides it; no other vertex is nearest."""
    V, A = data.draw(models())
    x = data.draw(clouds(numbers=FRACTIONS, d=V.shape[1], most=1))[0]
    y = project(x, V, A)
    assert y.shape == x.shape and all(isinstance(c, Fraction) for c in y)
    assert is_nearest(y, x, V, A) and distance_to_hull(y, V) < 1e-9
    if V.shape[1] == 2:
        assert oracle.in_hull(y, V)
    for v in V:
        assert is_nearest(v, x, V, A) == (v == y).all()


@given(models(numbers=FRACTIONS), st.integers(0, 10**6))
def test_the_points_of_the_hull_and_no_others_stay(model, seed):
    V, A = model
    weights = exact(
        [np.random.default_rng(seed).integers(0, 4, len(V)) + (np.arange(len(V)) == 0)]
    )[0]
    inside = weights @ V / weights.sum()
    assert (project(inside, V, A) == inside).all()
    assert (project(inside + 100, V, A) != inside + 100).any()


@given(st.data())
def test_projection_reduces_to_the_identity(data):
    """|y - x| in the product of A = R^T R is |R y - R x|, so projecting and R commute."""
    V = data.draw(clouds(numbers=FRACTIONS))
    x, R = (
        V[0] + 1,
        np.tril(data.draw(clouds(d=V.shape[1], most=1)).T + V[:1])
        + 13 * exact(np.eye(V.shape[1])),
    )
    assert (R @ project(x, V, R.T @ R) == project(R @ x, V @ R.T)).all()


def test_projection_depends_on_the_matrix():
    segment = [[Fraction(2), 0], [0, 1]]
    assert project([0, 0], segment).tolist() == [Fraction(2, 5), Fraction(4, 5)]
    assert project([0, 0], segment, [[1, 0], [0, 4]]).tolist() == [1, Fraction(1, 2)]


@given(clouds(numbers=FLOATS, most=6))
def test_projection_of_floats_is_the_exact_one_rounded(Z):
    V = Z.astype(float)
    y = project(V[0] * 0, V)
    assert y.dtype == float
    assert (y == project(exact(V)[0] * 0, exact(V)).astype(float)).all()


@pytest.mark.parametrize("scale", [1e-300, 1, 1e300])
def test_projection_onto_many_vertices(scale):
    rng = np.random.default_rng(0)
    V, x = rng.normal(size=(1000, 5)) * scale, rng.normal(size=5) * 5 * scale
    y, V, x = project(x, V) / scale, V / scale, x / scale
    assert ((V - y) @ (y - x)).min() > -1e-12 and distance_to_hull(y, V) < 1e-9


@pytest.mark.parametrize("A", [None, np.diag(np.arange(1.0, 13))])
@pytest.mark.parametrize("near", [0.1, 1, 30])
def test_a_start_from_floats_changes_nothing(A, near, monkeypatch):
    """In many dimensions; whatever floats find, right or wrong: too many points, dependent ones, one, or none at all."""
    rng = np.random.default_rng(3)
    V, x = rng.integers(-9, 10, (20, 12)).astype(float), rng.integers(-9, 10, 12) * near
    V[-1] = V[0]
    y = project(x, V, A)
    for found in ([1] * 20, [1] + [0] * 18 + [1], [1] + [0] * 19, None):

        def nnls(E, f, found=found):
            if found is None:
                raise RuntimeError("no end")
            return np.array(found), 0

        monkeypatch.setattr("scipy.optimize.nnls", nnls)
        assert (project(x, V, A) == y).all()
    monkeypatch.setattr(geometry, "DEAR", 99)
    assert (project(x, V, A) == y).all()


def test_a_projection_that_takes_minutes_is_refused():
    with pytest.raises(
        ValueError,
        match=r"vertices has shape \(81, 81\): expected at most 80 points or 80 coordinates",
    ):
        project(np.zeros(81), np.eye(81))
    assert (
        project(np.zeros(81), np.eye(81)[:1]).sum()
        == 1
        == project([0], np.arange(1, 100)[:, None]).sum()
    )


def test_flat_hulls():
    point = [[1, 2, 3]]
    assert project([5, 5, 5], point * 3).tolist() == point[0]
    line = [[0, 0, 1], [1, 1, 1], [2, 2, 1], [2, 2, 1], [-1, -1, 1]]
    assert project([1, 0, 7], line).tolist() == [0.5, 0.5, 1]
    assert project([9, 9, 7], line).tolist() == [2, 2, 1]
    square = [[*corner, 1] for corner in product([-1, 1], repeat=2)] + [
        [0, 0, 1],
        [1, 0, 1],
    ]
    assert project([0.25, -0.5, -7], square).tolist() == [0.25, -0.5, 1]
    assert project([3, -0.5, -7], square).tolist() == [1, -0.5, 1]


@pytest.mark.parametrize(
    "x, vertices, A, message",
    [
        ([[0, 0]], [[1, 1]], None, r"shape \(1, 2\): expected one token"),
        (
            [0, 0],
            [1, 1],
            None,
            r"vertices has shape \(2,\): expected points as rows of 2 coordinates, \(n, 2\)",
        ),
        ([0, 0], [[1, 1, 1]], None, r"vertices has shape \(1, 3\)"),
        ([0, 0], [[1, np.nan]], None, "vertices has NaN"),
        ([0, 0], [[1, 1]], np.eye(3), r"A has shape \(3, 3\): expected \(2, 2\)"),
        ([0, 0], [[1, 1]], [[1, 2], [2, 1]], "not positive definite"),
    ],
)
def test_projection_refuses(x, vertices, A, message):
    with pytest.raises(ValueError, match=message):
        project(x, vertices, A)


# Cluster points


def belongs(s, V, A):
    """The definition, but for s in K."""
    return any(s) and max(inner(A, s, V)) <= inner(A, s, [s])[0]


def as_set(points):
    return {tuple(p) for p in points}


def edge_by_edge(V, A):
    """S(K) in the plane: each corner, and the foot of the perpendicular on each edge, by the definition."""
    corners = [exact([c])[0] for c in oracle.hull(V)]
    feet = []
    for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
        if (a != b).any():
            t = -inner(A, b - a, [a])[0] / inner(A, b - a, [b - a])[0]
            feet += [a + t * (b - a)] if 0 < t < 1 else []
    vertices, feet = ([s for s in some if belongs(s, V, A)] for some in (corners, feet))
    return as_set(vertices), as_set(feet)


@given(models(d=2, most=12))
def test_cluster_points_in_the_plane(model):
    """Against the edges of the hull; vertices come first, and each face is what its name says."""
    V, A = model
    S = cluster_points(V, A)
    vertices, feet = edge_by_edge(V, A)
    assert len(S.points) == len(S.faces) == len(vertices) + len(feet)
    assert (
        as_set(S.points[: len(vertices)]) == vertices
        and as_set(S.points[len(vertices) :]) == feet
    )
    rows = V.tolist()
    first = [rows.index(s.tolist()) for s in S.points[: len(vertices)]]
    assert first == sorted(first)
    faces = S.faces[len(vertices) :]
    assert faces == sorted(faces, key=lambda face: (len(face), face))


@given(models(most=6))
def test_cluster_points_are_the_nearest_points_of_faces(model):
    """In any dimension, flat or not: each s is in K and meets the definition; no subset of vertices has another one."""
    V, A = model
    S = cluster_points(V, A)
    origin = 0 * V[0]
    for s, face in zip(S.points, S.faces, strict=True):
        assert belongs(s, V, A) and (project(s, V, A) == s).all()
        assert face == [
            i for i, score in enumerate(inner(A, s, V)) if score == inner(A, s, [s])[0]
        ]
    candidates = [
        project(origin, V[[*T]], A)
        for size in range(1, len(V) + 1)
        for T in combinations(range(len(V)), size)
    ]
    assert as_set(S.points) == as_set(s for s in candidates if belongs(s, V, A))


@given(clouds(d=3, distinct=True, most=12), definite(3))
def test_cluster_points_in_space(Z, A):
    """Against another program's hull, in floats: the foot of the perpendicular on each facet, edge and vertex."""
    V = Z.astype(float)
    assume(np.linalg.matrix_rank(V - V[0]) == 3)
    B = np.eye(3) if A is None else A.astype(float)
    faces = {
        face
        for facet in ConvexHull(V).simplices
        for size in (1, 2, 3)
        for face in combinations(sorted(facet), size)
    }
    found = []
    for face in faces:
        p, *others = V[[*face]]
        D = np.array([q - p for q in others]).reshape(-1, 3)
        weights = np.linalg.solve(D @ B @ D.T, -D @ B @ p)
        s = p + weights @ D
        if (
            min([1 - weights.sum(), *weights]) > -1e-9
            and (V @ B @ s).max() < s @ B @ s + 1e-9
            and abs(s).max() > 1e-9
        ):
            found.append(s)
    ours = cluster_points(Z, A).points.astype(float)
    nearest = abs(ours[:, None] - np.array(found)).max(-1)
    assert (nearest.min(0) < 1e-9).all() and (nearest.min(1) < 1e-9).all()


def test_cluster_points_of_a_square():
    square = [[1, 1], [-1, 1], [-1, -1], [1, -1]]
    S = cluster_points([*square, [0, 1], [0, 0.5], [0, 0], [1, 1]])
    assert S.points.tolist() == [*square, [-1, 0], [0, -1], [1, 0], [0, 1]]
    assert S.faces == [[0, 7], [1], [2], [3], [1, 2], [2, 3], [0, 3, 7], [0, 1, 4, 7]]


def test_cluster_points_of_a_cube():
    """The centre of every proper face: the points of {-1, 0, 1}^3 but 0."""
    S = cluster_points(list(product([-1, 1], repeat=3)))
    assert as_set(S.points) == set(product([-1, 0, 1], repeat=3)) - {(0, 0, 0)}
    assert [len(face) for face in S.faces] == [1] * 8 + [2] * 12 + [4] * 6


def test_cluster_points_of_the_emerging_leader():
    """The triangle of the second row of the paper's second figure: 0 is inside, and each edge has its foot."""
    K = [
        [Fraction(1), Fraction(1, 3)],
        [Fraction(-1, 18), Fraction(5, 36)],
        [Fraction(-1), Fraction(-1)],
    ]
    S = cluster_points(K)
    assert (
        S.faces == [[0], [1], [2], [0, 1], [0, 2], [1, 2]]
        and S.points[:3].tolist() == K
    )
    (a, b), x = K[:2], S.points[3]
    assert x.tolist() == [Fraction(-119, 4479), Fraction(646, 4479)]
    assert oracle.turn(a, b, x) == 0 == oracle.dot(x, exact([b])[0] - exact([a])[0])


def is_inside(x, V):
    """Is x in the relative interior of the hull of V? A little beyond it, seen from each vertex, it is still in the hull."""
    return all(
        (project(y, V) == y).all()
        for y in (x + (x - v) * Fraction(1, 10**6) for v in V)
    )


def dimension(V):
    return np.linalg.matrix_rank((V - V[0]).astype(float))


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_eulers_relation(d):
    """prop-euler: flat polytopes, points that are not proper, the origin inside, outside and on the boundary."""
    rng, seen = np.random.default_rng(d), set()
    for _ in range(80):
        V = np.unique(
            rng.integers(-2, 3, size=(rng.integers(1, d + 4), d)), axis=0
        ).astype(object)
        V = V * Fraction(1) - (rng.integers(0, 3) == 0) * V[0]
        points, faces = cluster_points(V)
        proper = [is_inside(s, V[face]) for s, face in zip(points, faces, strict=True)]
        count = sum(
            (-1) ** dimension(V[face])
            for face, p in zip(faces, proper, strict=True)
            if p
        )
        zero, e = np.zeros(d, int) * Fraction(1), dimension(V)
        inside = is_inside(zero, V)
        assert count == (1 - (-1) ** e if inside else 1)
        seen |= {("flat", e < d), ("proper", all(proper)), ("inside", inside)}
        seen.add(("boundary", not inside and not project(zero, V).any()))
    names = {name for name, _ in seen}
    assert len(seen) == 2 * len(names) - (
        d == 1
    )  # all of it has been met, but that points on a line are proper


def test_in_the_plane_every_edge_has_a_point_or_all_but_one():
    """For the polygon of leaders of a run: the origin inside, or not."""
    for seed in range(40):
        Z = np.random.default_rng(seed).integers(-9, 10, size=(9, 2)).astype(
            object
        ) + 6 * (seed % 2)
        K = limit_polytope(Z[Z.any(1)], alpha=1)
        if len(K) > 2:
            edges = sum(len(face) == 2 for face in cluster_points(K).faces)
            assert edges == len(K) - (not is_inside(np.zeros(2, int) * Fraction(1), K))


@pytest.mark.parametrize(
    "vertices, points",
    [
        ([[2, 3]], [[2, 3]]),
        ([[0, 0]], []),
        (
            [[1, 1], [-1, -1]],
            [[1, 1], [-1, -1]],
        ),  # 0 is the nearest point of the segment, and not in S
        ([[1, 1], [0, 0], [-1, -1], [0, 0]], [[1, 1], [-1, -1]]),
        ([[1, 0], [0, 1]], [[1, 0], [0, 1], [0.5, 0.5]]),
        (
            [[1, 0], [0, 1], [0.5, 0.5]],
            [[1, 0], [0, 1], [0.5, 0.5]],
        ),  # an input point, and yet no vertex
        (
            [[1, 0], [1, 1]],
            [[1, 0], [1, 1]],
        ),  # (1, 0) meets the definition with equality at (1, 1)
        ([[1, 0], [2, 1]], [[2, 1]]),  # (1, 0) is a vertex, but (2, 1) reaches farther
        ([[3], [1], [-2], [0]], [[3], [-2]]),
        ([[3], [1]], [[3]]),
    ],
)
def test_small_hulls(vertices, points):
    S = cluster_points(vertices)
    assert S.points.tolist() == points and S.points.shape == (
        len(points),
        len(vertices[0]),
    )
    assert len(S.faces) == len(points)


def test_points_on_a_line_in_space():
    """Subsets with three of the four are affinely dependent, and change nothing."""
    line = [[t, 1, 2, 0] for t in (-2, 2, -1, 1)]
    S = cluster_points([*line, [0, -1, 0, 3], [0, 0, 0, -3]])
    T = cluster_points([line[0], line[1], [0, -1, 0, 3], [0, 0, 0, -3]])
    assert as_set(S.points) == as_set(T.points)
    assert S.faces[S.points.tolist().index([0, 1, 2, 0])] == [0, 1, 2, 3]


def test_faces_of_a_vertex_may_be_larger():
    assert cluster_points([[1, 1], [1, 0]]).faces == [[0], [0, 1]]


@given(clouds(numbers=FLOATS, most=8))
def test_cluster_points_of_floats_are_the_exact_ones_rounded(Z):
    V = Z.astype(float)
    S, T = cluster_points(V), cluster_points(exact(V))
    assert S.points.dtype == float and S.faces == T.faces
    assert (S.points == T.points.astype(float)).all()


def test_blocks_change_nothing(monkeypatch):
    V = np.random.default_rng(1).normal(size=(12, 3))
    S = cluster_points(V)
    monkeypatch.setattr(geometry, "BLOCK", 7)
    assert (cluster_points(V).points == S.points).all() and cluster_points(
        V
    ).faces == S.faces


def test_too_many_subsets_are_refused(monkeypatch):
    """Many points, and few in many dimensions, where each subset takes long (16 in 16: over a minute)."""
    V = np.random.default_rng(0).normal(size=(1500, 2))
    message = (
        "vertices has shape (1500, 2): 1500 different points of 2 coordinates have 1125750 subsets of at most 2 points, "
        "about 8995500 operations: expected at most 4000000. Points that are no vertices of the hull can be left out."
    )
    with pytest.raises(
        ValueError, match="16 different points of 16 coordinates have 65535 subsets"
    ):
        cluster_points(np.eye(16))
    with pytest.raises(ValueError, match=re.escape(message)):
        cluster_points(V)
    monkeypatch.setattr(geometry, "MOST_WORK", 3 + 3 * 8)
    assert len(
        cluster_points([[1, 0], [0, 1], [-1, 0], [1, 0]]).points
    )  # three different points: 3 + 3 subsets
    with pytest.raises(ValueError, match="10 subsets"):
        cluster_points([[1, 0], [0, 1], [-1, 0], [0, -1]])


@pytest.mark.parametrize("vertices", [3, [1, 2], [[]], [], [[[1, 2]]]])
def test_cluster_points_wants_rows(vertices):
    shape = np.shape(vertices)
    given = f"has shape {shape}" if shape else "is array(3.)"
    message = re.escape(f"vertices {given}: expected points as rows")
    with pytest.raises(ValueError, match=message):
        cluster_points(vertices)


def test_separation_has_no_scale():
    for x in (1e-200, 1, 1e150, 1e200):
        one = geometry.separation_radius([x, 0], [[0, x]])
        assert one / x == pytest.approx(1 / (1 + 2**0.5))
    assert geometry.separation_radius([1e150, 1], [[-1e155, 1]]) == pytest.approx(
        1e150, 1e-4
    )
