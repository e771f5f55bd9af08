"""Roads from a token to those it follows that are shorter than asking all n.

A linear function is largest on a convex hull at a corner, or along an edge, so nobody
else need be asked. `plane` has that in two dimensions, `candidates` in up to four;
where there are more, `tiles` asks all, and keeps little. Rounding decides nothing on
the way: floats say what is certain, the rest is asked again in whole numbers.
"""

from collections import Counter

BLOCK = 2**18  # scores held in memory at a time: few enough for the processor's own

# What has been done so far: tokens "asking" and "asked", "scores" computed, "turns" of
# three points looked at, points "sorted". For whoever counts instead of timing.
WORK = Counter()
