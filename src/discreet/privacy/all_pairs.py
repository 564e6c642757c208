"""User-defined spaces under the central and the metric notion: every pair is compared, without a lemma."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..errors import Unsupported
from ..exact.arrays import Array, IntArray
from ..exact.base import Kernel
from ..exact.kernels import Noise
from ..exact.laws import Gaussian
from ..exact.rationals import log_bounds
from ..spaces import Space
from . import views
from .evidence import Bounds, RowPairs
from .pairs import (
    MAX_TRUTHS,
    Evidence,
    PairEvidence,
    exponent_bounds,
    grouped_delta,
    grouped_event,
    refuse_many_pairs,
)  # fmt: skip
from .user_spaces import EvaluatedDistances, adjacent_pairs, evaluate_distances, generating_edges
from .witness import Witness

#: Divergences at a larger epsilon than this per pair are not screened in floats.
_LARGEST_EXPONENT = 600.0

#: Upper bound of the relative error of a float quotient of a log ratio and a distance.
_RATE_ERROR = 1e-12


@dataclass(frozen=True, eq=False)
class AllPairs:
    """The metric notion without a lemma about the space: truths are compared at their own distance.

    Floats rule out the pairs whose log ratio per distance ``unit * sqrt(k)`` is not the largest; the others are decided
    in integers. Truths at distance 0 must have equal reports. Edges that generate the distance, if the judge has proved
    it, are enough for the largest ratio; every pair is compared for a delta.
    """

    view: views.View
    distances: EvaluatedDistances
    edges: tuple[IntArray, IntArray] | None = None
    noun: str = "count"
    exact: bool = True

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray, Array]:
        """The pairs that decide about the largest ratio, and their squared distances."""
        everything = self.distances
        if self.edges is None:
            refuse_many_pairs(*self.view.table.shape)
            return everything.first, everything.second, everything.squares
        first, second = np.minimum(*self.edges), np.maximum(*self.edges)
        size = self.view.table.shape[0]
        place = first * (2 * size - first - 1) // 2 + second - first - 1  # among the pairs (0, 1), (0, 2), ...
        return first, second, everything.squares[place]

    def _groups(self, chosen: Array | slice) -> list[tuple[int, RowPairs]]:
        """Return the chosen ones of the pairs that decide, by their squared distance."""
        return self._grouped(*(part[chosen] for part in self._pairs))

    def _grouped(self, first: IntArray, second: IntArray, squares: Array) -> list[tuple[int, RowPairs]]:
        order = np.argsort(squares, kind="stable")
        values, starts = np.unique(squares[order], return_index=True)
        chunks = np.split(order, starts)[1:]  # none before the first start
        return [
            (int(k), RowPairs(self.view, first[chunk], second[chunk], self.noun))
            for k, chunk in zip(values.tolist(), chunks, strict=True)
        ]

    @cached_property
    def _worst(self) -> tuple[Bounds | None, Witness]:
        """Bounds of the largest log ratio per unit of distance, and the pair and report that have it."""
        first, second, squares = self._pairs
        apart = np.asarray(squares > 0, bool)
        for squared, rows in self._groups(~apart):
            if not squared and rows.largest_ratio.ratio > 1:
                return None, rows.largest_ratio
        best, error = RowPairs(self.view, first, second, self.noun).log_ratios_by_pair()
        if np.isinf(best[apart]).any():
            return None, self._groups(np.isinf(best) & apart)[0][1].largest_ratio
        if not apart.any():  # every distance is 0, and all reports are equal
            return (Fraction(0), Fraction(0)), self._groups(slice(None))[0][1].largest_ratio
        far = np.where(apart, float(self.distances.unit) * np.sqrt(squares.astype(float)), 1.0)
        floor = max(0.0, float(((best - error) / far)[apart].max())) * (1 - _RATE_ERROR)
        groups = self._groups(apart & ((best + error) / far * (1 + _RATE_ERROR) >= floor))
        bounds = [self._rate(*group) for group in groups]
        worst = max(range(len(groups)), key=lambda number: bounds[number][0])
        return (bounds[worst][0], max(high for _, high in bounds)), groups[worst][1].largest_ratio

    def _rate(self, squared: int, rows: RowPairs) -> Bounds:
        """Return bounds of the largest log ratio of a group, divided by its distance."""
        if self.exact:
            ratio = rows.largest_ratio.ratio
            assert isinstance(ratio, Fraction)  # an infinite one was noticed before
            low, high = log_bounds(ratio)
        else:
            best, error = (Fraction(number) for number in rows.log_ratio_screen)
            low, high = max(best - error, Fraction(0)), best + error
        short, long = exponent_bounds(Fraction(1), self.distances.unit, squared)
        return low / long, high / short

    def epsilon_bounds(self) -> Bounds | None:
        return self._worst[0]

    def ratio_witness(self) -> Witness:
        return self._worst[1]

    def ratio_bounds(self) -> Bounds | None:
        ratio = self.ratio_witness().ratio
        return (ratio, ratio) if isinstance(ratio, Fraction) else None

    def holds(self, epsilon: Fraction) -> bool:
        bounds = self.epsilon_bounds()
        return bounds is not None and bounds[1] <= epsilon

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        return grouped_delta(self._divergent(epsilon), self.distances.unit, epsilon, bits)

    def _divergent(self, epsilon: Fraction) -> list[tuple[int, RowPairs]]:
        """Return the pairs that may have the largest divergence, as far as floats can tell.

        A rounding of E by a share changes a divergence by that share at most: where p > E q counts, E q is less than 1.
        """
        everything = self.distances
        rows, columns = self.view.table.shape
        refuse_many_pairs(rows, columns)
        far = np.sqrt(everything.squares.astype(float)) * float(everything.unit)
        exponents = np.minimum(far * float(epsilon), _LARGEST_EXPONENT)
        pairs = RowPairs(self.view, everything.first, everything.second, self.noun)
        values = pairs.divergences_by_pair(np.exp(exponents))
        error = (columns + 16) * 2.0**-52 + _RATE_ERROR * (1 + exponents)
        beyond = exponents >= _LARGEST_EXPONENT
        floor = float(np.where(beyond, 0.0, values - error).max())
        chosen = values + error >= floor
        return self._grouped(everything.first[chosen], everything.second[chosen], everything.squares[chosen])

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        everything = self.distances
        refuse_many_pairs(*self.view.table.shape)
        groups = self._grouped(everything.first, everything.second, everything.squares)
        return grouped_event(groups, everything.unit, epsilon)


def of_user_space(kernel: Kernel, space: Space, notion: str, exact: bool) -> Evidence:
    """Return the evidence of a kernel over a user-defined space, central or metric, without a lemma."""
    view = _view(kernel)
    size = view.table.shape[0]
    if notion == "central":
        return PairEvidence((RowPairs(view, *adjacent_pairs(space, size), noun=space.noun),), exact)
    distances = evaluate_distances(space, size)
    return AllPairs(view, distances, generating_edges(space, distances, size), space.noun, exact)


def _view(kernel: Kernel) -> views.View:
    """Return the table of all truths of a kernel."""
    if not isinstance(kernel, Noise):
        return views.whole(kernel.table())
    low, high = kernel.truths
    if low is None or high is None or high - low >= MAX_TRUTHS or isinstance(kernel.law, Gaussian):
        raise Unsupported(
            "this noise is judged on the spaces of this package only.",
            "Use dc.Counts(n) or dc.Integers() as they are.",
            argument="inputs",
        )
    return views.of_noise_range(kernel, low, high)
