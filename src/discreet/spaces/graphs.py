"""Graphs, trees and rings: values whose distance is the length of the shortest path between them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from ..errors import InvalidInput, InWords, WrongType, meant
from ..exact.arrays import Array, FloatArray, IntArray
from ..exact.integers import positive_integer
from ..exact.rationals import as_fraction
from ..report import Json
from .base import Description
from .labels import Labels
from .metric import MAX_STEPS, MetricSpace, common_unit, refuse_many


class Graph(MetricSpace):
    """The vertices of a graph, with the length of the shortest path as the distance between two of them.

    Parameters
    ----------
    edges
        Pairs (a, b) of labels, one unit long, or triples (a, b, length) with positive lengths: numbers, Fractions or
        texts such as "1/2". Every value must be reached from every other.
    labels
        The values in their order; by default in the order in which the edges name them.

    Examples
    --------
    >>> stops = Graph([("north", "centre"), ("centre", "east"), ("east", "harbour", 2)])
    >>> stops.distance("north", "harbour"), stops.labels
    (4.0, ('north', 'centre', 'east', 'harbour'))
    """

    name: ClassVar[str] = "graph"

    def __init__(self, edges: Iterable[Sequence[object]], *, labels: Iterable[Hashable] | None = None) -> None:
        read = [_read_edge(edge) for edge in edges]
        if not read:
            raise InvalidInput.must_be("edges", "one or more pairs of labels", InWords("none"))
        named = dict.fromkeys(end for a, b, _ in read for end in (a, b)) if labels is None else labels
        self._build(named, read)

    def _build(self, labels: Iterable[Hashable], edges: list[tuple[Hashable, Hashable, Fraction]]) -> None:
        """Number the vertices and measure the shortest paths."""
        Labels.__init__(self, list(labels))
        refuse_many(self.size)
        shortest: dict[tuple[int, int], Fraction] = {}
        for a, b, length in edges:
            first, second = sorted((self.index(a), self.index(b)))
            if first == second:
                raise InvalidInput(f"an edge leads from {a!r} to itself.", "Leave it out.", argument="edges")
            shortest[first, second] = min(length, shortest.get((first, second), length))
        unit = common_unit(shortest.values())
        ends = np.array(sorted(shortest), np.int64)
        lengths = [int(shortest[first, second] / unit) for first, second in ends.tolist()]
        if sum(lengths) > MAX_STEPS:
            raise InvalidInput(
                "the lengths of the edges have too many digits for exact distances.", "Round them.", argument="edges"
            )
        steps = _shortest_paths(self.size, ends, lengths)
        if steps is None:
            raise InvalidInput(
                "some values are not connected by edges, so there is no distance between them.",
                "Add an edge, or make a space of each part.",
                argument="edges",
            )
        tight = steps[ends[:, 0], ends[:, 1]] == np.array(lengths)  # a longer edge is on no shortest path
        self._keep(steps * steps, unit, (ends[tight, 0], ends[tight, 1]))

    @property
    def edges(self) -> tuple[tuple[int | str, int | str, Fraction], ...]:
        """The edges (a, b, length) that are the shortest path between their ends."""
        first, second = self._ends
        lengths = np.sqrt(self._squares[first, second]).astype(int).tolist()
        pairs = zip(first.tolist(), second.tolist(), lengths, strict=True)
        return tuple((self.labels[i], self.labels[j], self.unit * length) for i, j, length in pairs)

    @property
    def _ends(self) -> tuple[IntArray, IntArray]:
        assert self._edges is not None
        return self._edges

    def to_json(self) -> dict[str, Json]:
        first, second = (end.tolist() for end in self._ends)
        lengths = [str(length) for _, _, length in self.edges]
        listed: list[Json] = [list(edge) for edge in zip(first, second, lengths, strict=True)]
        return {"kind": self.name, "labels": list(self.labels), "edges": listed}

    @classmethod
    def from_json(cls, description: Description) -> Self:
        """Return the graph with this description."""
        if "labels" not in description:  # as people write it
            return cls(description["edges"])
        labels = description["labels"]
        space = cls.__new__(cls)
        read = [(labels[i], labels[j], _read_length(length)) for i, j, length in description["edges"]]
        space._build(labels, read)
        return space


class Tree(Graph):
    """A hierarchy: every value but the root has a parent, and a step to it is one long.

    Parameters
    ----------
    parents
        For each value its parent, and None for the root: a mapping, or a list whose values are 0, 1, 2, ...
    lengths
        The lengths of the steps to the parents, if they are not 1: a mapping from values to numbers.

    Examples
    --------
    >>> kinds = Tree({"animal": None, "dog": "animal", "cat": "animal", "poodle": "dog"})
    >>> kinds.distance("poodle", "cat"), Tree([None, 0, 0, 1]).distance(3, 2)
    (3.0, 3.0)
    """

    name: ClassVar[str] = "tree"

    def __init__(
        self,
        parents: Mapping[Hashable, Hashable] | Sequence[Hashable],
        *,
        lengths: Mapping[Hashable, object] | None = None,
    ) -> None:
        if isinstance(parents, str) or not isinstance(parents, Mapping | Sequence | np.ndarray):
            raise WrongType.must_be("parents", "a mapping or a list of parents", InWords(type(parents).__name__))
        above: dict[Hashable, Hashable] = {}
        above.update(parents if isinstance(parents, Mapping) else enumerate(parents))
        roots = [value for value, parent in above.items() if parent is None]
        if len(roots) != 1:
            raise InvalidInput.must_be(
                "parents", "None for exactly one value, the root", InWords(f"{len(roots)} roots")
            )
        lost = next((parent for parent in above.values() if parent is not None and parent not in above), None)
        if lost is not None:
            raise InvalidInput(f"{lost!r} is a parent but has none itself.", f"Add {lost!r}: None if it is the root.")
        far: dict[Hashable, object] = {} if lengths is None else dict(lengths)
        odd = next((value for value in far if above.get(value) is None), None)
        if odd is not None:
            raise InvalidInput(
                f"{odd!r} has no step to a parent.", "Give lengths for other values.", argument="lengths"
            )
        steps = [
            (value, parent, _read_length(far.get(value, 1))) for value, parent in above.items() if parent is not None
        ]
        self._build(above, steps)  # as many steps as values but one, and all connected: no way round

    @classmethod
    def from_json(cls, description: Description) -> Self:
        """Return the tree with this description."""
        if "parents" in description:  # as people write it
            return cls(description["parents"], lengths=description.get("lengths"))
        space = super().from_json(description)
        if len(space.edges) != space.size - 1:
            raise InvalidInput("the edges of this tree make a circle.", "Describe it as a graph.")
        return space

    def transport_cost(self, surplus: FloatArray) -> float:
        """Return the mass that must cross each step, times its length."""
        below = surplus.copy()
        first, second = self._ends
        lengths = np.sqrt(self._squares[first, second])
        around: list[list[tuple[int, float]]] = [[] for _ in range(self.size)]
        for i, j, length in zip(first.tolist(), second.tolist(), lengths.tolist(), strict=True):
            around[i].append((j, length))
            around[j].append((i, length))
        order, came_from = [0], {0: (0, 0.0)}
        for here in order:
            for there, length in around[here]:
                if there not in came_from:
                    came_from[there] = here, length
                    order.append(there)
        total = 0.0
        for here in reversed(order[1:]):
            parent, length = came_from[here]
            total += abs(below[here]) * length
            below[parent] += below[here]
        return total * float(self.unit)


class Ring(MetricSpace):
    """The values 0..n-1 in a circle, where the distance is the shorter way round: hours, weekdays, compass points.

    Examples
    --------
    >>> hours = Ring(24)
    >>> hours.distance(23, 1), hours.diameter
    (2.0, Fraction(12, 1))
    """

    name: ClassVar[str] = "ring"
    noun: ClassVar[str] = "value"

    def __init__(self, n: int) -> None:
        number = positive_integer(n, meant("n", "the number of values"), least=3)
        refuse_many(number)
        Labels.__init__(self, range(number))
        here = np.arange(number)
        gap = np.abs(here[:, None] - here[None, :])
        steps = np.minimum(gap, number - gap)
        first, second = np.append(here[:-1], 0), np.append(here[1:], number - 1)
        self._keep(steps * steps, Fraction(1), (first, second))

    def transport_cost(self, surplus: FloatArray) -> float:
        """Return the mass that crosses each step, when as much as the median goes round."""
        flow = np.cumsum(surplus)
        return float(np.abs(flow - np.median(flow)).sum())

    def __repr__(self) -> str:
        return f"Ring({self.size})"

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.name, "n": self.size}

    @classmethod
    def from_json(cls, description: Description) -> Self:
        """Return the ring with this description."""
        return cls(description["n"])


def _read_edge(edge: object) -> tuple[Hashable, Hashable, Fraction]:
    if isinstance(edge, str) or not isinstance(edge, tuple | list) or len(edge) not in (2, 3):
        raise WrongType.must_be(
            "an edge", "a pair (a, b) or a triple (a, b, length)", InWords(repr(edge)), argument="edges"
        )
    return edge[0], edge[1], _read_length(edge[2] if len(edge) == 3 else 1)


def _read_length(length: object) -> Fraction:
    value = as_fraction(length, "the length of an edge")
    if value <= 0:
        raise InvalidInput.must_be("the length of an edge", "positive", length, argument="edges")
    return value


def _shortest_paths(size: int, ends: Array, lengths: list[int]) -> IntArray | None:
    """Return the lengths of all shortest paths; None where there is no path.

    Doubles hold these whole numbers exactly: all edges together are shorter than 2^31.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    matrix = csr_array((np.array(lengths, float), (ends[:, 0], ends[:, 1])), shape=(size, size))
    far = shortest_path(matrix, method="D", directed=False)
    return None if np.isinf(far).any() else np.rint(far).astype(np.int64)
