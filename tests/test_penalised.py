"""Training with a penalty: the block by loops, what its problems promise, and the penalty that Adam's decay is."""

import math

import pytest

torch = pytest.importorskip("torch", reason="studies need torch")
pytest.importorskip("dask", reason="studies are graphs of Dask")

from studies import graph, ledger, penalised  # noqa: E402


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(5)


def by_loops(theta, x):
    """One sequence, token by token, in plain Python."""
    rho, eta, Q, K, V, U, b, W = (p.tolist() for p in theta)
    x, d = x.tolist(), len(V)
    query, key = ([sum(t[k] * M[k][0] for k in range(d)) for t in x] for M in (Q, K))
    out = []
    for i, token in enumerate(x):
        weights = [math.exp(query[i] * k) for k in key]
        mean = [
            sum(w * t[k] for w, t in zip(weights, x, strict=True)) / sum(weights)
            for k in range(d)
        ]
        z = [
            rho * token[k] + sum(mean[j] * V[j][k] for j in range(d)) for k in range(d)
        ]
        said = [
            max(0.0, sum(z[k] * U[k][h] for k in range(d)) + b[h])
            for h in range(len(b))
        ]
        out.append(
            [
                eta * z[k] + sum(said[h] * W[h][k] for h in range(len(b)))
                for k in range(d)
            ]
        )
    return out


def test_the_block_by_loops(generator):
    theta = [p.detach() for p in penalised.start(generator)]
    theta[0], theta[1] = torch.tensor(0.7).double(), torch.tensor(-0.4).double()
    X = torch.rand(2, 5, penalised.DIM, generator=generator).double()
    for x, found in zip(X, penalised.block(theta, X), strict=True):
        assert torch.allclose(found, torch.tensor(by_loops(theta, x)).double())


def test_the_loss_is_that_of_the_farthest_token(generator):
    theta = [p.detach() for p in penalised.start(generator)]
    X = torch.rand(3, 4, penalised.DIM, generator=generator).double()
    Y = torch.rand(3, 1, penalised.DIM, generator=generator).double()
    far = [
        max(
            sum((a - b) ** 2 for a, b in zip(t, y[0], strict=True))
            for t in by_loops(theta, x)
        )
        for x, y in zip(X, Y.tolist(), strict=True)
    ]
    assert float(penalised.loss(theta, X, Y)) == pytest.approx(sum(far) / 3)


def test_a_problem_has_a_solution_of_the_length_that_it_says(generator):
    X, Y, bound = penalised.problem(torch.Generator().manual_seed(5))
    _, U, b, W = (
        torch.rand(size, generator=generator)
        for size in ((10, 100, 16), (16, 4), (4,), (4, 16))
    )
    one, none = torch.ones(()), torch.zeros(())
    theta = none, one, torch.zeros(16, 1), torch.zeros(16, 1), torch.eye(16), U, b, W
    assert float(penalised.loss(theta, X, Y)) < 1e-9
    # one for eta, sixteen for V, and what is drawn
    drawn = sum(float((p**2).sum()) for p in (U, b, W))
    assert bound == pytest.approx(17 + drawn) and 50 < bound < 75


def test_the_decay_of_weights_is_a_penalty_of_half_of_it(generator):
    """Three steps of Adam on E + eps |theta|^2, written out, against a decay of 2 eps."""
    eps, X = 0.03, torch.rand(2, 4, penalised.DIM, generator=generator).double()
    Y, start = X[:, :1] * 2, penalised.start(generator)
    one, other = (
        [p.detach().clone().requires_grad_() for p in start] for _ in range(2)
    )
    least, _ = penalised.train(one, X, Y, 2 * eps, steps=3)
    adam, losses = torch.optim.Adam(other, penalised.RATE), []
    for k in range(3):
        adam.param_groups[0]["lr"] = (
            penalised.RATE * (1 + math.cos(math.pi * k / 3)) / 2
        )
        adam.zero_grad()
        E = penalised.loss(other, X, Y)
        losses.append(float(E.detach()))
        (E + eps * penalised.square(other)).backward()
        adam.step()
    assert all(
        torch.allclose(p, q, atol=1e-12) for p, q in zip(one, other, strict=True)
    )
    assert least == pytest.approx(min(losses))


def test_the_study_in_miniature(tmp_path, monkeypatch):
    monkeypatch.setattr(penalised, "STEPS", 40)
    monkeypatch.setattr(penalised, "SEEDS", range(2))
    monkeypatch.setattr(penalised, "BUDGETS", (20,))
    monkeypatch.setattr(penalised, "FIGURES", {"1b": [(0.1, 20), (0.01, 520)]})
    done = graph.run(penalised.tasks(), tmp_path, workers=0, progress=False)
    facts = ledger.believed(
        penalised, {name: ledger.entry(found) for name, found in done.items()}
    )
    tables = {
        name: table.value for name, table in ledger.tables(penalised, facts).items()
    }
    ends = tables["eps"]["0.0001"]
    assert set(tables["eps"]) == {f"{eps:g}" for eps in (*penalised.EPS, 0)}
    assert all(len(numbers) == 2 for numbers in ends.values())
    # The least loss is no more than the last one was a step before; and losses fall.
    curve = tables["figures"]["1b"]["curves"][0]
    assert len(curve) == 3 and curve[0] > ends["loss"][0] > ends["least"][0] - 1e-9 > 0
    least = tables["figures"]["1b"]["least"][0]
    assert least[1] <= least[0] < curve[0]
