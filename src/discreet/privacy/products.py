"""Products: the privacy of independent reports of several values of one person.

**Lemma.** Let each part report independently, and let R_k be the largest ratio ``P_k(y | x) / P_k(y | x')`` of part k
over any two of its truths and any of its reports. Then the largest ratio of the product over any two tuples is
``R_1 R_2 ...``: a ratio of the product is a product of ratios of the parts, each at most R_k (or 1 where the two tuples
agree in part k, and no R_k is below 1); and the tuples and reports that reach every R_k at once reach it. So epsilons
between any two values add up, exactly. Tests compare with brute force over the written-out table.

The divergence behind a delta has no such formula. It is computed from the written-out table, where that is small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from ..errors import Unsupported
from ..exact.products.kernel import Product
from ..exact.rationals import at_most_exp, log_bounds
from .evidence import Bounds
from .pairs import Evidence
from .witness import Witness

#: Maximum length in bits of a ratio whose logarithm is computed; for longer ones the logarithms of the parts are added.
MAX_RATIO_BITS = 1 << 16


@dataclass(frozen=True)
class ProductEvidence:
    """The evidence of a product under the local notion, from that of its parts.

    Attributes
    ----------
    kernel, parts
        The product, and the evidence of each part under the local notion.
    table_evidence
        A function that returns the evidence of the table of all tuples, for a delta.
    """

    kernel: Product
    parts: tuple[Evidence, ...]
    table_evidence: Callable[[], Evidence]

    def ratio_bounds(self) -> Bounds | None:
        bounds_of_parts = [one.ratio_bounds() for one in self.parts]
        if any(bounds is None for bounds in bounds_of_parts):
            return None
        ends = zip(*(bounds for bounds in bounds_of_parts if bounds is not None), strict=True)
        low, high = (prod(end, start=Fraction(1)) for end in ends)
        return low, high

    def epsilon_bounds(self) -> Bounds | None:
        try:
            ratio = self.ratio_bounds()
        except Unsupported:  # too many digits
            ratio = (Fraction(0), Fraction(0))
        if ratio is None:
            return None
        if ratio[0] == ratio[1] and ratio[1] > 0 and ratio[1].numerator.bit_length() <= MAX_RATIO_BITS:
            return log_bounds(ratio[1])
        bounds_of_parts = [one.epsilon_bounds() for one in self.parts]
        if any(bounds is None for bounds in bounds_of_parts):
            return None
        low, high = (sum(end, Fraction(0)) for end in zip(*(b for b in bounds_of_parts if b is not None), strict=True))
        return low, high

    def holds(self, epsilon: Fraction) -> bool:
        try:
            bounds = self.ratio_bounds()
            if bounds is None:
                return False
            if bounds[0] == bounds[1]:
                return at_most_exp(bounds[1], epsilon)
        except Unsupported:  # too many digits
            pass
        sums = self.epsilon_bounds()
        return sums is not None and sums[1] <= epsilon

    def ratio_witness(self) -> Witness:
        """Return the tuples and the report in which the ratio of every part is largest."""
        witnesses = [one.ratio_witness() for one in self.parts]
        truths, reports = self.kernel.truths, self.kernel.reports

        def number(values: list[int], shape: tuple[int, ...]) -> int:
            return int(np.ravel_multi_index(tuple(values), shape))

        return Witness(
            truth=number([one.truth for one in witnesses], truths),
            other=number([one.other for one in witnesses], truths),
            reports=(number([one.reports[0] for one in witnesses], reports),),
            probability=prod((one.probability for one in witnesses), start=Fraction(1)),
            other_probability=prod((one.other_probability for one in witnesses), start=Fraction(1)),
            noun="combination",
            alike=prod(len(one.reports) + one.alike for one in witnesses) - 1,
        )

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        return self.table_evidence().delta_bounds(epsilon, bits)

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        return self.table_evidence().single_event_bounds(epsilon)
