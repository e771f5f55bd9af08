"""Pin everything: requirements.lock has the versions, requirements.hashes their files.

python tools/lock.py             the newest versions that pyproject.toml allows, and hashes
python tools/lock.py --hashes    the hashes alone, of the versions that the lock has

A hash is that of a file on the package index that pip is set up to ask. torch has builds
on other indexes, too, so it is pinned by its version alone; it and what only it needs
come after the rest (see the Makefile).
"""

import re
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK, HASHES = ROOT / "requirements.lock", ROOT / "requirements.hashes"
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
            digests = sorted(of_version(read(name), version))
            if not digests:
                sys.exit(f"{pin}: the index has no file of it with a sha256.")
            lines += [" \\\n    ".join([pin, *(f"--hash=sha256:{d}" for d in digests)])]
    return "\n".join(lines) + "\n"


def of_version(page, version):
    """The sha256 of the files of one version on a page of the index."""
    files = re.findall(r'href="[^"#]*/([^"#/]+)#sha256=([0-9a-f]{64})"', page)
    of = re.compile(rf"^[^-]+-{re.escape(version)}(-|\.tar)")
    sdist = re.compile(
        rf"-{re.escape(version)}\.tar\.gz$"
    )  # names of old ones have dashes
    return {d for f, d in files if FITS.search(f) and (of.match(f) or sdist.search(f))}


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
