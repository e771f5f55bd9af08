"""A page with live figures and nothing else, as the book would store them: no kernel, no server."""

import json

from browsing import ROOT


def page(folder, *figures, name="page.html"):
    """Write the page; return its address."""
    state, views = {}, ""
    for number, figure in enumerate(figures):
        stored = {
            key: value
            for key, value in figure.get_state().items()
            if key in figure.class_trait_names(sync=True)
        }
        state[f"model-{number}"] = {
            "state": stored | {"_esm": figure._esm, "_css": figure._css}
        }
        views += f'<script type="application/vnd.jupyter.widget-view+json">{{"model_id": "model-{number}"}}</script>\n'
    stored = json.dumps({"state": state}, default=str).replace("<", "\\u003c")
    runtime = (ROOT / "book/assets/live.js").read_text()
    text = (
        '<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>Live figures</title>'
        f'<meta name="viewport" content="width=device-width"><body><main><h1>Live figures</h1>{views}</main>'
        f'<script type="application/vnd.jupyter.widget-state+json">{stored}</script><script>{runtime}</script>'
    )
    (folder / name).write_text(text, encoding="utf-8")
    return (folder / name).as_uri()
