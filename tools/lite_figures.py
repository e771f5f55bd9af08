"""Stands for `hmlib.figures` where there is no matplotlib: draws nothing, in silence.

The notebooks of the page show the book's pictures below the cells that draw them.
"""

from IPython.display import Markdown


class Nothing:
    """Whatever is asked of it, it is nothing again."""

    def __init__(self, parts=0):
        self._parts = parts

    def __call__(self, *_, **__):
        return None

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _):
        return self

    def __iter__(self):
        return iter([self] * self._parts)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def canvas(rows=1, columns=1, **_):
    return Nothing(rows * columns)


def table(rows):
    """As the package's own, which needs no matplotlib but stands beside what does; numbers
    stand as they are."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return Markdown("\n".join([lines[0], "|--" * len(rows[0]) + "|", *lines[1:]]))


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Nothing()
