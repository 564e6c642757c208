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
``ProductSpace([...])``   tuples of values    none                     none
========================  ==================  =======================  =========================

Each is one file; :class:`Space` is their common interface and derives what follows from a few answers.
"""

from __future__ import annotations

from .base import LARGEST_INTEGER, Space, completed, is_space
from .geography import Box
from .grid import Grid
from .kinds import space_from
from .labels import Labels
from .line import Counts, Integers
from .products import Combination, ProductSpace

__all__ = [
    "LARGEST_INTEGER", "Box", "Combination", "Counts", "Grid", "Integers", "Labels", "ProductSpace", "Space",
    "completed", "is_space", "space_from",
]  # fmt: skip
