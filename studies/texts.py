"""The 50,000 reviews as numbers, in the ways that the studies compare; made once and
kept."""

import warnings
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from hmlib.text import Vocabulary, plain_words, preprocess
from studies.data import HOME, SHA256, load_reviews
from studies.graph import Done, Key, Shelf, code_of, digest
from studies.provenance import record

READ = ("kaggle", "official", "sentences")
PLAIN = {"style": "plain", "vocabulary": "fit", "most": 30_000, "least": 5}
WAYS = {
    # The paper's: capitals kept, words of all reviews, also to test, no validation.
    "paper": {"style": "paper", "vocabulary": "all", "length": 128},
    # Ours: words of the rows that are fitted, a seventh of the training rows held out.
    "128": PLAIN | {"length": 128},
    "full": PLAIN | {"length": 400},
    "pairs": PLAIN | {"length": 400, "pairs": 20_000},
    "official": PLAIN | {"length": 128, "split": "official"},
    # Other texts: single sentences of reviews, from another site.
    "sentences": PLAIN | {"length": 64, "least": 2, "split": "sentences"},
    # One step from the paper's way to ours at a time.
    "paper, training words": {"style": "paper", "vocabulary": "train", "length": 128},
    "paper, fitted words": {"style": "paper", "vocabulary": "fit", "length": 128},
    "paper, plain words": {"style": "plain", "vocabulary": "all", "length": 128},
}


class Texts(NamedTuple):
    """ids (50000, length), labels (50000,), words by id, and the rows to fit, to hold
    out for validation, and to test."""

    ids: torch.Tensor
    labels: torch.Tensor
    words: list
    fit: torch.Tensor
    held: torch.Tensor
    test: torch.Tensor

    def of(self, rows):
        """(ids, labels) of "fit", "held", "test", or "train", which is the first
        two."""
        rows = (
            torch.cat([self.fit, self.held]) if rows == "train" else getattr(self, rows)
        )
        return self.ids[rows].long(), self.labels[rows]


@cache
def encoded(way):
    """The reviews in one of the WAYS. What is kept is believed only as it was written,
    by this code, from this data."""
    shelf = Shelf(Path(HOME).expanduser() / "studies" / "texts")
    key = Key(
        digest([WAYS[way], *(SHA256[source] for source in READ)]), code_of(_encode)
    )
    kept, same = shelf.get(way, key) or (None, False)
    if same:
        return Texts(words=kept.facts["words"], **kept.arrays)
    ids, labels, words, train = _encode(**WAYS[way])
    rows = torch.tensor(np.flatnonzero(train))
    cut = len(rows) * 6 // 7
    made = {
        "ids": torch.tensor(ids, dtype=torch.int32),
        "labels": torch.tensor(labels).float(),
    }
    made |= {
        "fit": rows[:cut].clone(),
        "held": rows[cut:].clone(),
        "test": torch.tensor(np.flatnonzero(~train)),
    }
    try:
        shelf.put(way, key, Done({"words": words}, made, record()))
    except OSError as error:
        warnings.warn(
            f"The encoded reviews are not kept for the next time: {error}", stacklevel=2
        )
    return Texts(words=words, **made)


def _encode(style, vocabulary, length, most=None, least=1, pairs=0, split="kaggle"):
    texts, labels, train = load_reviews(split)
    documents = [preprocess(text, style) for text in texts]
    rows = np.flatnonzero(train)
    rows = {
        "all": np.arange(len(texts)),
        "train": rows,
        "fit": rows[: len(rows) * 6 // 7],
    }[vocabulary]
    known = Vocabulary([documents[i] for i in rows], most, least)
    ids = known.table(documents, length)
    if pairs:
        chosen, found = telling_pairs(texts, labels, rows, pairs)
        columns = np.zeros((len(texts), max(map(len, found))), int)
        for row, numbers in zip(columns, found, strict=True):
            row[: len(numbers)] = np.add(numbers, len(known))
        return np.hstack([ids, columns]), labels, known.words + chosen, train
    return ids, labels, known.words, train


def telling_pairs(texts, labels, rows, many):
    """The pairs of neighbours that tell positive from negative training reviews best,
    and where each review has them."""
    documents = []
    for text in texts:
        words = (word for word in plain_words(text) if word)
        documents.append(["_".join(two) for two in pairwise(words)])
    by_label = [Counter(), Counter()]
    for i in rows:
        by_label[labels[i]].update(set(documents[i]))
    negative, positive = by_label
    worth = {
        pair: abs(positive[pair] - negative[pair])
        / (positive[pair] + negative[pair]) ** 0.5
        for pair in positive | negative
    }
    chosen = sorted(worth, key=lambda pair: (-worth[pair], pair))[:many]
    index = {pair: i for i, pair in enumerate(chosen)}
    return chosen, [
        [index[pair] for pair in pairs if pair in index] for pairs in documents
    ]
