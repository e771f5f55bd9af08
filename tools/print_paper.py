"""Print the paper as a PDF: pandoc makes a page of it, with its references, and Chromium
prints that. `make paper`; the journal's own build, by LaTeX, looks different.

Pandoc is the one on this machine, or else comes from the package index into _build.
"""

import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from browsers import browser, printed

ROOT = Path(__file__).resolve().parent.parent
PAPER = ROOT / "paper"
HOME = ROOT / "_build" / "paper"
PDF = HOME / "paper.pdf"
PANDOC = "pypandoc_binary==1.17"
TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>$title$</title>
<style>
body { font: 10.5pt/1.45 "DejaVu Serif", serif; max-width: 40em; margin: auto; }
h1 { font-size: 1.2em; margin: 1.4em 0 .4em; }
header h1 { font-size: 1.6em; line-height: 1.25; }
header p, footer { color: #444; }
p { margin: .5em 0; text-align: justify; hyphens: auto; }
code { font-size: .9em; }
a { color: inherit; }
.csl-entry { margin: .35em 0 .35em 1.5em; text-indent: -1.5em; font-size: .9em; }
</style>
</head>
<body>
<header>
<h1>$title$</h1>
<p>$for(authors)$$authors.name$$sep$, $endfor$<br>
$for(affiliations)$$affiliations.index$: $affiliations.name$$sep$; $endfor$<br>
$date$</p>
</header>
$body$
</body>
</html>
"""


def pandoc():
    """The command: the machine's own, or that of a package, in an environment apart."""
    if found := shutil.which("pandoc"):
        return found
    python = HOME / "environment" / "bin" / "python"
    where = "import pypandoc; print(pypandoc.get_pandoc_path())"
    if not python.exists():
        venv.create(HOME / "environment", with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "-q", PANDOC], check=True)
    said = subprocess.run(
        [python, "-c", where], check=True, capture_output=True, text=True
    )
    return said.stdout.strip()


def words(text):
    """How long the paper is: its prose, up to what its owner fills in."""
    return len(text.split("---\n", 2)[2].split("# AI usage")[0].split())


def cited(text):
    """The keys of the entries that the text refers to."""
    return set(re.findall(r"@(\w+)", text.split("---\n", 2)[2]))


def main():
    from hmlib.files import write_whole

    browser()  # is there one? Before all else is made.
    write_whole(HOME / "template.html", TEMPLATE)
    page = HOME / "paper.html"
    options = ["--citeproc", "--mathml", "--fail-if-warnings", "--standalone"]
    made = ["--template", HOME / "template.html", "--output", page]
    subprocess.run(
        [pandoc(), "--from", "markdown", "paper.md", *options, *made],
        cwd=PAPER,
        check=True,
    )
    if left := re.findall(r'class="citation"[^>]*>[^<]*\?\?\?', page.read_text()):
        sys.exit(f"{len(left)} citations lead to nothing.")
    write_whole(PDF, printed(page, "22mm"))
    text = (PAPER / "paper.md").read_text()
    print(f"{words(text)} words, {len(cited(text))} references: {PDF.as_uri()}")


if __name__ == "__main__":
    main()
