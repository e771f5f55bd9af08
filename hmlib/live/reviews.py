"""The review explorer: a review is typed, and a trained model judges it in the page."""

import base64
import json
from pathlib import Path

import numpy as np

from hmlib import files, inputs
from hmlib.explanation import Calibration, weights_of
from hmlib.live import Checked, Figure, read, source
from hmlib.text import packaged

MOST_BYTES = 1_000_000  # of the file that a page loads
MOST_DEPTH = 1_000  # of the model in it: the page goes through all layers at once


def packed(model, calibration: Calibration | None = None) -> dict:
    """Weights with d = 2 and A = I, or a classifier, as plain data, for a page; and how
    sure it should be, if that is known.

    >>> from hmlib import Weights
    >>> packed(Weights.load("results/sentiment_model.safetensors"))["about"]
    '30,000 words, d = 2, alpha = 4, 3 layers.'
    """
    weights = weights_of(model)
    E, words = inputs.points(weights.embedding, 2, "embedding"), weights.words[1:]
    with np.errstate(over="ignore"):
        E = inputs.in_range(E[1:].astype("<f4"), "embedding, as float32,")
    if weights.A is not None or weights.padding != "mask":
        given = "The model has A or its padding is a token"
        inputs.refuse(given, "A = None and padding = 'mask'")
    for word in words:
        inputs.check(len(word.split()) == 1, "a word", word, "one without blanks")
    alpha, depth = weights.alpha, inputs.count(weights.depth, "depth", MOST_DEPTH)
    return {
        "words": " ".join(words),
        "embedding": base64.b64encode(E.tobytes()).decode(),
        "stop": sorted(packaged("stopwords_plain.txt")),
        "alpha": alpha,
        "depth": depth,
        "weight": weights.v.tolist(),
        "bias": weights.bias,
        "calibration": _fit(calibration),
        "about": f"{len(words):,} words, d = 2, alpha = {alpha:.4g}, {depth} layers.",
    }


def _fit(calibration):
    if calibration is None:
        return None
    inputs.instance(calibration, "calibration", Calibration)
    return [calibration.scale, calibration.few]


def write_review_model(
    model, path: str | Path, calibration: Calibration | None = None
) -> None:
    """The model as a script, which a page can load from a server and from a file."""
    model = json.dumps(packed(model, calibration), separators=(",", ":"))
    script = f"globalThis.hmlibReviewModel = {model};\n".encode()
    if len(script) > MOST_BYTES:
        given = f"The model takes {len(script)} bytes"
        inputs.refuse(given, f"at most {MOST_BYTES}. Keep fewer words")
    files.write_whole(inputs.path(path), script)


EXAMPLES = json.loads(read("examples.json"))  # name: review


class ReviewExplorer(Figure):
    """Type a review: its words gather layer by layer, the mean is judged, and words can
    be left out.

    >>> ReviewExplorer()
    ReviewExplorer('A wonderful film. The story...')

    model  for JupyterLab: a HardmaxClassifier with d = 2, or its Weights. A page of the
           book loads the file that stands beside it, when it is asked to
    calibration  how sure that model should be of its verdicts
    """

    _esm = source("reviews.js")
    text = Checked(lambda review: inputs.instance(review, "text", str))
    examples = Checked(list)  # [name, review]
    file = Checked(str)

    def __init__(
        self,
        model=None,
        text: str = EXAMPLES["praise"],
        calibration: Calibration | None = None,
    ):
        _fit(calibration)  # refused at once, though the model may come later
        self._model = None if model is None else packed(model, calibration)
        examples = [list(example) for example in EXAMPLES.items()]
        super().__init__(text=text, examples=examples, file="review-model.js")
        self.on_msg(self._answer)

    def _answer(self, _, message, buffers):
        if message == {"load": True}:
            self.send({"model": self._model})

    def __repr__(self):
        return f"ReviewExplorer({self.text[:27] + '...'!r})"
