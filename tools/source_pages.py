"""Write book/code.md and book/tests*.md: what the book refers to, from where it stands.

A chapter links to a function with {ref}`text <code-NAME>` (a class: code-NAME-class) and to a test with
{ref}`text <test_NAME>`. `make refresh` calls this; the suite checks that the pages are up to date.
"""

import ast
import re
from pathlib import Path

import standing

ROOT = Path(__file__).resolve().parent.parent

CODE = """# The package, function by function

`hmlib` is thin: a module is a concept of the papers, and the formula in the docstring is the code beneath it. These are
its public functions, as they are in the repository; the modules they stand in are short, and worth reading whole.
"""
TESTS = """# The tests, statement by statement

The tests that the {doc}`statement map <statements>` and the chapters name, as they are in the repository. `@given` draws
the instances; when a test fails, it shrinks them to the smallest that does. `oracle` is a second implementation in plain
Python on fractions, written from the definitions alone, and `rejected` an independent checker of certificates.

Those of {doc}`limits and certificates <tests_certificates>` and of {doc}`chapters 7 to 9 <tests_beyond>` have pages of
their own.
"""
CERTIFICATES = """# The tests of limits and certificates

What holds at infinite depth, and what floats may say about it; for the other tests see {doc}`tests`.
"""
BEYOND = """# The tests of chapters 7 to 9

The tests of the second paper's statements, and of what lies beyond the papers; for the others see {doc}`tests`.
"""
SETTLED = {"test_floats.py", "test_limits.py", "test_ties.py", "test_truth.py"}
LATER = {
    "test_counting.py",
    "test_exact.py",
    "test_statistics.py",
    "test_variations.py",
}


def pages():
    """{path: text} of these pages."""
    import hmlib

    texts = [
        p.read_text()
        for p in (*ROOT.glob("book/*.md"), *ROOT.glob("notebooks/*.ipynb"))
        if "tests" not in p.name
    ]
    tests = set(re.findall(r"\{ref\}`(?:[^`<]*<)?(test_\w+)", "".join(texts)))
    labels = set(re.findall(r"<(code-[\w-]+)>", "".join(texts)))
    public = {*hmlib.__all__}.union(*hmlib.LATER.values())
    files = {path.name: path for path in sorted(ROOT.glob("tests/*.py"))}
    shown = {  # a page: its head, and the tests on it
        "tests": (TESTS, files.keys() - LATER - SETTLED),
        "tests_certificates": (CERTIFICATES, SETTLED),
        "tests_beyond": (BEYOND, LATER),
    }
    out = {
        "code": page(
            CODE,
            sorted(ROOT.glob("hmlib/**/*.py")),
            lambda name, label: name in public or label in labels,
        )
    }
    for name, (head, names) in shown.items():
        paths = [files[name] for name in sorted(names)]
        out[name] = page(head, paths, lambda name, _: name in tests)
    return {ROOT / f"book/{name}.md": text for name, text in out.items()}


def attacked(test):
    """The line that leads from a test back to the boxes that it tries to break."""
    rows = standing.rows(standing.MAP.read_text(encoding="utf-8"))
    boxes = [
        f"{{prf:ref}}`{label}`"
        for label, row in rows.items()
        if f"{{ref}}`{test}`" in row["tests"]
    ]
    return [f"Of {', '.join(boxes)}:", ""] if boxes else []


def page(head, paths, wanted):
    parts, seen = [head], {}
    for path in paths:
        folder = path.parent.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text())
        shown = []
        for node in tree.body:
            if isinstance(
                node, ast.FunctionDef | ast.ClassDef
            ) and not node.name.startswith("_"):
                label = f"code-{node.name}" if folder.startswith("hmlib") else node.name
                label = (
                    f"{label.lower()}-class"
                    if isinstance(node, ast.ClassDef)
                    else label
                )
                if wanted(node.name, label):
                    if label in seen:
                        raise ValueError(
                            f"{label} stands in {seen[label]} and in {path.name}: a page needs one name for one thing."
                        )
                    seen[label] = path.name
                    shown += ["", *attacked(node.name)]
                    shown += [
                        f"```{{literalinclude}} ../{folder}/{path.name}",
                        f":pyobject: {node.name}",
                    ]
                    shown += [f":name: {label}", f":caption: {node.name}", "```"]
        if shown:
            about = ast.get_docstring(tree).split("\n\n")[0].replace("\n", " ")
            parts.append(
                "\n".join([f"## `{folder}/{path.name}`", "", about, *shown]) + "\n"
            )
    return "\n".join(parts)


if __name__ == "__main__":
    from hmlib.files import write_whole

    for path, text in pages().items():
        write_whole(path, text)
