"""The playground: a plane of tokens, to be dragged."""

import json
from collections.abc import Sequence
from fractions import Fraction
from html import escape

import numpy as np
from ipywidgets import HTML

from hmlib import arithmetic, attention, inputs, limits
from hmlib.live import Checked, Figure, read, source
from hmlib.shapes import Cloud, Matrix

MOST_LAYERS = 10_000  # that Playground goes through


def presets() -> dict:
    """{name: {tokens, alpha, A, about}}: the configurations of the paper's Fig. 2, and
    what chapters 1 and 3 found.

    >>> emerging = presets()["emerging leader"]
    >>> emerging["alpha"], len(emerging["tokens"])
    (0.5, 8)
    """
    return {
        name: {
            "tokens": [[float(Fraction(x)) for x in z.split()] for z in row["tokens"]],
            "alpha": float(Fraction(row["alpha"])),
            "A": None,
            "about": row["about"],
        }
        for name, row in json.loads(read("presets.json")).items()
    }


def _tokens(Z):
    return arithmetic.like(
        inputs.points(Z, 2, "tokens"), np.zeros(0), "tokens"
    ).tolist()


def _matrix(A):
    A = inputs.matrix(A, np.zeros((1, 2)))
    return None if A is None else A.tolist()


def _shown(names):
    names = inputs.sequence(names, "show", "names")
    return [inputs.choice(name, "each of show", Playground.SHOW) for name in names]


class Playground(Figure):
    """A plane of tokens: drag them, turn alpha and A, go through the layers, and see
    who follows whom and where all end.

    >>> play = Playground("emerging leader", layer=1)
    >>> play
    Playground(8 tokens, alpha=0.5, layer=1)
    >>> play.alpha = 2
    >>> print(play.report())
    8 tokens, alpha = 2
    layer 1: tokens 1, 3 follow only themselves
    leaders: 1 (born at layer 0), 3 (born at layer 0)
    limit: certified at layer 2
    K: (-1, -1), (1, 0.333333)

    preset  the name of one of `presets()`; what else is given replaces what it says
    tokens  (n, 2);  alpha > 0;  A  symmetric positive definite, or None
    layer   from 0 to MOST_LAYERS
    show    what is drawn besides the tokens: of arrows, forest, trails, halfspace,
            hulls, K and limit
    In JupyterLab the attributes follow what is done to the figure, and the other way
    round.
    """

    _esm = source("playground.js")
    tokens = Checked(_tokens)
    alpha = Checked(lambda alpha: float(inputs.rate(alpha, np.zeros(1))))
    A = Checked(_matrix)
    layer = Checked(lambda layer: inputs.count(layer, "layer", MOST_LAYERS))
    show = Checked(_shown)
    preset = Checked(str)
    presets = Checked(dict)

    SHOW = ("arrows", "forest", "trails", "halfspace", "hulls", "K", "limit")

    def __init__(
        self,
        preset: str = "triangle",
        *,
        tokens: Cloud | None = None,
        alpha: float | None = None,
        A: Matrix | None = None,
        layer: int = 0,
        show: Sequence[str] = ("arrows",),
    ):
        known = presets()
        start = known[inputs.choice(preset, "preset", known)]
        tokens = start["tokens"] if tokens is None else tokens
        alpha = start["alpha"] if alpha is None else alpha
        given = {"tokens": tokens, "alpha": alpha, "A": A, "layer": layer, "show": show}
        super().__init__(preset=preset, presets=known, **given)

    def report(self) -> str:
        """What hmlib says of the tokens on screen, in lines of text."""
        Z, A = np.array(self.tokens), None if self.A is None else np.array(self.A)
        end = limits.limit(Z, self.alpha, A)
        alone = attention.alone(attention.attention_sets(end.at(self.layer), A))
        followers = ", ".join(str(i + 1) for i in np.flatnonzero(alone)) or "none"
        matrix = "" if A is None else f", A = {A.tolist()}"
        born = zip(end.leaders, end.born, strict=True)
        lines = [
            f"{len(Z)} tokens, alpha = {self.alpha:.6g}{matrix}",
            f"layer {self.layer}: tokens {followers} follow only themselves",
            "leaders: " + ", ".join(f"{i + 1} (born at layer {k})" for i, k in born),
        ]
        if not end.certified:
            return "\n".join([*lines, "limit: NOT certified, only likely"])
        corners = [f"({x:.6g}, {y:.6g})" for x, y in end.polytope() + 0.0]
        lines += [f"limit: certified at layer {end.settled_at}"]
        return "\n".join([*lines, f"K: {', '.join(corners)}"])

    def panel(self) -> HTML:
        """`report` as a widget that follows the figure, to stand beside it."""
        panel = HTML()

        def refresh(_=None):
            panel.value = f"<pre>{escape(self.report())}</pre>"

        self.observe(refresh, ["tokens", "alpha", "A", "layer"])
        refresh()
        return panel

    def __repr__(self):
        A = "" if self.A is None else f", A={self.A}"
        about = f"{len(self.tokens)} tokens, alpha={self.alpha:.6g}{A}"
        return f"Playground({about}, layer={self.layer})"
