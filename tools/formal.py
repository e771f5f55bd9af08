"""What the formal proofs state, and what they rest on.

python tools/formal.py            check both, by Coq; `make proofs` does, after it has compiled the proofs
python tools/formal.py --write    write proofs/statements.txt anew, as Coq prints the statements
python tools/formal.py --page     write book/formal.md, which shows them; needs no Coq, `make refresh` does it
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROOFS, PAGE = ROOT / "proofs", ROOT / "book" / "formal.md"
STATEMENTS = PROOFS / "statements.txt"
CHECKED = ROOT / "_build" / "formal.sha256"  # what was checked last, and held
CLASSICAL = {
    "boolp.functional_extensionality_dep",  # functions with the same values are equal
    "boolp.propositional_extensionality",  # equivalent propositions are equal
    "boolp.constructive_indefinite_description",  # if something exists, one may be chosen
}
ALLOWED = {"Convergence": CLASSICAL}  # by file; elsewhere no axiom at all

HEAD = """# The formal statements

What the machine has checked, as Coq prints it; {doc}`proofs` says how to read it. Every hypothesis is there: `spd A` is a
symmetric positive definite $A$, `injective Z` are distinct tokens, `Z i != 0` nonzero ones.

## `proofs/Model.v`

The definitions, whole. The program that is proved correct at the end, `proofs/Checker.v`, writes them a second time, over lists.

