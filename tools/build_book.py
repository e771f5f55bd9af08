"""Build the site with warnings as errors, execute what has to be executed (steady.py knows), and say where it is."""

import base64
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from importlib.metadata import version
from pathlib import Path

import lite
import pictures
import previews
import searching
import tables

from hmlib.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
INDEX = BUILD / "html" / "index.html"


def main():
    if not version("jupyter-book").startswith("1."):
        sys.exit(
            f"Jupyter Book {version('jupyter-book')} is installed: expected version 1. Run `make clean book`."
        )
    shutil.rmtree(
        INDEX.parent, ignore_errors=True
    )  # Sphinx writes other pages where some are
    build("-W", "-n", "--keep-going")
    if not INDEX.exists():
        sys.exit(f"Jupyter Book reported success but there is no {INDEX}.")
    write_model(INDEX.parent / "_static")
    write_whole(INDEX.parent / "404.html", NOT_FOUND.format(address=address() or "./"))
    search = INDEX.parent / "_static" / "searchtools.js"
    write_whole(
        search, search.read_text(encoding="utf-8") + searching.script(INDEX.parent)
    )
    pages = sorted(INDEX.parent.rglob("*.html"))
    offered = lite.build(INDEX.parent)  # its pages are JupyterLite's, not ours
    for page in pages:
        text = lite.with_offer(page.read_text(encoding="utf-8"), page.stem, offered)
        text = finished(text)
        text = tables.with_labels(pictures.with_pictures(text, page))
        write_whole(page, with_code_apart(text, page, INDEX.parent / "_static"))
    previews.write(INDEX.parent)
    print(f"\nThe book is here: {INDEX.as_uri()}")


def build(*options):
    """Jupyter Book over all pages."""
    command = [
        Path(sys.executable).with_name("jupyter-book"),
        "build",
        ".",
        "--toc",
        "book/_toc.yml",
        "--all",
    ]
    kernels = os.environ | {
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "SOURCE_DATE_EPOCH": "1767225600",
    }
    if subprocess.run([*command, *options], cwd=ROOT, env=kernels).returncode:
        sys.exit("The book was not built: see the first warning or error above.")


def write_model(folder):
    """The trained model that chapter 4 loads when a reader asks for it."""
    stored = ROOT / "results" / "sentiment_model.safetensors"
    if stored.exists():
        from hmlib.explanation import Calibration, Weights
        from hmlib.live.reviews import write_review_model

        calibration = Calibration.load(ROOT / "results" / "calibration.json")
        model = Weights.load(stored)
        write_review_model(model, folder / "review-model.js", calibration)


NOT_FOUND = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>No such page &#8212; Hardmax transformers, exactly</title>
<style>:root {{ color-scheme: light dark; font: 1.1rem/1.6 sans-serif; }} main {{ max-width: 32em; margin: 15vh auto; padding: 1em; }}</style>
</head>
<body>
<main>
<h1>No such page</h1>
<p>Tokens that follow this link converge to nothing. The book begins at its <a href="{address}index.html">front page</a>,
and has a <a href="{address}search.html">search</a>.</p>
</main>
</body>
</html>
"""


def address():
    """Where the site will stand: the pages of the repository that _config.yml names.

    None as long as it names a placeholder: until then nothing leads there.
    """
    from hmlib.live import site

    return site() or None


LAUNCH = r'<div class="dropdown dropdown-launch-buttons">.*?</ul>\s*</div>'  # elsewhere


def card(page):
    """What others show of a link to this page: its title, its first sentences, the picture of the book."""
    title = re.search(r"<title>(.*?)</title>", page, re.S)
    first = re.search(r"<h1>.*?</h1>.*?<p>(.*?)</p>", page, re.S)
    if not title or not first or "og:title" in page:
        return ""
    text = html.unescape(
        re.sub(r"<[^>]+>|\s+", lambda m: "" if m[0][0] == "<" else " ", first[1])
    )
    words = {
        "title": html.unescape(title[1]),
        "description": textwrap.shorten(text, 200, placeholder=" ..."),
        "type": "article",
    }
    if address():
        words |= {"image": f"{address()}_static/card.png"}
    return "".join(
        f'<meta property="og:{key}" content="{html.escape(value)}">\n'
        for key, value in words.items()
    )


def finished(page):
    """A page without the theme's faults, with a card for those who share it, and with a content security policy."""
    for fault, mended in MENDED:
        page = re.sub(fault, mended, page)
    if not address():
        page = re.sub(LAUNCH, "", page, flags=re.S)
    page = re.sub(
        WIDGETS,
        alive,
        page,
        flags=re.S,
    )
    page = re.sub(
        "<head>", lambda m: f"{m[0]}\n{card(page)}".rstrip("\n"), page, count=1
    )
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n', "", page)
    page = re.sub(
        r"(<head>|^(?=<meta http-equiv=.Refresh))",
        lambda m: m[0] + policy(page),
        page,
        count=1,
    )
    # The front door has an icon too, or browsers ask for one that is not there.
    return re.sub(
        r"^(?=<meta http-equiv=.Refresh)",
        '<link rel="icon" href="_static/favicon.svg"/>\n',
        page,
        flags=re.M,
    )


