"""The formal proofs: compiled, without axioms of our own, and their extracted checker against the one in Python."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import test_limits
from certificate import rejected
from clouds import ALPHAS, EMERGING, FRACTIONS, awkward, generic, models
from hypothesis import given, settings
from hypothesis import strategies as st
from test_project import BOOK, NOTEBOOKS, ROOT, ROWS, tool

from hmlib import limit

PROOFS, formal = ROOT / "proofs", tool("formal")
MOVING = test_limits.MOVING  # a token that follows two whose mean moves, for ever
WITHIN = (
    20  # layers after `settled_at`, in which the formal checker sees that the sets stay
)
BALANCED = [(-3, 2), (3, 2), (-1, 2), (1, 2), (0, 1)]  # two that move, and balance


# The book and the statements


def test_the_formal_page_is_up_to_date():
    assert formal.page() == BOOK["formal.md"], "run `make refresh`"


# What the book says is machine-checked: [(where, its labels, what it links to)], for each row of the map and each
# statement of a chapter.
CELLS = [
    cell
    for path in NOTEBOOKS
    for cell in json.loads(path.read_text())["cells"]
    if cell["cell_type"] == "markdown"
]
STATEMENTS = dict(
    re.findall(
        r"```\{prf:\w+\}[^\n]*\n:label: (\S+)\n(.*?)\n```(?!\{)",
        "\n".join("".join(cell["source"]) for cell in CELLS),
        re.S,
    )
)
DEFINITIONS = {
    "model",
    "checker",
    *(formal.names_of(file).removeprefix("formal-") for file in formal.DEFINITIONS),
}
CLAIMS = [
    ("the map", re.findall(r"\{prf:ref\}`(\S+)`", row.split(" · ")[0]), row)
    for row in ROWS
]
CLAIMS += [("its chapter", [label], text) for label, text in STATEMENTS.items()]


def unsaid(theorems, claims):
    """What a theorem, {name: (file, labels, comment)}, and the book do not say of each other."""
    names = {}
    for name, (_, labels, _) in theorems.items():
        for label in labels:
            names.setdefault(label, set()).add(name)
    for where, labels, text in claims:
        linked = set(re.findall(r"<formal-(\w+)>", text)) - DEFINITIONS
        own = set().union(*(names.get(label, ()) for label in labels))
        yield from (
            f"{where}, {labels}: there is no theorem {name} of this statement"
            for name in sorted(linked - own)
        )
    for label in sorted(names):
        for place in ("the map", "its chapter"):
            said = " ".join(
                text
                for where, labels, text in claims
                if where == place and label in labels
            )
            if not names[label] & set(re.findall(r"<formal-(\w+)>", said)):
                yield f"{label}: {place} has no link to {sorted(names[label])}"


def test_the_book_and_the_proofs_agree_on_what_is_machine_checked():
    """Each statement that has been checked by the machine says so in the map and in its chapter, and each link leads to a
    theorem of the statement that it stands at."""
    assert not list(unsaid(formal.theorems(), CLAIMS))


def test_a_formal_name_that_is_missing_is_noticed():
    """A theorem that disappears or goes to another statement, a link that does, a statement without one."""
    theorems = formal.theorems()
    for name in {
        name for _, _, text in CLAIMS for name in re.findall(r"<formal-(\w+)>", text)
    } - DEFINITIONS:
        file, _, comment = theorems[name]
        without = {n: theorem for n, theorem in theorems.items() if n != name}
        assert list(unsaid(without, CLAIMS)), name
        assert list(
            unsaid(without | {name: (file, ["lem-of-another"], comment)}, CLAIMS)
        ), name
    checked = {label for _, labels, _ in theorems.values() for label in labels}
    for place in ("the map", "its chapter"):
        bare = [
            (where, labels, text.replace("<formal-", "<") if where == place else text)
            for where, labels, text in CLAIMS
        ]
        assert {message.split(":")[0] for message in unsaid(theorems, bare)} == checked
    wrong = [
        (*claim, text.replace("<formal-energy>", "<formal-half_space>"))
        for *claim, text in CLAIMS
    ]
    assert list(unsaid(theorems, wrong))


def test_whatever_the_book_calls_formal_is_there():
    texts = [*BOOK.values(), *(path.read_text() for path in NOTEBOOKS)]
    linked = {name for text in texts for name in re.findall(r"<formal-(\w+)>", text)}
    assert len(linked) > 25 and linked - DEFINITIONS <= set(formal.theorems())
    shown = re.findall(r"^:name: formal-(\w+)$", formal.page(), re.M)
    assert linked <= set(shown) and len(set(shown)) == len(shown)


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


def test_what_was_checked_is_checked_again_when_anything_changes(tmp_path, monkeypatch):
    """Bug to be: proofs that have changed, and an answer from before."""
    for name in ("Model.v", "Model.vo", "statements.txt"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(formal, "PROOFS", tmp_path)
    monkeypatch.setattr(formal, "STATEMENTS", tmp_path / "statements.txt")
    monkeypatch.setattr(formal, "CHECKED", tmp_path / "checked")
    states = {formal.state()}
    formal.CHECKED.write_text(formal.state())
    formal.main("")  # asks nobody
    for name in ("Model.v", "Model.vo", "statements.txt"):
        (tmp_path / name).write_text("other")
        states.add(formal.state())
    (tmp_path / "New.vo").write_text("")
    assert len(states) == 4
    monkeypatch.setattr(formal, "theorems", dict)
    monkeypatch.setattr(formal, "ask", lambda names: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        formal.main("")


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

    built = (PROOFS / "checker").stat().st_mtime
    newer = [p.name for p in PROOFS.glob("[A-Z]*.v") if p.stat().st_mtime > built]
    assert not newer, f"{newer} changed after the checker was built: run `make proofs`"

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
        *(alphas if end.certified else [0] * len(alphas)),
    ]
    words += [
        *np.asarray(Z).flat,
        end.settled_at or 0,
        WITHIN,
        *(born.get(i, -1) for i in range(n)),
        *end.follows.tolist(),
    ]
    return " ".join(
        str(Fraction(x)) for x in [*words, *end.tokens.flat, end.error_bound]
    )


def test_both_checkers_say_yes_to_what_is_certified(verdicts):
    """Of the clouds of tests/test_limits.py: awkward ones on fractions and on floats, and generic ones."""
    claims = []
    for seed in range(0, 1600, 4 if test_limits.MANY == 1 else 1):
        Z, alpha, A = awkward(seed)
        Z, alpha = (Z, alpha) if seed < 1000 else (Z.astype(float), float(alpha))
        claims.append((limit(Z, alpha, A), Z, alpha, A))
    for seed in range(0, 2000, 20):
        Z, alpha, A = generic(seed)
        claims.append(
            (limit(Z[:12], round(alpha, 1) + 0.1, A), Z[:12], round(alpha, 1) + 0.1, A)
        )
    assert all(verdicts(claims))


MERGING = test_limits.test_floats_that_merge_are_no_copies.pytestmark[0].args[
    1
]  # [(Z, alpha, a wrong claim), ...]


def test_both_checkers_on_floats_that_merge(verdicts):
    clouds = [(np.array(Z, float), alpha, wrong) for Z, alpha, wrong in MERGING]
    ends = [limit(Z, alpha) for Z, alpha, _ in clouds]
    arrays = [
        {k: v if k == "settled_at" else np.array(v) for k, v in wrong.items()}
        for _, _, wrong in clouds
    ]
    false = [replace(end, **wrong) for end, wrong in zip(ends, arrays, strict=True)]
    claims = [
        (end, Z, alpha)
        for claims in (ends, false)
        for end, (Z, alpha, _) in zip(claims, clouds, strict=True)
    ]
    assert (
        verdicts(claims)
        == [rejected(*claim) is None for claim in claims]
        == [True] * 3 + [False] * 3
    )


@given(
    models(numbers=FRACTIONS, nonzero=True, most=5),
    st.lists(ALPHAS, min_size=1, max_size=5),
)
@settings(max_examples=60)
def test_both_checkers_where_alpha_changes(verdicts, model, alphas):
    Z, A = model
    claim = limit(Z, alphas, A), Z, alphas, A
    assert verdicts([claim]) == [rejected(*claim) is None]


def test_both_checkers_where_a_tie_lasts_whose_mean_moves(verdicts):
    """The formal checker knows these, too, and false claims of them."""
    Z, balanced = np.array(MOVING) * Fraction(1), np.array(BALANCED) * Fraction(1)
    rates = [*map(Fraction, (1, "1/2", "1/10", 7)), [Fraction(3), Fraction(1, 5), 1]]
    claims = [(limit(Z, alpha), Z, alpha) for alpha in rates]
    claims += [(limit(balanced, 1), balanced, 1)]
    accepted = [rejected(*claim) is None for claim in claims]
    assert verdicts(claims) == accepted == [True] * 6
    claims = [(false, *of) for end, *of in claims for false in tampered(end, 0)]
    accepted = [rejected(*claim) is None for claim in claims]
    assert verdicts(claims) == accepted and sum(accepted) < len(claims) / 2


def test_both_checkers_see_a_tie_last_while_alpha_still_changes(verdicts):
    """Sets that stay may be claimed from any layer on, also before alpha is constant."""
    rng, claims = np.random.default_rng(0), []
    for Z in (np.array(MOVING) * Fraction(1), np.array(BALANCED) * Fraction(1)):
        for _ in range(4):
            alphas = [Fraction(int(p), 5) for p in rng.integers(1, 20, 6)]
            end = limit(Z, alphas)
            settles = (replace(end, settled_at=k) for k in range(len(alphas)))
            claims += [(claim, Z, alphas) for claim in settles]
            claims += [(false, Z, alphas) for false in tampered(end, 0)]
    accepted = [rejected(*claim) is None for claim in claims]
    assert verdicts(claims) == accepted and 0 < sum(accepted) < len(claims)
    early = [claim for (claim, *_), yes in zip(claims, accepted, strict=True) if yes]
    assert any(claim.settled_at + 1 < len(alphas) for claim in early)


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
    for seed in range(0, 1000, 31):
        Z, alpha, A = awkward(seed)
        claims += [(false, Z, alpha, A) for false in tampered(limit(Z, alpha, A), seed)]
    for seed in range(1000, 1600, 40):
        Z, alpha, A = awkward(seed)
        Z, alpha = Z.astype(float), float(alpha)
        claims += [(false, Z, alpha, A) for false in tampered(limit(Z, alpha, A), seed)]
    claims += [
        (false, EMERGING, Fraction(1, 2))
        for false in tampered(limit(EMERGING, Fraction(1, 2)), 0)
    ]
    accepted = [rejected(*claim) is None for claim in claims]
    assert verdicts(claims) == accepted and sum(accepted) < len(claims) / 2
