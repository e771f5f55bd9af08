"""Tables that fit a narrow screen: each cell knows the head of its column, and book.css sets it before the cell."""

import re

from bs4 import BeautifulSoup

TABLE = re.compile(r'<table[^>]*class="table\b.*?</table>', re.S)
TEX = re.compile(r"\\(?:mathcal|mathbb|mathrm|operatorname|text)|\\[()]|[{}$]|\\")
LETTERS = {r"\cdot": "\u00b7", r"\sqrt ": "\u221a", r"\sqrt": "\u221a"}
LETTERS |= {r"\langle ": "\u27e8", r"\rangle": "\u27e9", r"\alpha": "\u03b1"}
LETTERS |= {r"\delta": "\u03b4", r"\Phi": "\u03a6", r"\chi": "\u03c7"}
POWER = re.compile(r"\^(?:(\d)|\{(-?\d+)\})")
RAISED = str.maketrans(
    "-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
)


def plain(text):
    """Mathematics as far as a line of text can say it."""
    for name, letter in LETTERS.items():
        text = text.replace(name, letter)
    text = POWER.sub(lambda found: (found[1] or found[2]).translate(RAISED), text)
    return re.sub(r" (?=[,)])", "", TEX.sub("", text))


def with_labels(page):
    return TABLE.sub(lambda found: labelled(found[0]), page)


def labelled(table):
    soup = BeautifulSoup(table, "html.parser")
    heads = [plain(th.get_text(" ", strip=True)) for th in soup.select("thead th")]
    for row in soup.select("tbody tr"):
        cells = row.find_all("td", recursive=False)
        if len(cells) == len(heads):
            for head, cell in zip(heads, cells, strict=True):
                cell["data-label"] = head if cell.get_text(strip=True) else ""
    return str(soup)
