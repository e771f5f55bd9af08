"""Live figures: the dynamics in the plane, to be dragged. They need no kernel, and talk to one where there is one.

The mathematics in the page is `hardmax.js`, equal to this package (a test compares them on 1,000 clouds, in a browser).
"""

import base64
import json
import re
from fractions import Fraction
from html import escape
from importlib import resources

import numpy as np

from hmlib import arithmetic, attention, files, inputs, limits, reviews

with inputs.extra("book"):
    import anywidget
    import traitlets
    from ipywidgets import HTML


def source(*names):
    """JavaScript modules as one: a live figure is a single text, so their imports from one another are dropped."""
    texts = [
        (resources.files("hmlib") / name).read_text(encoding="utf-8") for name in names
    ]
    *modules, main = [re.sub(r"^import .*\n", "", text, flags=re.M) for text in texts]
    return "\n".join(
        [*(re.sub(r"^export ", "", text, flags=re.M) for text in modules), main]
    )


def presets():
    """{name: {tokens, alpha, A, about}}: the configurations of the paper's Fig. 2, and what chapters 1 and 3 found.

    >>> presets()["emerging leader"]["alpha"], len(presets()["emerging leader"]["tokens"])
    (0.5, 8)
    """
    rng = np.random.default_rng(1)
    square = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    triangle = [
        (1, 1),
        (0.5, -0.5),
        (-1, -1),
        *rng.uniform(0, 1, (2, 2)),
        *rng.uniform(-1, 0, (2, 2)),
    ]
    chain, tie = (
        [(7, -6), (9, -4), (11, 0), (12, 8)],
        [(-3, 2), (3, 2), (-1, 2), (1, 2), (0, 1)],
    )
    rule = [(1, -1), (3, -1), (1, -3), (3.5, 1), (-1, 1.5), (-2, -1)]
    emerging = (
        "1 1/3, -1/12 1/12, -1 -1, 0 1/4, -3/10 -7/10, -3/5 -9/10, 4/5 1/10, 3/5 3/20"
    )
    rows = {
        "triangle": (
            [*triangle, (0.3, -0.2), (0.1, -0.2)],
            0.5,
            "Fig. 2, first row: all end at the three corners of a triangle.",
        ),
        "emerging leader": (
            [tuple(map(Fraction, z.split())) for z in emerging.split(",")],
            0.5,
            "Fig. 2, second row: token 2 leads from layer 1 on. Turn alpha: below 0.2324 and above 1.4343 it does not.",
        ),
        "square": (
            [*square, *rng.uniform(-0.5, 0.5, (6, 2))],
            0.5,
            "Fig. 2, third row: all gather in four corners.",
        ),
        "edges": (
            [*square, (-0.5, 0), (0.5, 0), *rng.uniform(-0.5, 0.5, (4, 2))],
            0.5,
            "Fig. 2, fourth row: tokens 5 and 6 are tied for ever, and end in the middle of an edge.",
        ),
        "the rule": (
            rule,
            0.5,
            "Chapter 1: token 1 follows tokens 2 and 3, an exact tie. Turn the ellipse.",
        ),
        "hidden corner": (
            [(-1.1, 0.5), (-0.3, -1.2), (2, -0.2), (0.8, 0.8)],
            1,
            "Chapter 3: token 4 is a corner of the hull, but a longer one lies ahead of it, and it does not lead.",
        ),
        "comb of windows": (
            chain,
            2 / 11,
            "Chapter 3: token 1 leads for alpha = 2/7 and alpha = 2/11, but not for alpha = 2/9 in between.",
        ),
        "moved by a millionth": (
            [*square, (0.5, 1e-6), (-0.5, -1e-6)],
            0.5,
            "Chapter 3: tokens 5 and 6 are nearly tied, and that is not enough: they end in corners.",
        ),
        "a tie that breaks": (
            [(2, 1), (1, -1), (0.4, -0.2)],
            1,
            "Chapter 3: token 3 is tied between two leaders of different lengths, for one layer.",
        ),
        "a tie of moving tokens": (
            tie,
            1,
            "Chapter 3: token 5 stays tied with tokens that never come to rest. Their mean does.",
        ),
        "a tie out of balance": (
            [*tie[:2], (-2, 2), *tie[3:]],
            1,
            "Chapter 3: the same with token 3 moved.",
        ),
        "zero that stays": (
            [(0, 0), (1, 0), (-1, 0)],
            1,
            "Chapter 3: token 1 follows all, and stays inside K.",
        ),
        "zero that goes": (
            [(0, 0), (1, 0), (0, 1)],
            1,
            "Chapter 3: token 1 ends on an edge, through ties.",
        ),
        "copies": (
            [(1, 0), (2, 1), (1, 0), (2, 1), (2, -1)],
            1,
            "Chapter 3: equal tokens stay equal, and count once.",
        ),
        "far from 0": (
            (np.random.default_rng(0).normal(size=(30, 2)).round(2) + [6, 2]).round(2),
            1,
            "Chapter 3, exercise 2: all look the same way, and few lead.",
        ),
    }
    return {
        name: {
            "tokens": [[float(x) for x in z] for z in tokens],
            "alpha": float(alpha),
            "A": None,
            "about": about,
        }
        for name, (tokens, alpha, about) in rows.items()
    }


