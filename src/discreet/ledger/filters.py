"""Privacy filters: how the costs of releases add up when each may depend on the answers before it.

- "sum": epsilons and deltas add up. Valid when each question, its epsilon and its delta are chosen adaptively
  (Rogers, Roth, Ullman, Vadhan 2016, Privacy odometers and filters).
- "zcdp": the rho of zero-concentrated privacy adds up to at most the largest rho that implies the budget. Valid when
  each rho is chosen adaptively (Feldman, Zrnic 2021, Individual privacy accounting via a Renyi filter; Whitehouse,
  Ramdas, Rogers, Wu 2023, Fully-adaptive composition in differential privacy).
- "either": a release is paid if, with it, the sum of all epsilons or the sum of all rho is within the budget. The proof
  is in docs/formulas.md (formula-either). A part of delta may be set aside for releases with a delta of their own, such
  as the discovery of groups: delta-approximate privacy, whose deltas add up to at most that part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction

from ..errors import InvalidInput, arg
from .budget import Cost, Tally, epsilon_of, pure_epsilon, rho_of, short


@dataclass(frozen=True)
class Filter(ABC):
    """A rule by which costs add up, with the budget that it keeps to.

    Attributes
    ----------
    epsilon, delta
        The budget.
    own_delta
        The part of delta for releases with a delta of their own.
    rho
        The largest sum of rho; None where rho does not add up.
    """

    epsilon: Fraction
    delta: Fraction
    own_delta: Fraction
    rho: Fraction | None

    @abstractmethod
    def charge(self, cost: Cost) -> Tally:
        """Return what a cost adds to the sums; refuse a cost that this filter cannot count."""

    @abstractmethod
    def allow(self, spent: Tally) -> bool:
        """Return whether the budget pays for these sums."""

    @abstractmethod
    def spent(self, spent: Tally) -> Cost:
        """Return the sums for people."""

    @abstractmethod
    def left(self, spent: Tally) -> Cost:
        """Return the maximum cost of one more release."""

    @abstractmethod
    def missing(self, total: Tally) -> Cost:
        """Return what the budget lacks for these sums, which it does not pay for."""

    @abstractmethod
    def refusal(self, spent: Tally, charge: Tally) -> str:
        """Put in words what was asked for and what is left, for each measure that does not suffice."""

    @abstractmethod
    def measures(self) -> list[str]:
        """Return the measures that add up: epsilon, delta, rho."""

    def budget_of(self, measure: str) -> Fraction:
        """Return the budget in a measure."""
        return {"epsilon": self.epsilon, "delta": self.own_delta, "rho": self.rho or Fraction(0)}[measure]


class SumFilter(Filter):
    """Epsilons add up, and deltas add up."""

    def charge(self, cost: Cost) -> Tally:
        return Tally(cost.epsilon, cost.delta, cost.rho or Fraction(0), int(cost.rho is None))

    def allow(self, spent: Tally) -> bool:
        return spent.epsilon <= self.epsilon and spent.delta <= self.delta

    def spent(self, spent: Tally) -> Cost:
        return spent.total

    def left(self, spent: Tally) -> Cost:
        return Cost(self.epsilon - spent.epsilon, self.delta - spent.delta)

    def missing(self, total: Tally) -> Cost:
        return Cost(_excess(total.epsilon, self.epsilon), _excess(total.delta, self.delta))

    def refusal(self, spent: Tally, charge: Tally) -> str:
        left = self.left(spent)
        lines = (
            ("epsilon", self.epsilon, charge.epsilon, left.epsilon),
            ("delta", self.delta, charge.delta, left.delta),
        )
        return "; ".join(_account(*line) for line in lines if line[2] > line[3])

    def measures(self) -> list[str]:
        return ["epsilon", "delta"] if self.delta else ["epsilon"]


class ConcentratedFilter(Filter):
    """Rho adds up; spent epsilon is what rho implies at the budget's delta."""

    def charge(self, cost: Cost) -> Tally:
        rho = cost.concentrated()
        if rho is None:
            raise InvalidInput(
                "this ledger adds up zero-concentrated privacy (filter zcdp), and the cost has a delta and no rho.",
                "Use noise with a pure epsilon, or the discrete Gaussian.",
            )
        return Tally(cost.epsilon, cost.delta, rho)

    def allow(self, spent: Tally) -> bool:
        return not spent.without_rho and spent.rho <= self.budget_of("rho")

    def spent(self, spent: Tally) -> Cost:
        return Cost(epsilon_of(spent.rho, self.delta), self.delta if spent.rho else Fraction(0), spent.rho)

    def left(self, spent: Tally) -> Cost:
        rest = self.budget_of("rho") - spent.rho
        return Cost(pure_epsilon(rest), Fraction(0), rest)

    def missing(self, total: Tally) -> Cost:
        return Cost(Fraction(0), Fraction(0), _excess(total.rho, self.budget_of("rho")))

    def refusal(self, spent: Tally, charge: Tally) -> str:
        left = self.left(spent)
        room = f" (a pure epsilon of {short(left.epsilon, up=False)})"
        return _account("rho", self.budget_of("rho"), charge.rho, left.rho or Fraction(0)) + room

    def measures(self) -> list[str]:
        return ["rho"]


