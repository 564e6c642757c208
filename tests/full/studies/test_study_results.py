"""The new results: each statement against brute force or a program of another make, and the exhibits that show it.

The linear programs here are written down anew, in floats, and solved by scipy: nothing is shared with ``discreet``.
"""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.estimation.interior import gap_of, solve
from discreet.estimation.model.models import GeometricModel
from discreet.exact.tables import Table
from discreet.mechanisms import bounded
from discreet.optimise.design.closed import fair_diagonal, weakly_honest_cost, weakly_honest_share
from discreet_studies.claims import Verdict
from discreet_studies.results import battery, partition_selection, weak_honesty
from discreet_studies.results.growth import GAP, Sample
from discreet_studies.running import StudyResult
from support.exhibit_checks import check
from support.oracles import linear_minimum

#: One process draws the exhibits, and all tests look at them.
pytestmark = pytest.mark.xdist_group("study of results")

KEYS = ["least-delta", "weak-honesty", "minimax", "partition-selection", "banded", "estimate"]

#: Claims about seconds, which a busy machine can overturn: benchmarks, not tests, hold them.
CLOCKED = {"banded: in proportion", "banded: against dense algebra"}

#: A claim that three surveys each, as a quick run has, may not decide.
CLOSE = {"estimate: early stopping"}


@pytest.fixture(scope="module")
def found() -> StudyResult:
    return dc.study("results", quick=True)


def test_every_result_has_an_exhibit_and_every_claim_holds(found: StudyResult) -> None:
    assert list(found.results) == KEYS
    assert {claim.key for claim in found.claims if claim.verdict is not Verdict.HOLDS} <= CLOCKED | CLOSE
    assert {claim.key.split(":")[0] for claim in found.claims} == {key.replace("-", " ") for key in KEYS}


def test_tables_charts_and_claims_are_whole(found: StudyResult, capfd: pytest.CaptureFixture[str]) -> None:
    check(found.results, capfd)


def test_the_same_seed_gives_the_same_numbers(found: StudyResult) -> None:
    """All but seconds, which are in a table of their own."""
    for key in KEYS[:4]:
        assert dc.study("results", key, quick=True).results[key].tables == found.results[key].tables
    assert set(found.results["banded"].tables) == {"", "seconds"}


# ------------------------------------------------------------------------------------------------ the least delta


def least_delta_of_any_law(E: float, stay: float, reach: int, unbiased: bool = True) -> float:
    """One law for all counts, symmetric or not, errors up to ``reach``: min delta by a linear program."""
    errors = range(-reach, reach + 1)
    size = 2 * reach + 1
    width = size + 2 * (size + 1) + 1  # probabilities, positive parts of both directions, delta
    most, total = [], []
    for direction, shift in enumerate((-1, 1)):
        whole = np.zeros(width)
        for k, z in enumerate(range(-reach - 1, reach + 1) if shift == 1 else range(-reach, reach + 2)):
            row = np.zeros(width)
            if z in errors:
                row[z + reach] = 1.0
            if z + shift in errors:
                row[z + shift + reach] = -E
            part = size + direction * (size + 1) + k
            row[part], whole[part] = -1.0, 1.0
            most.append(row)
        whole[-1] = -1.0
        total.append(whole)
    equal = np.zeros((3 if unbiased else 2, width))
    equal[0, :size], equal[1, reach] = 1.0, 1.0
    if unbiased:
        equal[2, :size] = list(errors)
    cost = np.zeros(width)
    cost[-1] = 1.0
    rows = np.array(most + total)
    return linear_minimum(cost, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=equal, b_eq=[1.0, stay, 0.0][: len(equal)])


@pytest.mark.parametrize("seed", range(40))
def test_the_closed_form_is_the_least_delta_of_all_laws_symmetric_or_not(seed: int) -> None:
    r = random.Random(seed)
    epsilon, stay, reach = Fraction(r.randint(10, 250), 100), Fraction(r.randint(2, 95), 100), r.randint(1, 7)
    formula = float(bounded.least_delta(epsilon, stay, reach))
    least = least_delta_of_any_law(math.exp(epsilon), float(stay), reach)
    if bounded.closed_form_holds(epsilon, stay, reach):
        assert least == pytest.approx(formula, rel=1e-6, abs=1e-9)
        law = bounded.truncated_geometric_law(epsilon, stay, reach)
        p, E = [float(law.probability(z)) for z in range(-reach, reach + 1)], math.exp(epsilon)
        true = sum(max(0.0, a - E * b) for a, b in zip([*p, 0.0], [0.0, *p], strict=True))
        assert true == pytest.approx(formula, rel=1e-9, abs=1e-13)
    else:
        assert least > formula * (1 + 1e-9)


