"""The Chromium on this machine: it prints the book and the paper, and the tests use it."""

import shutil
import sys

BROWSERS = (  # the first without windows, of which pages take half the time
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "chrome",
)


def browser():
    """The command of a Chromium on this machine."""
    if found := next(filter(None, map(shutil.which, BROWSERS)), None):
        return found
    sys.exit(
        "No Chromium on this machine: install it, for instance with "
        "`apt-get install chromium`."
    )


def printed(page, margin):
    """A page as a PDF, of A4 leaves, with its formulas set."""
    found = browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=found, args=["--no-sandbox"])
        tab = chromium.new_page(color_scheme="light")
        tab.goto(page.as_uri())
        tab.wait_for_function(
            "() => !window.MathJax || MathJax.startup.promise.then(() => true)"
        )
        sides = dict.fromkeys(("top", "bottom", "left", "right"), margin)
        content = tab.pdf(format="A4", margin=sides)
        chromium.close()
    return content
