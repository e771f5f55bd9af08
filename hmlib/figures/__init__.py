"""The book's figures: what is drawn is computed by the rest of the package.

`canvas` is the sheet, `plane`, `hull`, `stars` and others are drawn on it; `lines` and
`dots` are against numbers, `table` is for the page; the rest is special to a chapter.
"""

# ruff: noqa: F401
from hmlib.figures.ch1 import architectures, attention_rule, forest, rule, sectors
from hmlib.figures.ch2 import configurations, flow
from hmlib.figures.ch3 import basins, ends, leaders_by_alpha, polytopes, snapshots
from hmlib.figures.ch4 import (
    along_and_across,
    animation,
    leader_words,
    review_text,
    reviews,
    verdict,
)
from hmlib.figures.ch7 import stages, territories, token_moves
from hmlib.figures.charts import dots, extremes, lines, quartiles, table
from hmlib.figures.draw import (
    arrows,
    between,
    circles,
    discs,
    half_plane,
    hull,
    legend,
    levels,
    marks,
    names,
    names_aside,
    plane,
    polytope,
    ring,
    sign,
    stars,
    tokens,
    trails,
)
from hmlib.figures.style import BLUE, GREEN, INK, ORANGE, RED, SKY, STYLE, canvas
