"""The playground: a plane of tokens, to be dragged."""

import json
from fractions import Fraction
from html import escape

import numpy as np

from hmlib import arithmetic, attention, inputs, limits
from hmlib.live import Checked, read, source

with inputs.extra("book"):
    import anywidget
    import traitlets
    from ipywidgets import HTML


def presets():
    """{name: {tokens, alpha, A, about}}: the configurations of the paper's Fig. 2, and what chapters 1 and 3 found.

    >>> presets()["emerging leader"]["alpha"], len(presets()["emerging leader"]["tokens"])
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


MOST_LAYERS = 10_000  # that Playground goes through


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


class Playground(anywidget.AnyWidget):
    """A plane of tokens: drag them, turn alpha and A, go through the layers, and see who follows whom and where all end.

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
    tokens  (n, 2);  alpha > 0;  A  symmetric positive definite, or None;  layer from 0 to MOST_LAYERS
    show    what is drawn besides the tokens: of arrows, forest, trails, halfspace, hulls, K and limit
    In JupyterLab the attributes tokens, alpha, A and layer follow what is done to the figure, and the other way round.
    """

    _esm = source("playground.js")
    _css = read("live.css")
    tokens = Checked(_tokens)
    alpha = Checked(lambda alpha: float(inputs.rate(alpha, np.zeros(1))))
    A = Checked(_matrix)
    layer = Checked(lambda layer: inputs.count(layer, "layer", MOST_LAYERS))
    preset = traitlets.Unicode().tag(sync=True)
    show = Checked(_shown)
    presets = traitlets.Dict().tag(sync=True)

    SHOW = ("arrows", "forest", "trails", "halfspace", "hulls", "K", "limit")

    def __init__(
        self,
        preset="triangle",
        *,
        tokens=None,
        alpha=None,
        A=None,
        layer=0,
        show=("arrows",),
    ):
        known = presets()
        start = known[inputs.choice(preset, "preset", known)]
        tokens, alpha = (
            start["tokens"] if tokens is None else tokens,
            start["alpha"] if alpha is None else alpha,
        )
        super().__init__(
            tokens=tokens,
            alpha=alpha,
            A=A,
            layer=layer,
            show=show,
            preset=preset,
            presets=known,
        )

    def report(self):
        """What hmlib says of the tokens on screen, in lines of text."""
        Z, A = np.array(self.tokens), None if self.A is None else np.array(self.A)
        end = limits.limit(Z, self.alpha, A)
        alone = attention.alone(attention.attention_sets(end.at(self.layer), A))
        followers = ", ".join(str(i + 1) for i in np.flatnonzero(alone)) or "none"
        born = [
            f"{i + 1} (born at layer {k})"
            for i, k in zip(end.leaders, end.born, strict=True)
        ]
        matrix = "" if A is None else f", A = {A.tolist()}"
        lines = [
            f"{len(Z)} tokens, alpha = {self.alpha:.6g}{matrix}",
            f"layer {self.layer}: tokens {followers} follow only themselves",
            f"leaders: {', '.join(born)}",
            "limit: NOT certified, only likely",
        ]
        if end.certified:
            corners = [f"({x:.6g}, {y:.6g})" for x, y in end.polytope() + 0.0]
            lines[-1] = f"limit: certified at layer {end.settled_at}"
            lines.append(f"K: {', '.join(corners)}")
        return "\n".join(lines)

    def panel(self):
        """`report` as a widget that follows the figure, to stand beside it in JupyterLab."""
        panel = HTML()

        def refresh(_=None):
            panel.value = f"<pre>{escape(self.report())}</pre>"

        self.observe(refresh, ["tokens", "alpha", "A", "layer"])
        refresh()
        return panel

    def __repr__(self):
        A = "" if self.A is None else f", A={self.A}"
        return f"Playground({len(self.tokens)} tokens, alpha={self.alpha:.6g}{A}, layer={self.layer})"
