"""Build the wheel and the sdist, and try the wheel as somebody who has nothing else.

python tools/package.py [--tag v1.2.3]    the tag, where one is given, is the version's

In an empty environment the wheel runs the README's example with numpy and scipy alone;
what needs an extra says which; and the package says that it has types.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST, HOME = ROOT / "dist", ROOT / "_build" / "package"
BUILD = "build==1.3.0", "twine==6.2.0"
EXTRAS = {  # what needs an extra, and which
    "from hmlib import train": "torch",
    "from hmlib import Playground": "live",
    "from hmlib import figures": "book",
}


def complete(names, said):
    """Everything in the package's folder is in an archive; data and the page's code, too."""
    listed = ["git", "ls-files", "hmlib"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True)
    wanted = files.stdout.split()
    if missing := [file for file in wanted if not any(n.endswith(file) for n in names)]:
        sys.exit(f"The {said} lacks {', '.join(missing)}: see pyproject.toml.")


EXAMPLE = f"""
import doctest
raise SystemExit(doctest.testfile({str(ROOT / "README.md")!r}, module_relative=False).failed)
"""


FIGURES = """
from hmlib import Playground, ReviewExplorer
assert Playground().report() and ReviewExplorer().text is not None
"""


def tried(python, code):
    return subprocess.run(
        [python, "-I", "-c", code], cwd=HOME, capture_output=True, text=True
    )


def main():
    parser = argparse.ArgumentParser("python tools/package.py")
    parser.add_argument("--tag", help="of the release: v and the version")
    tag = parser.parse_args().tag
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if tag and tag != f"v{version}":
        sys.exit(f"The tag is {tag}, the version {version}: expected v{version}.")
    changelog = (ROOT / "CHANGELOG.md").read_text()
    if tag and not re.search(rf"^## {re.escape(version)}, [\d-]+$", changelog, re.M):
        sys.exit(f"CHANGELOG.md says that {version} is not released: give it its date.")
    shutil.rmtree(DIST, ignore_errors=True)
    for name in ("tools", "empty"):
        venv.create(HOME / name, with_pip=True, clear=True)
    tools, empty = (HOME / name / "bin" / "python" for name in ("tools", "empty"))
    subprocess.run([tools, "-m", "pip", "install", "-q", *BUILD], check=True)
    subprocess.run([tools, "-m", "build", "-o", DIST, ROOT], check=True)
    wheel, sdist = next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))
    subprocess.run(
        [tools, "-m", "twine", "check", "--strict", wheel, sdist], check=True
    )
    complete(zipfile.ZipFile(wheel).namelist(), "wheel")
    with tarfile.open(sdist) as archive:
        complete(archive.getnames(), "sdist")

    subprocess.run([empty, "-m", "pip", "install", "-q", wheel], check=True)
    done = tried(empty, EXAMPLE)
    if done.returncode:
        sys.exit(
            f"README's example fails with the wheel alone:\n{done.stdout}{done.stderr}"
        )
    for code, extra in EXTRAS.items():
        said = tried(empty, code).stderr.strip().splitlines()[-1:]
        if not said or not re.search(rf"comes with hmlib\[{extra}\]", said[0]):
            sys.exit(f"`{code}` without extras says {said}: expected hmlib[{extra}].")
    freeze = [empty, "-m", "pip", "freeze"]
    have = subprocess.run(
        freeze, check=True, capture_output=True, text=True
    ).stdout.split()
    live = [empty, "-m", "pip", "install", "-q", f"{wheel}[live]"]
    subprocess.run(live, check=True)
    done = tried(empty, FIGURES)
    if done.returncode:
        sys.exit(f"The live figures fail with hmlib[live] alone:\n{done.stderr}")
    print(f"{wheel.name} and {sdist.name} are complete; the example runs with", *have)


if __name__ == "__main__":
    main()
