"""The interface of every kernel: the probability of each report for each truth, and answers from its structure.

Other packages ask a kernel through this interface and never for its kind. Answers that only some kinds know have a
default here that holds for any kernel (``None``, ``False``, or from the matrix); a kind that knows better overrides it.
Only the judge distinguishes kinds, on purpose.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from .arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from .kernels import Noise
    from .sampling import Sampler
    from .tables import Table

#: The least and the largest count of a range, None for an infinite end.
Ends = tuple[int | None, int | None]


class Probabilities(ABC):
    """The probability of each report for each truth, both by index, and the structure that products with it use."""

    @abstractmethod
    def matrix(self) -> FloatArray:
        """Return the probabilities as doubles; refuse if there are too many."""

    def block(self, truths: IntArray, reports: IntArray) -> FloatArray:
        """Return P(report | truth) as doubles, a row for each of these truths and a column for each report."""
        matrix = self.matrix()
        rows = matrix if len(truths) == len(matrix) else matrix.take(truths, 0)
        return rows if len(reports) == matrix.shape[1] else rows.take(reports, 1)

    @abstractmethod
    def forward(self, distribution: FloatArray) -> FloatArray:
        """Return the distribution of reports when truths have this one: p P."""

    @abstractmethod
    def backward(self, values: FloatArray) -> FloatArray:
        """Return, for each truth, the expectation of these values of the reports: P v."""

    @property
    def is_constant(self) -> bool:
        """True if the reports (in a product: those of one part) have the same law for every truth."""
        return False

    @property
    def reaches_everything(self) -> bool:
        """True if every report is possible under every truth, as known without looking at the probabilities."""
        return False

    # ---------------------------------------------------------------- structure

    #: True if reports are near the truth, by added noise.
    stays_near: ClassVar[bool] = False

    #: True if all reports except the truth (or except those that stand for it) are equally likely at any distance.
    scatters: ClassVar[bool] = False

    @property
    def noise(self) -> Noise | None:
        """The kernel itself if a report is the truth plus an integer; None for other kernels."""
        return None

    @property
    def geometric_ratio(self) -> Fraction | None:
        """The ratio of two-sided geometric noise, if the same for every truth; None for other kernels."""
        return None

    @property
    def response(self) -> tuple[float, float] | None:
        """The probability of each report except the truth, and the excess of the truth; None if they differ."""
        return None

    @property
    def hit_chances(self) -> tuple[float, float] | None:
        """The chances that a report, if it is a set of truths, contains its truth, and another one; else None."""
        return None

    @property
    def reports_are_sets(self) -> bool:
        """True if a report is a set of truths instead of a single one."""
        return self.hit_chances is not None

    def hit_shares(self, reports: FloatArray) -> FloatArray:
        """Return, for each truth, the share of the reports that stand for it: by default that of the truth itself."""
        return reports

    def unbiased_weights(self, values: FloatArray) -> FloatArray | None:
        """Return weights g of the reports with P g = values, by a formula; None without a formula."""
        return None

    @property
    def share_variance(self) -> Fraction | None:
        """The variance of the estimate of a rare share, times the number of people; None without a formula."""
        return None

    @property
    def has_structure(self) -> bool:
        """True if products with vectors need no matrix."""
        return self.stays_near or self.scatters or bool(self.factor_sizes)

    @property
    def factors(self) -> tuple[Probabilities, ...]:
        """The parts of a product; for other kernels, the kernel itself."""
        return (self,)

    @property
    def factor_sizes(self) -> tuple[tuple[int, int], ...]:
        """The numbers of truths and of reports of each part of a product; empty for other kernels."""
        return ()


class Kernel(Probabilities):
    """The frozen exact object that is sampled, proved and saved."""

    @abstractmethod
    def probability(self, i: int, j: int) -> Fraction:
        """Return P(report j | truth i), exactly."""

    @property
    def rational(self) -> bool:
        """True if the probabilities are rational, so that an exact table exists."""
        return True

    def approximate(self, i: int, j: int) -> float:
        """Return P(report j | truth i) as a double, also if it is irrational."""
        return float(self.probability(i, j))

    @abstractmethod
    def table(self) -> Table:
        """Return the same kernel as a table; refuse if it would be infinite or too large."""

    @property
    def factors(self) -> tuple[Kernel, ...]:
        return (self,)

    @abstractmethod
    def sampler(self) -> Sampler:
        """Return the sampler that draws reports from exactly this kernel."""

    @abstractmethod
    def reports_fill(self, size: int | None, ends: Ends | None) -> bool:
        """Return whether the reports are exactly the values of a space.

        Parameters
        ----------
        size
            The number of values of the space; None if it is infinite.
        ends
            The least and the largest value of a range of counts; None for other spaces.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the exact parameters, as plain JSON values."""
