"""The chapters as the Python in the page runs them: numpy is there, and little else.

A cell that needs more stands as text with what the book's run printed, and so do those
that use what it defines; below a cell that draws stands the book's picture.
"""

import ast
import re

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

# Not for this Python; and what of hmlib wants them.
MISSING = {
    "scipy": "SciPy",
    "matplotlib": "matplotlib",
    "torch": "PyTorch",
    "hmlib.counting": "SciPy",
    "hmlib.HardmaxClassifier": "PyTorch",
    "hmlib.load_reviews": "the reviews",
}
KERNEL = {"name": "xeus-python", "display_name": "Python (XPython)"}
INTRODUCTION = """*This copy of a chapter of the book runs in your browser, on a Python that \
came with the page. Run the cells from the first one on, or all with Run > Run All Cells. \
There is no SciPy, matplotlib or PyTorch here: cells that need them show what they printed in \
the book, and the pictures are the book's.*"""
LABEL = re.compile(r"^(?::label:|:name:) +(\S+)|^\$\$ \(([\w-]+)\)", re.M)
UNUSED = re.compile(r"^(%config .*|from myst_nb import glue)\n+", re.M)
GLUE = re.compile(r"\{glue:text\}`[^`]*`")
ROLE = re.compile(
    r"\{(cite(?::\w)?|prf:ref|numref|ref|eq|doc)\}`(?:([^`<]+) <)?([^`>]+)>?`"
)


def for_the_page(notebook, pictures, values=()):
    """A copy of a chapter; pictures are {alt: address}, values what the book's run put
    into its sentences, in order."""
    cells, values = [nbformat.v4.new_markdown_cell(INTRODUCTION)], iter(values)
    text = "\n".join(cell.source for cell in notebook.cells)
    here = {"".join(found) for found in LABEL.findall(text)}
    here |= {figure(cell).get("name") for cell in notebook.cells}
    # {name that no cell defines here: what it would have needed}
    lost = {"glue": "the book's builder"}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            text = GLUE.sub(lambda _: next(values, "(book)"), plain(cell.source, here))
            cells.append(nbformat.v4.new_markdown_cell(text))
            continue
        source = UNUSED.sub("", cell.source)
        needed = needs(source, lost)
        unseen = "remove-cell" in cell.metadata.get("tags", [])
        if unseen and (needed or "google.colab" in source):
            continue
        if needed:
            cells.append(told(source, cell.outputs, needed))
        else:
            outputs = [one for one in cell.outputs if one.output_type == "stream"]
            cells += headed(cell)
            cells.append(nbformat.v4.new_code_cell(source, outputs=outputs))
        cells += shown(cell, pictures)
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number:03d}"
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def plain(text, here):
    """Prose whose references lead to this chapter's boxes and figures; others only name.

    JupyterLite takes each link for one of its own files.
    """

    def said(role):
        kind, shown, label = role.groups()
        if kind.startswith("cite"):
            return f"({label.replace(',', ', ')})"
        return role[0] if label in here else shown or f"{label.split('/')[-1]} (book)"

    return ROLE.sub(said, text)


def figure(cell):
    return cell.metadata.get("mystnb", {}).get("figure", {})


def needs(source, lost):
    """What a cell needs that is not there, if anything; keeps account of lost names."""
    tree = ast.parse(TransformerManager().transform_cell(source))
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    made |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    made |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    made |= {one.split(".")[-1] for one in imported(tree)}
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)} - made
    wanted = [what for one in imported(tree) for what in missing(one)]
    wanted += [lost[name] for name in sorted(used & set(lost))]
    for name in made:
        lost.pop(name, None)
        if wanted:
            lost[name] = wanted[0]
    return wanted[0] if wanted else None


def imported(tree):
    """Everything that is imported, by its full name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)


def missing(name):
    return [what for one, what in MISSING.items() if f"{name}.".startswith(f"{one}.")]


def told(source, outputs, needed):
    """A cell as text, with what it printed in the book."""
    printed = "".join(one.text for one in outputs if one.output_type == "stream")
    parts = [f"*This cell needs {needed}.*", f"```python\n{source}\n```"]
    if printed:
        parts += ["*In the book it printed:*", f"```text\n{printed.rstrip()}\n```"]
    return nbformat.v4.new_markdown_cell("\n\n".join(parts))


def headed(cell):
    """What stands above the table that a cell makes: its caption."""
    about = figure(cell)
    if not about.get("name", "").startswith("tab-"):
        return []
    caption = plain(about["caption"], set())
    return [nbformat.v4.new_markdown_cell(f"**Table.** {caption}")]


def shown(cell, pictures):
    """The book's picture of a cell that draws one, with its caption."""
    alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
    if alt not in pictures:
        return []
    caption = f"*The book's picture.* {figure(cell).get('caption', '')}".rstrip()
    head = f":::{{figure}} {pictures[alt]}\n:alt: {alt}"
    name = f"\n:name: {figure(cell)['name']}" if "name" in figure(cell) else ""
    text = f"{head}{name}\n\n{plain(caption, set())}\n:::"
    return [nbformat.v4.new_markdown_cell(text)]
