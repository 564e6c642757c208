"""Quantiles of released counts: intervals that hold, on plain tables and on tables with totals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput
from discreet.exact.bits import SeededBits
from discreet.release.counts import _release
from discreet.release.levels.quantiles import Balance, Quantile, find_quantile
from discreet.release.plan.planning import plan_release
from discreet.release.tables.released import ReleasedTable
from support.bundles import answered
from support.made_sources import Ready
from support.refusals import refused


def true_quantile(counts, share: Fraction) -> int:
    total = sum(counts)
    return next(k for k in range(len(counts)) if sum(counts[: k + 1]) >= share * total)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any), st.fractions("1/20", "19/20", max_denominator=20)
)
def test_without_noise_it_is_the_quantile(counts, share) -> None:
    def balance(k: int) -> Balance:
        value = (1 - share) * sum(counts[: k + 1]) - share * sum(counts[k + 1 :])
        return Balance(Fraction(value), Fraction(value), Fraction(value))

    found = find_quantile("age", share, range(len(counts)), balance, Fraction(19, 20))
    assert found.value == found.low == found.high == true_quantile(counts, share)


AGES = [5, 9, 14, 20, 18, 12, 9, 6, 3, 1]


def table_of(question: str, drawn: np.ndarray, plan) -> ReleasedTable:
    table = plan.tables[0]
    return table.from_record({"counts": drawn.tolist()}, table.to_json(), plan.level, "")


PLANS = {
    "totals": ("GROUP BY GROUPING SETS ((half, age), (half), ())", {}),
    "signed": ("GROUP BY half, age", {"counts": "signed"}),
    "clamped": ("GROUP BY half, age", {}),
}


@pytest.mark.parametrize("name", PLANS)
def test_intervals_of_quantiles_hold(name: str) -> None:
    """Seeded releases of one table of ages, in two halves of five: a tree over the ages."""
    grouping, options = PLANS[name]
    groups = [(age // 5, age) for age in range(10)]
    asked = f"SELECT half, age, COUNT(*) FROM people {grouping}"
    plan = plan_release(asked, data="people", unit="person", max_groups=1,
                        groups=groups, epsilon="1/2", level="0.8", **options)  # fmt: skip
    table, runs = plan.tables[0], 25
    for share in (Fraction(1, 2), Fraction(9, 10)):
        truth, held, widths = true_quantile(AGES, share), 0, []
        for seed in range(runs):
            found = table_of("", table.draw(np.array(AGES)[:, None], SeededBits(seed)), plan).quantile("age", share)
            held += found.low <= truth <= found.high
            widths.append(found.high - found.low)
        assert held >= runs * 0.8 - 3 * (runs * 0.16) ** 0.5
        assert np.mean(widths) < (7 if name == "clamped" else 4)


def test_a_release_has_quantiles(book) -> None:
    class Aged(Ready):
        def count(self, countings):
            return [np.array([[4], [30], [7], [5]]) for _ in countings]

    plan = plan_release("SELECT age, COUNT(*) FROM visits GROUP BY ROLLUP (age)", data="visits", unit="person",
                        max_groups=1, domain={"age": [40, 20, 30, None]}, epsilon=60)  # fmt: skip
    release = _release(plan, Aged(), book, None, SeededBits(1))
    found = release.quantile("age")
    # in canonical order: 20 has 4, 30 has 30, 40 has 7, and NULL, which is left out, has 5
    assert (found.value, found.low, found.high, found.places) == (30, 30, 30, (1, 1, 1))
    assert release.quantile("age", "0.95").value == 40 and "30 (95% interval 30 to 30)" in str(found)
    assert found.between([15, 25, 35, 45]) == (25, 35)


def test_what_has_no_quantile_is_refused(book) -> None:
    release = answered(book)
    with refused(InvalidInput, token="texts"):
        release.quantile("health")
    with refused(InvalidInput, "column"):
        release.quantile("age")
    with refused(InvalidInput, "share", given=1):
        release.quantile("site", 1)
    with refused(InvalidInput, "edges"):
        Quantile("x", Fraction(1, 2), 0, 0, 2, Fraction(19, 20), (0, 0, 2)).between([0, 1])
    assert release.quantile("site", cells={"health": "good"}).low >= 1
    assert isinstance(dc.Release.quantile.__doc__, str)
