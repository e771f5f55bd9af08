"""What a fingerprint sees: every change of what a function or a chapter computes with, and nothing else."""

import shutil

import pytest

from studies.fingerprint import ROOT, Project

FILES = {
    "hmlib/__init__.py": '"""About."""\n\nfrom hmlib.near import double\n\nLATER = {"far": ("later",)}\n',
    "hmlib/near.py": '''"""Near."""

from hmlib import far
from hmlib.far import FACTOR as BY

TABLE = {}
TABLE["key"] = 1


def double(x):
    """Twice."""
    return BY * far.kept(x)


def beside(x):
    return far.beside(x)
''',
    "hmlib/far.py": """import json
from pathlib import Path

FACTOR = 2
UNUSED = 3


def kept(x):
    UNUSED = 0  # a name of its own
    return [x for x in [x + UNUSED]]


def beside(x):
    from hmlib.data_of import read

    return read() + x


def later():
    return Path("../results/numbers.json").read_text()


class Sub:
    pass


@Sub
class Decorated:
    def __init__(self, n=UNUSED):
        self.n = n
""",
    "hmlib/data_of.py": "def read():\n    return load('words.txt')\n",
    "hmlib/data/words.txt": "a",
    "results/numbers.json": "{}",
    "results/numbers.bin": "0",
    "requirements.lock": "",
}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


DOUBLE, BESIDE = (
    "from hmlib import double\ndouble(1)",
    "from hmlib import near\nnear.beside(1)",
)
LATER, CLASS = (
    "import hmlib\nhmlib.later()",
    "from hmlib.far import Decorated\nDecorated()",
)


@pytest.mark.parametrize(
    ("file", "before", "after", "changed"),
    [
        (
            "hmlib/far.py",
            "FACTOR = 2",
            "FACTOR = 4",
            [DOUBLE],
        ),  # by another name, through two modules
        ("hmlib/far.py", "[x + UNUSED]", "[x - UNUSED]", [DOUBLE]),  # module.function
        (
            "hmlib/far.py",
            "UNUSED = 3",
            "UNUSED = 4",
            [CLASS],
        ),  # not where a local name hides it; a default
        ("hmlib/far.py", "Sub:\n    pass", "Sub:\n    x = 1", [CLASS]),  # a decorator
        (
            "hmlib/near.py",
            'TABLE["key"] = 1',
            'TABLE["key"] = 2',
            [DOUBLE, BESIDE],
        ),  # a statement that binds nothing
        ("hmlib/near.py", "return far.beside(x)", "return 1 + far.beside(x)", [BESIDE]),
        ("hmlib/near.py", "import FACTOR as BY", "import UNUSED as BY", [DOUBLE]),
        ("hmlib/data_of.py", "load(", "other(", [BESIDE]),  # imported within a function
        ("hmlib/data/words.txt", "a", "b", [BESIDE]),  # a file that is named
        (
            "results/numbers.json",
            "{}",
            "[]",
            [LATER],
        ),  # by what is imported when it is first asked for
        ("results/numbers.bin", "0", "1", [LATER]),  # beside a file that is named
        (
            "hmlib/__init__.py",
            "from hmlib.near import double",
            "from hmlib.near import beside as double",
            [DOUBLE],
        ),
        ("hmlib/near.py", '"""Twice."""', '"""Two times x."""', []),
        ("hmlib/near.py", '"""Near."""', '"""Nearer."""', []),
        (
            "hmlib/near.py",
            "    return BY * far",
            "    # as it says\n    return (BY *\n        far",
            [],
        ),
        ("hmlib/far.py", "# a name of its own", "", []),
        ("requirements.lock", "", "numpy", []),
    ],
)
def test_what_changes_a_fingerprint(root, file, before, after, changed):
    digests = {
        code: Project(root).of_text(code) for code in (DOUBLE, BESIDE, LATER, CLASS)
    }
    text = (root / file).read_text().replace(before, after, 1)
    (root / file).write_text(
        text.replace("far.kept(x)", "far.kept(x))") if "(BY" in after else text
    )
    assert [
        code for code in digests if Project(root).of_text(code) != digests[code]
    ] == changed
    (root / file).write_text(FILES[file])  # undone
    assert digests == {code: Project(root).of_text(code) for code in digests}


def test_a_text_and_a_function_agree_on_what_is_used(root):
    """Order does not matter, nor what else stands in the text; a changed cell does."""
    one = Project(root).of_text(DOUBLE)
    assert (
        Project(root).of_text("# a remark\nfrom hmlib import double\n\n\ndouble( 1 )")
        == one
    )
    assert (
        len(
            {
                one,
                *(Project(root).of_text(DOUBLE.replace("1", x)) for x in ("2", "'1'")),
            }
        )
        == 3
    )
    (root / "hmlib/far.py").write_text(
        "\n".join(reversed(FILES["hmlib/far.py"].partition("class Sub")[::2]))
    )
    (root / "hmlib/far.py").write_text(
        FILES["hmlib/far.py"].replace(
            "FACTOR = 2\nUNUSED = 3", "UNUSED = 3\nFACTOR = 2"
        )
    )
    assert Project(root).of_text(DOUBLE) == one


def test_a_package_may_import_a_module_of_its_own(root):
    """Bug: `from hmlib import far` within hmlib itself went round in circles."""
    first = root / "hmlib/__init__.py"
    first.write_text(
        "from hmlib import far\n\n\ndef more(x):\n    return far.kept(x)\n"
    )
    code = "from hmlib import more\nmore(1)"
    one = Project(root).of_text(code)
    text = FILES["hmlib/far.py"].replace("[x + UNUSED]", "[x - UNUSED]")
    (root / "hmlib/far.py").write_text(text)
    assert Project(root).of_text(code) != one


def test_this_project(tmp_path):
    """The studies and chapters as they are: an edit in attention reaches the clouds, one in figures does not, and neither
    does what a study writes; a chapter knows the results it reads."""
    for folder in ("hmlib", "studies", "results"):
        shutil.copytree(
            ROOT / folder,
            tmp_path / folder,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    cells = "import json\nfrom hmlib import figures\nstudy = json.load(open('../results/variations.json'))\nfigures.dots(study)"

    def digests():
        project = Project(tmp_path)
        return (
            project.digest([("studies.statistics", "clouds")]),
            project.digest([("studies.classifiers", "fitted")]),
            project.of_text(cells),
        )

    before = digests()
    for file, old, new, changed in (
        (
            "hmlib/attention.py",
            "def attend(",
            "@staticmethod\ndef attend(",
            (True, False, False),
        ),
        (
            "hmlib/figures/draw.py",
            "\nimport ",
            "\nX = 1\nimport ",
            (False, False, False),
        ),
        (
            "studies/sentiment.py",
            "def write(",
            "@staticmethod\ndef write(",
            (False, False, False),
        ),
        (
            "studies/classifiers.py",
            "def judged(",
            "@staticmethod\ndef judged(",
            (False, True, False),
        ),
        ("hmlib/data/stopwords_plain.txt", "\n", "\nfilm\n", (False, True, False)),
        ("results/variations.json", "{", "{ ", (False, False, True)),
        ("hmlib/live/live.css", "{", "{ ", (False, False, False)),
    ):
        text = (tmp_path / file).read_text()
        assert old in text
        (tmp_path / file).write_text(text.replace(old, new, 1))
        assert (
            tuple(a != b for a, b in zip(digests(), before, strict=True)) == changed
        ), file
        (tmp_path / file).write_text(text)
    assert digests() == before
    assert (
        Project().digest([("studies.statistics", "clouds")]) == before[0]
    )  # wherever it stands
