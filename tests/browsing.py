"""A browser for the tests, what it is shown, and what may go wrong on the way."""

import shutil
from pathlib import Path

from browsers import BROWSERS

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
PAGES = sorted(
    str(p.relative_to(SITE))
    for folder in ("book", "notebooks")
    for p in SITE.glob(f"{folder}/*.html")
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def visit(browser, address, **context):
    """Open a page; return it and what went wrong on the way: requests that leave the site, errors, missing files."""
    home = "/".join(address.split("/")[:3])
    page = browser.new_context(**context).new_page()
    wrong = []
    page.on(
        "request",
        lambda r: (
            r.url.startswith((home, "data:", "blob:"))
            or wrong.append(f"leaves the site: {r.url}")
        ),
    )
    under_way = set()
    page.on("request", lambda r: under_way.add(r))
    for ended in ("requestfinished", "requestfailed"):
        page.on(ended, lambda r: under_way.discard(r))
    page.on("requestfailed", lambda r: wrong.append(f"failed: {r.url}"))
    page.on(
        "response", lambda r: r.status < 400 or wrong.append(f"{r.status}: {r.url}")
    )
    page.on(
        "console",
        lambda m: m.type in ("error", "warning") and wrong.append(f"console: {m.text}"),
    )
    page.on("pageerror", lambda e: wrong.append(f"error: {e.stack}"))
    page.goto(address)
    quiet = 0
    while quiet < 3:  # "networkidle" would wait for half a second, hundreds of times
        page.wait_for_timeout(50)
        quiet = 0 if under_way else quiet + 1
    return page, wrong
