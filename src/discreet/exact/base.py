"""What every kernel answers: the probability of each report for each truth, and what follows from its structure.

Everything outside asks a kernel, and never which kind it is. What only some kinds know has an answer here that holds
for any kernel (``None``, ``False``, or by way of the matrix) and is overridden where the kind knows better. The judge
alone tells kinds apart, on purpose.
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

#: The least and the largest count of a range, None for an end that it does not have.
Ends = tuple[int | None, int | None]


class Probabilities(ABC):
    """The probability of each report for each truth, both by index, and the structure that products with it use."""

    @abstractmethod
    def matrix(self) -> FloatArray:
        """Return the probabilities as doubles; refused when there would be too many."""

    def block(self, truths: IntArray, reports: IntArray) -> FloatArray:
        """P(report | truth) as doubles, a row for each of these truths and a column for each of these reports."""
        matrix = self.matrix()
        rows = matrix if len(truths) == len(matrix) else matrix.take(truths, 0)
        return rows if len(reports) == matrix.shape[1] else rows.take(reports, 1)

    @abstractmethod
    def forward(self, distribution: FloatArray) -> FloatArray:
        """Return the distribution of reports when truths have this one: p P."""

    @abstractmethod
    def backward(self, values: FloatArray) -> FloatArray:
        """For each truth, the expectation of these values of the reports: P v."""

    @property
    def is_constant(self) -> bool:
        """Whether the reports have the same law whatever the truth (in a product: those of one part)."""
        return False

    @property
    def reaches_everything(self) -> bool:
        """Whether every report is known to be possible under every truth, without a look at the probabilities."""
        return False

    # ---------------------------------------------------------------- structure

    #: Whether reports stay near the truth: noise is added to it.
    stays_near: ClassVar[bool] = False

    #: Whether all reports but the truth (or but those that stand for it) are alike, however far away they are.
    scatters: ClassVar[bool] = False

    @property
    def noise(self) -> Noise | None:
        """Itself where a report is the truth and an integer that is added to it; None for everything else."""
        return None

    @property
    def geometric_ratio(self) -> Fraction | None:
        """The ratio of two-sided geometric noise, the same for every truth; None for everything else."""
        return None

    @property
    def response(self) -> tuple[float, float] | None:
        """Where all reports but the truth are alike: the probability of each, and how much more the truth has."""
        return None

    @property
    def hit_chances(self) -> tuple[float, float] | None:
        """Where a report stands for a set of truths: the chance that it holds its own truth, and any other one."""
        return None

    @property
    def reports_are_sets(self) -> bool:
        """Whether a report stands for a set of truths rather than for one of them."""
        return self.hit_chances is not None

    def hit_shares(self, reports: FloatArray) -> FloatArray:
        """For each truth, the share of the reports that stand for it, from the share of each: here, that of its own."""
        return reports

    def unbiased_weights(self, values: FloatArray) -> FloatArray | None:
        """Return weights g of the reports with P g = values, by a formula; None where there is none."""
        return None

    @property
    def share_variance(self) -> Fraction | None:
        """The variance of the estimate of a rare share, times the number of people, where there is a formula."""
        return None

    @property
    def has_structure(self) -> bool:
        """Whether products with vectors need no matrix."""
        return self.stays_near or self.scatters or bool(self.factor_sizes)

    @property
    def factors(self) -> tuple[Probabilities, ...]:
        """The parts of a product; anything else alone."""
        return (self,)

    @property
    def factor_sizes(self) -> tuple[tuple[int, int], ...]:
        """For each part of a product, how many truths and how many reports it has; empty for everything else."""
        return ()


class Kernel(Probabilities):
    """The frozen exact object that is sampled, proved and saved."""

    @abstractmethod
    def probability(self, i: int, j: int) -> Fraction:
        """P(report j | truth i), exactly."""

    @property
    def rational(self) -> bool:
        """Whether the probabilities are rational numbers, so that there is an exact table."""
        return True

    def approximate(self, i: int, j: int) -> float:
        """P(report j | truth i) as a double, also where it is irrational."""
        return float(self.probability(i, j))

    @abstractmethod
    def table(self) -> Table:
        """Return the same kernel as a table; refused when it would be infinite or too large."""

    @property
    def factors(self) -> tuple[Kernel, ...]:
        return (self,)

    @abstractmethod
    def sampler(self) -> Sampler:
        """Return what draws reports from exactly this kernel."""

    @abstractmethod
    def reports_fill(self, size: int | None, ends: Ends | None) -> bool:
        """Return whether the reports are the values of a space, each of them and no other.

        Parameters
        ----------
        size
            How many values the space has; None where there is no end to them.
        ends
            The least and the largest value of a range of counts; None for other spaces.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the exact parameters, as plain JSON values."""
