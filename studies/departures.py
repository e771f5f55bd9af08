"""What becomes of clusters when an assumption of the theorem goes. Every function that
returns facts is a task of `studies.variations`.

Clouds and matrices are drawn as whole numbers wherever an outcome is to be certain, and
run on fractions.
"""

import numpy as np
import torch

from hmlib import Layer, leaders, settle, vary
from hmlib.counting import wilson

GRID = 1024  # coordinates are whole multiples of 1 / GRID


def whole(X):
    """Rounded to whole numbers on a fine grid, as Python ints: exact from here on, and
    no scale matters."""
    return np.round(np.asarray(X) * GRID).astype(int).astype(object)


def interval(hits, runs):
    """[share, low, high]: 95 % interval of Wilson."""
    low, _, high = wilson(hits, runs).tolist()
    return [hits / runs, low, high]


def mean_of(values):
    """[mean, low, high]: 95 % interval of the mean."""
    values = np.asarray(values, float)
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return [float(values.mean() + side * half) for side in (0, -1, 1)]


def places(Z, near=1e-6):
    """How many clusters: tokens closer than this are one."""
    size = abs(Z).max() or 1
    return len(np.unique((abs(Z[:, None] - Z).max(-1) <= near * size).argmax(1)))


# Which A?


def random_matrix(rng, d, signature, turn):
    """S + turn |S| / |B| B in whole numbers: S symmetric of signature (plus, minus), B
    antisymmetric, Gaussian both."""
    plus, minus = signature
    R, B = np.round(16 * rng.normal(size=(2, d, d))).astype(int)
    signs = [1] * plus + [-1] * minus + [0] * (d - plus - minus)
    S, B = R.T @ np.diag(signs) @ R, B - B.T
    size = 16 * turn * np.linalg.norm(S) / np.linalg.norm(B)
    return 16 * S + np.round(size * B).astype(int)


def run_until_settled(Z, layer, layers):
    """(tokens, goals, layer): up to the layer where all have settled; goals and layer
    are None if there is none so far."""
    for k in range(layers):
        goals, sure = settle(Z, layer)
        if sure.all():
            return Z, goals, k
        Z = vary(Z, layer)[-1]
    return Z, None, None


def in_circles(Z, A):
    """Does anybody, at this layer, follow another one in a circle? (By the first of
    each set.)"""
    c = (Z @ A.T @ Z.T).astype(float).argmax(1)
    end = c
    for _ in range(len(Z)):
        end = c[end]
    return bool((c[end] != end).any())


def which_matrix(signature, turn, seed, clouds=200, n=24, d=4, layers=150):
    """Exact outcomes of clouds under random matrices: clusters, one point, or undecided
    after so many layers."""
    rng, ends, depth, circles, shrunk = np.random.default_rng(seed), [], [], 0, 0
    for _ in range(clouds):
        A, Z = random_matrix(rng, d, signature, turn), whole(rng.normal(size=(n, d)))
        circles += in_circles(Z, A)
        end, goals, k = run_until_settled(Z, Layer(1, A), layers)
        if goals is None:
            now, before = (np.ptp(X.astype(float), axis=0).max() for X in (end, Z))
            shrunk += now < 1e-6 * before
        else:
            ends.append(len({tuple(z) for z in goals}))
            depth.append(k)
    ends = np.array(ends)
    late = np.quantile(depth, [0.5, 0.9, 1]).astype(int).tolist() if depth else None
    return {
        "clouds": clouds,
        "clusters": interval(int((ends > 1).sum()), clouds),
        "point": interval(int((ends == 1).sum()), clouds),
        "undecided": interval(clouds - len(ends), clouds),
        "undecided_but_shrunk": int(shrunk),
        "circles": interval(circles, clouds),
        "leaders": mean_of(ends) if len(ends) else None,
        "settled_at": late,
    }, {}


# Several heads


