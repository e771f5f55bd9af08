"""The package wherever it is: other locales and time zones, a path with spaces, no git, no home, nothing that can be written."""

import json
import locale
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_project import ROOT

TASK = r"""
import json, sys, time
from fractions import Fraction

import numpy as np
import hmlib
from hmlib import figures, live, text
from studies import data, provenance

end = hmlib.limit([[1, -1], [3, -1], [1, -3], [3.5, 1]], 0.5)
review = "A film I\u0130\u0131: caf\u00e9, \u201cfine\u201d, NOT GOOD."
playground = hmlib.Playground()
explorer = hmlib.ReviewExplorer()
try:
    data.find("kaggle", "not there")
    missing = ""
except FileNotFoundError as error:
    missing = str(error)
data.main(["sources"])
print(json.dumps({
    "words": hmlib.preprocess(review), "plain": hmlib.preprocess(review, "plain"),
    "tokens": end.tokens.tolist(), "leaders": end.leaders.tolist(),
    "exact": str(hmlib.limit([[Fraction(1, 3), 1], [2, 0]], Fraction(1, 2)).tokens[0]),
    "tokens of the figure": np.asarray(playground.tokens).tolist(),
    "code": [len(live.read(name)) for name in ("playground.js", "reviews.js")],
    "text of the figure": explorer.text, "missing": missing,
}))
print(provenance.commit(), hmlib.__file__, time.tzname[0], sys.flags.utf8_mode)
"""
PLAIN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def known(name):
    """Whether this machine has a locale."""
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return True


def said(folder, environment=None, before=()):
    """What the task says from a folder: all that must be the same, and the rest."""
    given = os.environ | {"PYTHONPATH": str(folder)} | (environment or {})
    command = [*before, sys.executable, "-c", TASK]
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    *_, same, here = done.stdout.decode("ascii", "replace").strip().splitlines()
    return json.loads(same), here.split()


@pytest.fixture(scope="module")
def usual():
    return said(ROOT)[0]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A copy without git, below folders with spaces and an accent."""
    folder = tmp_path_factory.mktemp("a") / "a path, with sp\u00e4ces" / "it's here"
    for name in ("hmlib", "studies"):
        skip = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=skip)
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)


@pytest.mark.parametrize(
    "name", ["C", "C.UTF-8", "tr_TR.UTF-8", "tr_TR.ISO-8859-9", "ja_JP.eucJP"]
)
def test_another_locale(usual, name):
    """In Turkish small I has no dot; in C there is nothing but ASCII."""
    if not known(name):
        pytest.skip(f"this machine has no locale {name}")
    zone = "Pacific/Kiritimati" if "UTF" in name else "America/St_Johns"
    given = {"LC_ALL": name, "LANG": name, "LANGUAGE": "", "TZ": zone} | PLAIN
    same, here = said(ROOT, given)
    assert same == usual and here[-1] == "0"


@pytest.mark.parametrize("kind", ["no git, no home", "read-only"])
def test_another_place(usual, elsewhere, kind, tmp_path):
    """Nothing is written beside the code; without git there is no commit."""
    given, before = {"PATH": "/nowhere"}, ()
    if kind == "no git, no home":
        given |= {"HOME": "/nowhere", "XDG_CACHE_HOME": "", "MPLCONFIGDIR": ""}
    elif os.geteuid() == 0:  # who may do everything would notice nothing
        setpriv = shutil.which("setpriv")
        if not setpriv:
            pytest.skip("root may write everywhere, and there is no setpriv")
        caps = "-dac_override,-dac_read_search,-fowner"
        before = setpriv, f"--bounding-set={caps}", f"--inh-caps={caps}"
    there = {*elsewhere.rglob("*")}
    same, here = said(elsewhere, given, before)
    assert same == usual and here[0] == "None"
    assert Path(*elsewhere.parts[-1:]).name in " ".join(here)
    assert {*elsewhere.rglob("*")} == there or kind != "read-only"


def test_where_nothing_may_be_written_a_copy_is_used(tmp_path):
    """make, of a place that may only be read: what it is asked for is done in a copy, sources, new ones too, and not
    what was built there."""
    place, home = tmp_path / "to read, alone", tmp_path / "home"
    (place / ".venv").mkdir(parents=True)
    (place / "_build").mkdir()
    (place / "book").mkdir()  # as a goal is called
    shutil.copy(ROOT / "Makefile", place)
    (place / "source").write_text("one")
    (place / "source").chmod(0o400)
    environment = {k: v for k, v in os.environ.items() if k != "XDG_CACHE_HOME"}
    environment |= {"HOME": str(home), "WRITABLE": "no"}

    def make(*goals):
        return subprocess.run(
            ["make", *goals], cwd=place, env=environment, capture_output=True, text=True
        )

    copy = home / ".cache" / "hmlib" / "copy"
    done = make("help")
    assert done.returncode == 0 and str(copy) in done.stdout
    assert "build the site" in done.stdout
    assert {path.name for path in copy.iterdir()} == {"Makefile", "book", "source"}
    assert "going on in" in make("-n", "book").stdout
    (place / "source").chmod(0o600)
    (place / "source").write_text("two")
    assert "build the site" in make().stdout  # help, without a goal
    assert (copy / "source").read_text() == "two"
    assert make("nothing that there is").returncode != 0


def test_tools_read_files_as_utf8():
    """By the Makefile, whatever the locale: all of its commands inherit it."""
    if not (make := shutil.which("make")):
        pytest.skip("no make")
    rule = "--eval=said: ; @echo $$PYTHONUTF8"
    done = subprocess.run([make, "-s", rule, "said"], cwd=ROOT, capture_output=True)
    assert done.stdout == b"1\n", done.stderr
