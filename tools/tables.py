"""Tables that fit a narrow screen: each cell knows the head of its column, and book.css sets it before the cell."""

import re

from bs4 import BeautifulSoup

TABLE = re.compile(r'<table[^>]*class="table\b.*?</table>', re.S)
TEX = re.compile(r"\\(?:mathcal|mathbb|mathrm|operatorname|text)|\\[()]|[{}$]|\\")


def with_labels(page):
    return TABLE.sub(lambda found: labelled(found[0]), page)


def labelled(table):
    soup = BeautifulSoup(table, "html.parser")
    heads = [
        TEX.sub("", th.get_text(" ", strip=True)) for th in soup.select("thead th")
    ]
    for row in soup.select("tbody tr"):
        cells = row.find_all("td", recursive=False)
        if len(cells) == len(heads):
            for head, cell in zip(heads, cells, strict=True):
                cell["data-label"] = head
    return str(soup)
