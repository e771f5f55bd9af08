"""The formal proofs: compiled, without axioms of our own, and their extracted checker against the one in Python."""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from certificate import rejected
from clouds import EMERGING, awkward, generic
from test_project import BOOK, ROOT, ROWS, tool

from hmlib import limit

PROOFS, formal = ROOT / "proofs", tool("formal")


# The book and the statements


def test_the_formal_page_is_up_to_date():
    assert formal.page() == BOOK["formal.md"], "run `make refresh`"


def test_every_theorem_is_linked_from_the_map():
    """A statement of the book that has been checked by the machine says so; so a theorem that disappears is noticed."""
    for name, (_, label, _) in formal.theorems().items():
        rows = [row for row in ROWS if f"`{label}`" in row]
        assert any("`machine-checked <formal-" in row for row in rows), (
            f"{name}: no row of {label} links to its statement"
        )


def test_whatever_the_book_calls_formal_is_there():
    texts = [
        *BOOK.values(),
        *(path.read_text() for path in (ROOT / "notebooks").glob("*.ipynb")),
    ]
    linked = {name for text in texts for name in re.findall(r"<formal-(\w+)>", text)}
    assert len(linked) > 15 and linked - {"model", "checker"} <= set(formal.theorems())


def test_axioms_are_seen():
    """What Coq prints of a proof that is not finished, or rests on more than it may."""
    assert formal.unexpected("Closed under the global context") == set()
    planted = "Axioms:\nplanted : forall x : nat,\n          x = x\nboolp.propositional_extensionality\n  : forall P Q"
    assert formal.unexpected(planted, formal.CLASSICAL) == {"planted"}
    assert formal.unexpected(planted) == {
        "planted",
        "boolp.propositional_extensionality",
    }


# What needs Coq


def test_no_theorem_rests_on_more_than_it_may():
    if not shutil.which("coqc") or not (PROOFS / "Convergence.vo").exists():
        pytest.skip(
            "no compiled proofs: run `make proofs` (Debian's coq and libcoq-mathcomp-analysis)"
        )
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "formal.py"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def verdicts():
    """What the extracted checker says of [(end, Z, alpha, A), ...]: bool for each."""
    if not (PROOFS / "checker").exists():
        pytest.skip(
            "no extracted checker: run `make proofs` (Debian's coq and libcoq-mathcomp-analysis)"
        )

    def ask(claims):
        text = "\n".join(written(*claim) for claim in claims)
        done = subprocess.run(
            [PROOFS / "checker"], input=text, capture_output=True, text=True, check=True
        )
        return [line == "yes" for line in done.stdout.split()]

    return ask


def written(end, Z, alpha, A=None):
    """A claim as the checker reads it. What is not certified makes no claim: it is written with a layer alpha = 0."""
    n, d = np.shape(Z)
    alphas = list(alpha) if isinstance(alpha, list | tuple) else [alpha]
    born = dict(zip(end.leaders.tolist(), end.born.tolist(), strict=True))
    words = [
        n,
        d,
        *(np.eye(d, dtype=int) if A is None else A).flat,
        len(alphas),
        *(alphas if end.certified else [0]),
    ]
    words += [
        *np.asarray(Z).flat,
        end.settled_at or 0,
        *(born.get(i, -1) for i in range(n)),
        *end.follows.tolist(),
    ]
    return " ".join(
        str(Fraction(x)) for x in [*words, *end.tokens.flat, end.error_bound]
    )


def test_both_checkers_say_yes_to_what_is_certified(verdicts):
    """The clouds of tests/test_limits.py: awkward ones on fractions and on floats, and generic ones."""
    claims = []
    for seed in range(1600):
        Z, alpha, A = awkward(seed)
        Z, alpha = (Z, alpha) if seed < 1000 else (Z.astype(float), float(alpha))
        claims.append((limit(Z, alpha, A), Z, alpha, A))
    for seed in range(0, 2000, 10):
        Z, alpha, A = generic(seed)
        claims.append(
            (limit(Z[:12], round(alpha, 1) + 0.1, A), Z[:12], round(alpha, 1) + 0.1, A)
        )
    assert all(verdicts(claims))


def tampered(end, seed):
    """Claims near the truth, most of them false."""
    rng = np.random.default_rng(seed)
    off, n, m = end.tokens.copy(), len(end.tokens), len(end.leaders)
    off[rng.integers(n), 0] += Fraction(1, 10**9)
    yield replace(end, tokens=off)
    yield replace(end, leaders=end.leaders[: m - 1], born=end.born[: m - 1])
    yield replace(end, born=end.born * 0)
    yield replace(end, born=end.born + 1)
    yield replace(end, follows=np.roll(end.follows, 1))
    yield replace(end, follows=np.full(n, -1))
    yield replace(end, settled_at=max(end.settled_at - 1, 0))
    yield replace(end, settled_at=end.settled_at + 1)
    yield replace(end, certified=False)


def test_both_checkers_agree_on_false_claims(verdicts):
    claims = []
    for seed in range(0, 1000, 17):
        Z, alpha, A = awkward(seed)
        claims += [(false, Z, alpha, A) for false in tampered(limit(Z, alpha, A), seed)]
    claims += [
        (false, EMERGING, Fraction(1, 2))
        for false in tampered(limit(EMERGING, Fraction(1, 2)), 0)
    ]
    accepted = [rejected(*claim) is None for claim in claims]
    assert verdicts(claims) == accepted and sum(accepted) < len(claims) / 2