def test_both_sides_of_the_condition_are_met() -> None:
    """Otherwise one branch of the test above would never run."""
    settings = [(Fraction(1, 2), Fraction(k, 100), 4) for k in (5, 10, 40, 60)]
    assert [bounded.closed_form_holds(*one) for one in settings] == [False, False, True, True]


@pytest.mark.parametrize(("epsilon", "stay", "reach"), [("1.1", "0.3", 4), ("0.5", "0.6", 3), ("2.2", "0.8", 5)])
def test_zero_bias_costs_no_delta(epsilon: str, stay: str, reach: int) -> None:
    """The lower bound of the proof does not use it."""
    E = math.exp(float(epsilon))
    free = least_delta_of_any_law(E, float(stay), reach, unbiased=False)
    formula = float(bounded.least_delta(Fraction(epsilon), Fraction(stay), reach))
    assert free == pytest.approx(formula, rel=1e-6, abs=1e-9)


# ------------------------------------------------------------------------------------------------ weak honesty, minimax


def least_wrong(n: int, a: float, weakly_honest: bool, worst_case: bool) -> float:
    """The least mean or worst probability of a wrong report over all private mechanisms on 0..n."""
    size = n + 1
    width = size * size + 1
    at = {(i, j): i * size + j for i in range(size) for j in range(size)}
    most, sides = [], []
    for j, i in itertools.product(range(size), range(n)):
        for one, two in ((i, i + 1), (i + 1, i)):
            row = np.zeros(width)
            row[at[one, j]], row[at[two, j]] = a, -1.0
            most.append(row)
            sides.append(0.0)
    for i in range(size):
        row = np.zeros(width)
        row[at[i, i]] = -1.0
        if weakly_honest:
            most.append(row.copy())
            sides.append(-1 / size)
        if worst_case:
            row[-1] = -1.0
            most.append(row)
            sides.append(-1.0)
    equal = np.zeros((size, width))
    for i in range(size):
        equal[i, [at[i, j] for j in range(size)]] = 1.0
    cost = np.zeros(width)
    if worst_case:
        cost[-1] = 1.0
    else:
        cost[[at[i, i] for i in range(size)]] = -1 / size
    least = linear_minimum(cost, A_ub=np.array(most), b_ub=sides, A_eq=equal, b_eq=np.ones(size))
    return least if worst_case else 1 + least


CASES = [(n, Fraction(alpha)) for n in (1, 2, 3, 4, 7, 8) for alpha in ("1/3", "3/4", "9/10", "24/25")]


@pytest.mark.parametrize(("n", "alpha"), CASES)
def test_weak_honesty_costs_the_closed_form_and_a_mixture_reaches_it(n: int, alpha: Fraction) -> None:
    closed = weakly_honest_cost(n, alpha)
    assert least_wrong(n, float(alpha), weakly_honest=True, worst_case=False) == pytest.approx(float(closed), abs=1e-8)
    table = weak_honesty.mixture(n, alpha)
    assert 1 - sum(table.probability(i, i) for i in range(n + 1)) / Fraction(n + 1) == closed
    assert dc.verify(table).ratio <= 1 / alpha and all(dc.check(table, ["WH", "S", "RH", "RM"]).values())


def test_the_share_of_the_geometric_mechanism_is_one_exactly_where_weak_honesty_is_free() -> None:
    for n, alpha in itertools.product(range(2, 30), (Fraction(1, 2), Fraction(3, 4), Fraction(9, 10))):
        share = weakly_honest_share(n, alpha)
        assert 0 <= share <= 1 and (share == 1) == (n >= 2 * alpha / (1 - alpha))


@pytest.mark.parametrize(("n", "alpha"), CASES)
def test_no_private_mechanism_has_a_better_worst_case_than_the_explicit_fair_one(n: int, alpha: Fraction) -> None:
    least = least_wrong(n, float(alpha), weakly_honest=False, worst_case=True)
    assert least == pytest.approx(float(1 - fair_diagonal(n, alpha)), abs=1e-8)
    assert dc.cost(dc.explicit_fair(n, alpha=alpha), "L0", worst_case=True, exact=True) == 1 - fair_diagonal(n, alpha)


