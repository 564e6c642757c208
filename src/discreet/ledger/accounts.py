"""The accounts of a ledger: one for all periods, and one for each period that was named.

Two neighbouring tables differ in the rows of one unit in one period, so releases that are restricted to other periods
have the same law on both. The filter therefore runs on each period by itself, over the releases that read all periods
or that period: what is left of a period is the budget less the sum of these. A ledger without periods has the account
for all alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from ..errors import InvalidInput
from ..report import Json
from .budget import Cost, Tally
from .filters import Filter

NOTHING_SPENT = Tally()


class Charge(NamedTuple):
    """The cost of a release, and the periods whose rows it reads: None for all periods."""

    cost: Cost
    periods: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Accounts:
    """The sums that a ledger has spent.

    Attributes
    ----------
    all
        The sum of the releases that read all periods.
    by_period
        Period -> the sum of the releases that name it.

    Examples
    --------
    >>> from fractions import Fraction
    >>> spent = Accounts().plus(Tally(Fraction(1)), None).plus(Tally(Fraction(2)), ("2026-03",))
    >>> [str(spent.of(period).epsilon) for period in ("2026-03", "2026-04", None)]
    ['3', '1', '1']
    """

    all: Tally = NOTHING_SPENT
    by_period: Mapping[str, Tally] = field(default_factory=dict)

    def plus(self, charge: Tally, periods: Sequence[str] | None) -> Accounts:
        """Add a charge to the account of each of these periods, or to that of all."""
        if periods is None:
            return Accounts(self.all + charge, self.by_period)
        added = {period: self.by_period.get(period, NOTHING_SPENT) + charge for period in periods}
        return Accounts(self.all, {**self.by_period, **added})

    def minus(self, charge: Tally, periods: Sequence[str] | None) -> Accounts:
        """Give a charge back to the accounts that :meth:`plus` added it to; refuse one that was never added."""
        if periods is None:
            return Accounts(self.all - charge, self.by_period)
        rest = {period: self.by_period.get(period, NOTHING_SPENT) - charge for period in periods}
        kept = {period: sums for period, sums in {**self.by_period, **rest}.items() if sums != NOTHING_SPENT}
        return Accounts(self.all, kept)

    def of(self, period: str | None) -> Tally:
        """Return what is spent of a period; None stands for every period that no release named."""
        return self.all if period is None else self.all + self.by_period.get(period, NOTHING_SPENT)

    def charged(self, periods: Sequence[str] | None) -> list[tuple[str | None, Tally]]:
        """Return what is spent of each period that a charge falls on; a charge to all falls on every account."""
        names = [None, *sorted(self.by_period)] if periods is None else periods
        return [(name, self.of(name)) for name in names]

    def spent(self, rule: Filter, periods: Sequence[str] | None = None) -> Cost:
        """Return what is spent of the period among these where it is most; in each measure by itself."""
        return highest([rule.spent(spent) for _, spent in self.charged(periods)])

    def left(self, rule: Filter, periods: Sequence[str] | None = None) -> Cost:
        """Return the maximum cost of one more release that reads these periods."""
        return _extreme(min, [rule.left(spent) for _, spent in self.charged(periods)])

    def missing(self, rule: Filter, periods: Sequence[str] | None = None) -> Cost | None:
        """Return what the budget lacks for what is spent of these periods; None if it pays."""
        lacking = [rule.missing(spent) for _, spent in self.charged(periods) if not rule.allow(spent)]
        return highest(lacking) if lacking else None

    def to_json(self) -> dict[str, Json]:
        """Return exact JSON values; periods only where one was named."""
        periods: dict[str, Json] = {name: sums.to_json() for name, sums in sorted(self.by_period.items())}
        return {**self.all.to_json(), **({"periods": periods} if periods else {})}

    @classmethod
    def from_json(cls, content: Mapping[str, object]) -> Accounts:
        """Read what :meth:`to_json` wrote."""
        periods = content.get("periods", {})
        if not isinstance(periods, Mapping):
            raise InvalidInput("the accounts of periods are not written as this program writes them.")
        return cls(Tally.from_json(content), {name: Tally.from_json(sums) for name, sums in periods.items()})


def highest(costs: Sequence[Cost]) -> Cost:
    """Return the largest value of each measure among these costs.

    >>> str(highest([Cost(1, "0.5"), Cost(2)]))
    'epsilon 2, delta 0.5'
    """
    return _extreme(max, costs)


def _extreme(choose: Callable[[Iterable[Fraction]], Fraction], costs: Sequence[Cost]) -> Cost:
    """Return the largest or the smallest value of each measure; rho where any cost has one."""
    rhos = [cost.rho for cost in costs if cost.rho is not None]
    epsilon, delta = choose(cost.epsilon for cost in costs), choose(cost.delta for cost in costs)
    return Cost(epsilon, delta, choose(rhos) if rhos else None)
