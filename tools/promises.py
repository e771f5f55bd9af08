"""What later versions owe to this one: tests/promised.txt, a line for each public name.

A line has the parameters of what is called; "=" marks those with a default. Until a
version is released, `make refresh` writes the list anew. From then on it only grows:
names and parameters stay until the next major version (CONTRIBUTING.md has the rule).
"""

import inspect
import re
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "promised.txt"
NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


def called(function):
    """(a, b=): the parameters of a function or a class, as a line has them."""
    parameters = inspect.signature(function).parameters.values()
    names = [
        p.name + ("=" if p.default is not p.empty else "")
        for p in parameters
        if p.name not in ("self", "cls") and p.name[0] != "_" and p.kind in NAMED
    ]
    return f"({', '.join(names)})"


def lines():
    """What today's code offers: what `hmlib` exports, and what is public in it."""
    import hmlib

    for name in sorted({*hmlib.__all__, *chain(*hmlib.LATER.values())}):
        public = getattr(hmlib, name)
        yield name + called(public)
        if inspect.isclass(public):
            ours = [c for c in public.__mro__ if c.__module__.startswith("hmlib")]
            parts = {part for c in ours for part in vars(c) if part[0] != "_"}
            for part in sorted(parts):
                found = inspect.getattr_static(public, part)
                found = getattr(found, "__func__", found)
                how = called(found) if inspect.isfunction(found) else ""
                yield f"{name}.{part}{how}"


def parsed(line):
    """A name, and its parameters: None if it is not called."""
    name, called, parameters = re.fullmatch(r"([\w.]+)(\((.*)\))?", line).groups()
    return name, [p for p in parameters.split(", ") if p] if called else None


def broken(promised, offered):
    """The promises that are not kept."""
    offered = dict(map(parsed, offered))
    return [
        line
        for line in promised
        for name, before in [parsed(line)]
        if name not in offered or not still(before or [], offered[name] or [])
    ]


def still(before, now):
    """Whether calls with the parameters of before work with those of now: the same
    first, none of them no longer optional, and what is new has a default."""
    pairs = list(zip(before, now, strict=False))
    return (
        len(now) >= len(before)
        and all(old in (new, new.rstrip("=")) for old, new in pairs)
        and all(new.endswith("=") for new in now[len(before) :])
    )


def released(changelog):
    """Whether the newest version is out."""
    return "not released" not in re.search(r"^## .*$", changelog, re.M)[0]


def files():
    """{path: text} of the list as it should be: what is owed stays, kept or not."""
    owed = LIST.read_text().splitlines() if LIST.exists() else []
    out = released((ROOT / "CHANGELOG.md").read_text())
    return {LIST: "".join(f"{line}\n" for line in listed(owed * out, list(lines())))}


def listed(owed, offered):
    """What is offered, and in the words of before what is owed and no longer kept."""
    old = {parsed(line)[0]: line for line in broken(owed, offered)}
    new = {parsed(line)[0]: line for line in offered}
    return sorted((new | old).values())


if __name__ == "__main__":
    from hmlib.files import write_whole

    for path, text in files().items():
        write_whole(path, text)
