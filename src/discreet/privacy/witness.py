"""The witness: two truths, and the report or set of reports whose probabilities differ most between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..report import Json
from ..wording import rounded


@dataclass(frozen=True, repr=False)
class Witness:
    """Two truths and the event that tells them apart.

    ``reports`` lists the reports of the event. ``at_most`` or ``at_least`` is true if the event contains all reports
    beyond the first or the last of them (an unbounded mechanism has infinitely many reports). ``alike`` is the number
    of further reports of the same kinds that belong to the event.

    Examples
    --------
    >>> import discreet as dc
    >>> w = dc.verify([["1/2", "1/2"], ["1/4", "3/4"]]).witness
    >>> w.truth, w.other, w.report, w.ratio
    (0, 1, 0, Fraction(2, 1))
    >>> print(w)
    a true count of 0 gives report 0 with probability 0.5, with a true count of 1 it has probability 0.25
    """

    truth: Any
    other: Any
    reports: tuple[Any, ...]
    probability: Fraction
    other_probability: Fraction
    noun: str = "count"
    at_most: bool = False
    at_least: bool = False
    alike: int = 0

    @property
    def report(self) -> Any:
        """The report, when the event is a single one; else the first of them."""
        return self.reports[0]

    @property
    def ratio(self) -> Fraction | float:
        """The probability of the event under ``truth``, divided by that under ``other``."""
        if self.other_probability == 0:
            return math.inf if self.probability else Fraction(1)
        return self.probability / self.other_probability

    def _event(self) -> str:
        first, last = self.reports[0], self.reports[-1]
        if self.alike:
            examples = " or ".join(str(r) for r in self.reports)
            return f"report {examples} or one of {self.alike:,} like it"
        if len(self.reports) == 1:
            return f"report {first}" + (" or less" if self.at_most else " or more" if self.at_least else "")
        if isinstance(first, int) and len(self.reports) == last - first + 1:
            if self.at_most:
                return f"a report of at most {last}"
            return f"a report of at least {first}" if self.at_least else f"a report in {first}..{last}"
        examples = ", ".join(str(r) for r in self.reports[:6]) + (", ..." if len(self.reports) > 6 else "")
        beyond = f" or below {first}" * self.at_most + f" or above {last}" * self.at_least
        return f"a report in {{{examples}}}{beyond}"

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, with the sentence."""
        return {
            "truth": self.truth,
            "other": self.other,
            "reports": list(self.reports),
            **({"alike": self.alike} if self.alike else {}),
            "probability": float(self.probability),
            "other_probability": float(self.other_probability),
            "sentence": str(self),
        }

    def __str__(self) -> str:
        times = (
            f"which a true {self.noun} of {self.other} never gives"
            if self.other_probability == 0
            else f"with a true {self.noun} of {self.other} it has probability {rounded(self.other_probability, 6)}"
        )
        gives = f"gives {self._event()} with probability {rounded(self.probability, 6)}"
        return f"a true {self.noun} of {self.truth} {gives}, {times}"

    def __repr__(self) -> str:
        return f"<Witness: {self}>"
