"""The figure of the page on speed."""

from hmlib import attention
from hmlib.figures.charts import lines

NAMES = {
    "loop": "loop",
    "dense": "dense numpy",
    "sdpa": "torch, fused",
    "ours": "ours",
    "memory": "one pass over the memory",
}


def speed(layers: list[dict]):
    """Seconds of one layer against n: rows {"d", "n", "seconds": {way: s}}."""
    panels = {}
    for d in (2, 3):
        rows = [row for row in layers if row["d"] == d]
        panels[f"$d = {d}$"] = ways = {}
        for way, name in NAMES.items():
            times = {row["n"]: row["seconds"].get(way) for row in rows}
            times = {n: s for n, s in times.items() if s is not None}
            ways[name] = [*times], [*times.values()]
        ways["_"] = attention.LARGE, None, "k:"
    ylabel, size = "seconds for one layer", (7.5, 3.8)
    lines(panels, "tokens $n$", ylabel, log="xy", size=size, share=True)