WIDGETS = (
    r'(<script type="application/vnd.jupyter.widget-state\+json">)(.*?)(?=</script>)'
)


def alive(stored):
    """The state of those widgets that live.js draws: progress bars and panels are alive in JupyterLab alone."""
    state = json.loads(stored[2])
    state["state"] = {
        name: model
        for name, model in state["state"].items()
        if "_esm" in model["state"]
    }
    return stored[1] + json.dumps(state).replace(
        "</", "<\\/"
    )  # no script ends within a script


def with_code_apart(page, path, static):
    """The page, its live figures' code in files of their own: once for all figures and pages."""
    scripts = set()

    def apart(stored):
        state = json.loads(stored[2])
        for model in state["state"].values():
            for part in ("_esm", "_css"):
                text = model["state"][part]
                name = hashlib.sha256(text.encode()).hexdigest()[:16]
                code = f"(window.liveCode ??= {{}})[{json.dumps(name)}] = {json.dumps(text)};\n"
                write_whole(static / f"live-{name}.js", code)
                model["state"][part] = f"@{name}"
                scripts.add(f"{os.path.relpath(static, path.parent)}/live-{name}.js")
        return stored[1] + json.dumps(state).replace("</", "<\\/")

    page = re.sub(WIDGETS, apart, page, flags=re.S)
    tags = "".join(
        f'<script defer src="{source}"></script>\n' for source in sorted(scripts)
    )
    return page.replace("<head>", f"<head>\n{tags}", 1) if tags else page


# What others leave to be desired: what these buttons say is not what they show, and the logo is in no landmark.
MENDED = (
    (
        '<div role="list" class="citation-list">',
        '<div class="citation-list">',
    ),  # its entries are no items of a list
    # A page of prose that runs code is no notebook elsewhere; its buttons open the first chapter.
    (
        r'(https://(?:mybinder|colab)[^"]*/)book/\w+\.md',
        r"\1notebooks/01_geometry.ipynb",
    ),
    (
        r'<table class="table',
        '<table tabindex="0" class="table',
    ),  # a wide one scrolls, by keys too
    # So does wide code. The theme sees to that once, when a page has loaded, which may be before its text is as wide.
    (r'(<div class="highlight">)<pre>', r'\1<pre tabindex="0">'),
    # Names that all proofs and all boxes share are no names.
    (
        r'<div class="proof admonition" id="proof">',
        '<div class="proof admonition a-proof">',
    ),
    (r'(<section class="\w+-content") id="proof-content">', r"\1>"),
    # What a folded cell says of itself is its name; another one hides it from those who listen.
    (r'<summary aria-label="Toggle hidden content">', "<summary>"),
    (
        r'(<button class="btn search-button-field[^>]*) title="Search" aria-label="Search"',
        r"\1",
    ),
    (r'(<i class="theme-switch [^>]*) title="[^"]*"', r"\1"),
    (
        r'<div class="sidebar-primary-item">(?=\s*<a class="navbar-brand logo")',
        '<div class="sidebar-primary-item" role="navigation" aria-label="Front page">',
    ),
    # What follows a formula stays with it: no line begins with a comma.
    (
        r'(<span class="math notranslate nohighlight">[^<]*</span>)([.,;:!?)]+)',
        r'<span class="together">\1\2</span>',
    ),
)


def policy(page):
    """Nothing from elsewhere; of inline scripts only those of this page, by their hashes; blob: are the live figures."""
    scripts = re.findall(
        r"<script(?![^>]*(?: src=| type=.application))[^>]*>(.*?)</script>", page, re.S
    )
    scripts += map(html.unescape, re.findall(r' on[a-z]+="([^"]*)"', page))
    scripts += [
        "window.print()"
    ]  # of the pages that the search reads, and shows parts of
    hashes = sorted(
        {
            base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            for script in scripts
        }
    )
    rules = {
        "default-src": "'self' file:",
        "script-src": " ".join(
            ["'self' file: blob: 'unsafe-hashes'", *(f"'sha256-{h}'" for h in hashes)]
        ),
        "style-src": "'self' file: 'unsafe-inline'",  # MathJax and the figures write styles
        "img-src": "'self' file: data: blob:",
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'self' file:",
    }
    content = "; ".join(f"{name} {value}" for name, value in rules.items())
    return f'\n<meta http-equiv="Content-Security-Policy" content="{content}">\n'


if __name__ == "__main__":
    main()
