"""A Sphinx extension: the list of references calls a work what the text calls it.

The text says (Alcalde et al., 2026a), so the list does too. Two works of the same authors
and year have letters in references.bib.
"""

from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style as Plain
from pybtex.style.labels import BaseLabelStyle


def setup(app):
    register_plugin("pybtex.style.labels", "author_year", Labels)
    register_plugin("pybtex.style.formatting", "author_year", Style)
    return {"parallel_read_safe": True}


def named(entry):
    """Who, in the words of the text: "Rényi and Sulanke, 1963"."""
    names = [last(person) for person in entry.persons["author"]]
    if len(names) > 2:
        names = [f"{names[0]} et al."]
    return f"{' and '.join(names)}, {entry.fields.get('year', 'n.d.')}"


def last(person):
    return " ".join(map(str, person.rich_prelast_names + person.rich_last_names))


class Labels(BaseLabelStyle):
    def format_labels(self, entries):
        labels = [named(entry) for entry in entries]
        twice = {label for label in labels if labels.count(label) > 1}
        if twice:
            raise ValueError(f"give the years letters in references.bib: {twice}")
        return labels


class Style(Plain):
    default_label_style = "author_year"
