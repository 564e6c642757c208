"""Notions of privacy: which two truths must be hard to tell apart, and how hard.

=========  ==================================  ===========================================================
notion     pairs of truths                     guarantee, for every set S of reports
=========  ==================================  ===========================================================
central    adjacent ones (counts i and i+1)    P(S | x) <= e^eps P(S | x') + delta
local      any two                             P(S | x) <= e^eps P(S | x') + delta
metric     any two, at distance d(x, x')       P(S | x) <= e^(eps d(x, x')) P(S | x') + delta
=========  ==================================  ===========================================================

Central is for a curator who holds the data and publishes a count; local for a person whose own device adds the noise;
metric for places and other values where near ones may be confused but far ones need not be.
(Dwork et al. 2006; Kasiviswanathan et al. 2011; Chatzikokolakis et al. 2013.)
"""

from __future__ import annotations

from ..errors import InvalidInput, Unsupported, arg
from ..spaces import Counts, Grid, Integers, Labels, MetricSpace, ProductSpace, Range, Space

NOTIONS = ("central", "local", "metric")

#: The pairs that an epsilon compares, or its unit of distance, in words.
BETWEEN = {
    "central": "between adjacent counts",
    "local": "between any two truths",
    "metric": "per unit of distance",
}


def unless_central(notion: str) -> str:
    """Return these words to put after an epsilon; none for the central notion, which is the usual one."""
    return "" if notion == "central" else f" {BETWEEN[notion]}"


def between(notion: str, space: Space) -> str:
    """Return the words for the pairs that an epsilon compares among the values of this space."""
    if notion != "central" or isinstance(space, Counts | Integers):
        return BETWEEN[notion]
    return "between any two labels" if type(space) is Labels else f"between adjacent {space.noun}s"


def usual_notion(space: Space) -> str:
    """Return the notion a space is usually judged by: counts central, maps and other distances metric, else local."""
    if isinstance(space, Grid | MetricSpace | Range) or (isinstance(space, ProductSpace) and space.norm is not None):
        return "metric"
    return "central" if isinstance(space, Counts | Integers) else "local"


def read_notion(notion: str | None, space: Space) -> str:
    """Check the name of a notion against the space it is asked for."""
    if notion is None:
        return usual_notion(space)
    if notion not in NOTIONS:
        raise InvalidInput.must_be("notion", f"one of {', '.join(NOTIONS)}", notion)
    if notion != "local" and isinstance(space, ProductSpace) and space.norm is None:
        raise Unsupported(
            f"tuples of values have no adjacent ones and no common distance. Ask for {arg('notion', 'local')}."
        )
    if notion == "central" and isinstance(space, Grid):
        raise Unsupported(
            "cells of a map have no adjacent ones in the sense of counts.",
            f"Ask for {arg('notion', 'metric')} (per unit of distance) or {arg('notion', 'local')} (any two cells).",
        )
    return notion
