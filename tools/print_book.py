"""Print the whole book as one PDF: every page on one, printed by Chromium."""

import shutil
from pathlib import Path

from browsers import browser, printed
from build_book import build

from hmlib.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "_build" / "singlehtml"
PDF = ROOT / "_build" / "hardmax-transformers.pdf"


def main():
    browser()  # is there one? Before the book is built.
    build("--builder", "singlehtml")
    # Addresses on the page are relative to the top folder, the page itself is not in it.
    shutil.copy(PAGES / "book" / "intro.html", PAGES / "all.html")
    write_whole(PDF, printed(PAGES / "all.html", "16mm"))
    print(f"\nThe book on paper: {PDF.as_uri()}")


if __name__ == "__main__":
    main()
