"""User-defined spaces: their answers are read once, checked and frozen before the judge uses them.

For the spaces of this package the judge uses lemmas: between counts every pair is joined by steps of one, so under the
metric notion with delta = 0 the steps decide; any two labels are at distance one; cells of a map are compared pair by
pair. None of these lemmas holds for a subclass or a class with the same methods. There the judge

- compares *all* pairs at their own distance under the metric notion. The neighbours that a space states prove nothing
  about its distances;
- compares the edges alone, with delta = 0, if it has proved that they generate the distance (:func:`generate`);
- takes adjacency under the central notion as the space defines it, which the verdict notes;
- asks nothing but the number of values under the local notion.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import starmap

import numpy as np

from ..errors import InvalidInput, InWords, Unsupported, WrongType
from ..exact.arrays import Array, IntArray
from ..exact.integers import is_integer
from ..exact.rationals import as_fraction
from ..spaces import Counts, Graph, Grid, Integers, Labels, MetricSpace, ProductSpace, Range, Ring, Space, Tree
from ..spaces.base import LARGEST_UNIT

#: The spaces for which the lemmas hold. A subclass may answer anything, so they do not hold for it.
BUILT_IN = (Counts, Integers, Grid, Labels, ProductSpace)

#: Spaces of this package whose distances are evaluated like those of a user: no lemma is about them.
EVALUATED = (MetricSpace, Graph, Ring, Tree, Range, ProductSpace)

#: Maximum number of values whose distances are all evaluated (12 million pairs).
MAX_VALUES = 5000

#: Upper limit of squared distances, so that their roots are doubles.
LARGEST_SQUARE = 2**200

#: Upper limit of whole distances, so that their squares and the sums of two have 64 bits.
LARGEST_STEP = 2**31

#: Largest relative difference between a space's distance and unit * sqrt(squared distance): doubles are rounded.
ROUNDING = 1e-9


def is_built_in(space: Space) -> bool:
    """Return whether the lemmas about the spaces of this package hold for this one."""
    return type(space) in BUILT_IN and getattr(space, "norm", None) is None


def defines_adjacency(space: Space) -> bool:
    """Return whether which of its values are adjacent is settled by the definition of the space."""
    return type(space) in (*BUILT_IN, *EVALUATED)


def refuse_other_than_space(space: object) -> None:
    """Refuse an object that is not a space, such as a list of labels."""
    if isinstance(space, type) or not hasattr(space, "size"):
        raise WrongType.must_be(
            "inputs", "a space, such as dc.Counts(n) or dc.Labels([...])", InWords(type(space).__name__)
        )


def described(space: Space) -> str:
    """Name a space without a lemma in a sentence."""
    if type(space) in EVALUATED:
        return repr(space)
    return f"the user-defined space {type(space).__name__}"


def adjacent_pairs(space: Space, size: int) -> tuple[IntArray, IntArray]:
    """Return the pairs that the space calls adjacent, checked.

    Raises
    ------
    Unsupported
        When no two values are adjacent: a guarantee about no pair would be empty.
    """
    answer = space.neighbours() if hasattr(space, "neighbours") else None
    try:
        first, second = (np.asarray(end) for end in (((), ()) if answer is None else answer))
    except (TypeError, ValueError):
        raise _wrong_answer("neighbours()", "two arrays of indices", type(answer).__name__) from None
    if not first.size:
        raise Unsupported(
            f"the central notion needs adjacent values; {described(space)} has none.",
            "Ask for the metric or the local notion.",
            argument="notion",
            given="central",
        )
    if first.ndim != 1 or first.shape != second.shape or {first.dtype.kind, second.dtype.kind} - {"i", "u"}:
        raise _wrong_answer("neighbours()", "two arrays of indices of one length", f"{first.dtype} {first.shape}")
    if min(first.min(), second.min()) < 0 or max(first.max(), second.max()) >= size or (first == second).any():
        raise _wrong_answer("neighbours()", f"pairs of two different indices in 0..{size - 1}", "others")
    return np.array(first, np.int64), np.array(second, np.int64)


@dataclass(frozen=True, eq=False)
class EvaluatedDistances:
    """All distances of a space, evaluated once: the pair (first, second) is ``unit * sqrt(squares)`` apart."""

    unit: Fraction
    first: IntArray
    second: IntArray
    squares: Array

    def matrix_of_steps(self, size: int) -> IntArray | None:
        """Return all distances in units where they are positive whole numbers; None otherwise."""
        if self.squares.dtype.kind == "O" or not self.squares.size or int(self.squares.min()) < 1:
            return None
        if int(self.squares.max()) >= LARGEST_STEP**2:
            return None
        roots = np.rint(np.sqrt(self.squares.astype(float))).astype(np.int64)
        if not np.array_equal(roots**2, self.squares.astype(np.int64)):
            return None
        steps = np.zeros((size, size), np.int64)
        steps[self.first, self.second] = steps[self.second, self.first] = roots
        return steps


def generate(steps: IntArray, first: IntArray, second: IntArray) -> bool:
    """Return whether these edges generate the distance: no pair is nearer than its shortest path.

    **Lemma.** If for any two i and j some edge (i, h) has d(i, h) + d(h, j) <= d(i, j), then a path of edges from i to
    j is at most d(i, j) long, by induction over the distances, which are positive. Ratios multiply along it, so the
    largest log ratio per unit of distance over all pairs is that of an edge.
    """
    shown = np.eye(len(steps), dtype=bool)
    for here, there in ((first, second), (second, first)):
        for i, h in zip(here.tolist(), there.tolist(), strict=True):
            shown[i] |= steps[i, h] + steps[h] <= steps[i]
    return bool(shown.all())


def generating_edges(space: Space, distances: EvaluatedDistances, size: int) -> tuple[IntArray, IntArray] | None:
    """Return the edges that a space states, if they generate its distance; None where all pairs must be compared."""
    steps = distances.matrix_of_steps(size)
    if steps is None or not hasattr(space, "neighbours") or space.neighbours() is None:
        return None
    try:
        first, second = adjacent_pairs(space, size)
    except Unsupported:  # no two values are adjacent
        return None
    return (first, second) if generate(steps, first, second) else None


def evaluate_distances(space: Space, size: int) -> EvaluatedDistances:
    """Return the distances of all pairs of indices, evaluated once.

    Raises
    ------
    InvalidInput
        When the answers are not integers, differ for (i, j) and (j, i), or contradict ``distance``.
    """
    if size > MAX_VALUES:
        raise Unsupported(
            f"the metric notion compares all pairs of values, and {described(space)} has {size:,}.",
            f"Use one of dc.Counts, dc.Grid and dc.Labels, or at most {MAX_VALUES:,} values.",
            argument="inputs",
        )
    unit = as_fraction(getattr(space, "unit", 1), "unit")
    if unit <= 0:
        raise InvalidInput.must_be("unit", "positive", unit, meaning="the length of one unit of distance")
    if not Fraction(1, LARGEST_UNIT) <= unit <= LARGEST_UNIT:
        raise InvalidInput.must_be(
            "unit", "between 1e-200 and 1e200", InWords("another number"), "Measure distances in another unit.",
            meaning="the length of one unit of distance",
        )  # fmt: skip
    _refuse_renumbering(space, size)
    first, second = np.triu_indices(size, 1)
    squares, reverse = np.split(_squared(space, np.r_[first, second], np.r_[second, first]), 2)
    if not np.array_equal(squares, reverse):
        raise _wrong_answer("squared_distance(i, j)", "the same as squared_distance(j, i)", "different numbers")
    _refuse_contradiction(space, unit, first, second, squares)
    return EvaluatedDistances(unit, first, second, squares)


def _squared(space: Space, first: IntArray, second: IntArray) -> Array:
    """Evaluate squared distances, which must be whole numbers of 0 or more."""
    squares = np.array(space.squared_distance(first, second))  # a copy: the space may keep its own array
    if squares.shape != first.shape:
        raise _wrong_answer("squared_distance(i, j)", f"one number for each of {first.size} pairs", str(squares.shape))
    if squares.dtype.kind == "O" and all(map(is_integer, squares.tolist())):
        squares = np.array([int(k) for k in squares.tolist()], dtype=object)
    elif squares.dtype.kind not in "iu":
        raise _wrong_answer(
            "squared_distance(i, j)",
            "whole numbers k, where the distance is unit * sqrt(k)",
            f"{squares.dtype} values",
        )
    if squares.min() < 0 or squares.max() >= LARGEST_SQUARE:
        raise _wrong_answer("squared_distance(i, j)", "0 or more, and below 2**200", "another number")
    return squares


def _refuse_renumbering(space: Space, size: int) -> None:
    """Refuse a space in which ``index(value(i))`` is not i."""
    if not (hasattr(space, "value") and hasattr(space, "index")):
        return
    for i in range(size):
        if space.index(space.value(i)) != i:
            raise _wrong_answer("index(value(i))", "i for every index i", f"another number for i = {i}")


def _refuse_contradiction(space: Space, unit: Fraction, first: IntArray, second: IntArray, squares: Array) -> None:
    """Refuse distances in the user's own ``distance`` that are not unit * sqrt(squared_distance)."""
    method = getattr(type(space), "distance", None)
    if method is None or method in {built_in.distance for built_in in BUILT_IN} or not hasattr(space, "value"):
        return
    values = [space.value(i) for i in range(int(second.max()) + 1)]
    pairs = ((values[i], values[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True))
    try:
        distances = np.array([float(far) for far in starmap(space.distance, pairs)])
    except (OverflowError, TypeError, ValueError):
        raise _wrong_answer("distance(a, b)", "a number that a float can hold", "something else") from None
    exact = np.sqrt(squares.astype(float)) * float(unit)
    if not np.allclose(distances, exact, rtol=ROUNDING, atol=0):
        raise _wrong_answer("distance(a, b)", "unit * sqrt(squared_distance(i, j))", "another number for some pair")


def _wrong_answer(method: str, allowed: str, got: str) -> InvalidInput:
    return InvalidInput.must_be(f"{method} of a user-defined space", allowed, InWords(got), argument="inputs")
