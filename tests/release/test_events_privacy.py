"""Events do not give away more than the claim: all small neighbouring tables, exactly, and planted faults.

Geometric noise with ratio a has P(y | c) / P(y | c') <= a^-|c - c'| for every report y, and reports that attain it. So
the largest ratio of the probabilities of any outcome under two tables is the product of these over all cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from types import SimpleNamespace

import numpy as np
import pytest

import discreet as dc
from discreet.engines.reference import count_rows
from discreet.errors import InvalidInput
from discreet.exact.kernels import Noise
from discreet.exact.laws import Finite
from discreet.exact.rationals import exp_bounds
from discreet.privacy.steps import verify_steps
from discreet.release.noise.cells import cell_noise
from discreet.release.plan.planning import plan_release
from discreet.release.pricing import composition
from discreet.release.protection import Change, Protection
from support.refusals import refused

#: The rows that a person can have: two groups, and a condition that is met or not.
ROWS = [(site, ill) for site in (1, 2) for ill in (0, 1)]
#: All people with up to three rows, some of them alike.
PEOPLE = [rows for many in range(4) for rows in combinations_with_replacement(ROWS, many)]
MEASURES = {
    "one": "COUNT(*)",
    "exclusive": "COUNT_IF(ill = 1) AS ill, COUNT_IF(ill = 0) AS well",
    "overlapping": "COUNT(*), COUNT_IF(ill = 1) AS ill",
}


def planned(measures: str = "one", k: int = 1, c: int = 2, relation: str = "add-remove", by: str = "site", **more):
    options = {"epsilon": 1, "domain": {"site": (1, 2)}, "unit": "person"} | more
    question = f"SELECT site, {MEASURES[measures]} FROM visits GROUP BY {by}"
    return plan_release(question, data="visits", max_groups=k, max_rows=c, relation=relation, **options)


def counted(plan, people, cap: int | None = None) -> list[np.ndarray]:
    """The true counts of each level, by the plain counter and plain sums; of other caps for a planted fault."""
    table = plan.tables[0]
    rows = [{"person": name, "site": site, "ill": ill} for name, own in people.items() for site, ill in own]
    counting = table.counting(plan.protection, b"key")
    if cap is not None:
        object.__setattr__(counting, "max_rows", cap)
    leaves = count_rows(rows, counting)
    return [leaves if columns else leaves.sum(axis=0, keepdims=True) for columns in table.question.levels or ((0,),)]


def changes(plan, cap: int | None = None) -> Iterator[list[np.ndarray]]:
    """The changes of the counts of each level, over all neighbouring tables beside a fixed person."""
    beside = {"eve": ((1, 1), (1, 0), (2, 0))}
    counts = {own: counted(plan, {**beside, "zoe": own}, cap) for own in PEOPLE}
    for own, other in product(PEOPLE, PEOPLE if plan.protection.relation == "substitution" else [()]):
        yield [one - another for one, another in zip(counts[own], counts[other], strict=True)]


def largest_ratio(plan, cap: int | None = None) -> Fraction:
    laws = [noise.shift_law.ratio for noise, _ in plan.tables[0].changes]
    return max(
        math.prod(law ** -int(np.abs(change).sum()) for law, change in zip(laws, moved, strict=True))
        for moved in changes(plan, cap)
    )


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
@pytest.mark.parametrize("c", [1, 2])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("measures", MEASURES)
def test_no_outcome_of_small_tables_exceeds_the_claim(measures: str, k: int, c: int, relation: str) -> None:
    plan = planned(measures, k, c, relation)
    bound, worst = exp_bounds(plan.cost.epsilon)[1], largest_ratio(plan)
    assert worst <= bound
    if k * c * (2 if measures == "exclusive" else 1) <= 3:  # people of three rows reach it: the claim is not too large
        assert worst > Fraction(99, 100) * bound


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
@pytest.mark.parametrize(("k", "c"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_no_outcome_with_totals_exceeds_the_claim(k: int, c: int, relation: str) -> None:
    plan = planned("exclusive", k, c, relation, by="ROLLUP (site)")
    assert largest_ratio(plan) <= exp_bounds(plan.cost.epsilon)[1]


@pytest.mark.parametrize("by", ["site", "ROLLUP (site)"])
@pytest.mark.parametrize(("k", "c"), [(1, 1), (1, 3), (2, 2)])
def test_the_rho_of_gaussian_events_is_that_of_the_worst_table(by: str, k: int, c: int) -> None:
    plan = planned("overlapping", k, c, by=by, mechanism="discrete-gaussian", delta="1e-6")
    sigmas = [noise.shift_law.sigma2 for noise, _ in plan.tables[0].changes]
    worst = max(
        sum(Fraction(int((one**2).sum())) / (2 * sigma2) for one, sigma2 in zip(moved, sigmas, strict=True))
        for moved in changes(plan)
    )
    assert worst <= plan.cost.rho  # type: ignore[operator]
    if (k, c) == (1, 3):
        assert worst == plan.cost.rho


# ------------------------------------------------------------------------------------------------ planted faults


def test_one_row_too_many_is_caught() -> None:
    plan = planned(c=2)
    assert largest_ratio(plan, cap=3) > exp_bounds(plan.cost.epsilon)[1]


def test_exclusive_conditions_that_are_priced_once_are_caught(monkeypatch) -> None:
    """One row meets one of them, but two rows of a person meet both."""
    monkeypatch.setattr(Protection, "_aggregates_at_once", lambda self, question: question.most_at_once)
    plan = planned("exclusive", c=1)
    assert largest_ratio(plan) > exp_bounds(plan.cost.epsilon)[1] * 2


def test_a_total_that_moves_by_the_number_of_groups_is_caught(monkeypatch) -> None:
    """It moves by k times c."""
    right = Protection.level_changes

    def wrong(self, question, shape):
        units = Protection(self.unit, self.relation, self.max_groups)
        leaves, total = right(self, question, shape)[0], right(units, question, shape)[1]
        return leaves, total

    monkeypatch.setattr(Protection, "level_changes", wrong)
    plan = planned(k=1, c=3, by="ROLLUP (site)")
    assert largest_ratio(plan) > exp_bounds(plan.cost.epsilon)[1] * Fraction(3, 2)


def test_a_square_that_grows_with_the_cap_alone_is_caught(monkeypatch) -> None:
    """The squared change of a cell is c squared, not c."""
    right = Protection.change
    monkeypatch.setattr(Protection, "change", lambda *args: Change(right(*args).l1, right(*args).l1))
    monkeypatch.setattr(Change, "uniform", classmethod(lambda cls, cells, step: cls(cells * step, cells * step)))
    plan = planned(c=3, mechanism="discrete-gaussian", delta="1e-6")
    sigma2 = plan.tables[0].noise.shift_law.sigma2  # type: ignore[union-attr]
    assert max(Fraction(int((moved[0] ** 2).sum())) / (2 * sigma2) for moved in changes(plan)) > plan.cost.rho * 2


# ------------------------------------------------------------------------------------------------ steps up to c


def truncated(ratio: Fraction, reach: int) -> dc.Mechanism:
    """Geometric noise cut off at its reach: pure but for the outermost values."""
    weights = [ratio ** abs(z) for z in range(-reach, reach + 1)]
    scale = math.lcm(*(weight.denominator for weight in weights))
    law = Finite(-reach, tuple(int(weight * scale) for weight in weights))
    return SimpleNamespace(kernel=Noise(law, (0, None), (None, None)), inputs=dc.Integers(low=0))  # type: ignore[return-value]


def delta_of_steps(law: Finite, steps: int, factor: Fraction) -> Fraction:
    """The delta of a shift by this many, term by term."""
    span = range(law.low - steps, law.high + steps + 1)
    return sum((max(law.probability(z) - factor * law.probability(z - steps), Fraction(0)) for z in span), Fraction(0))


def test_truncated_noise_is_judged_for_all_steps() -> None:
    """With ratio 1/2 and reach 3, delta is 1/22 for one step and three times as much for two: not twice."""
    noise = truncated(Fraction(1, 2), 3)
    law = noise.kernel.law  # type: ignore[attr-defined]
    one = verify_steps(noise.kernel, noise.inputs, 1).evidence.delta_bounds(Fraction(69315, 100000))[0][1]
    two = verify_steps(noise.kernel, noise.inputs, 2).evidence.delta_bounds(2 * Fraction(69315, 100000))[0][1]
    assert float(one) == pytest.approx(float(delta_of_steps(law, 1, Fraction(2))), rel=1e-4)
    assert float(one) == pytest.approx(1 / 22, rel=1e-4) and float(two) == pytest.approx(3 / 22, rel=1e-4)


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
@pytest.mark.parametrize("clamped", [False, True])
def test_the_delta_of_steps_is_that_of_every_pair_of_counts(steps: int, clamped: bool) -> None:
    """A table of all counts, pair by pair, for noise of finite reach, clamped or not."""
    noise = dc.bounded_noise(epsilon="0.7", reach=3, stay="1/3")
    finite = noise.on(dc.Counts(12), clamp=True) if clamped else noise
    verdict = verify_steps(finite.kernel, finite.inputs, steps)
    for epsilon in (Fraction(1, 2), Fraction(7, 5)):
        factor = exp_bounds(epsilon)[0]
        reports = range(-3, 16)
        rows = [[finite.kernel.probability(truth, y) for y in reports] for truth in range(13)]
        worst = max(
            sum((max(p - factor * q, Fraction(0)) for p, q in zip(rows[one], rows[other], strict=True)), Fraction(0))
            for one in range(13)
            for other in range(13)
            if 0 < abs(one - other) <= steps
        )
        assert verdict.delta(epsilon) == pytest.approx(float(worst), rel=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_a_table_is_judged_for_all_steps(steps: int) -> None:
    table = dc.explicit_fair(9, alpha="1/2")
    matrix = table.matrix
    worst = max(
        float(np.max(np.log(matrix[i] / matrix[j]))) for i in range(10) for j in range(10) if 0 < abs(i - j) <= steps
    )
    assert verify_steps(table.kernel, table.inputs, steps).epsilon == pytest.approx(worst, rel=1e-12)


@cache
def truncated_cells() -> dc.Mechanism:
    return dc.bounded_noise(epsilon=1, reach=4, stay="1/4")


@pytest.mark.parametrize("k", [1, 2])
def test_the_whole_law_of_truncated_noise_keeps_its_delta(k: int) -> None:
    """All outcomes of two groups: the exact delta of every neighbouring table is within the claim."""
    plan = planned(k=k, c=2, epsilon=None, mechanism=truncated_cells())
    law = plan.tables[0].noise.mechanisms[0].kernel.law  # type: ignore[union-attr]
    factor = exp_bounds(plan.cost.epsilon)[0]
    span = range(law.low - 2, law.high + 3)
    worst = Fraction(0)
    for shifts in {tuple(np.abs(moved[0]).reshape(-1).tolist()) for moved in changes(plan)}:
        delta = Fraction(0)
        for outcome in product(span, repeat=2):
            p = math.prod(law.probability(z) for z in outcome)
            q = math.prod(law.probability(z - shift) for z, shift in zip(outcome, shifts, strict=True))
            delta += max(p - factor * q, Fraction(0))
        worst = max(worst, delta)
    assert worst <= plan.cost.delta
    if k == 1:  # people of three rows reach it; a delta for each step would be too little
        assert worst > 2 * Fraction(truncated_cells().certificate.delta)


def test_noise_of_many_sizes_with_a_delta_is_refused_for_larger_steps() -> None:
    noise = cell_noise(truncated_cells(), bound=None)
    two = SimpleNamespace(mechanisms=noise.mechanisms * 2, shift_law=None)
    with refused(InvalidInput, token="sizes"):
        composition([SimpleNamespace(changes=[(two, Change.uniform(2, 3))])])  # type: ignore[list-item]
