"""What hardmax attention costs: a layer, the limit, a batch and the import, beside four other ways to do the same.

loop    the published algorithm: token after token, its scores, those that reach the largest, their mean
dense   numpy: all n x n scores at once, the first of the largest
sdpa    torch: scaled_dot_product_attention with a large scale, a soft maximum that is hard but for near-ties
memory  Z * r + C: one pass over the memory, which no layer can undercut

`make bench` runs it, prints the table and writes results/benchmarks.json. The ways of a row take turns, so that a slow
moment hits all of them. Ways that grow like n^2 are measured as far as they go in reasonable time and memory.
"""

import argparse
import json
import shlex
import subprocess
import sys
import time
import tracemalloc
from importlib.metadata import version

import numpy as np

import hmlib
from studies.provenance import ROOT, merge, provenance

ALPHA = 1.0
SCALE = 1e6  # of the scores under the softmax
LARGEST = {
    "loop": 20_000,
    "dense": 20_000,
    "sdpa": 20_000,
}  # n up to which these are measured
SIZES = (100, 1000, 10_000, 100_000, 1_000_000)
REACH = {  # what was promised: (at least or at most, how much)
    "layer, n = 10^4, d = 2: loop / ours": (">=", 250),
    "layer, n = 10^6, d = 2: ours / memory": ("<=", 40),
    "exponent of a layer, n = 10^4 to 10^6, d = 2": ("<=", 1.15),
    "exponent of a layer, n = 10^4 to 10^6, d = 3": ("<=", 1.15),
    "limit, n = 10^6, d = 2: limit / layer": ("<=", 12),
    "limit, n = 10^6, d = 2: peak memory / input": ("<=", 12),
    "layer, n = 2 * 10^4, d = 16: ours / dense": ("<=", 1),
    "layer, n = 2 * 10^4, d = 16: peak memory / dense": ("<=", 0.1),
    "8 layers of 2,000 x 128 tokens, d = 2: loop / ours": (">=", 100),
    "8 layers of 2,000 x 128 tokens, d = 16: loop / ours": (">=", 100),
    "import hmlib / import numpy": ("<=", 1.5),
}


def loop(Z, alpha=ALPHA):
    """One layer as published: token after token."""
    after = np.empty_like(Z)
    for i, z in enumerate(Z):
        scores = Z @ z
        C = np.flatnonzero(scores == scores.max())
        after[i] = (z + alpha * Z[C].mean(0)) / (1 + alpha)
    return after


def dense(Z, alpha=ALPHA):
    """One layer by n x n scores."""
    return (Z + alpha * Z[(Z @ Z.T).argmax(-1)]) / (1 + alpha)


def sdpa(Z, alpha=ALPHA):
    """One layer of torch's fused attention."""
    import torch

    z = torch.from_numpy(Z)[None, None]
    m = torch.nn.functional.scaled_dot_product_attention(z, z, z, scale=SCALE)
    return ((z + alpha * m) / (1 + alpha))[0, 0].numpy()


def ours(Z, alpha=ALPHA):
    return hmlib.step(Z, alpha)


def memory(Z, C, r=0.5):
    return Z * r + C


TURN = 0.03  # seconds, at least: a way that takes less is called again and again in its turn


def seconds(repetitions, **ways):
    """{name: median seconds}; the ways take turns, after a call of each that is not part of it."""
    taken, calls = {name: [] for name in ways}, {}
    for name, way in ways.items():
        start = time.perf_counter()
        way()
        calls[name] = 1 + int(TURN / (time.perf_counter() - start))
    for _ in range(repetitions):
        for name, way in ways.items():
            start = time.perf_counter()
            for _ in range(calls[name]):
                way()
            taken[name].append((time.perf_counter() - start) / calls[name])
    return {name: float(np.median(times)) for name, times in taken.items()}


