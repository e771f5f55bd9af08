"""A Sphinx extension: each box says whose it is, and leads to its code and its tests.

The statement map (book/statements.md) has a row for each box: its standing, the function
that embodies it, the tests that try to break it, and the formal statement if there is one.
From that table come the badge in the title of a box and the links at its foot. A box
without a row, or a standing that is none of these, is a warning, and so an error.
A long proof of the class "dropdown" is folded.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging
from sphinx_proof.nodes import NODE_TYPES, proof_node

MAP = Path(__file__).resolve().parent.parent / "book" / "statements.md"
STANDINGS = (
    "paper",
    "paper, proof ours",
    "reconstructed",
    "known, proof ours",
    "ours",
    "observed",
)
REFERENCE = re.compile(r"\{ref\}`(?:([^`<]+) <)?([\w-]+)>?`")


def setup(app):
    app.add_role("standing", role)
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True}


def rows(text):
    """{label: its row of the map, as {column: text}}."""
    found, columns = {}, ("statement", "standing", "function", "tests")
    for line in text.splitlines():
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        row = dict(zip(columns, map(str.strip, cells), strict=False))
        for label in re.findall(r"\{prf:ref\}`([\w-]+)`", row.get("statement", "")):
            if label in found:
                raise ValueError(f"{label} has two rows in the statement map")
            found[label] = row
    return found


def badge(standing):
    name = "-".join(re.findall(r"\w+", standing))
    return nodes.inline(standing, standing, classes=["standing", f"standing-{name}"])


def role(name, rawtext, text, lineno, inliner, options=None, content=()):
    """{standing}`ours`: the badge, wherever a text speaks of it."""
    if text not in STANDINGS:
        said = f"no such standing: {text!r}; expected one of {', '.join(STANDINGS)}"
        error = inliner.reporter.error(said, line=lineno)
        return [inliner.problematic(rawtext, rawtext, error)], [error]
    return [badge(text)], []


def mark(app, doctree):
    """Put a badge into the title of each box of a chapter, and links at its foot."""
    fold(doctree)
    for node in doctree.findall(addnodes.pending_xref):
        target = node.get("reftarget", "")
        if target.startswith("test_") and not node.get("refexplicit"):
            node[:] = link(target, target, app.env.docname).children
            node["refexplicit"] = True
    boxes = [
        node for kind in set(NODE_TYPES.values()) for node in doctree.findall(kind)
    ]
    if not boxes:
        return
    app.env.note_dependency(str(MAP))
    known = rows(MAP.read_text(encoding="utf-8"))
    for box in boxes:
        row = known.get(box["label"])
        if row is None:
            said = "the box %s has no row in the statement map"
            logging.getLogger(__name__).warning(said, box["label"], location=box)
            continue
        standing = re.search(r"\{standing\}`([^`]+)`", row["standing"])[1]
        box[0] += [nodes.Text(" "), badge(standing)]
        box += foot(row, app.env.docname)


def fold(doctree):
    """Close the proofs that are to be closed; a click opens them, without a script."""
    for proof in [*doctree.findall(proof_node)]:
        if "dropdown" in proof[0]["classes"]:
            proof[0]["classes"].remove("dropdown")
            start = "<details class='folded-proof'>\n<summary>Proof</summary>\n"
            parts = [nodes.raw("", x, format="html") for x in (start, "</details>\n")]
            at = proof.parent.index(proof)
            proof.parent[at : at + 1] = [parts[0], proof, parts[1]]


def foot(row, page):
    """Where the box is in the code and in the tests."""
    line = nodes.paragraph(classes=["box-links"])
    for word, cell, start in (
        ("Code", row["function"], "code-"),
        ("Tests", row["tests"], "test_"),
    ):
        links = [
            link(text or name, name, page)
            for text, name in REFERENCE.findall(cell)
            if name.startswith(start)
        ]
        if links:
            group = nodes.inline(classes=["box-link"])
            group += nodes.inline(word, word, classes=["box-word"])
            for k, one in enumerate(links):
                group += [nodes.Text(", " if k else " "), one]
            line += group
            line += nodes.Text(" ")
    return line


def link(text, target, page):
    """A reference by label; a test is called by what it says."""
    if target.startswith("test_"):
        shown = nodes.inline(text, text.removeprefix("test_").replace("_", " "))
    elif target.startswith("code-"):
        shown = nodes.literal(text, text)
    else:
        shown = nodes.inline(text, text)
    options = {"refdomain": "std", "reftype": "ref", "reftarget": target.lower()}
    return addnodes.pending_xref(
        "", shown, refdoc=page, refexplicit=True, refwarn=True, **options
    )