class EitherFilter(Filter):
    """Epsilons add up and rho adds up, and one of the two sums must be within the budget.

    A release whose delta comes from its rho alone, such as the discrete Gaussian, has no epsilon that is certain: with
    it, only rho pays. The deltas of other releases add up to at most the part that was set aside.
    """

    def charge(self, cost: Cost) -> Tally:
        if cost.delta and cost.rho is not None:
            return Tally(rho=cost.rho, without_epsilon=1)
        if cost.delta and not self.own_delta:
            raise InvalidInput(
                "this ledger has set aside no delta (filter either), and the cost has a delta of its own and no rho.",
                "Use noise with a pure epsilon, or the discrete Gaussian; or a ledger that was made with "
                f"{arg('own_delta', '5e-7')}.",
            )
        rho = rho_of(cost.epsilon)
        return Tally(cost.epsilon, cost.delta, rho if cost.rho is None else min(rho, cost.rho))

    def pays(self, spent: Tally) -> list[str]:
        """Return the sums that are within the budget: epsilon, rho, both or none."""
        if spent.without_rho or spent.delta > self.own_delta:
            return []
        by_sum = not spent.without_epsilon and spent.epsilon <= self.epsilon
        by_rho = spent.rho <= self.budget_of("rho")
        return ["epsilon"] * by_sum + ["rho"] * by_rho

    def allow(self, spent: Tally) -> bool:
        return bool(self.pays(spent))

    def spent(self, spent: Tally) -> Cost:
        implied = epsilon_of(spent.rho, self.delta - self.own_delta)
        if spent.without_epsilon or implied < spent.epsilon:
            return Cost(implied, self.delta - self.own_delta + spent.delta, spent.rho)
        return Cost(spent.epsilon, spent.delta, spent.rho)

    def left(self, spent: Tally) -> Cost:
        by_rho = max(self.budget_of("rho") - spent.rho, Fraction(0))
        by_sum = Fraction(0) if spent.without_epsilon else max(self.epsilon - spent.epsilon, Fraction(0))
        return Cost(max(by_sum, pure_epsilon(by_rho)), self.own_delta - spent.delta, by_rho)

    def missing(self, total: Tally) -> Cost:
        epsilon = _excess(total.epsilon, self.epsilon)
        rho = _excess(total.rho, self.budget_of("rho"))
        delta = _excess(total.delta, self.own_delta)
        if not (epsilon or total.without_epsilon) or not rho:
            return Cost(Fraction(0), delta)
        if total.without_epsilon or rho / self.budget_of("rho") < epsilon / self.epsilon:
            return Cost(Fraction(0), delta, rho)
        return Cost(epsilon, delta)

    def refusal(self, spent: Tally, charge: Tally) -> str:
        words = []
        if charge.delta > self.own_delta - spent.delta:
            words.append(_account("delta", self.own_delta, charge.delta, self.own_delta - spent.delta))
        if not self.pays(replace(spent + charge, delta=Fraction(0))):
            left = self.left(spent)
            rho = _account("rho", self.budget_of("rho"), charge.rho, left.rho or Fraction(0))
            if spent.without_epsilon or charge.without_epsilon:
                words.append(f"{rho} (a pure epsilon of {short(left.epsilon, up=False)})")
            else:
                rest = max(self.epsilon - spent.epsilon, Fraction(0))
                words.append(f"neither sum pays: {_account('epsilon', self.epsilon, charge.epsilon, rest)}; {rho}")
        return "; ".join(words)

    def measures(self) -> list[str]:
        return ["epsilon", "rho", *["delta"] * bool(self.own_delta)]


#: Names of the filters -> their rules.
FILTERS: dict[str, type[Filter]] = {"sum": SumFilter, "zcdp": ConcentratedFilter, "either": EitherFilter}


def _excess(total: Fraction, budget: Fraction) -> Fraction:
    return max(total - budget, Fraction(0))


def _account(what: str, budget: Fraction, cost: Fraction, left: Fraction) -> str:
    rest = f"{short(left, up=False)} of {short(budget, up=False)} is left"
    return f"you asked for {what} {short(cost, up=True)}, and {rest}"
