"""What the hints of public functions say: arrays, and the shapes that they have.

They are read by people and by tools. When a function is called, `inputs` checks what it
was given. Numbers are float64 or, exactly, Fractions; lists are taken where arrays are.
"""

from fractions import Fraction
from typing import Annotated

import numpy as np

Tokens = Annotated[np.ndarray, "(..., n, d): tokens as rows, of a cloud or a batch"]
Clouds = Annotated[np.ndarray, "(b, n, d): clouds of tokens"]
Cloud = Annotated[np.ndarray, "(n, d): tokens, or points, as rows"]
Token = Annotated[np.ndarray, "(d,)"]
Matrix = Annotated[np.ndarray, "(d, d)"]
Mask = Annotated[np.ndarray, "bool (..., n): False is padding"]
Sets = Annotated[np.ndarray, "bool (..., n, n): row i marks a set of tokens"]
Firsts = Annotated[np.ndarray, "int (..., n): a token for each token"]
Indices = Annotated[np.ndarray, "int (m,): some of the tokens"]
Number = float | Fraction
Rates = Annotated[Number | list, "alpha > 0, or one per layer"]
