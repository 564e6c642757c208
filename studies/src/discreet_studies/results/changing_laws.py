"""Noise whose law changes with the count, between a least and a largest count: a linear program in floating point."""

from __future__ import annotations

from itertools import product

import numpy as np


def least_delta_of_changing_laws(E: float, stay: float, reach: int, counts: int, *, unbiased: bool) -> float:
    """Return the least true delta of noise with a law for each of several successive counts.

    Errors lie in [-D, D] and the truth has the probability eta at every count. The variables are the probabilities, the
    positive part of each ``P(y | n) - E P(y | n')`` for neighbouring counts, and delta.

    Parameters
    ----------
    E, stay, reach
        e^epsilon, eta and D.
    counts
        Number of counts.
    unbiased
        True if every law must have zero mean.

    Examples
    --------
    >>> least_delta_of_changing_laws(3.0, 0.5, 4, 2, unbiased=True)
    0.0
    """
    from scipy.optimize import linprog

    errors = range(-reach, reach + 1)
    size = len(errors)
    pairs = [(n, n + step) for n in range(counts) for step in (1, -1) if 0 <= n + step < counts]
    width = counts * size + len(pairs) * size + 1
    most, equal, right = [], [], []
    for k, (n, other) in enumerate(pairs):
        whole = np.zeros(width)
        whole[-1] = -1.0
        for z in errors:
            row, part = np.zeros(width), counts * size + k * size + z + reach
            row[n * size + z + reach] = 1.0
            if abs(n + z - other) <= reach:
                row[other * size + n + z - other + reach] = -E
            row[part], whole[part] = -1.0, 1.0
            most.append(row)
        most.append(whole)
    for n, (values, side) in product(range(counts), _equalities(reach, stay, unbiased)):
        row = np.zeros(width)
        row[n * size : (n + 1) * size] = values
        equal.append(row)
        right.append(side)
    cost = np.zeros(width)
    cost[-1] = 1.0
    solution = linprog(cost, A_ub=np.array(most), b_ub=np.zeros(len(most)), A_eq=np.array(equal), b_eq=right)
    return float(solution.fun)


def _equalities(reach: int, stay: float, unbiased: bool) -> list[tuple[list[int], float]]:
    """Return the coefficients of each law's equalities, with their right sides."""
    errors = list(range(-reach, reach + 1))
    equalities: list[tuple[list[int], float]] = [([1] * len(errors), 1.0), ([int(z == 0) for z in errors], stay)]
    return [*equalities, (errors, 0.0)] if unbiased else equalities