def peak(way):
    """The most memory, in bytes, that Python and numpy hold while it runs."""
    tracemalloc.start()
    way()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def layers(rng, dims, sizes, repetitions):
    """One layer of Gaussian tokens: a row for each d and n."""
    for d in dims:
        for n in sizes:
            Z, C = rng.normal(size=(2, n, d))
            ways = {
                "ours": lambda Z=Z: ours(Z),
                "memory": lambda Z=Z, C=C: memory(Z, C),
            }
            ways |= {
                way.__name__: lambda Z=Z, way=way: way(Z)
                for way in (loop, dense, sdpa)
                if n <= LARGEST[way.__name__]
            }
            few = max(3, repetitions // 3) if n * n > 10**7 else repetitions
            yield {"d": d, "n": n} | {"seconds": seconds(few, **ways)}


def limits(rng, sizes, repetitions):
    """The limit of Gaussian tokens in the plane, against one layer."""
    for n in sizes:
        Z = rng.normal(size=(n, 2))
        taken = seconds(
            max(3, repetitions // 3),
            layer=lambda Z=Z: ours(Z),
            limit=lambda Z=Z: hmlib.limit(Z, ALPHA),
        )
        end = hmlib.limit(Z, ALPHA)
        yield {
            "n": n,
            "seconds": taken,
            "certified": end.certified,
            "settled_at": end.settled_at,
            "peak_over_input": round(
                peak(lambda Z=Z: hmlib.limit(Z, ALPHA)) / Z.nbytes, 2
            ),
        }


def batches(rng, dims, sequences, tokens, depth, repetitions, looped=20):
    """Layers of many short sequences. The loop is timed on some of them, and its time is scaled to all."""
    for d in dims:
        Z = rng.normal(size=(sequences, tokens, d))

        def by_loop(Z=Z):
            for X in Z[:looped]:
                for _ in range(depth):
                    X = loop(X)

        taken = seconds(
            repetitions, ours=lambda Z=Z: hmlib.simulate(Z, ALPHA, depth), loop=by_loop
        )
        taken["loop"] *= sequences / looped
        yield {
            "d": d,
            "sequences": sequences,
            "tokens": tokens,
            "layers": depth,
            "seconds": taken,
        }


def imports(repetitions):
    def start(what):
        subprocess.run([sys.executable, "-c", what], check=True, cwd=ROOT)

    bare = seconds(
        repetitions,
        python=lambda: start("pass"),
        numpy=lambda: start("import numpy"),
        hmlib=lambda: start("import hmlib"),
    )
    return {
        "seconds": bare,
        "without_python": (bare["hmlib"] - bare["python"])
        / (bare["numpy"] - bare["python"]),
    }


def run(
    sizes=SIZES, repetitions=9, tall=20_000, sequences=2000, seed=0, progress=print
):
    """The whole benchmark, as what goes into the file."""
    rng = np.random.default_rng(seed)
    out = {
        "setting": {"alpha": ALPHA, "repetitions": repetitions, "sdpa_scale": SCALE},
        "layers": [],
    }
    for row in layers(rng, (2, 3), sizes, repetitions):
        out["layers"].append(row)
        progress(line(row))
    Z = rng.normal(size=(tall, 16))
    row = {
        "d": 16,
        "n": tall,
        "seconds": seconds(
            3, **{way.__name__: lambda way=way: way(Z) for way in (ours, dense)}
        ),
    }
    row["peak"] = {way.__name__: peak(lambda way=way: way(Z)) for way in (ours, dense)}
    out["layers"].append(row)
    progress(line(row))
    out["limits"] = list(limits(rng, sizes[-2:], repetitions))
    out["batches"] = list(
        batches(rng, (2, 16), sequences, 128, 8, max(3, repetitions // 2))
    )
    out["import"] = imports(max(3, repetitions))
    out["reach"] = reach(out)
    return out


def reach(out):
    """What was promised, and what was measured."""
    rows = {(row["d"], row["n"]): row for row in out["layers"]}
    last, before = max(n for d, n in rows if d == 2), 10_000
    tall = next(row for row in out["layers"] if "peak" in row)
    found = []
    if (2, before) in rows and last > before:
        at = rows[2, before]["seconds"]
        found.append(at["loop"] / at["ours"])
        at = rows[2, last]["seconds"]
        found.append(at["ours"] / at["memory"])
        for d in (2, 3):
            growth = (
                rows[d, last]["seconds"]["ours"] / rows[d, before]["seconds"]["ours"]
            )
            found.append(np.log(growth) / np.log(last / before))
    else:
        found += [None] * 4
    far = out["limits"][-1]
    found += [far["seconds"]["limit"] / far["seconds"]["layer"], far["peak_over_input"]]
    found += [
        tall["seconds"]["ours"] / tall["seconds"]["dense"],
        tall["peak"]["ours"] / tall["peak"]["dense"],
    ]
    found += [row["seconds"]["loop"] / row["seconds"]["ours"] for row in out["batches"]]
    found.append(out["import"]["seconds"]["hmlib"] / out["import"]["seconds"]["numpy"])
    return [
        {
            "work": work,
            "promised": f"{sign} {bound}",
            "measured": value and round(float(value), 3),
        }
        | {
            "reached": value
            and bool(value >= bound if sign == ">=" else value <= bound)
        }
        for (work, (sign, bound)), value in zip(REACH.items(), found, strict=True)
    ]


def line(row):
    times = "  ".join(f"{name} {1e3 * s:.4g} ms" for name, s in row["seconds"].items())
    return f"one layer, d = {row['d']}, n = {row['n']}: {times}"


def table(result):
    """What `run` found against what was promised, as lines of text."""
    for row in result["reach"]:
        verdict = {True: "reached", False: "NOT reached", None: "not measured"}[
            row["reached"]
        ]
        yield f"{row['work']:55} {row['promised']:>8} {row['measured']!s:>10}  {verdict}"


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.attention", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default=ROOT / "results" / "benchmarks.json")
    given = parser.parse_args(arguments)
    result = run(repetitions=given.repetitions, seed=given.seed)
    print(*table(result), sep="\n")
    command = shlex.join(
        [*parser.prog.split(), *(sys.argv[1:] if arguments is None else arguments)]
    )
    result["provenance"] = provenance(command, None, [given.seed])
    result["provenance"]["versions"]["scipy"] = version("scipy")
    merge({"attention": json.loads(json.dumps(result))}, given.out)


if __name__ == "__main__":
    main()
