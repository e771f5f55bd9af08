"""To a type checker an array is anything: lists are taken where arrays are."""

from fractions import Fraction
from typing import Any

Tokens = Any
Clouds = Any
Cloud = Any
Token = Any
Matrix = Any
Mask = Any
Sets = Any
Firsts = Any
Indices = Any
Number = float | Fraction
Rates = Any
