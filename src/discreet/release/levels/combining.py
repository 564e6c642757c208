"""Combine measured levels into counts that add up, with their standard errors and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...exact.arrays import Array, FloatArray, IntArray
from ...exact.laws import Law
from ..noise.weighted import QUICK_SMOOTHNESS, SMOOTHNESS, WeightedTerms, chernoff_of_variance, half_width, law_variance
from .overlapping import OverlappingLeastSquares
from .product import ProductLeastSquares
from .shape import Shape
from .tree import TreeLeastSquares

#: Largest number of distinct variances of a level, and of those times leaves, for which half-widths are computed from
#: the noises themselves; beyond, from the variance alone. Nodes with the same variance share a half-width.
MAX_EXACT_VARIANCES, MAX_EXACT_WORK = 400, 40_000_000

#: Number of distinct variances above which half-widths may be a few per cent wider, to be quick.
_MAX_SMOOTH_VARIANCES = 8

#: Largest rounding error of any sum of combined counts, in counts.
MAX_ROUNDING_ERROR = Fraction(1, 200)


def least_squares(
    shape: Shape, variances: tuple[Fraction, ...]
) -> ProductLeastSquares | TreeLeastSquares | OverlappingLeastSquares:
    """Return the solver that suits the shape."""
    if shape.regular:
        return ProductLeastSquares(shape, variances)
    return (TreeLeastSquares if shape.is_tree else OverlappingLeastSquares)(shape, variances)


@dataclass(frozen=True, eq=False)
class LevelCombination:
    """The combination of the measurements of all levels into counts that add up.

    Attributes
    ----------
    shape
        The groups and their levels.
    laws
        The noise of each level, symmetric around zero.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.exact.laws import GeometricTails
    >>> from discreet.questions.groups import read_domain
    >>> shape = Shape(read_domain("site=1..2", ["site"]), ((0,), ()))
    >>> both = LevelCombination(shape, (GeometricTails(Fraction(1, 3), Fraction(1, 2)),) * 2)
    >>> both.digits, both.leaves([np.array([[10], [20]]), np.array([[33]])]).tolist()
    (3, [[11000], [21000]])
    """

    shape: Shape
    laws: tuple[Law, ...]
    _half_widths: dict[Fraction, list[FloatArray]] = field(default_factory=dict, repr=False)

    @cached_property
    def solver(self) -> ProductLeastSquares | TreeLeastSquares | OverlappingLeastSquares:
        return least_squares(self.shape, tuple(map(law_variance, self.laws)))

    @property
    def digits(self) -> int:
        """Number of decimals of combined counts."""
        return 2 + len(str(self.shape.groups.size))

    def leaves(self, measured: Sequence[Array]) -> Array:
        """Return the least-squares solution for the leaves, rounded to the nearest unit of ``10^-digits``.

        The counts of all levels are sums of these, so they add up exactly.
        """
        numerators, denominator = self.solver.leaves(measured)
        unit = 10**self.digits
        rounded = (numerators * (2 * unit) + denominator) // (2 * denominator)
        flat = rounded.reshape(-1)
        fits = not flat.size or max(int(flat.max()), -int(flat.min())) * flat.size < 2**62
        return np.asarray(rounded.astype(np.int64) if fits else rounded)

    @cached_property
    def standard_errors(self) -> list[FloatArray]:
        """The standard deviation of the error of each combined count, for the nodes of each level."""
        return [np.sqrt(variances) for variances in self.solver.node_variances()]

    def half_widths(self, coverage: Fraction) -> list[FloatArray]:
        """Return the half-width of the interval of each combined count, for the nodes of each level."""
        if coverage not in self._half_widths:
            self._half_widths[coverage] = self._new_half_widths(1 - coverage)
        return self._half_widths[coverage]

    def _new_half_widths(self, share: Fraction) -> list[FloatArray]:
        half_widths = []
        for k, errors in enumerate(self.standard_errors):
            distinct, first, which = np.unique(np.round(errors, 10), return_index=True, return_inverse=True)
            exact = not (isinstance(self.solver, OverlappingLeastSquares) and self.solver.variances_are_bounds)
            work = len(distinct) * self.shape.groups.size
            if exact and len(distinct) <= MAX_EXACT_VARIANCES and work <= MAX_EXACT_WORK:
                smoothness = SMOOTHNESS if len(distinct) <= _MAX_SMOOTH_VARIANCES else QUICK_SMOOTHNESS
                widths = [half_width(self._terms_of_node(k, int(node)), share, smoothness) for node in first]
            else:
                rounded = 1.002 ** np.ceil(np.log(np.maximum(errors, 1e-9)) / np.log(1.002))
                distinct, which = np.unique(np.where(errors > 0, rounded, 0.0), return_inverse=True)
                widths = [chernoff_of_variance(self.laws, float(sd) ** 2, float(share)) for sd in distinct]
            half_widths.append(np.array(widths)[which.reshape(-1)])
        return half_widths

    def _terms_of_node(self, level: int, node: int) -> tuple[WeightedTerms, ...]:
        if not self.shape.live_nodes[level][node]:
            return ()
        return self.terms((self.shape.node_of_leaf[level] == node).astype(np.float64))

    def terms(self, weights: FloatArray) -> tuple[WeightedTerms, ...]:
        """Return the noises in a weighted sum of combined leaves, with their weights.

        ``f' x`` has the weights ``Q_S A^-1 f / v_S`` on the measurements of level S. ``A^-1 f`` is the solution when
        the leaves are measured as ``v f`` and all other nodes as 0.
        """
        return distinct_terms(self.laws, self.measurement_weights(weights))

    def measurement_weights(self, weights: FloatArray) -> list[FloatArray]:
        """Return the weight of each measurement that can exist, level by level, in a weighted sum of leaves."""
        variances = [float(law_variance(law)) for law in self.laws]
        zeros = [np.zeros(size) for size in self.shape.sizes]
        zeros[0] = np.where(self.shape.live, weights, 0.0) * variances[0]
        inverse = np.where(self.shape.live, self.solver.float_leaves(zeros), 0.0)
        levels = zip(self.shape.sums(inverse), self.shape.live_nodes, variances, strict=True)
        return [np.asarray(sums[live]) / variance for sums, live, variance in levels]


def distinct_terms(
    laws: Sequence[Law], weights: Sequence[FloatArray], counts: Sequence[IntArray] | None = None
) -> tuple[WeightedTerms, ...]:
    """Return the noises with these weights on each level, each distinct weight once; ``counts`` has their numbers."""
    terms: list[WeightedTerms] = []
    for k, (law, level) in enumerate(zip(laws, weights, strict=True)):
        sizes = np.abs(level)
        large = sizes > 1e-12 * max(1.0, float(sizes.max(initial=0.0)))
        mantissa, exponent = np.frexp(sizes[large])
        distinct, which, number = np.unique(
            np.ldexp(np.round(mantissa * 2**24) / 2**24, exponent), return_inverse=True, return_counts=True
        )
        if counts is not None:
            number = np.bincount(which.reshape(-1), counts[k][large], len(distinct)).astype(np.int64)
        terms += [WeightedTerms(law, *pair) for pair in zip(distinct.tolist(), number.tolist(), strict=True)]
    return tuple(terms)
