"""Live figures: they need no kernel, and talk to one where there is one.

Each is a widget whose page is hand-written JavaScript beside this file. Its mathematics
is equal to the package's: tests compare them in a browser.
"""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import resources
from itertools import chain
from pathlib import Path

from hmlib import inputs
from hmlib.live import links

with inputs.extra("live"):
    import anywidget
    import traitlets

IMPORT = re.compile(r'^import [^;]* from "\./([\w.]+)";\n', re.M)


def read(name: str) -> str:
    """A file that stands beside this one."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def site() -> str:
    """The address of the book's front page, where links lead; "" if there is none yet.

    Only a checkout knows it, by its _config.yml.
    """
    config = Path(__file__).parents[2] / "_config.yml"
    text = config.read_text(encoding="utf-8") if config.is_file() else ""
    found = re.search(r"url: https://github.com/([\w.-]+)/([\w.-]+)$", text, re.M)
    if not found or found.groups() == ("OWNER", "REPO"):
        return ""
    host = f"{found[1].lower()}.github.io"
    return (
        f"https://{host}/"
        if found[2].lower() == host
        else f"https://{host}/{found[2]}/"
    )


def source(*names: str) -> str:
    """JavaScript modules and those that they import as one, because a widget has one.

    Each comes once, after those that it imports, without its import lines; so no two
    may have a name in common.
    """
    return "\n".join(dict.fromkeys(chain.from_iterable(map(_modules, names))))


def _modules(name: str) -> Iterator[str]:
    module = read(name)
    yield from chain.from_iterable(map(_modules, IMPORT.findall(module)))
    yield IMPORT.sub("", module)


class Checked(traitlets.TraitType):
    """An attribute shared with the page, which takes what a check of `inputs` takes."""

    def __init__(self, check: Callable):
        super().__init__()
        self.check = check
        self.tag(sync=True)

    def validate(self, _, value):
        return self.check(value)


def wired(value):
    """What a page is told: fractions, which JSON has not, as text."""
    if isinstance(value, dict):
        return {name: wired(item) for name, item in value.items()}
    if isinstance(value, list):
        return [wired(item) for item in value]
    return str(value) if isinstance(value, Fraction) else value


class Exact(Checked):
    """A checked attribute of numbers: floats, and fractions that no float holds."""

    def __init__(self, check: Callable):
        super().__init__(check)
        self.tag(to_json=lambda value, _: wired(value), from_json=_unwired)


def _unwired(value, _):
    if isinstance(value, list):
        return [_unwired(item, _) for item in value]
    return links.number(value) if isinstance(value, str) else value


class Figure(anywidget.AnyWidget):
    """A widget whose attributes are `Checked`; `_esm` says what its page does."""

    _css = read("live.css")
    site = Checked(str)  # where links lead

    def __init__(self, **values):
        super().__init__(site=site(), **values)
