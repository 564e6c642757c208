"""Comparisons at several epsilons: what each mechanism costs as privacy changes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..report import Fact, Json, Prose, Report, Result, Section, TextTable, stamped
from ..tabular import Columns, Tabular

if TYPE_CHECKING:
    from .compare import Comparison


@dataclass(frozen=True)
class ComparisonSweep(Tabular, Result):
    """The same mechanisms at several epsilons, side by side. Made by ``dc.compare(n, epsilons=[...])``.

    Attributes
    ----------
    epsilons
        The epsilons as given, in their order.
    comparisons
        One for each epsilon.

    Examples
    --------
    >>> import discreet as dc
    >>> sweep = dc.compare(4, epsilons=[0.5, 1], families=["GM", "EM"])
    >>> [round(one["GM"].costs["L0"], 3) for one in sweep.comparisons], len(sweep.data_columns()["name"])
    ([0.604, 0.43], 4)
    """

    epsilons: tuple[str, ...]
    comparisons: tuple[Comparison, ...]

    def __getitem__(self, epsilon: object) -> Comparison:
        for text, comparison in zip(self.epsilons, self.comparisons, strict=True):
            if text == str(epsilon):
                return comparison
        raise InvalidInput(f"epsilon {epsilon} is not in this sweep.", f"Choose from {', '.join(self.epsilons)}.")

    def data_columns(self) -> Columns:
        """Return a row for each epsilon and mechanism, with the columns of a comparison."""
        tables = [comparison.data_columns() for comparison in self.comparisons]
        epsilons = [
            float(Fraction(text)) for text, one in zip(self.epsilons, self.comparisons, strict=True) for _ in one.rows
        ]
        return {"asked": epsilons, **{name: [v for one in tables for v in one[name]] for name in tables[0]}}

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, as in ``schemas/comparison-sweep.json``."""
        comparisons: list[Json] = [one.to_json() for one in self.comparisons]
        return stamped("comparison-sweep", 1, {"epsilons": list(self.epsilons), "comparisons": comparisons})

    def report(self) -> Report:
        """Return a table for each loss: a row for each mechanism, a column for each epsilon."""
        first = self.comparisons[0]
        headings = ("name", *(f"ε = {text}" for text in self.epsilons))
        numbers = tuple(range(1, len(headings)))
        sections = [
            Section(
                f"Expected {loss}",
                (
                    Prose(f"{words[:1].upper()}{words[1:]}."),
                    TextTable(
                        headings,
                        tuple(
                            (row.name, *(f"{one[row.name].costs[loss]:.4f}" for one in self.comparisons))
                            for row in first.rows
                        ),
                        numbers,
                        (0,),
                    ),
                ),
            )
            for loss, words in first.losses.items()
        ]
        return Report(
            self._headline(),
            "Comparison",
            (Fact(str(len(self.epsilons)), "epsilons"), Fact(str(len(first.rows)), "mechanisms")),
            tuple(sections),
        )

    def _headline(self) -> str:
        return f"Mechanisms for {self.comparisons[0].values}, {len(self.epsilons)} epsilons"
