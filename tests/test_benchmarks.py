"""The benchmark of attention compares like with like, and its stored result says where it comes from."""

import json
import re

import numpy as np
import pytest

from benchmarks import attention
from studies.provenance import PACKAGES, ROOT, merge


def test_all_ways_compute_one_layer():
    """Of tokens without a near-tie."""
    for d in (2, 3, 16):
        Z = np.random.default_rng(d).normal(size=(40, d))
        for way in (attention.ours, attention.dense, attention.sdpa):
            np.testing.assert_allclose(way(Z), attention.loop(Z), rtol=0, atol=1e-12)


def test_a_small_run(tmp_path):
    result = attention.run(
        sizes=(64, 600),
        repetitions=1,
        tall=700,
        sequences=3,
        progress=lambda line: None,
    )
    assert {(row["d"], row["n"]) for row in result["layers"]} == {
        (2, 64),
        (2, 600),
        (3, 64),
        (3, 600),
        (16, 700),
    }
    assert all(s > 0 for row in result["layers"] for s in row["seconds"].values())
    assert [row["certified"] for row in result["limits"]] == [True, True]
    assert [row["work"] for row in result["reach"]] == list(attention.REACH)
    assert len(list(attention.table(result))) == len(attention.REACH)
    merge({"attention": result}, tmp_path / "benchmarks.json")
    merge({"other": 1}, tmp_path / "benchmarks.json")
    assert json.loads((tmp_path / "benchmarks.json").read_text()).keys() == {
        "attention",
        "other",
    }


def test_the_stored_result():
    stored = json.loads((ROOT / "results" / "benchmarks.json").read_text())["attention"]
    assert stored["provenance"]["versions"].keys() == {"python", *PACKAGES}
    assert [row["work"] for row in stored["reach"]] == list(attention.REACH)
    for row in stored["reach"]:
        sign, bound = attention.REACH[row["work"]]
        assert row["reached"] == (
            row["measured"] >= bound if sign == ">=" else row["measured"] <= bound
        )


def test_the_figure_of_speed(monkeypatch):
    """The cell of the page, with times of our own."""
    plt = pytest.importorskip("matplotlib.pyplot")
    from hmlib import attention, figures

    monkeypatch.setattr(plt, "show", lambda: None)
    text = (ROOT / "book" / "speed.md").read_text()
    (cell,) = re.findall(r"\n(ways = [^`]*figures\.lines[^`]*)```", text)
    times = {"loop": 1.0, "dense": 1.0, "sdpa": 1.0, "ours": 0.1, "memory": 0.01}
    rows = [{"d": d, "n": n, "seconds": times} for d in (2, 3) for n in (100, 1000)]
    known = {"measured": {"layers": rows}, "figures": figures, "attention": attention}
    exec(cell, known)
    assert [ax.get_title() for ax in plt.gcf().axes] == ["$d = 2$", "$d = 3$"]
    assert all(len(ax.lines) == len(times) + 1 for ax in plt.gcf().axes)
    plt.close("all")
