"""JupyterLab, started for real: Run All, a dial moved on the page, the change seen in the kernel, and the other way."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from fractions import Fraction

import nbformat
import pytest

from hmlib import Playground, live

pytest.importorskip("jupyterlab")

CELLS = (
    "from hmlib import Playground\n\nplay = Playground('emerging leader')\nplay",
    "play.panel()",
    "play.layer = 2",
    "print('in the kernel:', play.alpha, play.tokens[1])",
)
SETTINGS = {  # a kernel without asking, no news
    "notebook-extension/tracker": {"autoStartDefaultKernel": True},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab with one notebook."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS]
    )
    notebook.metadata["kernelspec"] = {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    nbformat.write(notebook, tmp_path / "live.ipynb")
    for name, values in SETTINGS.items():
        file = tmp_path / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        "--allow-root",
        "--no-browser",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
    ]
    options += ["--IdentityProvider.token=test", f"--ServerApp.root_dir={tmp_path}"]
    places = {
        f"JUPYTERLAB_{name.upper()}_DIR": str(tmp_path / name)
        for name in ("settings", "workspaces")
    }
    with open(tmp_path / "log", "wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            env=os.environ | places,
            stdout=log,
            stderr=log,
        )
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(
                    f"http://127.0.0.1:{port}/api/status?token=test", timeout=5
                ).close()
                break
            except OSError:
                assert server.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/lab/tree/live.ipynb?token=test&reset"
    finally:
        server.terminate()
        server.wait(30)


def test_the_figure_and_the_kernel_are_in_step(browser, lab):
    page = browser.new_page(viewport={"width": 1400, "height": 1600})
    page.set_default_timeout(120_000)
    page.goto(lab)
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
    page.locator("#jp-main-statusbar >> text=/\\| Idle$/").wait_for()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name=re.compile("^Run All Cells")).click()
    figure = page.locator(".jp-OutputArea-output [data-live=playground]")
    figure.wait_for()
    page.get_by_text(
        "in the kernel: 0.5 [Fraction(-1, 12), Fraction(1, 12)]"
    ).wait_for()

    # From Python to the page: the third cell has set the layer.
    figure.locator(".hm-status", has_text="Layer 2:").wait_for()

    # From the page to Python: the panel is computed by the kernel, and so is what the last cell prints.
    figure.get_by_role("slider", name="\u03b1").focus()
    page.keyboard.press("ArrowRight")
    page.locator(
        ".jp-OutputArea-output pre", has_text="8 tokens, alpha = 0.53"
    ).wait_for()
    figure.locator("canvas").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(500)
    page.locator(".jp-CodeCell .jp-InputArea-editor").last.click()
    page.keyboard.press("Control+Enter")
    page.get_by_text("in the kernel: 0.53 [-0.13, Fraction(1, 12)]").wait_for()

    # A link that is copied here leads to the book's own page, and back into a kernel.
    more = figure.locator(".hm-more > summary")
    more.click() if not figure.locator(".hm-more[open]").count() else None
    figure.get_by_role("button", name="Copy link").click()
    link = figure.locator("pre", has_text="#play=").inner_text()
    assert link.startswith(f"{live.site()}book/intro.html#play=emerging-leader&")
    assert "127.0.0.1" not in link
    opened = Playground.from_link(link)
    assert (opened.alpha, opened.layer) == (0.53, 2)
    assert opened.tokens[1] == [-0.13, Fraction(1, 12)]
    page.close()
