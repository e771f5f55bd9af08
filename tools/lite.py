"""Python in the page: a JupyterLite beside the book, with hmlib and chapters in it.

The kernel (Python and numpy, compiled for browsers) and JupyterLite are wheels, pinned in
requirements.lite; what else it imports is taken from this environment. Nothing is asked
of the network when a reader runs it. Where the wheels cannot be had, the book is built
without, and says so.
"""

import gzip
import hashlib
import html
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import distribution
from pathlib import Path

import lite_notebooks
import nbformat

from hmlib.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build" / "lite"
PINS = ROOT / "requirements.lite"
# The chapters that need no torch, or a little; and the results that they read.
CHAPTERS = (
    "geometry",
    "convergence",
    "leaders",
    "exact_classification",
    "beyond_the_assumptions",
    "limits_that_are_no_vertices",
)
RESULTS = ("variations.json", "penalised.json")
# What the kernel's wheel has not and hmlib's live figures import.
PACKAGES = ("anywidget", "ipywidgets", "comm", "psygnal", "typing_extensions")
KERNEL = "@jupyterlite/xeus-python-kernel"
EXTENSIONS = (KERNEL, "@jupyter-widgets/jupyterlab-manager", "jupyterlab-myst")
SETTINGS = {"@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}}
# These ask for what is not there yet, which is an error in the console.
DISABLED = [
    "@jupyterlab/cell-toolbar-extension:plugin",
    "@jupyter-notebook/notebook-extension:checkpoints",
]
UNUSED = ("pip", "setuptools", "wheel")  # of the kernel's wheel: 1.6 MB
SITE_PACKAGES = "lib/python3.11/site-packages"  # the kernel's
GLUED = re.compile(r'<span class="pasted-text">(.*?)</span>')
PICTURE = re.compile(r'<img alt="([^"]*)"[^>]*src="\.\./(_images/[\w.-]+\.svg)"')


def build(site):
    """Put lite/ beside the pages of a site; return the chapters that it has, by name."""
    wheels = fetched()
    if not wheels:
        return []
    names = chapters()
    shutil.rmtree(BUILD / "files", ignore_errors=True)
    for name in names:
        write_chapter(site, name)
    for name in RESULTS:
        copy(ROOT / "results" / name, BUILD / "files" / "results" / name)
    assemble(wheels, site / "lite")
    add_packages(site / "lite" / "extensions" / KERNEL / "static")
    for page in (site / "lite").rglob("*.html"):
        write_whole(page, page.read_text("utf-8").replace("<head>", HEAD, 1))
    return names


def chapters():
    paths = (ROOT / "notebooks").glob("*.ipynb")
    return sorted(p.stem for p in paths if p.stem.split("_", 1)[1] in CHAPTERS)


def fetched():
    """The folder with the pinned wheels, unpacked; None where they cannot be had."""
    folder = BUILD / hashlib.sha256(PINS.read_bytes()).hexdigest()[:16]
    if not (folder / "whole").exists():
        shutil.rmtree(folder, ignore_errors=True)
        options = "--quiet --no-deps --no-compile --only-binary=:all: --require-hashes"
        pip = [sys.executable, "-m", "pip", "install", *options.split()]
        done = subprocess.run([*pip, "--target", folder, "-r", PINS])
        if done.returncode:
            print("JupyterLite cannot be fetched: no Python in the pages of this book.")
            return None
        write_whole(folder / "whole", "")
    return folder


def write_chapter(site, name):
    """A chapter's notebook, and the book's pictures of it."""
    page = (site / "notebooks" / f"{name}.html").read_text("utf-8")
    pictures = {}
    for alt, source in PICTURE.findall(page):
        pictures[html.unescape(alt)] = f"pictures/{Path(source).name}"
        copy(site / source, BUILD / "files/notebooks/pictures" / Path(source).name)
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    values = map(html.unescape, GLUED.findall(page))
    made = lite_notebooks.for_the_page(notebook, pictures, values)
    written = nbformat.writes(made)
    write_whole(BUILD / "files" / "notebooks" / f"{name}.ipynb", written)


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def assemble(wheels, output):
    """JupyterLite's own build: its notebook view, our files, the extensions needed."""
    pinned = [wheels / "share/jupyter/labextensions" / name for name in EXTENSIONS]
    # This one has to be as new as the Python beside it, and asks nothing of JupyterLab.
    anywidget = Path(sys.prefix) / "share/jupyter/labextensions/anywidget"
    write_whole(BUILD / "overrides.json", json.dumps(SETTINGS))
    config = {
        "apps": ["notebooks"],
        "contents": [str(BUILD / "files")],
        "federated_extensions": list(map(str, [*pinned, anywidget])),
        "ignore_sys_prefix": ["federated_extensions"],
        "no_sourcemaps": True,
        "no_unused_shared_packages": True,
        "output_dir": str(output),
        "settings_overrides": [str(BUILD / "overrides.json")],
    }
    write_whole(
        BUILD / "jupyter_lite_config.json", json.dumps({"LiteBuildConfig": config})
    )
    command = [sys.executable, "-m", "jupyterlite_core.app", "build", "--force"]
    command += ["--disable-addons", "jupyterlite-xeus-python"]
    paths = os.pathsep.join(
        map(str, [wheels, *filter(None, [os.environ.get("PYTHONPATH")])])
    )
    done = subprocess.run(
        command,
        cwd=BUILD,
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(f"JupyterLite was not built:\n{done.stdout[-3000:]}")
    shown = output / "jupyter-lite.json"
    about = json.loads(shown.read_text())
    about["jupyter-config-data"] |= {"disabledExtensions": DISABLED}
    write_whole(shown, json.dumps(about))


def add_packages(static):
    """What the kernel unpacks at its start, with ours, and without what nobody asks."""
    listed = static / "empack_env_meta.json"
    meta = json.loads(listed.read_text())
    for one in [p for p in meta["packages"] if p["name"] in UNUSED]:
        meta["packages"].remove(one)
        (static / one["filename"]).unlink()
    files = dict(of_hmlib())
    for name in PACKAGES:
        files |= dict(of_package(name))
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]
    stem = f"hmlib-{digest}"
    entry = {"name": "hmlib", "version": "0", "build": digest}
    entry |= {"filename_stem": stem, "filename": f"{stem}.tar.gz"}
    meta["packages"].append(entry)
    write_whole(static / f"{stem}.tar.gz", packed(files))
    write_whole(listed, json.dumps(meta))


def of_hmlib():
    """The package without its figures, whose place is taken by those that draw nothing."""
    figures = Path("hmlib/figures/__init__.py")
    for path in sorted((ROOT / "hmlib").rglob("*")):
        inside = path.relative_to(ROOT)
        if path.is_file() and not {"figures", "__pycache__"} & set(inside.parts):
            yield str(inside), path.read_bytes()
    yield str(figures), (ROOT / "tools" / "lite_figures.py").read_bytes()


def of_package(name):
    """The Python of an installed package, and what says its version."""
    for path in distribution(name).files:
        plain = path.suffix in (".py", ".js", ".css") or path.name == "METADATA"
        if plain and not {"tests", "nbextension", ".."} & set(path.parts):
            yield str(path), path.locate().read_bytes()


def packed(files):
    """A tarball, the same for the same files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in sorted(files.items()):
            info = tarfile.TarInfo(f"{SITE_PACKAGES}/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def with_offer(page, name, offered):
    """A chapter's page with the way to Python in the page below its title."""
    if name not in offered:
        return page
    offer = OFFER.format(name=name)
    title = r"<article.*?</h1>"
    return re.sub(title, lambda end: end[0] + offer, page, count=1, flags=re.S)


OFFER = """
<details class="run-here"><summary>Run here, no installation</summary>
<p>This loads about 32 MB from this site, once, and nothing from elsewhere: Python 3.11 and numpy 1.25 \
for browsers, with <code>hmlib</code> and this chapter as a notebook. It begins after some ten to twenty seconds, and \
computes several times slower than Python elsewhere. There is no SciPy, matplotlib or PyTorch in it: cells \
that need them show what the book printed and drew. <a href="../book/sources.html#python-in-the-page">More</a></p>
<p><a href="../lite/notebooks/index.html?path=notebooks/{name}.ipynb">Load Python, and open this chapter</a></p>
</details>
"""

# JupyterLite writes scripts and code of its own; but nothing comes from elsewhere.
HEAD = """<head>
<meta http-equiv="Content-Security-Policy" content="default-src 'self' data: blob: \
'unsafe-inline' 'unsafe-eval'; object-src 'none'; base-uri 'none'; form-action 'self'">
<link rel="icon" href="data:,">"""


if __name__ == "__main__":
    print(build(ROOT / "_build" / "html"))
