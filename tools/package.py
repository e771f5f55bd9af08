"""Build the wheel and the sdist, and try the wheel as somebody who has nothing else.

python tools/package.py [--tag v1.2.3]    the tag, where one is given, is the version's

They are made of what git knows, no more. In an empty environment the wheel runs the
README's example with numpy and scipy alone; what needs an extra says which; and the
package says that it has types. Where the README leads to other files, it says the address
of the repository, once there is one: the index of packages shows the README alone.
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

from publish import home

ROOT = Path(__file__).resolve().parent.parent
DIST, HOME = ROOT / "dist", ROOT / "_build" / "package"
SOURCE = HOME / "source"
BUILD = "build==1.3.0", "twine==6.2.0"
EXTRAS = {  # what needs an extra, and which
    "from hmlib import train": "torch",
    "from hmlib import Playground": "live",
    "from hmlib import figures": "book",
}


def known(*folders):
    """The files that git knows."""
    command = ["git", "ls-files", "-z", *folders]
    try:
        said = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        sys.exit("This is no clone: a package is made of the files that git knows.")
    return [name for name in said.stdout.decode().split("\0") if name]


def complete(names, said, wanted):
    """Everything in the package's folder is in an archive: data, the page's code, the
    mark that it has types."""
    if missing := sorted({*wanted, "hmlib/py.typed"} - set(names)):
        sys.exit(f"The {said} lacks {', '.join(missing)}: see pyproject.toml.")


def led(readme, address):
    """The README with its links to our own files leading to the repository.

    >>> led("[a](b.md), ![c](d/e.svg), [f](https://g), [h](#i)", "https://github.com/o/r")
    '[a](https://github.com/o/r/blob/HEAD/b.md), ![c](https://github.com/o/r/raw/HEAD/d/e.svg), [f](https://g), [h](#i)'
    >>> led("[a](b.md)", None)
    '[a](b.md)'
    """
    if not address:
        return readme

    def absolute(link):
        kind = "raw" if link[1] else "blob"
        return f"{link[1]}[{link[2]}]({address}/{kind}/HEAD/{link[3]})"

    return re.sub(r"(!?)\[([^]]*)\]\((?!https?:|#)([^)]+)\)", absolute, readme)


def copied(address):
    """What is packed: a copy of the files that git knows, the README with its links."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    for name in known():
        if (ROOT / name).is_file():
            (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, SOURCE / name)
    readme = SOURCE / "README.md"
    readme.write_text(led(readme.read_text(), address))


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


def releasable(tag, version, changelog, address):
    """Nothing is released under another name, without a date, or from nowhere."""
    if tag != f"v{version}":
        sys.exit(f"The tag is {tag}, the version {version}: expected v{version}.")
    if not re.search(rf"^## {re.escape(version)}, [\d-]+$", changelog, re.M):
        sys.exit(f"CHANGELOG.md says that {version} is not released: give it its date.")
    if not address:
        sys.exit("The project has no address yet: make publishable OWNER=... REPO=...")


def main(arguments=None):
    parser = argparse.ArgumentParser("python tools/package.py")
    parser.add_argument("--tag", help="of the release: v and the version")
    tag, address = parser.parse_args(arguments).tag, home()
    if tag:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        changelog = (ROOT / "CHANGELOG.md").read_text()
        releasable(tag, project["version"], changelog, address)
    wanted = known("hmlib")
    copied(address)
    shutil.rmtree(DIST, ignore_errors=True)
    for name in ("tools", "empty"):
        venv.create(HOME / name, with_pip=True, clear=True)
    tools, empty = (HOME / name / "bin" / "python" for name in ("tools", "empty"))
    subprocess.run([tools, "-m", "pip", "install", "-q", *BUILD], check=True)
    subprocess.run([tools, "-m", "build", "-o", DIST, SOURCE], check=True)
    wheel, sdist = next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))
    subprocess.run(
        [tools, "-m", "twine", "check", "--strict", wheel, sdist], check=True
    )
    complete(zipfile.ZipFile(wheel).namelist(), "wheel", wanted)
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    complete(names, "sdist", wanted)

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
