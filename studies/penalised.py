"""Training with a penalty, at the size of the second paper: how does the loss fall with
eps? `python -m studies penalised`"""

from functools import partial

import numpy as np
import torch

from studies.graph import Task
from studies.ledger import present

DATA = {}  # random numbers
N, LENGTH, DIM, NEURONS = 10, 100, 16, 4
EPS = tuple(float(f"{10 ** (-k / 2):.3g}") for k in range(2, 9))  # .1 to .0001
SEEDS, STEPS, RATE, EVERY = range(5), 50_000, 1e-3, 500
# Are so many enough? These also with fewer, and with more.
OTHERS, BUDGETS = (1e-2, 1e-3, 1e-4, 0.0), (STEPS // 10, 4 * STEPS)
# The authors' own runs: the weight decay of Adam and the epochs, one after the other.
FIGURES = {
    "1a": [(1e-4, 50_000)],
    "1b": [(1e-1, 5_000), (1e-2, 10_000), (1e-3, 50_000)],
    # The control: what do as many epochs reach without a penalty?
    "1b, no penalty": [(0.0, 5_000), (0.0, 10_000), (0.0, 50_000)],
}


def block(theta, X):
    """Softmax attention of rank one, then four neurons: the authors' order."""
    rho, eta, Q, K, V, U, b, W = theta
    scores = (X @ Q) @ (X @ K).transpose(1, 2)
    Z = rho * X + scores.softmax(-1) @ X @ V
    return eta * Z + torch.relu(Z @ U + b) @ W


def problem(generator):
    """Sequences, their outputs, and the |theta|^2 of the block that made these: the
    mean of all tokens (Q = K = 0, V = I, rho = 0), moved by random neurons."""
    sizes = (N, LENGTH, DIM), (DIM, NEURONS), (NEURONS,), (NEURONS, DIM)
    X, U, b, W = (torch.rand(size, generator=generator) for size in sizes)
    one, none = torch.ones(()), torch.zeros(())
    theta = none, one, torch.zeros(DIM, 1), torch.zeros(DIM, 1), torch.eye(DIM), U, b, W
    return X, block(theta, X)[:, :1], float(square(theta))


def start(generator):
    """As torch begins: uniform within 1 / sqrt(inputs); rho = eta = 0."""

    def uniform(*size, inputs):
        bound = inputs**-0.5
        return torch.rand(size, generator=generator).mul(2 * bound).sub(bound)

    Q, K, V = (uniform(DIM, many, inputs=DIM) for many in (1, 1, DIM))
    U, b = uniform(DIM, NEURONS, inputs=DIM), uniform(NEURONS, inputs=DIM)
    W = uniform(NEURONS, DIM, inputs=NEURONS)
    theta = [torch.zeros(()), torch.zeros(()), Q, K, V, U, b, W]
    return [p.double().requires_grad_() for p in theta]


def square(theta):
    return sum((p**2).sum() for p in theta)


def loss(theta, X, Y):
    """The mean over sequences of their farthest token's squared distance."""
    return ((block(theta, X) - Y) ** 2).sum(-1).amax(-1).mean()


def train(theta, X, Y, decay, steps):
    """Adam, its rate falling like a cosine. Its weight decay is the gradient of
    decay / 2 |theta|^2. Returns (the least loss, every so often the loss)."""
    adam = torch.optim.Adam(theta, RATE, weight_decay=decay, fused=True)
    least, seen = torch.tensor(torch.inf), []
    for k in range(steps):
        adam.param_groups[0]["lr"] = RATE * (1 + np.cos(np.pi * k / steps)) / 2
        adam.zero_grad()
        E = loss(theta, X, Y)
        least = torch.minimum(least, E.detach())
        if k % EVERY == 0:
            seen.append(float(E.detach()))
        E.backward()
        adam.step()
    return float(least), seen


def run(seed, legs, curve=False):
    """One training, leg after leg of (weight decay, steps); of each leg what is found
    at its end. eps is half of the weight decay: J = E + eps |theta|^2 falls."""
    generator = torch.Generator().manual_seed(seed)
    X, Y, bound = problem(generator)
    X, Y, theta = X.double(), Y.double(), start(generator)
    facts = {"bound": bound, "legs": []}
    for decay, steps in legs:
        least, seen = train(theta, X, Y, decay, steps)
        with torch.no_grad():
            E, norm = float(loss(theta, X, Y)), float(square(theta))
            Q, K = (float(theta[k].norm()) for k in (2, 3))
        facts["legs"].append({"eps": decay / 2, "steps": steps, "loss": E})
        facts["legs"][-1] |= {"least": least, "square": norm, "attention": Q * K}
        facts["legs"][-1] |= {"curve": seen} if curve else {}
    return facts, {}


def budgets():
    """{name: legs} of the runs with fewer steps, or more."""
    return {
        f"{steps} steps, eps {eps:g}": [(2 * eps, steps)]
        for steps in BUDGETS
        for eps in OTHERS
    }


def tasks():
    """One seed of all first."""
    out = []
    for seed in SEEDS:
        for eps in (*EPS, 0.0):
            given = {"seed": seed, "legs": [(2 * eps, STEPS)]}
            out.append(Task(f"eps {eps:g} {seed}", run, given))
        for name, legs in FIGURES.items() if seed < 3 else ():
            given = {"seed": seed, "legs": legs, "curve": True}
            out.append(Task(f"figure {name} {seed}", run, given))
    for name, legs in budgets().items():
        out.append(Task(f"{name} 0", run, {"seed": 0, "legs": legs}))
    return out


# What goes to results/penalised.json


def ends(facts, name):
    """The last leg's numbers, a list for the seeds each; and |theta*|^2."""
    seeds = facts.seeds(name, SEEDS)
    rows = [facts[f"{name} {seed}"] for seed in seeds]
    numbers = ("loss", "least", "square", "attention")
    out = {key: [row["legs"][-1][key] for row in rows] for key in numbers}
    return out | {"bound": [row["bound"] for row in rows]}


def figure(facts, name):
    """Of the authors' runs, the least loss of each leg and the curve of losses."""
    rows = [facts[f"{name} {seed}"] for seed in facts.seeds(name, SEEDS)]
    least = [[leg["least"] for leg in row["legs"]] for row in rows]
    curves = [[E for leg in row["legs"] for E in leg["curve"]] for row in rows]
    return {"least": least, "curves": curves, "bound": [row["bound"] for row in rows]}


TABLES = {
    "settings": lambda facts: {"eps": list(EPS), "steps": STEPS, "every": EVERY},
    "eps": lambda facts: present(
        {f"{eps:g}": partial(ends, facts, f"eps {eps:g}") for eps in (*EPS, 0.0)}
    ),
    "budgets": lambda facts: present(
        {name: partial(ends, facts, name) for name in budgets()}
    ),
    "figures": lambda facts: present(
        {name: partial(figure, facts, f"figure {name}") for name in FIGURES}
    ),
}
