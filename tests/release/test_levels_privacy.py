"""Totals do not give away more than the claim: all small neighbouring tables, exactly, and an attack on whole releases.

Geometric noise with ratio a has P(y | c) / P(y | c') <= a^-|c - c'| for every report y, and reports that attain it. So
the largest ratio of the probabilities of any outcome under two tables is the product of these over all cells of all
levels.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import beta

from discreet.engines.base import Counting
from discreet.engines.reference import count_rows
from discreet.errors import InvalidInput
from discreet.exact.bits import SeededBits
from discreet.exact.rationals import exp_bounds
from discreet.optimise.noise.bounded import bounded_noise
from discreet.release.counts import _answer, _Progress
from discreet.release.noise.cells import cell_noise
from discreet.release.plan.planning import plan_release
from discreet.release.pricing import composition
from discreet.release.protection import Change, Protection
from support.made_sources import Ready
from support.refusals import refused

KEY = bytes(16)
CONFIDENCE = 1e-3

LEAVES = [(region, county) for region in (1, 2) for county in (1, 2)]
SUBSETS = [tuple(leaf for k, leaf in enumerate(LEAVES) if bits >> k & 1) for bits in range(16)]
SHAPES = {
    "rollup": "ROLLUP (region, county)",
    "cube": "CUBE (region, county)",
    "leaves and total": "GROUPING SETS ((region, county), ())",
}


def planned(grouping: str, k: int, relation: str = "add-remove", **more):
    options = {"epsilon": 1, "domain": {"region": (1, 2), "county": (1, 2)}, "unit": "person"} | more
    question = f"SELECT region, county, COUNT(*) FROM visits GROUP BY {grouping}"
    return plan_release(question, data="visits", max_groups=k, relation=relation, **options)


def counted(plan, people) -> list[np.ndarray]:
    """The true counts of each level, by the plain counter and plain sums."""
    table = plan.tables[0]
    rows = [{"person": name, "region": r, "county": c} for name, own in people.items() for r, c in own]
    leaves = count_rows(rows, Counting(table.question, table.groups, "person", plan.protection.max_groups, b"key"))[
        :, 0
    ]
    found = []
    for columns in table.question.levels:
        sums: dict[tuple, int] = {}
        for label, count in zip(LEAVES, leaves.tolist(), strict=True):
            place = tuple(label[c] for c in columns)
            sums[place] = sums.get(place, 0) + count
        found.append(np.array(list(sums.values())))
    return found


def neighbours(relation: str):
    """Tables of two people with any of four groups each, and the tables beside them."""
    for other in (SUBSETS[0], SUBSETS[5], SUBSETS[15]):
        for own in SUBSETS:
            changed = SUBSETS if relation == "substitution" else [()]
            for new in changed:
                yield {"ann": other, "zoe": own}, {"ann": other, "zoe": new}


def ratios(plan) -> list[Fraction]:
    return [level.noise.shift_law.ratio for level in plan.tables[0].levels]


def largest_ratio(plan) -> Fraction:
    """The largest ratio of probabilities of one outcome under two neighbouring tables, over all of them."""
    laws, best, known = ratios(plan), Fraction(1), {}
    for one, other in neighbours(plan.protection.relation):
        first, second = (known.setdefault(str(table), None) or counted(plan, table) for table in (one, other))
        known[str(one)], known[str(other)] = first, second
        moved = [int(np.abs(a - b).sum()) for a, b in zip(first, second, strict=True)]
        best = max(best, math.prod(law**-steps for law, steps in zip(laws, moved, strict=True)))
    return best


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_outcome_of_small_tables_exceeds_the_claim(shape: str, k: int, relation: str) -> None:
    plan = planned(SHAPES[shape], k, relation)
    bound = exp_bounds(plan.cost.epsilon)[1]
    worst = largest_ratio(plan)
    assert worst <= bound
    if relation == "add-remove":  # and the claim is no larger than need be
        assert worst > Fraction(99, 100) * bound


def test_a_total_that_is_taken_to_move_by_one_is_caught(monkeypatch) -> None:
    """The planted bug: people in two groups move a total by two, and its noise hides one."""
    right = Protection.level_changes

    def wrong(self, question, shape):
        return tuple(Change(min(change.l1, 1), 1) for change in right(self, question, shape))

    monkeypatch.setattr(Protection, "level_changes", wrong)
    plan = planned(SHAPES["rollup"], 2)
    assert largest_ratio(plan) > Fraction(math.e) * Fraction(3, 2)


def test_the_law_of_all_outcomes_of_a_tiny_table() -> None:
    """Two groups and their total: every outcome in a window, its probability under both tables in fractions."""
    plan = plan_release(
        "SELECT county, COUNT(*) FROM visits GROUP BY ROLLUP (county)", data="visits", unit="person", max_groups=2,
        domain={"county": (1, 2)}, epsilon=1,
    )  # fmt: skip
    laws = [level.noise.shift_law for level in plan.tables[0].levels]
    bound = exp_bounds(Fraction(1))[1]
    worst = Fraction(0)
    for first, second in (((1, 1, 2), (0, 0, 0)), ((1, 0, 1), (0, 0, 0)), ((2, 1, 3), (1, 0, 1))):
        for outcome in product(range(-2, 5), repeat=3):
            p, q = (
                math.prod(
                    laws[min(k, 2) // 2].probability(y - c) for k, (y, c) in enumerate(zip(outcome, truth, strict=True))
                )
                for truth in (first, second)
            )
            worst = max(worst, p / q, q / p)
    assert Fraction(99, 100) * bound < worst <= bound


@pytest.mark.parametrize("k", [1, 3])
def test_the_rho_of_gaussian_totals_is_that_of_the_worst_table(k: int, monkeypatch) -> None:
    def worst(plan) -> Fraction:
        laws = [level.noise.shift_law for level in plan.tables[0].levels]
        return max(
            sum(Fraction(int(((a - b) ** 2).sum())) / (2 * law.sigma2) for a, b, law in zip(*sides, laws, strict=True))
            for sides in ((counted(plan, one), counted(plan, other)) for one, other in neighbours("add-remove"))
        )

    options = {"mechanism": "discrete-gaussian", "delta": "1e-6"}
    plan = planned(SHAPES["rollup"], k, **options)
    assert worst(plan) <= plan.cost.rho
    if k == 1:
        return
    right = Protection.level_changes
    monkeypatch.setattr(
        Protection, "level_changes", lambda *args: tuple(Change(one.l1, one.l1) for one in right(*args))
    )
    wrong = planned(SHAPES["rollup"], k, **options)
    assert worst(wrong) > wrong.cost.rho  # squared L2 is k^2 in one node, not k


def test_noise_that_is_judged_for_steps_of_one_is_refused() -> None:
    """Bounded noise has a delta for one step; two steps at once cost more than two of it."""
    noise = cell_noise(bounded_noise(1, reach=6, stay="1/4"))
    table = SimpleNamespace(changes=[(noise, Change(2, 4))])
    with refused(InvalidInput, "max_groups"):
        composition([table])
    composition([SimpleNamespace(changes=[(noise, Change(2, 2))])])


# ------------------------------------------------------------------------------------------------ an attack


RUNS = 4_000


class Counted(Ready):
    """A source with the counts of some rows, by the plain counter."""

    def __init__(self, rows) -> None:
        self.rows = [{"person": person, "site": site} for person, site in rows]

    def count(self, countings):
        return [count_rows(self.rows, one) for one in countings]


def attacked(seed: int) -> float:
    """What an attacker shows who knows everyone but zoe: a lower bound of epsilon, 99.9% sure on either side.

    Zoe is in both groups, so that she moves each by one and the total by two.
    """
    others = [("ann", 1), ("bob", 2), ("cem", 3)]
    plan = plan_release(
        "SELECT site, COUNT(*) FROM visits GROUP BY ROLLUP (site)", data="visits", unit="person",
        domain={"site": range(1, 3)}, max_groups=2, epsilon=1,
    )  # fmt: skip
    weights = [-math.log(ratio) for ratio in ratios(plan)]
    seen = []
    for rows, own in ((others + [("zoe", 1), ("zoe", 2)] * 5, seed), (others, seed + 1)):
        bits = SeededBits(own)
        answers = (json.loads(_answer(plan, Counted(rows), KEY, bits, _Progress())) for _ in range(RUNS))
        drawn = np.array([answer["counts"][0] for answer in answers])
        seen.append(drawn @ np.array([weights[0], weights[0], weights[1]]))
    best = 0.0
    for threshold in np.quantile(np.concatenate(seen), np.linspace(0.02, 0.98, 25)):
        for one, other in (seen, seen[::-1]):
            for p, q in (((one >= threshold).sum(), (other >= threshold).sum()),
                         ((one < threshold).sum(), (other < threshold).sum())):  # fmt: skip
                low = beta.ppf(CONFIDENCE, p, RUNS - p + 1) if p else 0.0
                high = beta.ppf(1 - CONFIDENCE, q + 1, RUNS - q) if q < RUNS else 1.0
                best = max(best, math.log(low / high)) if low else best
    return best


def test_an_attacker_of_totals_cannot_show_more_than_the_claim() -> None:
    assert 0.3 < attacked(1) < 1


def test_an_attacker_shows_a_planted_bug(monkeypatch) -> None:
    """As if a level moved by one when a person moves two of its groups by one and its total by two."""
    monkeypatch.setattr(
        Protection, "level_changes", lambda self, question, shape: tuple(Change(1, 1) for _ in shape.levels)
    )
    assert attacked(1) > 1
