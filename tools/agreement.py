"""How far two results agree: how many values, how many of them alike, to which digit."""

import math
import re
from dataclasses import dataclass, field

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
MOST = 17  # digits that a float has


@dataclass
class Agreement:
    """Counts of values; the digits of the worst number; where there is no likeness."""

    values: int = 0
    equal: int = 0
    digits: int | None = None
    unlike: list = field(default_factory=list)

    def number(self, one, other):
        self.values += 1
        self.equal += one == other
        if one != other:
            common = digits(one, other)
            self.digits = common if self.digits is None else min(self.digits, common)

    def facts(self):
        """As a record has it; digits only where some number is not the same."""
        worst = {} if self.digits is None else {"digits": self.digits}
        unlike = {"unlike": self.unlike} if self.unlike else {}
        return {"values": self.values, "equal": self.equal} | worst | unlike

    @property
    def whole(self):
        return self.equal == self.values and not self.unlike


def digits(one, other):
    """To how many significant digits two numbers agree.

    >>> digits(0.12345, 0.12346), digits(1, -1), digits(2.0, 2.0)
    (4, 0, 17)
    """
    if one == other:
        return MOST
    apart = abs(one - other) / max(abs(one), abs(other))
    return max(0, math.floor(-math.log10(apart))) if apart > 0 else MOST


def compared(one, other, place="", found=None):
    """Two results, of JSON, as they are or as texts with numbers in them.

    >>> compared({"a": [1.0, "by .5"]}, {"a": [1.01, "by .5"]}).facts()
    {'values': 2, 'equal': 1, 'digits': 2}
    >>> compared({"a": 1}, {"b": 1}).facts()
    {'values': 0, 'equal': 0, 'unlike': ['/']}
    """
    found = Agreement() if found is None else found
    kinds = {type(one), type(other)}
    if kinds == {dict} and one.keys() == other.keys():
        for key in one:
            compared(one[key], other[key], f"{place}/{key}", found)
    elif kinds == {list} and len(one) == len(other):
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            compared(a, b, f"{place}/{k}", found)
    elif kinds <= {int, float}:
        found.number(one, other)
    elif kinds == {str}:
        _texts(one, other, place, found)
    elif kinds <= {bool, type(None)} and one == other:
        found.values, found.equal = found.values + 1, found.equal + 1
    else:
        found.unlike.append(place or "/")
    return found


def _texts(one, other, place, found):
    """Texts: the words are the same, or they are unlike; their numbers are compared."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        found.unlike.append(place or "/")
        return
    pairs = list(zip(NUMBER.findall(one), NUMBER.findall(other), strict=True))
    for a, b in pairs:
        found.number(*((a, b) if a == b else (float(a), float(b))))
    if not pairs:
        found.values, found.equal = found.values + 1, found.equal + 1
