"""The core's tests on other versions, in a virtual environment of their own.

python tools/versions.py lowest    what pyproject.toml promises at the least
python tools/versions.py newest    whatever is newest today, for the Python that runs this
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


def wanted(which, project):
    """What pip is asked for: the dependencies, at their lower bounds or without any."""
    asked = project["dependencies"]
    if which == "lowest":
        return [re.sub(r">=([\d.]+)$", r"==\1", one) for one in asked]
    return [re.split(r"[<>=~!]", one)[0] for one in asked]


def main(which):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    home = ROOT / "_build" / "versions" / which
    venv.create(home, with_pip=True, clear=True)
    python = home / "bin" / "python"
    packages = [*wanted(which, project), *TESTING]
    subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    shown = subprocess.run(
        [python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True
    )
    print(f"Python {sys.version.split()[0]}:", *shown.stdout.split())
    tests = [ROOT / "tests" / f"test_{name}.py" for name in CORE.split()]
    options = ["-q", "-o", "addopts=", "-p", "no:cacheprovider", "-m", "not long"]
    sys.exit(
        subprocess.run([python, "-m", "pytest", *options, *tests], cwd=ROOT).returncode
    )


if __name__ == "__main__":
    if sys.argv[1:] not in (["lowest"], ["newest"]):
        sys.exit(__doc__)
    main(sys.argv[1])
