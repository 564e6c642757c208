"""Bounded noise worked out apart from the product: a plain linear program, and brute force on few keys.

Nothing is shared with ``discreet``: own variables, own constraints, scipy's solver, plain floats. No law has to be
symmetric.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from support.oracles import linear_minimum_if_any, whole_minimum_if_any

FloatArray = NDArray[np.float64]
#: Coefficients of a row, by column.
Row = dict[int, float]


class NoiseModel:
    """Counts 0..shared, the last law shared by all larger ones, errors up to reach, zero bias from 1 on."""

    def __init__(
        self,
        epsilon: float,
        reach: int,
        stay: float | None = None,
        *,
        at_least: bool = False,
        variance: float | None = None,
        js: int = 0,
        shared: int | None = None,
        delta: float | None = None,
    ) -> None:
        self.reach, self.js = reach, js
        self.shared = shared or 2 * reach + (js + 1 if js else 0)
        self.place: dict[tuple[int, int], int] = {}
        for n in range(self.shared + 1):
            for z in self.errors(n):
                self.place[n, z] = len(self.place)
        self.probabilities = len(self.place)
        self.delta, self.stay = self.probabilities, self.probabilities + 1
        self.size = self.probabilities + 2
        self.equal: list[Row] = []
        self.equal_to: list[float] = []
        self.most: list[Row] = []
        self.at_most: list[float] = []
        for n in range(self.shared + 1):
            self._law(n, at_least, variance)
            self._pair(n, n + 1, np.exp(epsilon))
            self._pair(n + 1, n, np.exp(epsilon))
        if stay is not None:
            self._equals({self.stay: 1.0}, stay)
        if delta is not None:
            self._below({self.delta: 1.0}, delta)

    def errors(self, n: int) -> list[int]:
        return [z for z in range(-min(n, self.reach), self.reach + 1) if not 1 <= n + z <= self.js]

    def _equals(self, row: Row, side: float) -> None:
        self.equal.append(row)
        self.equal_to.append(side)

    def _below(self, row: Row, side: float) -> None:
        self.most.append(row)
        self.at_most.append(side)

    def _law(self, n: int, at_least: bool, variance: float | None) -> None:
        places = {z: self.place[n, z] for z in self.errors(n)}
        self._equals(dict.fromkeys(places.values(), 1.0), 1.0)
        if min(places) < 0 < max(places):
            self._equals({j: float(z) for z, j in places.items() if z}, 0.0)
        if 0 in places:
            (self._below if at_least else self._equals)({self.stay: 1.0, places[0]: -1.0}, 0.0)
        if variance is not None:
            self._below({j: float(z * z) for z, j in places.items()}, variance)

    def _pair(self, n: int, other: int, E: float) -> None:
        """sum over reports of (P(y|n) - E P(y|other))+ <= delta."""
        total = {self.delta: -1.0}
        for z in self.errors(min(n, self.shared)):
            here = self.place[min(n, self.shared), z]
            there = self.place.get((min(other, self.shared), n + z - other))
            row = {here: 1.0, self.size: -1.0} | ({} if there is None else {there: -E})
            total[self.size] = 1.0
            self.size += 1
            self._below(row, 0.0)
        self._below(total, 0.0)

    def _matrix(self, rows: list[Row]) -> Any:
        entries = [(i, j, a) for i, row in enumerate(rows) for j, a in row.items()]
        i, j, a = zip(*entries, strict=True)
        return coo_array((a, (i, j)), shape=(len(rows), self.size)).tocsr()

    def least_delta(self) -> float | None:
        """The least delta, or None where the solver proved that no noise is so."""
        return self._optimum(self.delta, 1.0)

    def largest_stay(self) -> float | None:
        best = self._optimum(self.stay, -1.0)
        return None if best is None else -best

    def _optimum(self, column: int, sign: float) -> float | None:
        cost = np.zeros(self.size)
        cost[column] = sign
        return linear_minimum_if_any(
            cost, A_ub=self._matrix(self.most), b_ub=self.at_most, A_eq=self._matrix(self.equal), b_eq=self.equal_to,
            tolerance=1e-10,
        )  # fmt: skip

    def least_delta_on_keys(self, keys: int) -> float | None:
        """The least delta with whole multiples of 1/keys, in keys; None if there is none."""
        cost = np.zeros(self.size)
        cost[self.delta] = 1.0
        whole = np.zeros(self.size)
        whole[: self.probabilities] = 1
        side, limit = np.array(self.equal_to) * keys, np.array(self.at_most) * keys
        most, equal = self._matrix(self.most), self._matrix(self.equal)
        return whole_minimum_if_any(cost, whole, A_ub=most, b_ub=limit, A_eq=equal, b_eq=side)


def least_delta_by_enumeration(
    epsilon: float, reach: int, keys: int, *, stay: float = 0.0, variance: float = np.inf
) -> float | None:
    """The least delta on so many keys, in keys, over all tables: every law of every count is written down.

    Delta is the largest over neighbours, so the best table is the path of least largest step from a law of 0 to a law
    of 2D that is then repeated.
    """
    E = np.exp(epsilon)
    ways = [w for w in itertools.product(range(keys + 1), repeat=2 * reach) if sum(w) <= keys]
    every = np.array([(*w, keys - sum(w)) for w in ways])  # errors -reach..reach; all that add up
    errors = np.arange(-reach, reach + 1)
    fits = (every[:, reach] >= stay * keys - 1e-9) & (every @ errors**2 <= variance * keys + 1e-9)
    unbiased = every @ errors == 0

    def laws(n: int) -> FloatArray:
        inside = (every[:, : max(reach - n, 0)] == 0).all(axis=1)
        return np.asarray(every[fits & inside & (unbiased if n else True)], np.float64)

    def step(one: FloatArray, two: FloatArray) -> FloatArray:
        """The delta between each law of n and each law of n + 1."""
        reports = np.pad(one, ((0, 0), (0, 1)))[:, None, :], np.pad(two, ((0, 0), (1, 0)))[None, :, :]
        ways = (np.maximum(a - E * b, 0).sum(axis=2) for a, b in (reports, reports[::-1]))
        return np.asarray(np.maximum(*ways))

    before = laws(0)
    best = np.zeros(len(before))
    for n in range(1, 2 * reach + 1):
        now = laws(n)
        if not len(now):
            return None
        best = np.concatenate(
            [
                np.maximum(best[:, None], step(before, part)).min(axis=0)
                for part in np.array_split(now, len(now) // 50 + 1)
            ]
        )
        before = now
    own = np.array([step(law[None], law[None])[0, 0] for law in before])
    return float(np.maximum(best, own).min())
