"""The review explorer: a review is typed, and a trained model judges it in the page."""

import base64
import json
import re

import numpy as np

from hmlib import arithmetic, files, inputs
from hmlib.explanation import Weights
from hmlib.live import Checked, read, source
from hmlib.text import packaged

with inputs.extra("book"):
    import anywidget
    import traitlets

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
        "stop": sorted(packaged("stopwords_plain.txt")),
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
    from hmlib.classifier import HardmaxClassifier

    weights = inputs.instance(classifier, "model", HardmaxClassifier).weights()
    if weights.vocabulary is None or weights.A is not None or weights.padding != "mask":
        raise ValueError(
            "Expected a classifier with A = None and padding = 'mask' that carries model.vocabulary."
        )
    return review_model(
        weights.words[1:],
        weights.embedding[1:],
        weights.alpha,
        weights.depth,
        weights.v,
        weights.bias,
    )


def load_review_model(path):
    """`review_model` from results: a safetensors file, and beside it a JSON file with the words and the depth."""
    stored = Weights.load(path)
    words, alpha, depth = stored.words[1:], stored.alpha, stored.depth
    note = f"{len(words):,} words, d = 2, alpha = {alpha:.4g}, {depth} layers."
    try:
        return review_model(
            words, stored.embedding[1:], alpha, depth, stored.v, stored.bias, note
        )
    except ValueError as error:
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

    _esm = source("reviews.js")
    _css = read("live.css")
    text = Checked(lambda review: inputs.instance(review, "text", str))
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
