"""Which pairs of true values a design protects, so that all pairs that the notion compares are protected.

=========  ======================================================================================================
central    adjacent values, each at e^epsilon
local      an auxiliary variable t for each report, the least probability: t <= P(y | x) <= e^epsilon t
metric     the edges of a graph whose shortest paths are the distance: a path multiplies the factors of its edges.
           With a spanner, whose paths are at most s times as long as the distance, epsilon/s on its edges protects
           all pairs at epsilon; and every mechanism that protects all pairs at epsilon protects its edges there,
           so the same program at epsilon bounds the least cost from below.
with delta every pair that the notion compares, for itself
=========  ======================================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...errors import InvalidInput, Unsupported, arg
from ...exact.arrays import FloatArray, IntArray
from ...spaces import Space

#: A sum of two distances this much longer, relatively, than the third is not shorter: doubles are rounded.
_SAME_LENGTH = 1e-12


@dataclass(frozen=True, eq=False)
class ProtectedPairs:
    """Pairs (tail, head) in both directions, and the logarithm of the factor allowed between them.

    Attributes
    ----------
    log_factor
        What protects every pair that the notion compares.
    loose
        What every mechanism has that does; the same without a spanner.
    dilation
        How many times longer a path may be than the distance: 1 without a spanner.
    """

    tail: IntArray
    head: IntArray
    log_factor: FloatArray
    loose: FloatArray
    dilation: float = 1.0

    @property
    def exact(self) -> bool:
        """Whether they protect no more than the notion asks for."""
        return self.dilation == 1.0


def compared_pairs(space: Space, notion: str, epsilon: Fraction) -> ProtectedPairs:
    """Return every pair that the notion compares: with a delta no pair protects another.

    Two steps at (epsilon, delta) protect their ends at ``delta (1 + e^epsilon)``, not at delta: with .1 on each of two
    edges, their ends can need .2.
    """
    size = space.size or 0
    if notion == "central":
        return protected_pairs(space, notion, epsilon, Fraction(1))
    tail, head = _both_ways(*np.triu_indices(size, 1))
    factors = np.full(len(tail), float(epsilon))
    if notion == "metric":
        far = np.sqrt(space.squared_distance(tail, head).astype(float)) * float(space.unit)
        factors = far * float(epsilon)
    return ProtectedPairs(tail, head, factors, factors)


def protected_pairs(space: Space, notion: str, epsilon: Fraction, dilation: Fraction) -> ProtectedPairs:
    """Return the pairs to protect under a notion; with a dilation above 1, those of a spanner."""
    size = space.size or 0
    if notion == "local":
        truths, least = np.arange(size), np.full(size, size)
        factors = np.r_[np.zeros(size), np.full(size, float(epsilon))]
        return ProtectedPairs(np.r_[least, truths], np.r_[truths, least], factors, factors)
    if notion == "central":
        ends = space.neighbours()
        if ends is None:
            raise Unsupported(
                f"the central notion needs adjacent values, and {space!r} has none.",
                f"Ask for {arg('notion', 'metric')} or {arg('notion', 'local')}.",
                argument="notion",
                given="central",
            )
        tail, head = _both_ways(*ends)
        factors = np.full(len(tail), float(epsilon))
        return ProtectedPairs(tail, head, factors, factors)
    here = np.arange(size)
    far = np.sqrt(space.squared_distance(here[:, None], here[None, :]).astype(float)) * float(space.unit)
    first, second = spanner(far, float(dilation)) if dilation > 1 else direct_pairs(far)
    stretch = float((shortest_paths(far, first, second) / np.where(far > 0, far, 1)).max()) if dilation > 1 else 1.0
    tail, head = _both_ways(first, second)
    lengths = far[tail, head] * float(epsilon)
    stretch = max(stretch * (1 + 1e-12), 1.0) if dilation > 1 else 1.0
    return ProtectedPairs(tail, head, lengths / stretch, lengths, stretch)


def _both_ways(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    return np.r_[first, second], np.r_[second, first]


def direct_pairs(far: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the pairs without a value between them: their distances generate all others.

    >>> line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> [pair.tolist() for pair in direct_pairs(line)]
    [[0, 1], [1, 2]]
    """
    between = np.zeros(far.shape, bool)
    for k in range(len(far)):
        over = far[:, k, None] + far[None, k, :] <= far * (1 + _SAME_LENGTH)
        over[k, :] = over[:, k] = False
        between |= over
    chosen = np.triu(~between, 1)
    first, second = np.nonzero(chosen)
    return first, second


def spanner(far: FloatArray, dilation: float) -> tuple[IntArray, IntArray]:
    """Return edges whose paths are at most this many times as long as the distance: the greedy spanner.

    Pairs are taken in the order of their distance, and become an edge where no path is short enough yet (Althöfer and
    others 1993).
    """
    size = len(far)
    paths = np.full(far.shape, np.inf)
    np.fill_diagonal(paths, 0.0)
    first, second = np.triu_indices(size, 1)
    edges = []
    for k in np.argsort(far[first, second], kind="stable").tolist():
        i, j = int(first[k]), int(second[k])
        if paths[i, j] > dilation * far[i, j]:
            edges.append((i, j))
            over = paths[:, i, None] + (far[i, j] + paths[None, j, :])
            np.minimum(paths, over, out=paths)
            np.minimum(paths, over.T, out=paths)
    ends = np.array(edges, np.int64)
    return ends[:, 0], ends[:, 1]


def shortest_paths(far: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """Return the lengths of all shortest paths over these edges."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    matrix = csr_array((far[first, second], (first, second)), shape=far.shape)
    return np.asarray(shortest_path(matrix, method="D", directed=False))


def read_dilation(dilation: object, size: int, notion: str, largest_exact: int, usual: Fraction) -> Fraction:
    """Return the dilation of the spanner: as given, else 1 up to some number of values and the usual one beyond."""
    from ...exact.rationals import as_fraction

    if dilation is None:
        return usual if notion == "metric" and size > largest_exact else Fraction(1)
    value = as_fraction(dilation, "dilation")
    if not 1 <= value <= 10:
        raise InvalidInput.must_be("dilation", "from 1 (every pair) to 10", dilation)
    if notion != "metric" and value != 1:
        raise InvalidInput("a spanner is for distances.", f"Ask for {arg('notion', 'metric')}.", argument="dilation")
    return value
