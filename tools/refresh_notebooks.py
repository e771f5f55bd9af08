"""Execute notebooks in place and store outputs that are the same on every machine: what nbval compares with.

Usage: python tools/refresh_notebooks.py [NOTEBOOK ...]      (all of notebooks/ if none is named)

Pictures and widget states are left out (the book draws its own), identifiers and metadata are made uniform, so a second
run changes no byte. A notebook that fails keeps its file as it was. Cover, card and the primer's picture are drawn anew too.
"""

import os
import sys
from pathlib import Path

os.environ |= {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "SOURCE_DATE_EPOCH": "1767225600",
}  # before any kernel starts

import cover
import nbformat
from nbclient import NotebookClient

from hmlib.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
PICTURES = {
    "image/svg+xml",
    "image/png",
    "image/jpeg",
    "image/gif",
    "application/vnd.jupyter.widget-view+json",
}
KEPT = {"tags", "mystnb"}


def main(names):
    for path in [Path(n).resolve() for n in names] or sorted(
        (ROOT / "notebooks").glob("*.ipynb")
    ):
        print(path.name, flush=True)
        write_whole(path, nbformat.writes(refreshed(path)) + "\n")
    if not names:
        cover.cover()
        cover.card()
        primer()


def refreshed(path):
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(path.parent)}}
    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        resources=where,
    ).execute()
    notebook.metadata = {
        "kernelspec": {
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        },
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:03d}"
        cell.metadata = {
            key: value for key, value in cell.metadata.items() if key in KEPT
        }
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            cell.outputs = []  # what is not compared is not stored
        if "outputs" in cell:
            cell.outputs = merged(cell.outputs)
        for output in cell.get("outputs", []):
            if "data" in output:
                output.data = {
                    kind: data
                    for kind, data in output.data.items()
                    if not is_picture(kind)
                }
                output.metadata = {}
    nbformat.validate(notebook)
    return notebook


def merged(outputs):
    """Printed text that follows printed text is one output: how the kernel cuts it depends on what else is running."""
    found = []
    for output in outputs:
        if (
            found
            and output.output_type == "stream" == found[-1].output_type
            and output.name == found[-1].name
        ):
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def is_picture(kind):
    return kind.removeprefix("application/papermill.record/") in PICTURES


def primer():
    """The picture of the primer."""
    import warnings

    import matplotlib

    matplotlib.use("agg")
    warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
    import numpy as np

    from hmlib import figures

    tokens = "0.9 0.4, 1.5 1.6, 2.3 0.4, -1.3 1.1, -0.5 -1.2, 0.2 -0.6, -0.5 0.3"
    figures.rule(np.array([z.split() for z in tokens.split(",")], float), alpha=1)
    keep("primer")


def keep(name):
    """The figure just drawn, as book/assets/NAME.svg."""
    import io

    import matplotlib.pyplot as plt

    from hmlib import figures

    picture, bare = io.StringIO(), {"bbox_inches": "tight", "metadata": {"Date": None}}
    with plt.rc_context(figures.STYLE):
        plt.savefig(picture, format="svg", facecolor="white", **bare)
    plt.close()
    write_whole(ROOT / "book" / "assets" / f"{name}.svg", picture.getvalue())


if __name__ == "__main__":
    main(sys.argv[1:])
