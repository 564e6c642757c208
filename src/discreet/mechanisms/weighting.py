"""Weightings: nonnegative solutions mu of Phi mu = 1 for a symmetric matrix of similarities Phi, exactly.

With ``Phi[x, y] = a^d(x, y)`` the probabilities ``mu[y] Phi[x, y]`` add up to one for every x. Phi can be singular, as
for the two sides of K_{3,3} at a = 1/2, and still have such a solution.

Values that look alike need one unknown. Let classes be *equitable*: the sum of Phi over a class is the same for all
rows of another class. Replacing mu by its mean over each class commutes with Phi, so a nonnegative solution exists if
and only if one exists that is constant on classes.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..exact.arrays import Array, IntArray
from ..exact.linear import Singular, solve

#: Singular systems are searched for a nonnegative solution up to this many unknowns.
MAX_SINGULAR = 60

#: Maximum number of classes times bits of an entry times classes: larger systems take minutes.
MAX_WORK = 40_000_000


class NoWeighting(ArithmeticError):
    """No nonnegative solution exists; ``place`` is an index whose weight would be negative, if it is unique."""

    def __init__(self, place: int | None = None) -> None:
        super().__init__("no nonnegative weighting exists")
        self.place = place


class TooLarge(ArithmeticError):
    """The system is too large to solve in rational numbers."""


def equitable_classes(codes: IntArray) -> IntArray:
    """Return the number of the class of each index, for a symmetric matrix of codes: the coarsest equitable partition.

    >>> equitable_classes(np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]])).tolist()    # a path: both ends are alike
    [0, 1, 0]
    """
    kinds = np.unique(codes, return_inverse=True)[1].reshape(codes.shape)
    width = int(kinds.max()) + 1
    colours: IntArray = np.zeros(len(codes), np.int64)
    number = 1
    while True:
        seen = np.sort(colours[None, :] * width + kinds, axis=1)
        whole = np.concatenate([colours[:, None], seen], axis=1)
        _, first, colours = np.unique(whole, axis=0, return_index=True, return_inverse=True)
        colours = np.argsort(np.argsort(first))[colours.ravel()]  # numbered in the order of the indices
        if len(first) == number:
            return colours
        number = len(first)


def weighting(steps: IntArray, a: Fraction) -> list[Fraction]:
    """Return a nonnegative solution of ``sum_y mu[y] a^steps[x, y] = 1`` for all x.

    Raises
    ------
    NoWeighting
        When no such solution exists.
    TooLarge
        When the system has too many unknowns or digits.

    Examples
    --------
    >>> [str(mu) for mu in weighting(np.abs(np.subtract.outer(range(3), range(3))), Fraction(1, 2))]
    ['2/3', '1/3', '2/3']
    """
    classes = equitable_classes(steps)
    size, largest = int(classes.max()) + 1, int(steps.max())
    bits = largest * a.denominator.bit_length()
    if size * size * bits > MAX_WORK or bits > MAX_WORK // 100:
        raise TooLarge("this system has too many unknowns or digits")
    one = np.array([int(np.flatnonzero(classes == k)[0]) for k in range(size)])
    distinct, codes = np.unique(steps[one], return_inverse=True)
    powers = np.empty(len(distinct), object)
    powers[:] = [a.numerator**k * a.denominator ** (largest - k) for k in distinct.tolist()]
    entries = powers[codes.reshape(size, -1)]
    matrix = np.zeros((size, size), object)
    for column, kind in enumerate(classes.tolist()):
        matrix[:, kind] += entries[:, column]
    scale = a.denominator**largest
    try:
        x, d = solve(matrix, [1] * size)
        weights = [Fraction(value * scale, d) for value in x]
    except Singular:
        if size > MAX_SINGULAR:
            raise TooLarge("this singular system has too many unknowns") from None
        weights = [value * scale for value in nonnegative_solution(matrix)]
    least = min(range(size), key=weights.__getitem__)
    if weights[least] < 0:
        raise NoWeighting(int(one[least]))
    return [weights[kind] for kind in classes.tolist()]


def nonnegative_solution(matrix: Array) -> list[Fraction]:
    """Return a nonnegative solution of ``matrix @ x = 1``, by the first phase of the simplex method with Bland's rule.

    >>> [str(x) for x in nonnegative_solution(np.array([[1, 1], [1, 1]], dtype=object))]
    ['1', '0']
    """
    size = len(matrix)
    rows = [
        [Fraction(int(entry)) for entry in row] + [Fraction(int(k == number)) for k in range(size)] + [Fraction(1)]
        for number, row in enumerate(matrix.tolist())
    ]
    basis = list(range(size, 2 * size))
    cost = [-sum((row[k] for row in rows), Fraction(0)) for k in range(size)]
    cost += [Fraction(0)] * size + [-Fraction(size)]
    while True:
        entering = next((k for k in range(size) if cost[k] < 0), None)
        if entering is None:
            break
        ratios = [(row[-1] / row[entering], basis[k], k) for k, row in enumerate(rows) if row[entering] > 0]
        leaving = min(ratios)[2]  # bounded below by zero, so some row limits the step
        pivot = rows[leaving][entering]
        rows[leaving] = [entry / pivot for entry in rows[leaving]]
        for k, row in enumerate(rows):
            if k != leaving and row[entering]:
                factor = row[entering]
                rows[k] = [x - factor * y for x, y in zip(row, rows[leaving], strict=True)]
        factor = cost[entering]
        cost = [x - factor * y for x, y in zip(cost, rows[leaving], strict=True)]
        basis[leaving] = entering
    if cost[-1]:
        raise NoWeighting
    solution = [Fraction(0)] * size
    for k, variable in enumerate(basis):
        if variable < size:
            solution[variable] = rows[k][-1]
    return solution
