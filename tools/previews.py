"""What a link leads to, shown beside it: boxes, equations and references.

A page holds a template for each such target that stands on another page, so that nothing
has to be fetched; book/assets/previews.js shows it on hover and on keyboard focus.
"""

from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import unquote

from bs4 import BeautifulSoup

TARGETS = "div.proof[id], div.math[id], div.citation[id]"
PARTS_OF_NO_USE = ".headerlink, .box-links, .backrefs, button"


@cache
def targets(path):
    """{id: what a preview shows of it} of a page: its text, with no ids and no links."""
    soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    found = {}
    for name, node in [(node["id"], node) for node in soup.select(TARGETS)]:
        for part in node.select(PARTS_OF_NO_USE):
            part.decompose()
        for link in node.select("a"):
            link.unwrap()
        for part in [node, *node.select("[id]")]:
            del part["id"]
        found[name] = str(node)
    return found


def with_previews(path, root):
    """The page with a template for each target on other pages that it leads to."""
    text = path.read_text(encoding="utf-8")
    soup = BeautifulSoup(text, "html.parser")
    shown = {}
    for link in soup.select("article a.reference.internal[href*='#']"):
        page, name = unquote(link["href"]).split("#", 1)
        if not page or page.startswith(("http:", "https:", "mailto:")):
            continue
        there = (path.parent / page).resolve()
        known = there.is_relative_to(root.resolve()) and there.exists()
        if known and name in targets(there):
            shown[link["href"]] = targets(there)[name]
    parts = [
        f'<template class="preview" data-for="{escape(href)}">{part}</template>\n'
        for href, part in sorted(shown.items())
    ]
    return text.replace("</body>", "".join(parts) + "</body>", 1)


def write(root):
    """Into every page of the built site; what is shown comes from pages without any."""
    pages = sorted(Path(root).rglob("*.html"))
    for path, text in [(path, with_previews(path, Path(root))) for path in pages]:
        path.write_text(text, encoding="utf-8")
    targets.cache_clear()
