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