MOST_LAYERS = 10_000  # that Playground goes through


class Checked(traitlets.TraitType):
    """An attribute that is shared with the page. It takes what the functions take, by one of the checks of inputs.py."""

    def __init__(self, check):
        super().__init__()
        self.check = check
        self.tag(sync=True)

    def validate(self, _, value):
        return self.check(value)


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


def _text(text):
    return inputs.instance(text, "text", str)


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

    _esm = source("hardmax.js", "live.js", "playground.js")
    _css = source("live.css")
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
        C = attention.attention_sets(end.at(self.layer), A)
        alone = [i + 1 for i in range(len(C)) if C[i].sum() == 1 and C[i, i]]
        born = [
            f"{i + 1} (born at layer {k})"
            for i, k in zip(end.leaders, end.born, strict=True)
        ]
        lines = [
            f"{len(Z)} tokens, alpha = {self.alpha:.6g}"
            + ("" if A is None else f", A = {A.tolist()}"),
            f"layer {self.layer}: tokens {', '.join(map(str, alone)) or 'none'} follow only themselves",
            f"leaders: {', '.join(born)}",
            f"limit: certified at layer {end.settled_at}"
            if end.certified
            else "limit: NOT certified, only likely",
        ]
        if end.certified:
            K = end.polytope()
            lines.append("K: " + ", ".join(f"({x:.6g}, {y:.6g})" for x, y in K + 0.0))
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


MOST_BYTES = 1_000_000  # of the file that a page loads
MOST_DEPTH = 1_000  # of the model in it: the page goes through all layers at once


def review_model(
    words,
    embedding,
    alpha,
    depth,
    weight,
    bias,
    about="A trained model with d = 2 and A = I.",
):
    """A classifier with d = 2 as a dict of plain data, which `ReviewExplorer` takes: as `explain`, in the page.

    words, embedding     the words, without padding, and their rows (n, 2): stored as float32
    alpha, depth         of the layers;  weight, bias  of the decoder: logit = <weight, mean> + bias
    """
    E, words = inputs.points(embedding, 2, "embedding"), inputs.words(words, "words")
    with np.errstate(over="ignore"):
        E = inputs.in_range(
            arithmetic.like(E, np.zeros(0), "embedding").astype("<f4"),
            "embedding, as float32,",
        )
    if (
        len(words) != len(E)
        or len(set(words)) != len(words)
        or any(re.search(r"\s", word) or not word for word in words)
    ):
        raise ValueError(
            f"There are {len(words)} words for the {len(E)} rows of embedding: expected as many, all different, without blanks."
        )
    return {
        "words": " ".join(words),
        "embedding": base64.b64encode(E.tobytes()).decode(),
        "stop": sorted(reviews._packaged("stopwords_plain.txt")),
        "alpha": float(inputs.rate(alpha, np.zeros(1))),
        "depth": inputs.count(depth, "depth", MOST_DEPTH),
        "weight": inputs.points(inputs.token(weight, "weight")[None], 2, "weight")[0]
        .astype(float)
        .tolist(),
        "bias": inputs.number(bias, "bias"),
        "about": inputs.instance(about, "about", str),
    }


FIELDS = ("words", "embedding", "stop", "alpha", "depth", "weight", "bias", "about")


