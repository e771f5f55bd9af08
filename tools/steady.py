"""A Sphinx extension: a chapter is executed again when something changes that it computes with, and the book comes out
the same whether it was or not.

Jupyter Book's cache of executed notebooks goes by their cells alone. Here the key has a fingerprint as well, of what the
cells use of the package, of the studies and of the results, of the lock and of Python. So an edit that a chapter does not
use executes nothing, one that is undone finds what was executed before it, and every builder does the same.
"""

import hashlib
import json
import re
import shutil
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from jupyter_cache import get_cache
from jupyter_cache.cache.db import NbCacheRecord
from myst_nb.core.execute.cache import NotebookClientCache

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # in this process alone, not in the kernels

from studies.fingerprint import Project  # noqa: E402

MOST = 200  # executed notebooks that are kept
NAME = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
WIDGETS = "application/vnd.jupyter.widget-state+json"


def setup(app):
    execute_or_find = NotebookClientCache.start_client

    def start_client(client):
        given = client.notebook
        spec = given.metadata.setdefault(
            "kernelspec", {"name": "python3", "display_name": "Python 3"}
        )
        spec["fingerprint"] = fingerprint(given)
        cache = get_cache(client.nb_config.execution_cache_path)
        cache.change_cache_limit(MOST)
        seal = verified(cache, given)
        execute_or_find(client)
        seal.write_text(sha256(seal.with_name("base.ipynb").read_bytes()))
        del client.notebook.metadata.kernelspec["fingerprint"]
        made = steady(client.notebook, str(client.path.relative_to(ROOT)))
        given.clear()  # MyST-NB offers the notebook that it has given for download
        given.update(made)
        client._notebook = given

    NotebookClientCache.start_client = start_client
    return {"parallel_read_safe": True}


def fingerprint(notebook):
    """Of everything that the outputs depend on, besides the cells."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    python = "\n".join(
        map(TransformerManager().transform_cell, cells)
    )  # what IPython makes of them
    installed = sha256((ROOT / "requirements.lock").read_bytes())
    return sha256(f"{Project(ROOT).of_text(python)} {installed} {sys.version}".encode())


def verified(cache, notebook):
    """Where the digest of the executed notebook stands, or is to stand. What does not have it, is thrown away."""
    _, key = cache.create_hashed_notebook(notebook)
    folder = cache.path / "executed" / key
    try:
        sound = (folder / "sha256").read_text() == sha256(
            (folder / "base.ipynb").read_bytes()
        )
    except (OSError, ValueError):
        sound = False
    if not sound:
        with suppress(KeyError):
            NbCacheRecord.remove_record(
                NbCacheRecord.record_from_hashkey(key, cache.db).pk, cache.db
            )
        shutil.rmtree(folder, ignore_errors=True)
    return folder / "sha256"


def steady(notebook, name):
    """Cells and widgets by their number, where chance had named them."""
    notebook = nbformat.convert(notebook, 4)
    notebook.nbformat_minor = 5
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:03d}"
    state = notebook.metadata.get("widgets", {}).get(WIDGETS, {}).get("state", {})
    number = {
        old: hashlib.md5(f"{name} {k}".encode()).hexdigest()
        for k, old in enumerate(in_order(notebook.cells, state))
    }
    text = NAME.sub(lambda m: number.get(m[0], m[0]), nbformat.writes(notebook))
    return nbformat.reads(text, as_version=4)


def in_order(cells, state):
    """The names of the widgets: as the cells show them, each before its parts; what no cell shows, by its content."""

    def written(part, change=lambda m: m[0]):
        return NAME.sub(
            lambda m: change(m) if m[0] in state else m[0],
            json.dumps(part, sort_keys=True),
        )

    @cache
    def content(name):
        return written(state[name], lambda m: content(m[0]))

    todo, order = [*NAME.findall(written(cells)), *sorted(state, key=content)], []
    while todo:
        name = todo.pop(0)
        if name in state and name not in order:
            order.append(name)
            todo = NAME.findall(written(state[name])) + todo
    return order


def sha256(content):
    return hashlib.sha256(content).hexdigest()