```{literalinclude} ../proofs/Model.v
:language: coq
:name: formal-model
```
"""


DEFINITIONS = {  # what the statements say beyond Model.v
    "Geometry.v": ["mean", "bare_step", "bare_run"],
    "Settlement.v": ["settled"],
    "Forever.v": ["mix", "averages", "cloud", "lead", "lasting"],
    "Leaders.v": ["face"],
    "Separation.v": ["len"],
    "Exact.v": [
        *(
            "block",
            "relu",
            "feed_forward",
            "hears",
            "self_attention",
            "apply_block",
            "transform",
            "parameters",
        ),
        *(
            "at0",
            "at1",
            "axis",
            "place",
            "greatest",
            "nearest",
            "neuron",
            "of_neurons",
            "separating",
        ),
        *("separators", "last_place", "differ", "separates"),
    ],
    "Soundness.v": ["faithful", "row", "rows", "matrix", "rates", "holds"],
    "Rationals.v": ["rationals", "check_rational", "of_Z", "of_Q"],
}


def files():
    return [
        line
        for line in (PROOFS / "_CoqProject").read_text().split()
        if line.endswith(".v")
    ]


def theorems():
    """{name: (file, labels, comment)}. The comment before a theorem begins with its label in the book, or with two, or
    goes on with ..."""
    found, labels, one = {}, None, r"((?:lem|thm|prop)-[\w-]+)"
    for file in files():
        text = (PROOFS / file).read_text()
        for comment, name in re.findall(
            r"(?:\(\*((?:(?!\*\)).)*)\*\)\n)?Theorem (\w+)", text, re.S
        ):
            comment = " ".join(comment.split())
            named = re.match(rf"{one}(?: and {one})?[:.,]? ?", comment)
            if named:
                labels = list(filter(None, named.groups()))
            elif not comment.startswith("... "):
                sys.exit(
                    f"{file}, {name}: expected a comment that begins with a label of the book, or with ..."
                )
            found[name] = file, labels, comment[named.end() :] if named else comment
    return found


def page():
    """The text of book/formal.md."""
    shown = dict(re.findall(r"^(\w+)\n((?:.+\n)+)", STATEMENTS.read_text(), re.M))
    parts, last = [HEAD], None
    for name, (file, labels, comment) in theorems().items():
        if file != last:
            parts += [f"## `proofs/{file}`\n"]
            if file in DEFINITIONS:
                parts += [f"```{{code-block}} coq\n:name: {names_of(file)}\n"]
                parts += [
                    "\n\n".join(map(definition(file), DEFINITIONS[file])),
                    "```\n",
                ]
        last = file
        parts += [
            f"{' and '.join(f'{{prf:ref}}`{label}`' for label in labels)}. {prose(comment)}\n"
        ]
        parts += [
            f"```{{code-block}} coq\n:name: formal-{name}\n:caption: {name}\n{shown[name].rstrip()}\n```\n"
        ]
    parts += [
        "## `proofs/Checker.v`\n",
        "```{literalinclude} ../proofs/Checker.v",
        ":language: coq",
        ":name: formal-checker",
        "```\n",
    ]
    return "\n".join(parts)


def names_of(file):
    """Where the page shows the definitions of a file."""
    return f"formal-definitions_of_{Path(file).stem.lower()}"


def definition(file):
    """The source of a definition in the file, by its name."""
    text = (PROOFS / file).read_text()
    return lambda name: re.search(
        rf"^(Definition|Fixpoint|Record) {name}\b.*?\.$", text, re.M | re.S
    )[0]


def prose(comment):
    """A comment of the source as a sentence of the book: formulas and names stay as they are typed."""
    return (
        (comment[0].upper() + comment[1:])
        .replace("_", r"\_")
        .replace("*", r"\*")
        .replace("^", r"\^")
    )


def ask(names):
    """What Coq answers to `Check NAME` and to `Print Assumptions NAME`: two dicts."""
    modules = " ".join(Path(file).stem for file in files() if file != "Extract.v")
    lines = [
        "From Coq Require Import QArith.",
        "From mathcomp Require Import reals all_ssreflect all_algebra.",
    ]
    lines += [f"From Hardmax Require Import {modules}.", "Local Open Scope ring_scope."]
    lines += ["Set Printing Width 100.", "Unset Printing Implicit Defensive."]
    lines += [
        f'Goal True. idtac "=== {name}". Abort. {command} {name}.'
        for command in ("Check", "Print Assumptions")
        for name in names
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ask.v").write_text("\n".join(lines))
        coq = ["coqc", "-w", "none", "-Q", PROOFS, "Hardmax", "ask.v"]
        done = subprocess.run(coq, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"Coq could not be asked: {done.stderr}")
    answers = re.split(
        r"^=== (\w+)\n", re.sub(r" +$", "", done.stdout, flags=re.M), flags=re.M
    )[1:]
    said = list(zip(answers[::2], map(str.strip, answers[1::2]), strict=True))
    return dict(said[: len(names)]), dict(said[len(names) :])


def state():
    """A digest of all that an answer depends on."""
    read = [Path(__file__), STATEMENTS, *sorted(PROOFS.glob("*.v*"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in read)).hexdigest()


def unexpected(answer, allowed=frozenset()):
    """What an answer to `Print Assumptions` names, beyond what is allowed."""
    if answer == "Closed under the global context":
        return set()
    return set(
        re.findall(r"^([\w.']+)\s*:", answer.removeprefix("Axioms:"), re.M)
    ) - set(allowed)


def main(task):
    if task == "--page":
        PAGE.write_text(page())
        return
    if not task and CHECKED.exists() and CHECKED.read_text() == state():
        print("The formal statements: checked before, and nothing has changed.")
        return
    known = theorems()
    stated, assumed = ask(known)
    text = "\n\n".join(stated.values()) + "\n"
    if task == "--write":
        STATEMENTS.write_text(text)
        return
    for file in files():
        if bad := re.search(
            r"\b(Admitted|admit|Axiom|Parameter|Conjecture)\b",
            (PROOFS / file).read_text(),
        ):
            sys.exit(f"{file} has `{bad[0]}`: finish the proof.")
    for name, answer in assumed.items():
        if more := unexpected(answer, ALLOWED.get(Path(known[name][0]).stem, set())):
            sys.exit(
                f"{name} rests on {', '.join(sorted(more))}: expected a proof without that."
            )
    if STATEMENTS.read_text() != text:
        sys.exit(
            "proofs/statements.txt is out of date: run `python tools/formal.py --write`, then `make refresh`."
        )
    CHECKED.parent.mkdir(exist_ok=True)
    CHECKED.write_text(state())
    print(
        f"{len(known)} theorems; no axioms but the classical ones of the library of analysis, in Convergence.v alone."
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