@pytest.mark.parametrize("family", [dc.geometric, dc.explicit_fair])
def test_the_row_of_the_middle_truth_is_full(family) -> None:
    """The identity that both proofs rest on: sum_j a^|m-j| P[j, j] = 1; and no mechanism has more in any row."""
    for n, alpha in itertools.product(range(1, 25), (Fraction(1, 2), Fraction(9, 10))):
        diagonal = [family(n, alpha=alpha).probability(j, j) for j in range(n + 1)]
        rows = [sum(alpha ** abs(i - j) * d for j, d in enumerate(diagonal)) for i in range(n + 1)]
        assert rows[n // 2] == rows[(n + 1) // 2] == 1 == max(rows)


# ------------------------------------------------------------------------------------------------ partition selection


@pytest.mark.parametrize(("alpha", "reach"), [("1/2", 10), ("9/10", 50), ("1/3", 4), ("2/3", 1)])
def test_truncated_noise_names_as_many_groups_as_privacy_allows(alpha: str, reach: int) -> None:
    a = Fraction(alpha)
    delta = a**reach * (1 - a) / (1 + a - 2 * a ** (reach + 1))
    kept = partition_selection.keep_probabilities(a, reach)
    assert kept == partition_selection.most_that_privacy_allows(a, delta, len(kept))
    assert kept[0] == 0 and kept[1] == delta and kept[-1] == 1
    assert partition_selection.true_delta(a, reach) == delta


def test_the_judge_finds_the_same_delta() -> None:
    """Counts 0..2D+1 as truths; not named, D+1, D+2, ... as reports; at an epsilon just above log(1/a)."""
    a, reach = Fraction(1, 3), 4
    rows = [partition_selection.reports(a, reach, n) for n in range(2 * reach + 2)]
    keys: list[int | None] = [None, *range(reach + 1, 3 * reach + 2)]
    scale = math.lcm(*(p.denominator for row in rows for p in row.values()))
    table = Table.from_rows([[int(row.get(key, Fraction(0)) * scale) for key in keys] for row in rows])
    delta = float(partition_selection.naming_delta(a, reach))
    assert dc.verify(table).delta(math.log(3)) == pytest.approx(delta, rel=1e-12)


def test_other_noise_names_fewer_groups() -> None:
    """The negative control: geometric noise without end, at the same epsilon and delta."""
    a, reach = Fraction(9, 10), 50
    delta = partition_selection.naming_delta(a, reach)
    ours = partition_selection.keep_probabilities(a, reach)
    usual = partition_selection.thresholded_geometric(a, delta, len(ours))
    assert all(theirs <= mine for theirs, mine in zip(usual, ours, strict=True))
    assert max(mine - theirs for theirs, mine in zip(usual, ours, strict=True)) > Fraction(1, 2)
    assert usual[1] <= delta


@pytest.mark.parametrize("groups", [2, 3])
def test_several_groups_of_one_person_have_just_the_delta_of_any_of_them_being_named(groups: int) -> None:
    a, reach = Fraction(1, 2), 1
    one = partition_selection.naming_delta(a, reach)
    assert partition_selection.true_delta(a, reach, groups) == 1 - (1 - one) ** groups


# ------------------------------------------------------------------------------------------------ reconstruction


def test_banded_and_dense_steps_end_at_the_same_certified_maximum() -> None:
    sample = Sample.of(200, np.random.default_rng(7))
    banded, dense = GeometricModel(sample.alpha, sample.q), sample.dense()
    ours, theirs = solve(banded, GAP), solve(dense, GAP)
    assert gap_of(banded, ours.p) <= GAP and gap_of(banded, theirs.p) <= 2 * GAP
    assert np.abs(np.cumsum(ours.p - theirs.p)).max() < 0.01


def test_the_ratio_of_errors_has_an_interval_that_widens_with_their_spread() -> None:
    steady = battery.together([{"ratio": 0.5, "log_error": 0.01}, {"ratio": 0.5, "log_error": 0.01}], 8)
    shaky = battery.together([{"ratio": 0.5, "log_error": 0.5}, {"ratio": 0.5, "log_error": 0.5}], 8)
    assert steady[0] == pytest.approx(0.5) == shaky[0]
    assert shaky[1] < steady[1] < 0.5 < steady[2] < shaky[2]
    few = battery.together([{"ratio": 0.5, "log_error": 0.01}, {"ratio": 0.5, "log_error": 0.01}], 2)
    assert few[1] < steady[1]  # few surveys know their spread poorly


def test_the_interval_for_other_populations_widens_with_their_differences() -> None:
    alike = [{"population": name, "ratio": 0.5} for name in "abc"]
    apart = [{"population": name, "ratio": ratio} for name, ratio in (("a", 0.2), ("b", 0.5), ("c", 1.25))]
    assert battery.between_populations(alike) == pytest.approx((0.5, 0.5))
    assert battery.between_populations(apart)[0] < 0.2 and battery.between_populations(apart)[1] > 1.25
