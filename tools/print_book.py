"""Print the whole book as one PDF: every page on one, printed by Chromium."""

import shutil
from pathlib import Path

from browsers import browser
from build_book import build

from hmlib.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "_build" / "singlehtml"
PDF = ROOT / "_build" / "hardmax-transformers.pdf"


def main():
    found = browser()
    from playwright.sync_api import sync_playwright

    build("--builder", "singlehtml")
    # Addresses on the page are relative to the top folder, the page itself is not in it.
    shutil.copy(PAGES / "book" / "intro.html", PAGES / "all.html")
    with sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = chromium.new_page(color_scheme="light")
        page.goto((PAGES / "all.html").as_uri())
        page.wait_for_function(
            "() => !window.MathJax || MathJax.startup.promise.then(() => true)"
        )
        content = page.pdf(
            format="A4",
            margin=dict.fromkeys(("top", "bottom", "left", "right"), "16mm"),
        )
        chromium.close()
    write_whole(PDF, content)
    print(f"\nThe book on paper: {PDF.as_uri()}")


if __name__ == "__main__":
    main()