def several_heads(heads, disagreement, d, seed, clouds=60, n=24, layers=60):
    """Heads with A_h = (1 - disagreement) I + disagreement W_h, W_h a Wishart matrix of
    its own, on floats."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(clouds):
        G, Z = rng.normal(size=(heads, d, d)), rng.normal(size=(n, d))
        W = G.swapaxes(-1, -2) @ G / d
        W = (W + W.swapaxes(-1, -2)) / 2
        layer = Layer(1, (1 - disagreement) * np.eye(d) + disagreement * W)
        path = vary(Z, [layer] * layers)
        goals, sure = settle(path[30], layer)  # 2^-30: rounding does not matter yet
        leads = sure & (goals == path[30]).all(-1)
        at_leader = (abs(path[-1][:, None] - path[30][leads]).max(-1) < 1e-6).any(1)
        moving = abs(path[-1] - path[-2]).max() > 1e-6
        lead, ends = len(np.unique(path[30][leads], axis=0)), places(path[-1])
        rows.append((lead, ends, 1 - at_leader.mean(), moving, not sure.all()))
    lead, place, between, moving, open_ = np.transpose(rows).astype(float)
    return {
        "clouds": clouds,
        "leaders": mean_of(lead),
        "places": mean_of(place),
        "between": mean_of(between),
        "moving": interval(int(moving.sum()), clouds),
        "not_settled": interval(int(open_.sum()), clouds),
    }, {}


def goes_on(share, M, layers=60, late=30):
    """bool (draws,): a follower that is the average of leaders, with shares (draws, v),
    still changes whom it follows at late layers, and by more than rounding can.

    M  <A_h v, w>, (draws, heads, v, w)
    """
    chosen, margin = [], np.full(len(M), np.inf)
    for k in range(layers):
        scores = np.einsum("nv,nhvw->nhw", share, M)
        share = share / 2 + np.eye(M.shape[-1])[scores.argmax(-1)].mean(1) / 2
        if k >= late:
            best = np.sort(scores, -1)
            margin = np.minimum(margin, (best[..., -1] - best[..., -2]).min(-1))
            chosen.append(scores.argmax(-1))
    changes = (np.array(chosen) != chosen[0]).any((0, 2))
    return changes & (margin > 1e-6)


def restless(heads, lead, d, seed, draws=200_000):
    """How often does one follower of given leaders go on for ever? Random definite
    heads for which all leaders lead."""
    rng, kept, found = np.random.default_rng(seed), 0, 0
    for _ in range(draws // 10_000):
        G = rng.normal(size=(10_000, heads, d, d))
        V = rng.normal(size=(10_000, 1, lead, d))
        # <A_h v, w>, (draw, head, v, w)
        M = V @ G.swapaxes(-1, -2) @ G @ V.swapaxes(-1, -2)
        own = np.diagonal(M, axis1=-2, axis2=-1)
        others = np.where(np.eye(lead, dtype=bool), -np.inf, M).max(-1)
        all_lead = (own > others).all((1, 2))
        M, share = M[all_lead], rng.dirichlet(np.ones(lead), int(all_lead.sum()))
        kept += len(M)
        found += int(goes_on(share, M).sum())
    return {
        "heads": heads,
        "leaders": lead,
        "d": d,
        "kept": kept,
        "found": found,
        "share": interval(found, kept),
    }, {}


# Softmax


def normalised_clouds(rng, clouds, n, d):
    """Gaussian clouds with two leaders or more, scaled so that the smallest gap
    <v, v> - <v, w> between leaders is 1."""
    out = []
    while len(out) < clouds:
        Z = rng.normal(size=(n, d))
        V = Z[leaders(Z, 1)]
        gap = ((V * V).sum(1)[:, None] - V @ V.T)[~np.eye(len(V), dtype=bool)]
        if len(V) > 1:
            out.append(Z / np.sqrt(gap.min()))
    return np.array(out)


def softmax_life(inverse, d, seed, clouds=64, n=16, layers=10_000):
    """At temperature 1 / inverse: until a leader has moved, until all are one, and how
    many clusters in between."""
    Z = normalised_clouds(np.random.default_rng(seed), clouds, n, d)
    lead = [leaders(X, 1) for X in Z]
    apart = [_quarter_of_the_way(X[w]) for X, w in zip(Z, lead, strict=True)]
    left, one = np.full(clouds, -1), np.full(clouds, -1)
    layer, size = Layer(1, temperature=1 / inverse), np.ptp(Z, axis=1).max(-1)
    X, k = Z, 0
    while k < layers and (one < 0).any():
        path = vary(X, [layer] * min(100, layers - k))[1:]
        for c in np.flatnonzero(one < 0):
            if left[c] < 0:
                way = path[:, c, lead[c]] - Z[c, lead[c]]
                moved = np.linalg.norm(way, axis=-1) > apart[c]
                if moved.any():
                    left[c] = k + 1 + moved.any(1).argmax()
            joined = np.ptp(path[:, c], axis=1).max(-1) < 1e-3 * size[c]
            if joined.any():
                one[c] = k + 1 + joined.argmax()
        X, k = path[-1], k + len(path)
    return {
        "inverse": inverse,
        "clouds": clouds,
        "leaders": float(np.mean([len(w) for w in lead])),
        "left": left.tolist(),
        "one": one.tolist(),
        "clusters_at_the_end": float(np.mean([places(x, 1e-3) for x in X])),
    }, {}


def _quarter_of_the_way(V):
    """To the nearest other leader, for each."""
    D = np.linalg.norm(V[:, None] - V, axis=-1) + np.diag([np.inf] * len(V))
    return D.min(1) / 4


# Feed-forward


def quiet_and_loud(rng, sets, n=12):
    """Sets of n tokens in the plane, one of them loud, longer than the others, and each
    set on a scale of its own."""
    angle, length = rng.uniform(0, 2 * np.pi, (sets, n)), rng.uniform(0.3, 1, (sets, n))
    length[:, 0] = rng.uniform(1.5, 2, sets)
    length = length * np.exp(rng.uniform(-1.5, 1.5, (sets, 1)))
    Z = np.stack([np.cos(angle), np.sin(angle)], -1) * length[..., None]
    quarter = Z[..., 0] * Z[..., 1] > 0
    return Z, {
        "side of the loud": Z[:, 0, 0] > 0,
        "quarter of the loud": quarter[:, 0],
        "side of the quiet": Z[:, 1:, 0].mean(1) > 0,
        "quarters of the quiet": quarter[:, 1:].mean(1) > 0.5,
    }


def classified(train, test, width, seed, steps):
    """Test accuracy of: z + f(z) for each token, the mean, an affine map. f has one
    hidden layer; none if width is 0."""
    torch.manual_seed(seed)
    d, hidden_width = train[0].shape[-1], max(width, 1)
    hidden, out = torch.nn.Linear(d, hidden_width), torch.nn.Linear(hidden_width, 8)
    head = torch.nn.Linear(d + 8, 1)
    on = float(width > 0)

    def logits(Z):
        more = on * out(torch.relu(hidden(Z))).mean(1)
        return head(torch.cat([Z.mean(1), more], -1))[:, 0]

    learned = torch.nn.ModuleList([hidden, out, head]).parameters()
    optimiser, cost = torch.optim.Adam(learned, 0.02), torch.nn.BCEWithLogitsLoss()
    for _ in range(steps):
        optimiser.zero_grad()
        cost(logits(train[0]), train[1]).backward()
        optimiser.step()
    with torch.no_grad():
        return float(((logits(test[0]) > 0) == (test[1] > 0.5)).float().mean())


def feed_forward(seed, sets=1250, depth=3, width=16, steps=300):
    """Accuracies of five models on four labels: with attention or without, with
    feed-forward or without, and a control."""
    rng = np.random.default_rng(seed)
    (Z, labels), facts = quiet_and_loud(rng, 2 * sets), {}
    random = Z
    for _ in range(depth):
        followed = rng.integers(0, Z.shape[1], Z.shape[:2])
        goal = np.take_along_axis(random, followed[..., None], 1)
        random = (random + goal) / 2
    after = vary(Z, [Layer(1)] * depth)[-1]
    models = {
        "neither": (Z, 0),
        "attention": (after, 0),
        "feed-forward": (Z, width),
        "both": (after, width),
        "random attention, feed-forward": (random, width),
    }
    for label, y in labels.items():
        y = torch.tensor(y.astype(np.float32))
        facts[label] = {}
        for model, (X, w) in models.items():
            X = torch.tensor(X, dtype=torch.float32)
            train, test = (X[:sets], y[:sets]), (X[sets:], y[sets:])
            facts[label][model] = classified(train, test, w, seed, steps)
    return facts, {}


# Normalisation, masks, ties

DIALS = {
    "the theorem's case": {},
    "first of a tie": {"ties": "first"},
    "self in a tie": {"ties": "self"},
    "no normalisation": {"normalise": "none"},
    "causal mask": {"causal": True},
    "tolerance 0.1": {"tolerance": 0.1},
    "tolerance 1": {"tolerance": 1.0},
    "RMS": {"normalise": "rms"},
    "layer norm": {"normalise": "layer"},
    "softmax, T = 0.1": {"temperature": 0.1},
    "softmax, T = 1": {"temperature": 1.0},
}


def one_dial(dial, definite, seed, clouds=100, n=24, d=4, layers=60):
    """Clouds with one dial turned: same clusters as with none? how many? does anything
    move in the end?"""
    rng, rows = np.random.default_rng(seed), []
    scale = 2.0 if dial == "no normalisation" else 1.0
    for _ in range(clouds):
        Z, R = rng.normal(size=(2, n, d))
        A = R.T @ R / n if definite else np.eye(d)
        path, theorem = (
            vary(Z, [Layer(1, (A + A.T) / 2, **options)] * layers)
            for options in (DIALS[dial], {})
        )
        end, before = path[-1] / scale**layers, path[-2] / scale ** (layers - 1)
        same = abs(end - theorem[-1]).max() < 1e-6
        moving = abs(end - before).max() > 1e-6
        rows.append((same, places(end, 1e-5), places(theorem[-1], 1e-5), moving))
    same, turned, none, moving = np.transpose(rows).astype(float)
    return {
        "clouds": clouds,
        "same": interval(int(same.sum()), clouds),
        "places": mean_of(turned),
        "with_none": mean_of(none),
        "moving": interval(int(moving.sum()), clouds),
    }, {}
