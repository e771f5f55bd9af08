"""Tables of a page."""

from collections.abc import Iterable

from hmlib import inputs

with inputs.extra("book"):
    from IPython.display import Markdown


def table(rows: Iterable[Iterable]) -> Markdown:
    """A table for the page; its first row is its head.

    >>> print(table([["$d$", "leaders"], [2, "4.10"]]).data)
    | $d$ | leaders |
    |--|--|
    | 2 | 4.10 |
    """
    rows = [list(row) for row in rows]
    lines = ["| " + " ".join(f"{cell} |".lstrip() for cell in row) for row in rows]
    return Markdown("\n".join([lines[0], "|--" * len(rows[0]) + "|", *lines[1:]]))
