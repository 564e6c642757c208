"""The filter that pays if either sum fits: every adaptive sequence of small mechanisms stays within the budget.

The search is complete for its grid. A pure release is a post-processing of randomised response with its epsilon, so
a strategy that asks randomised responses, each chosen by all answers so far, is the worst of its kind. Losses are
multiples of log(5/4), so the largest delta of all strategies is an exact fraction, found by dynamic programming.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, InvalidInput
from discreet.exact.rationals import log_bounds
from discreet.ledger.budget import Cost, Tally, largest_rho, rho_of
from discreet.ledger.ledger import Ledger
from discreet.ledger.terms import LedgerTerms
from support.ledgers import fill, make, pay, rebuilt
from support.refusals import refused

MILLIONTH = Fraction(1, 10**6)

# ------------------------------------------------------------------------------------------------ the search

#: Ratio of the two probabilities of the weakest response; the losses of all are multiples of its logarithm.
RATIO = Fraction(5, 4)
STEP = log_bounds(RATIO)[1]  # rounded up: a response costs at least its loss


@dataclass(frozen=True)
class Ask:
    """A question of the search: a randomised response of so many steps, which reveals everything with ``delta``."""

    steps: int
    delta: Fraction = Fraction(0)
    by_rho_alone: bool = False

    @property
    def cost(self) -> Cost:
        epsilon = self.steps * STEP
        if self.by_rho_alone:  # as the discrete Gaussian states its cost
            return Cost(epsilon, MILLIONTH, rho_of(epsilon))
        return Cost(epsilon, self.delta)


#: The numbers of each question that were asked -> whether they may have been.
Rule = Callable[[tuple[int, ...]], bool]


def largest_delta(asks: tuple[Ask, ...], budget_steps: int, rule: Rule, depth: int) -> Fraction:
    """The largest E[(1 - e^(epsilon - loss))+] of all strategies, which choose each question by the answers so far."""

    @cache
    def worst(loss: int, numbers: tuple[int, ...]) -> Fraction:
        best = max(1 - RATIO ** (budget_steps - loss), Fraction(0))  # to stop here
        if sum(numbers) == depth:
            return best
        for k, ask in enumerate(asks):
            after = (*numbers[:k], numbers[k] + 1, *numbers[k + 1 :])
            if rule(after):
                high = RATIO**ask.steps / (1 + RATIO**ask.steps)
                pure = high * worst(loss + ask.steps, after) + (1 - high) * worst(loss - ask.steps, after)
                best = max(best, ask.delta + (1 - ask.delta) * pure)
        return best

    return worst(0, (0,) * len(asks))


def total(terms: LedgerTerms, asks: tuple[Ask, ...], numbers: tuple[int, ...]) -> Tally:
    paid = [terms.charge(ask.cost) for ask, number in zip(asks, numbers, strict=True) for _ in range(number)]
    return sum(paid, start=Tally())


def by_the_filter(terms: LedgerTerms, asks: tuple[Ask, ...]) -> Rule:
    return cache(lambda numbers: terms.allow(total(terms, asks, numbers)))


def terms_of(steps: int, delta: str | Fraction, own_delta: object = 0, filter: str = "either") -> LedgerTerms:
    return LedgerTerms.new("d", "row", "add-remove", steps * STEP, delta, filter, own_delta=own_delta)


PURE = (Ask(1), Ask(2), Ask(3), Ask(5))


@pytest.mark.parametrize("steps", [2, 4, 7])
@pytest.mark.parametrize("delta", ["1/4", "1/10", "1/100"])
def test_no_adaptive_sequence_of_pure_releases_exceeds_the_budget(steps: int, delta: str) -> None:
    terms = terms_of(steps, delta)
    by_either = largest_delta(PURE, steps, by_the_filter(terms, PURE), 8)
    by_rho = largest_delta(PURE, steps, by_the_filter(terms_of(steps, delta, filter="zcdp"), PURE), 8)
    assert by_either == by_rho <= Fraction(delta)  # as the proof has it
    assert largest_delta(PURE, steps, by_the_filter(terms_of(steps, 0, filter="sum"), PURE), 8) == 0


def test_the_search_comes_near_the_budget_where_rho_pays() -> None:
    """A control: the strategies that it finds do lose much, where there are enough questions to ask."""
    assert largest_delta(PURE, 4, by_the_filter(terms_of(4, "1/4"), PURE), 8) > Fraction(1, 4) / 5


MIXED = (Ask(1), Ask(3), Ask(2, by_rho_alone=True), Ask(1, Fraction(1, 40)), Ask(0, Fraction(1, 20)))


@pytest.mark.parametrize(("steps", "own_delta"), [(2, "1/20"), (4, "1/10"), (4, "1/40"), (6, "3/20")])
def test_no_adaptive_sequence_with_deltas_of_its_own_exceeds_the_budget(steps: int, own_delta: str) -> None:
    terms = terms_of(steps, "1/5", own_delta)
    exact = largest_delta(MIXED, steps, by_the_filter(terms, MIXED), 7)
    assert Fraction(own_delta) / 2 < exact <= Fraction(1, 5)


# ------------------------------------------------------------------------------------------------ wrong filters


def parts_of_each(terms: LedgerTerms, asks: tuple[Ask, ...]) -> Rule:
    """A wrong filter: each sum adds up only what it paid itself."""

    def rule(numbers: tuple[int, ...]) -> bool:
        epsilon = rho = Fraction(0)
        for ask, number in zip(asks, numbers, strict=True):
            for _ in range(number):
                one = terms.charge(ask.cost)
                if epsilon + one.epsilon <= terms.epsilon:
                    epsilon += one.epsilon
                else:
                    rho += one.rho
        return rho <= (terms.rho or 0)

    return rule


def each_alone(terms: LedgerTerms, asks: tuple[Ask, ...]) -> Rule:
    """A wrong filter: a release is paid if it fits by itself."""
    return lambda numbers: all(terms.allow(terms.charge(ask.cost)) for ask, n in zip(asks, numbers, strict=True) if n)


def unsplit(terms: LedgerTerms, asks: tuple[Ask, ...]) -> Rule:
    """A wrong filter: what a path has not spent of delta implies its rho."""

    def rule(numbers: tuple[int, ...]) -> bool:
        spent = sum((ask.delta * n for ask, n in zip(asks, numbers, strict=True)), start=Fraction(0))
        own = replace(terms, own_delta=min(spent, terms.delta * Fraction(999, 1000)))
        paid = total(own, asks, numbers)
        if spent > terms.delta:
            return False
        if paid.epsilon <= terms.epsilon:
            return True
        return spent < terms.delta and paid.rho <= rho_for(terms.epsilon, terms.delta - spent)

    return cache(rule)


@cache
def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    return largest_rho(epsilon, delta)[0]


@pytest.mark.parametrize("wrong", [parts_of_each, each_alone])
def test_the_search_finds_the_loss_of_filters_that_add_up_parts(wrong: Callable[..., Rule]) -> None:
    terms = terms_of(4, "1/10")
    assert largest_delta(PURE, 4, wrong(terms, PURE), 8) > Fraction(1, 10)


def test_the_search_finds_the_loss_where_each_path_splits_delta_by_itself() -> None:
    asks = (Ask(1), Ask(2), Ask(3), Ask(0, Fraction(1, 5)))
    terms = terms_of(4, "1/5", "1/5000")
    assert largest_delta(asks, 4, unsplit(terms, asks), 8) > Fraction(1, 5)


# ------------------------------------------------------------------------------------------------ what it costs


def test_a_hundred_small_releases_cost_what_rho_implies_and_two_large_ones_their_sum(tmp_path: Path) -> None:
    many = make(tmp_path, epsilon="2.42", delta="1e-6", filter="either")
    fill(many, 100, epsilon="1/20")
    assert Fraction("2.41") < many.spent().epsilon < Fraction("2.42") and many.verify().holds
    (tmp_path / "few").mkdir()
    few = make(tmp_path / "few", epsilon=2, delta="1e-6", filter="either")
    pay(few, "a", 1), pay(few, "b", 1)
    assert few.spent() == Cost(Fraction(2), Fraction(0), 2 * rho_of(Fraction(1))) and few.left().epsilon == 0
    by = {name: terms_of(1, "1e-6", filter=name).rule for name in ("sum", "zcdp")}
    hundred, two = (
        {name: sum([rule.charge(Cost(one))] * n, start=Tally()) for name, rule in by.items()}
        for n, one in ((100, Fraction(1, 20)), (2, Fraction(1)))
    )
    assert by["sum"].spent(hundred["sum"]).epsilon == 5
    assert Fraction("7.41") < by["zcdp"].spent(two["zcdp"]).epsilon < Fraction("7.43")


def test_it_refuses_only_what_neither_sum_pays_and_says_so(tmp_path: Path) -> None:
    ledger = make(tmp_path, epsilon=1, delta="1e-6", filter="either")
    pay(ledger, "a", "0.9")
    with refused(BudgetExceeded, token="neither ... epsilon 0.2 ... 0.1 of ... rho"):
        pay(ledger, "b", "0.2")
    pay(ledger, "b", "0.1")
    assert ledger.statement().to_json()["pays"] == ["epsilon"]
    (tmp_path / "many").mkdir()
    many = make(tmp_path / "many", epsilon=1, delta="1e-6", filter="either")
    fill(many, 30, epsilon="1/30")
    assert many.statement().to_json()["pays"] == ["epsilon", "rho"]
    fill(many, 10, "more", epsilon="1/30")
    assert many.statement().to_json()["pays"] == ["rho"] and many.verify().holds
    with refused(BudgetExceeded, token="neither"):
        pay(many, "c", "1/5")


def test_the_discrete_gaussian_is_paid_by_rho_alone(tmp_path: Path) -> None:
    ledger = make(tmp_path, epsilon=1, delta="1e-6", filter="either")
    pay(ledger, "a", "0.5", delta=MILLIONTH, rho=Fraction(1, 100))
    assert ledger.statement().to_json()["pays"] == ["rho"]
    with refused(BudgetExceeded, token="rho"):
        pay(ledger, "b", "0.5")  # the sum of epsilons would have paid
    assert ledger.spent().rho == Fraction(1, 100) and ledger.spent().epsilon < 1
    paid = pay(ledger, "c", "0.1")
    assert ledger.verify().holds and paid.cost.epsilon == Fraction(1, 10)


def test_a_delta_of_its_own_is_paid_from_the_part_set_aside(tmp_path: Path) -> None:
    ledger = make(tmp_path, delta="1e-6", filter="either")
    with refused(InvalidInput, token="filter either"):
        pay(ledger, "a", 1, delta=MILLIONTH / 10)
    (tmp_path / "aside").mkdir()
    aside = make(tmp_path / "aside", delta="1e-6", filter="either", own_delta="5e-7")
    pay(aside, "a", 1, delta=MILLIONTH / 4)
    with refused(BudgetExceeded, token="delta"):
        pay(aside, "b", 1, delta=MILLIONTH * 3 / 10)
    pay(aside, "b", 1, delta=MILLIONTH / 4)
    pay(aside, "c", 1)
    assert aside.spent() == Cost(Fraction(3), MILLIONTH / 2, 3 * rho_of(Fraction(1))) and aside.verify().holds
    assert aside.terms.rho == largest_rho(Fraction(3), MILLIONTH / 2)[0]


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"delta": 0, "filter": "either"}, "delta"),
        ({"delta": "1e-6", "filter": "either", "own_delta": "1e-6"}, "own_delta"),
        ({"delta": "1e-6", "filter": "zcdp", "own_delta": "1e-7"}, "own_delta"),
        ({"delta": "1e-6", "own_delta": "1e-7"}, "own_delta"),
    ],
)
def test_terms_that_cannot_be_are_refused(tmp_path: Path, given: dict[str, object], argument: str) -> None:
    with refused(InvalidInput, argument=argument):
        make(tmp_path, **given)


def test_a_forged_part_or_rho_is_noticed(tmp_path: Path) -> None:
    for k, changes in enumerate(({"own_delta": "1/2000000"}, {"rho": "1"}, {"version": 4}, {"filter": "sum"})):
        (tmp_path / str(k)).mkdir()
        ledger = make(tmp_path / str(k), delta="1e-6", filter="either")
        pay(ledger, "a", 1)
        rebuilt(ledger, lambda number, kind, content, changes=changes: content.update(changes if number == 1 else {}))  # type: ignore[misc]
        assert not ledger.verify().holds, changes


def test_it_goes_with_periods(tmp_path: Path) -> None:
    ledger = make(tmp_path, epsilon=1, delta="1e-6", filter="either", per="month")
    for k in range(40):
        ledger.reserve(f"small {k}", {}, Cost(Fraction(1, 30)), periods=["2026-03"])
    ledger.reserve("large", {}, Cost(Fraction(1)), periods=["2026-04"])
    rows = ledger.statement().to_json()["periods"]
    assert [(row["period"], row["pays"]) for row in rows] == [  # type: ignore[index, union-attr]
        ("2026-03", ["rho"]), ("2026-04", ["epsilon"]), (None, ["epsilon", "rho"]),
    ]  # fmt: skip
    with refused(BudgetExceeded, token="2026-03"):
        ledger.reserve("all", {}, Cost(Fraction(1, 2)))
    with refused(BudgetExceeded, token="2026-04"):
        ledger.reserve("all", {}, Cost(Fraction(1, 1000)))
    assert isinstance(ledger, Ledger) and ledger.verify().holds and "pays now" in str(ledger.statement())
