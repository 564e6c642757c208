"""Intervals of combined counts, of their sums and differences, and of shares, from the laws of the noise.

A weighted sum ``f`` of cells of the tables is a weighted sum of residuals, with weights ``q_A`` on ``r_A``, and each
combined residual is an average of measurements. So the error of the combined ``f`` is a fixed weighted sum of the
noises of all cells of all measured signed marginals. The noise of the cell y of the marginal of C has the weight

    sum over A that C measures of  w_AC q_A(y restricted to A),

where ``w_AC`` is the weight of the measurement in the average, and ``q_A`` is centred in each column of A. Half-widths
are those of :mod:`..noise.weighted`: from the law of that sum, with every error of the computation on the safe side. No
quantile of a normal law is used, and no independence of residuals, which are only uncorrelated.

**All cells of a table have errors with one law.** For the cell x of the table B, ``q_A(y)`` is, for A within B,

    sign_x(A) * 2^-|P| * product of 1 / n_j over B - A * product over larger j in A of ([y_j = x_j] - 1 / n_j),

where P are the binary columns of A, which all sets that C measures share: their sign is the same for all A. Change x to
x', and exchange in each column the values ``x_j`` and ``x'_j``: every noise of C has the weight of another noise of C,
times one sign. The noises of C are independent with one symmetric law, so the law of the sum is the same. Hence one
half-width serves all cells, and a column of a cell needs two classes of values: that of x, and the n - 1 others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np

from ...exact.arrays import Array, FloatArray, IntArray
from ...exact.laws import Law
from ..noise.many_terms import WeightedNoises
from .combine import MarginLeastSquares
from .signed import Columns, subsets

#: A weighted sum of cells: for each table, an array of its cells' weights, as whole numbers.
Form = Mapping[Columns, Array]

#: A weighted sum of cells whose values are in classes: arrays of weights by class, with a leading axis of several sums.
_Weights = Mapping[Columns, FloatArray]


@dataclass(frozen=True, eq=False)
class NoiseWeights:
    """The weights of the noises in several weighted sums of cells.

    Attributes
    ----------
    law
        The index of the law of each term.
    weights
        The weight of each term in each sum, a row for each sum.
    counts
        The number of noises of each term.
    """

    law: IntArray
    weights: FloatArray
    counts: IntArray


@dataclass(frozen=True, eq=False)
class MarginErrors:
    """The errors of combined counts.

    Attributes
    ----------
    solver
        The least squares.
    laws
        The law of the noise of each measured signed marginal; without those that are known.
    """

    solver: MarginLeastSquares
    laws: Mapping[Columns, Law]
    _half_widths: dict[tuple[object, ...], float] = field(default_factory=dict, repr=False)

    def half_width(self, table: Columns, miss: Fraction) -> float:
        """Return a bound that the error of a cell of a table exceeds with probability at most ``miss``.

        It is the same for all cells of the table.
        """
        sizes, cell = self.solver.margins.sizes, np.zeros((1, *(2 for _ in table)))
        cell[(0, *(0 for _ in table))] = 1
        classes = {j: np.array([1, sizes[j] - 1], np.int64) for j in table}
        return self._half_width(self._noise_weights({table: cell}, classes), np.ones(1), miss)

    def form_half_width(self, form: Form, miss: Fraction) -> float:
        """Return a bound that the error of a weighted sum of combined cells exceeds with probability at most ``miss``.

        The cells may belong to several tables.
        """
        return self._half_width(self.noise_weights([form]), np.ones(1), miss)

    def noise_weights(self, forms: Sequence[Form]) -> NoiseWeights:
        """Return the weights of the noises in the errors of several weighted sums of cells."""
        sizes = self.solver.margins.sizes
        tables = sorted({table for form in forms for table in form})
        weights = {
            table: np.stack(
                [np.asarray(form.get(table, np.zeros([sizes[j] for j in table])), dtype=np.float64) for form in forms]
            )
            for table in tables
        }
        columns = sorted({j for table in tables for j in table})
        return self._noise_weights(weights, {j: np.ones(sizes[j], np.int64) for j in columns})

    def noises(self, terms: NoiseWeights, factors: FloatArray) -> WeightedNoises:
        """Return the noise of the weighted sums times these factors, added up."""
        return WeightedNoises.of(self._laws, terms.law, factors @ terms.weights, terms.counts)

    def _half_width(self, terms: NoiseWeights, factors: FloatArray, miss: Fraction) -> float:
        noises = self.noises(terms, factors)
        key = (*noises.key, miss)
        if key not in self._half_widths:
            self._half_widths[key] = noises.half_width(miss)
        return self._half_widths[key]

    @cached_property
    def _laws(self) -> tuple[Law, ...]:
        """The different laws."""
        return tuple(dict.fromkeys(self.laws.values()))

    @cached_property
    def _measured(self) -> list[Columns]:
        """The sets whose signed marginals were measured with noise."""
        return sorted(self.laws, key=lambda one: (len(one), one))

    @cached_property
    def _law_index(self) -> IntArray:
        """The index of the law of each measured set."""
        index = {law: k for k, law in enumerate(self._laws)}
        return np.array([index[self.laws[one]] for one in self._measured], np.int64)

    @cached_property
    def _sizes(self) -> IntArray:
        """The number of cells of each measured signed marginal."""
        margins = self.solver.margins
        return np.array([prod(margins.shape(one)) for one in self._measured], np.int64)

    @cached_property
    def _members(self) -> Array:
        """A row for each measured set, with True for its columns."""
        members = np.zeros((len(self._measured), len(self.solver.margins.sizes)), dtype=bool)
        for k, one in enumerate(self._measured):
            members[k, list(one)] = True
        return members

    @cached_property
    def _with_signs(self) -> dict[Columns, IntArray]:
        """The measured sets that have the same binary columns, ascending."""
        margins, sets = self.solver.margins, dict[Columns, list[int]]()
        for k, one in enumerate(self._measured):
            sets.setdefault(margins.signs(one), []).append(k)
        return {signs: np.array(numbers, np.int64) for signs, numbers in sets.items()}

    @cached_property
    def _averages(self) -> dict[Columns, tuple[IntArray, FloatArray]]:
        """For each residual, the measured sets in its average, ascending, and their weights."""
        number, averages = {one: k for k, one in enumerate(self._measured)}, {}
        for residual in self.solver.margins.residuals:
            pairs = sorted((number[one], float(w)) for one, w in self.solver.weights(residual).items() if one in number)
            averages[residual] = (np.array([k for k, _ in pairs], np.int64), np.array([w for _, w in pairs]))
        return averages

    def _noise_weights(self, weights: _Weights, classes: Mapping[int, IntArray]) -> NoiseWeights:
        """Return the weights of the noises in sums of cells whose values are in classes of these sizes."""
        margins, residual_weights = self.solver.margins, self._residual_weights(weights, classes)
        sums = next(iter(residual_weights.values())).shape[0]
        terms = [(np.zeros(0, np.int64), np.zeros((sums, 0)), np.zeros(0, np.int64))]
        for signs in dict.fromkeys(map(margins.signs, residual_weights)):
            parts = {margins.axes(one): q for one, q in residual_weights.items() if margins.signs(one) == signs}
            reach = sorted({j for axes in parts for j in axes})
            sets = self._with_signs.get(signs, np.zeros(0, np.int64))
            for alike in self._divided(sets, reach):
                shared = tuple(j for j in reach if self._members[alike[0], j])
                terms.append(self._terms(alike, signs, shared, parts, classes, sums))
        law, weight, count = (np.concatenate(one, axis=-1) for one in zip(*terms, strict=True))
        return NoiseWeights(law, weight, count)

    def _divided(self, sets: IntArray, columns: Sequence[int]) -> list[IntArray]:
        """Return the measured sets in parts that have the same ones of these columns."""
        parts = [sets]
        for j in columns:
            members = self._members[:, j]
            parts = [half for part in parts for half in (part[members[part]], part[~members[part]]) if half.size]
        return [part for part in parts if part.size]

    def _terms(
        self, sets: IntArray, signs: Columns, shared: Columns, parts: _Weights, classes: Mapping[int, IntArray],
        sums: int,
    ) -> tuple[IntArray, FloatArray, IntArray]:  # fmt: skip
        """Return the laws, weights and numbers of the noises of measured sets that share these larger columns."""
        lengths = [classes[j].size for j in shared]
        weights = np.zeros((sums, sets.size, *lengths))
        for axes in subsets(shared):
            measured, average = self._averages[tuple(sorted(signs + axes))]
            if axes in parts and measured.size:  # without measurements the residual is known
                values = parts[axes].reshape(sums, 1, *(classes[j].size if j in axes else 1 for j in shared))
                weights += values * average[np.searchsorted(measured, sets)].reshape(-1, *(1 for _ in shared))
        counts = self._sizes[sets] // prod(self.solver.margins.sizes[j] for j in shared)
        for j in shared:
            counts = np.multiply.outer(counts, classes[j])
        law = np.broadcast_to(self._law_index[sets].reshape(-1, *(1 for _ in shared)), counts.shape)
        return law.reshape(-1), weights.reshape(sums, -1), counts.reshape(-1)

    def _residual_weights(self, weights: _Weights, classes: Mapping[int, IntArray]) -> dict[Columns, FloatArray]:
        """Return ``q_A`` for each residual within the tables, on its larger columns."""
        sizes, totals = self.solver.margins.sizes, dict[Columns, FloatArray]()
        for table, cells in weights.items():
            for residual in subsets(table):
                part: Array = cells
                for axis, j in reversed(list(enumerate(table, start=1))):
                    if j not in residual:
                        part = np.tensordot(part, classes[j] / sizes[j], (axis, 0))
                    elif sizes[j] == 2:
                        part = (part.take(0, axis=axis) - part.take(1, axis=axis)) / 2
                    else:
                        mean = np.tensordot(part, classes[j] / sizes[j], (axis, 0))
                        part = part - np.expand_dims(mean, axis)
                totals[residual] = np.asarray(totals.get(residual, 0.0) + part)
        return totals
