"""Smooth curves over the values of a space: what a population that changes little from value to value looks like.

On a line of n values, curves whose second differences are small: ``P = D2'D2 + (10 / n^2) D1'D1``, with D1 and D2 the
differences of first and second order. On other spaces the same with the Laplacian of their graph: with weights w, one
over the length of each edge, ``L = sum over edges of w (e_i - e_j)(e_i - e_j)'`` and ``P = L^2 + l L``, where l is the
smallest positive eigenvalue of L (on a line it is about 10 / n^2, and ``D1'D1 = L``).

Edges are those that the space states (graphs, trees, rings, l1 products), and else those of the relative neighbourhood
graph: pairs for which no third value is nearer to both than they are to each other (Toussaint 1980). It has a path
between any two values, as it contains a shortest spanning tree.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...exact.arrays import Array, FloatArray, IntArray
from ...spaces import Space
from ..algebra import eigenvectors

#: Least number of values that are smoothed: fewer are hardly a curve.
MIN_SMOOTHED_VALUES = 8

#: Maximum number of values of a space without an order that are smoothed over a graph.
MAX_GRAPH_VALUES = 200

#: Eigenvalues below this share of the largest are zero: the graph has parts without a path between them.
_ZERO = 1e-12


def has_graph(space: Space) -> bool:
    """Return whether distances say which values are near each other: not for labels, which are all equally far."""
    return space.has_lengths and space.size is not None and space.size <= MAX_GRAPH_VALUES and space.as_grid is None


@lru_cache(maxsize=8)
def of_line(size: int) -> tuple[FloatArray, FloatArray]:
    """Return eigenvectors of P, and the variances of a curve of deviation 1 along them; the first is the constant."""
    first = np.diff(np.eye(size), axis=0)
    second = np.diff(np.eye(size), 2, axis=0)
    return _scaled(second.T @ second + (10 / size**2) * first.T @ first)


def of_graph(space: Space) -> tuple[FloatArray, FloatArray]:
    """Return the same over the graph of a space; stated edges that leave values apart are not used."""
    laplacian, values = _laplacian(space, space.neighbours())
    if not values[1] > _ZERO * values[-1]:
        laplacian, values = _laplacian(space, None)
    return _scaled(laplacian @ laplacian + values[1] * laplacian)


def _laplacian(space: Space, edges: tuple[Array, Array] | None) -> tuple[FloatArray, FloatArray]:
    """Return the Laplacian of a graph, and its eigenvalues in rising order."""
    first, second = relative_neighbours(space) if edges is None else (np.asarray(end) for end in edges)
    lengths = np.sqrt(space.squared_distance(first, second).astype(float))
    lengths = np.maximum(lengths, lengths.min(initial=lengths.max(initial=1.0), where=lengths > 0))
    laplacian = np.zeros((space.size or 0, space.size or 0))
    np.add.at(laplacian, (first, second), -1 / lengths)
    laplacian += laplacian.T
    np.fill_diagonal(laplacian, -laplacian.sum(axis=0))
    return laplacian, eigenvectors(laplacian)[0]


def _scaled(precision: FloatArray) -> tuple[FloatArray, FloatArray]:
    values, vectors = eigenvectors(precision)
    inverse = 1 / values[1:]
    return vectors, np.concatenate([[0.0], len(precision) * inverse / inverse.sum()])


def relative_neighbours(space: Space) -> tuple[IntArray, IntArray]:
    """Return the edges of the relative neighbourhood graph.

    >>> from discreet.spaces import MetricSpace
    >>> corner = MetricSpace.from_points({"a": (0, 0), "b": (2, 0), "c": (2, 2)})
    >>> [ends.tolist() for ends in relative_neighbours(corner)]
    [[0, 1], [1, 2]]
    """
    here = np.arange(space.size or 0)
    far = np.asarray(space.squared_distance(here[:, None], here[None, :]))
    nearer = np.zeros(far.shape, bool)
    for k in here:
        nearer |= np.maximum(far[:, k, None], far[None, k, :]) < far
    first, second = np.nonzero(np.triu(~nearer, 1))
    return first, second
