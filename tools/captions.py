"""A Sphinx extension: a table that a cell makes has a number and a caption, as a figure has.

The cell says them where a figure's cell does, in its metadata (`mystnb: figure`), and
MyST-NB puts what the cell shows into a figure. If that is a table, the caption becomes
the table's own, and the name leads to it: so it is counted among the tables.
"""

from docutils import nodes
from sphinx.transforms import SphinxTransform


def setup(app):
    app.add_transform(TablesOfCells)
    return {"parallel_read_safe": True}


class TablesOfCells(SphinxTransform):
    default_priority = 200  # before Sphinx counts what has a caption

    def apply(self, **kwargs):
        for figure in [*self.document.findall(nodes.figure)]:
            table = next(figure.findall(nodes.table), None)
            if table is not None:
                hand_over(self.document, figure, table)


def hand_over(document, figure, table):
    """Give the caption and the name of a figure to the table in it, which stays alone."""
    caption = next(figure.findall(nodes.caption))
    figure.remove(caption)
    table.insert(0, nodes.title(caption.rawsource, "", *caption.children))
    table["ids"] += figure["ids"]
    table["names"] += figure["names"]
    for name in figure["ids"]:
        document.ids[name] = table
    figure.parent.replace(figure, figure.children)
