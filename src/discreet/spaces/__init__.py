"""Where values live: the spaces of true and of reported values.

A space knows its values, numbers them (value <-> index), measures the distance between two of them and says which
two are *adjacent*: how far the answer to "how many?" can move when one person joins, leaves or changes.

========================  ==================  =======================  =========================
space                     values              distance                 adjacent
========================  ==================  =======================  =========================
``Counts(n)``             0, 1, ..., n        \\|x - y\\|                differ by one
``Integers(low=None)``    all integers >= low \\|x - y\\|                differ by one
``Grid(rows, cols, c)``   cell numbers        between centres, metres  not defined (use a metric)
``Labels([...])``         the labels          0 or 1                   any two
``MetricSpace([...], D)`` the labels          any matrix               not defined, or edges
``Graph(edges)``          the vertices        shortest path            joined by an edge
``Tree(parents)``         the nodes           steps to and from        parent and child
``Ring(n)``               0, 1, ..., n - 1    the shorter way round    one apart
``Range(low, high, s)``   numbers             \\|x - y\\|                differ by one step
``ProductSpace([...])``   tuples of values    none, or by a norm       none; under l1 those of one part
========================  ==================  =======================  =========================

Each is one file; :class:`Space` is their common interface and derives what follows from a few answers.
"""

from __future__ import annotations

from .base import LARGEST_INTEGER, Space, completed, is_space
from .geography import Box
from .graphs import Graph, Ring, Tree
from .grid import Grid
from .labels import Labels
from .line import Counts, Integers
from .metric import MetricSpace
from .products import Combination, ProductSpace, space_from
from .ranges import Range

__all__ = [
    "LARGEST_INTEGER", "Box", "Combination", "Counts", "Graph", "Grid", "Integers", "Labels", "MetricSpace",
    "ProductSpace", "Range", "Ring", "Space", "Tree", "completed", "is_space", "space_from",
]  # fmt: skip
