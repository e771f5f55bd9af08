"""Build the site with warnings as errors, execute what has to be executed, and say where it is.

Jupyter Book's execution cache knows the cells of a notebook only. What the cells depend on, the package, the stored
results and the installed versions, is fingerprinted here: when it changes, everything is executed again.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
INDEX = BUILD / "html" / "index.html"


def main():
    if not version("jupyter-book").startswith("1."):
        sys.exit(f"Jupyter Book {version('jupyter-book')} is installed: expected version 1. Run `make clean book`.")
    drop_stale_cache(fingerprint())
    INDEX.unlink(missing_ok=True)
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "--toc", "book/_toc.yml"]
    strict = ["-W", "-n", "--keep-going", "--all"]
    kernels = os.environ | {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "SOURCE_DATE_EPOCH": "0"}
    if subprocess.run([*command, *strict], cwd=ROOT, env=kernels).returncode:
        sys.exit("The book was not built: see the first warning or error above.")
    if not INDEX.exists():
        sys.exit(f"Jupyter Book reported success but there is no {INDEX}.")
    print(f"\nThe book is here: {INDEX.as_uri()}")


def fingerprint():
    """A hash of everything that the notebooks' outputs depend on, besides their own cells."""
    files = [ROOT / "requirements.lock", *ROOT.glob("hmlib/**/*"), *ROOT.glob("results/**/*")]
    digest = hashlib.sha256(sys.version.encode())
    for file in sorted(f for f in files if f.is_file() and "__pycache__" not in f.parts):
        digest.update(f"{file.relative_to(ROOT)}\n{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def drop_stale_cache(now):
    cache, stamp = BUILD / ".jupyter_cache", BUILD / "fingerprint"
    if not stamp.exists() or stamp.read_text() != now:
        if cache.exists():
            print("hmlib, the results or the lock have changed: every notebook is executed again.")
            shutil.rmtree(cache)
        BUILD.mkdir(exist_ok=True)
        stamp.write_text(now)


if __name__ == "__main__":
    main()