def _plain(model):
    if not isinstance(model, dict) or set(model) != set(FIELDS):
        raise ValueError(
            f"model is {inputs.shown(model)}: expected what review_model returns."
        )
    return model


def review_model_of(classifier):
    """`review_model` of a HardmaxClassifier that carries its vocabulary, as model.vocabulary."""
    from hmlib.classifier import HardmaxClassifier, _positive

    inputs.instance(classifier, "model", HardmaxClassifier)
    if (
        classifier.vocabulary is None
        or classifier.R is not None
        or classifier.padding != "mask"
    ):
        raise ValueError(
            "Expected a classifier with A = None and padding = 'mask' that carries model.vocabulary."
        )
    E = classifier.embedding.weight.detach().numpy()[1:]
    alpha, decoder = (
        float(_positive(classifier.raw_alpha.detach().double())),
        classifier.decoder,
    )
    weight, bias = (
        decoder.weight.detach().double().numpy()[0],
        float(decoder.bias.detach()),
    )
    return review_model(
        classifier.vocabulary.words[1:], E, alpha, classifier.depth, weight, bias
    )


def load_review_model(path):
    """`review_model` from results: a safetensors file, and beside it a JSON file with the words and the depth."""
    with inputs.extra("torch"):
        from safetensors.numpy import load

    path = inputs.path(path)
    content, beside = (
        path.read_bytes(),
        path.with_suffix(".json").read_text(encoding="utf-8", errors="replace"),
    )
    try:
        stored, about = load(content), json.loads(beside)
        words, numbers = (
            about["words"][1:],
            {name: stored[name].item() for name in ("alpha", "bias")},
        )
        note = f"{len(words):,} words, d = 2, alpha = {numbers['alpha']:.4g}, {about['depth']} layers."
        table, depth, weight = stored["embedding"][1:], about["depth"], stored["weight"]
        return review_model(
            words, table, depth=depth, weight=weight, about=note, **numbers
        )
    except Exception as error:  # of many kinds, all for one reason
        raise ValueError(
            f"{path}, or the .json beside it, is damaged, or no model: {inputs.first_line(error)}"
        ) from None


def write_review_model(model, path):
    """Write what `review_model` returns as a script, which a page can load from a server and from a file alike."""
    text = f"globalThis.hmlibReviewModel = {json.dumps(_plain(model), separators=(',', ':'))};\n"
    if len(text.encode()) > MOST_BYTES:
        raise ValueError(
            f"The model takes {len(text.encode())} bytes: expected at most {MOST_BYTES}. Keep fewer words."
        )
    files.write_whole(inputs.path(path), text)


EXAMPLES = (
    (
        "praise",
        "A wonderful film. The story is moving, the actors are brilliant, and I loved every minute of it.",
    ),
    (
        "blame",
        "What a waste of time. The plot is boring, the acting is awful, and the jokes are not funny at all.",
    ),
    (
        "mixed",
        "Great actors and a beautiful score, but the ending was boring, predictable and a bit too long.",
    ),
    (
        "negation",
        "Not bad, not boring: I did not expect to enjoy it, and I never looked at my watch.",
    ),
    (
        "unknown words",
        "The quixotipped hero of Grumblewick is great, whatever a quixotipped hero may be.",
    ),
)


class ReviewExplorer(anywidget.AnyWidget):
    """Type a review: its words gather layer by layer, the mean is judged, and words can be left out.

    >>> ReviewExplorer()
    ReviewExplorer('A wonderful film. The story...')

    model  for JupyterLab: a HardmaxClassifier with d = 2, or what `review_model` returns. A page of the book loads the
           file that stands beside it, when it is asked to
    """

    _esm = source("hardmax.js", "live.js", "reviews.js")
    _css = source("live.css")
    text = Checked(_text)
    examples = traitlets.List().tag(sync=True)
    file = traitlets.Unicode("review-model.js").tag(sync=True)

    def __init__(self, model=None, text=EXAMPLES[0][1]):
        self._model = (
            model
            if model is None
            else _plain(model)
            if isinstance(model, dict)
            else review_model_of(model)
        )
        super().__init__(text=text, examples=[list(example) for example in EXAMPLES])
        self.on_msg(self._answer)

    def _answer(self, _, message, buffers):
        if message == {"load": True}:
            self.send({"model": self._model})

    def __repr__(self):
        return f"ReviewExplorer({self.text[:27] + '...'!r})"
