"""Links to what a figure shows, read: address.js writes them, and reads the same.

A link is text from elsewhere: names are compared, numbers are read, sizes are bounded,
and whatever else stands in it is refused.
"""

import re
from fractions import Fraction
from urllib.parse import unquote

from hmlib import inputs

MOST_SIGNS, MOST_TOKENS, LAST_LAYER = 60_000, 1_000, 10_000
NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)(e-?[0-9]{1,3})?")
FRACTION = re.compile(r"-?[0-9]{1,40}/[0-9]{1,40}")


def kept(x):
    """A number as a figure keeps it: a float, or a Fraction that no float holds.

    >>> kept(Fraction(1, 2)), kept(Fraction(2, 9))
    (0.5, Fraction(2, 9))
    """
    return float(x) if float(x) == x else Fraction(x)


def number(text: str) -> float | Fraction:
    """A decimal as Python reads it, or a fraction at its word.

    >>> number("0.1"), number("-4/6")
    (0.1, Fraction(-2, 3))
    """
    decimal, fraction = NUMBER.fullmatch(text), FRACTION.fullmatch(text)
    zero = fraction and not int(text.split("/")[1])
    right = len(text) <= 60 and (decimal or fraction) and not zero
    inputs.check(right, "a number of the link", text, 'one like "0.1" or "2/9"')
    x = kept(Fraction(text)) if fraction else float(text)
    return inputs.check(abs(x) <= 2**1000, "a number of the link", x, "at most 2**1000")


def check_sum(text: str) -> str:
    """Four signs that change if a link is cut or altered: FNV-1a, modulo 36**4."""
    total = 0x811C9DC5
    for sign in text:
        total = (total ^ ord(sign)) * 0x01000193 % 2**32
    digits = (total // 36**k % 36 for k in (3, 2, 1, 0))
    return "".join("0123456789abcdefghijklmnopqrstuvwxyz"[digit] for digit in digits)


def _count(text, most):
    right = re.fullmatch("[0-9]{1,5}", text) and int(text) <= most
    return int(inputs.check(right, "a number of the link", text, f"0 to {most}"))


def _numbers(text, count):
    parts = text.split(",", count)
    inputs.check(len(parts) == count, "a part of the link", text, f"{count} numbers")
    return [number(x) for x in parts]


def _tokens(text):
    rows = text.split("_", MOST_TOKENS)
    inputs.check(len(rows) <= MOST_TOKENS, "tokens of the link", len(rows), "fewer")
    return [_numbers(z, 2) for z in rows]


def _matrix(text):
    if text == "I":
        return None
    a, b, c = _numbers(text, 3)
    return [[a, b], [b, c]]


def _once(names):
    return inputs.check(len(set(names)) == len(names), "show", names, "each name once")


READ = {
    "play": str,
    "tokens": _tokens,
    "alpha": number,
    "A": _matrix,
    "layer": lambda text: _count(text, LAST_LAYER),
    "token": lambda text: _count(text, MOST_TOKENS),
    "show": lambda text: _once(text.split(",") if text else []),
}


def read(link: str) -> dict:
    """What a link to a playground says, as {name: value}; the preset is "play".

    >>> read("#play=comb-of-windows&alpha=2/9&sum=llry")
    {'play': 'comb-of-windows', 'alpha': Fraction(2, 9)}
    """
    text = unquote(inputs.instance(link, "link", str)[-MOST_SIGNS:].strip())
    *head, end = text.rpartition("&sum=")
    found = re.search("(?:^|#)play[0-9]*=", head[0])
    body = "play=" + head[0][found.end() :] if found else ""
    parts = [part.partition("=")[::2] for part in body.split("&")]
    said = dict(parts)
    whole = found and check_sum(body) == end and len(said) == len(parts)
    expected = "a link as it was copied from a figure"
    inputs.check(whole and not set(said) - set(READ), "link", link, expected)
    return {name: READ[name](text) for name, text in said.items()}
