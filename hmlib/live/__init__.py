"""Live figures: they need no kernel, and talk to one where there is one.

Each is a widget whose page is hand-written JavaScript beside this file. Its mathematics
is equal to the package's: tests compare them in a browser.
"""

import re
from collections.abc import Callable, Iterator
from importlib import resources
from itertools import chain

from hmlib import inputs

with inputs.extra("book"):
    import anywidget
    import traitlets

IMPORT = re.compile(r'^import [^;]* from "\./([\w.]+)";\n', re.M)


def read(name: str) -> str:
    """A file that stands beside this one."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


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


class Figure(anywidget.AnyWidget):
    """A widget whose attributes are `Checked`; `_esm` says what its page does."""

    _css = read("live.css")
