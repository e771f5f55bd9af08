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
    head, *body = [[str(cell) for cell in row] for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in (head, *body)]
    return Markdown("\n".join([lines[0], "|--" * len(head) + "|", *lines[1:]]))
