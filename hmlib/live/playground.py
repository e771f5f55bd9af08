"""The playground: a plane of tokens, to be dragged."""

import json
from collections.abc import Sequence
from fractions import Fraction
from html import escape
from itertools import chain

import numpy as np
from ipywidgets import HTML

from hmlib import arithmetic, attention, inputs, limits
from hmlib.live import Checked, Exact, Figure, links, read, source, wired
from hmlib.live.links import kept
from hmlib.shapes import Cloud, Matrix

MOST_LAYERS = 10_000  # that Playground goes through


def presets() -> dict:
    """{name: {tokens, alpha, A, about, token, show}}: the configurations of the paper's
    Fig. 2, and what chapters 1 and 3 found. The token that each speaks of is counted
    from 1, as in the text.

    >>> emerging = presets()["emerging leader"]
    >>> emerging["alpha"], len(emerging["tokens"]), emerging["tokens"][0]
    (0.5, 8, [1.0, Fraction(1, 3)])
    """
    rows = json.loads(read("presets.json"))
    for row in rows.values():
        row["tokens"] = [[links.number(x) for x in z.split()] for z in row["tokens"]]
        row |= {"alpha": links.number(row["alpha"]), "A": None}
    return rows


def _kept(X, name):
    arithmetic.like(X, inputs.FLOATS, name)  # refuses what is too large for a page
    return np.vectorize(kept, otypes=[object])(X).tolist()


def _tokens(Z):
    return _kept(inputs.points(Z, 2, "tokens"), "tokens")


def _alpha(alpha):
    inputs.rate(alpha, inputs.FLOATS)  # the page needs a float > 0, too
    return kept(inputs.numbers(alpha, "alpha").item())


def _matrix(A):
    if A is None:
        return None
    A = inputs.numbers(A, "A")
    return _kept(inputs.matrix(A, np.zeros((1, 2), A.dtype)), "A")


def _shown(names):
    names = inputs.sequence(names, "show", "names")
    return [inputs.choice(name, "each of show", Playground.SHOW) for name in names]


def _short(x):
    return str(x) if isinstance(x, Fraction) else f"{x:.6g}"


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
            hulls, K, limit and basin
    chosen  the token that is looked at, from 0
    Fractions stay exact where no float is equal, and then all numbers are taken at
    their word. In JupyterLab the attributes follow what is done to the figure, and the
    other way round.
    """

    _esm = source("playground.js")
    tokens = Exact(_tokens)
    alpha = Exact(_alpha)
    A = Exact(_matrix)
    layer = Checked(lambda layer: inputs.count(layer, "layer", MOST_LAYERS))
    show = Checked(_shown)
    chosen = Checked(lambda chosen: inputs.count(chosen, "chosen", MOST_LAYERS))
    preset = Checked(str)
    presets = Exact(dict)

    SHOW = ("arrows", "forest", "trails", "halfspace", "hulls", "K", "limit", "basin")

    def __init__(
        self,
        preset: str = "triangle",
        *,
        tokens: Cloud | None = None,
        alpha: float | None = None,
        A: Matrix | None = None,
        layer: int = 0,
        show: Sequence[str] = ("arrows",),
        chosen: int | None = None,
    ):
        known = presets()
        start = known[inputs.choice(preset, "preset", known)]
        if chosen is None:
            chosen = start.get("token", 1) - 1 if tokens is None else 0
        tokens = start["tokens"] if tokens is None else tokens
        alpha = start["alpha"] if alpha is None else alpha
        given = {"tokens": tokens, "alpha": alpha, "A": A, "layer": layer, "show": show}
        given |= {"chosen": chosen, "preset": preset, "presets": known}
        super().__init__(**given)

    @classmethod
    def from_link(cls, link: str) -> "Playground":
        """The figure that a link shows, to the last bit; a damaged link is refused.

        >>> Playground.from_link("#play=comb-of-windows&alpha=2/9&sum=llry")
        Playground(4 tokens, alpha=2/9, layer=0)
        """
        said, known = links.read(link), presets()
        names = {name.replace(" ", "-"): name for name in known}
        preset = names[inputs.choice(said.pop("play"), "the preset of link", names)]
        start = {"token": 1, "show": ["arrows"]} | known[preset]
        said = {name: start[name] for name in ("token", "show", "tokens")} | said
        top = len(said["tokens"])
        chosen = inputs.count(said.pop("token"), "the token of link", top, least=1) - 1
        return cls(preset, chosen=chosen, **said)

    def report(self) -> str:
        """What hmlib says of the tokens on screen, in lines of text."""
        numbers = [*chain(*self.tokens), self.alpha, *chain(*(self.A or []))]
        exact = any(isinstance(x, Fraction) for x in numbers)
        Z, A = np.array(self.tokens, object if exact else float), self.A
        end = limits.limit(Z, self.alpha, A)
        alone = attention.alone(attention.attention_sets(end.at(self.layer), A))
        followers = ", ".join(str(i + 1) for i in np.flatnonzero(alone)) or "none"
        matrix = "" if A is None else f", A = {wired(A)}"
        born = zip(end.leaders, end.born, strict=True)
        lines = [
            f"{len(Z)} tokens, alpha = {_short(self.alpha)}{matrix}",
            f"layer {self.layer}: tokens {followers} follow only themselves",
            "leaders: " + ", ".join(f"{i + 1} (born at layer {k})" for i, k in born),
        ]
        if not end.certified:
            return "\n".join([*lines, "limit: NOT certified, only likely"])
        K = end.polytope().astype(float) + 0.0
        corners = [f"({x:.6g}, {y:.6g})" for x, y in K]
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
        A = "" if self.A is None else f", A={wired(self.A)}"
        about = f"{len(self.tokens)} tokens, alpha={_short(self.alpha)}{A}"
        return f"Playground({about}, layer={self.layer})"
