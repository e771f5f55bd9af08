"""Pin everything: requirements.lock has the versions, requirements.hashes their files.

python tools/lock.py             the newest versions that pyproject.toml allows, and hashes
python tools/lock.py --hashes    the hashes alone, of the versions that the lock has

A hash is that of a file on the package index that pip is set up to ask. torch has builds
on other indexes, too, so it is pinned by its version alone; it and what only it needs
come after the rest (see the Makefile).
"""

import html
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parent.parent
LOCK, HASHES = ROOT / "requirements.lock", ROOT / "requirements.hashes"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LEAST = PROJECT["requires-python"].removeprefix(">=") + ".0"
UNHASHED = {"torch"}
FITS = re.compile(
    r"\.tar\.gz$|-(py3|py2\.py3|cp31[1-4]|cp3\d-abi3)[^/]*\.whl$|-abi3-[^/]*\.whl$"
)


def lock(extras):
    """requirements.lock, from an environment in which only the project is installed."""
    home = ROOT / "_build" / "lock"
    venv.create(home, with_pip=True, clear=True)
    pip = [home / "bin" / "python", "-m", "pip"]
    subprocess.run([*pip, "install", "-e", f"{ROOT}[{extras}]"], check=True)
    freeze = [*pip, "freeze", "--exclude-editable"]
    frozen = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    return re.sub(r"\+\w+$", "", frozen, flags=re.M)  # a build is no version


def hashes(pins, read):
    """requirements.hashes: every file of each pinned version that Python 3.11 to 3.14 may take."""
    lines = [
        "# Made by tools/lock.py, for `pip install --no-deps --require-hashes -r`."
    ]
    for pin in pins:
        name, version = pin.split("==")
        if name not in UNHASHED:
            page = read(name)
            digests = sorted(of_version(page, version))
            if python := needs(page, version):
                sys.exit(
                    f"{pin} needs Python {python}, and pyproject.toml promises {LEAST}: "
                    "set a bound on it there."
                )
            if not digests:
                sys.exit(f"{pin}: the index has no file of it with a sha256.")
            lines += [" \\\n    ".join([pin, *(f"--hash=sha256:{d}" for d in digests)])]
    return "\n".join(lines) + "\n"


def of_version(page, version):
    """The sha256 of the files of one version on a page of the index."""
    files = re.findall(r'href="[^"#]*/([^"#/]+)#sha256=([0-9a-f]{64})"', page)
    return {d for f, d in files if FITS.search(f) and is_of(f, version)}


def is_of(file, version):
    """By its name; names of old sdists have dashes."""
    one = re.escape(version)
    return re.search(rf"^[^-]+-{one}(-|\.tar)|-{one}\.tar\.gz$", file)


def needs(page, version):
    """The Python that this version needs, if that is more than is promised."""
    for link in re.findall(r"<a [^>]*>", page):
        file = re.search(r"/([^\"#/]+)#sha256", link)
        asked = re.search(r'data-requires-python="([^"]*)"', link)
        if file and asked and is_of(file[1], version):
            specifier = SpecifierSet(html.unescape(asked[1]))
            if not specifier.contains(LEAST):
                return str(specifier)
    return None


def main(arguments):
    sys.path.insert(0, str(ROOT))
    from hmlib.files import write_whole
    from studies.download import index, page

    if arguments not in ([], ["--hashes"]):
        sys.exit(__doc__)
    if not arguments:
        makefile = (ROOT / "Makefile").read_text()
        write_whole(LOCK, lock(re.search(r"^EXTRAS := (.*)$", makefile, re.M)[1]))
    asked = index()
    pages = hashes(LOCK.read_text().split(), lambda name: page(asked, name)[0])
    write_whole(HASHES, pages)


if __name__ == "__main__":
    main(sys.argv[1:])
