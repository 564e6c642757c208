"""An estimate in words, and quantiles of what is no distribution."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.estimation.statistics import never_falling

WIDE = dc.geometric(30, epsilon="0.2")
COUNTS = np.random.default_rng(12).multinomial(500, WIDE.forward(np.full(31, 1 / 31)))


def test_one_iteration_is_singular() -> None:
    m = dc.geometric(4, epsilon=1)
    once, twice = (dc.estimate([9, 8, 7, 6, 5], m, method="ibu", iterations=k).header()[1] for k in (1, 2))
    assert once.endswith(", 1 iteration") and twice.endswith(", 2 iterations")


def test_an_inverse_with_negative_entries_has_no_quantiles_and_says_where_its_intervals_come_from() -> None:
    words = str(dc.estimate(COUNTS, WIDE, method="inverse"))
    assert words.count("none, because of negative entries (") == 3
    assert "not from this method" in words and "gap" not in words
    plain = str(dc.estimate(COUNTS, WIDE))
    assert "none" not in plain and "not from this method" not in plain


def test_quantiles_of_an_inverse_follow_the_closest_cumulative_sums_that_never_fall() -> None:
    e = dc.estimate(COUNTS, WIDE, method="inverse")
    sums = never_falling(e.cdf())
    assert [e.quantile(q) for q in (0.1, 0.5, 0.9)] == [int(np.argmax(sums >= q - 1e-9)) for q in (0.1, 0.5, 0.9)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 2, 3], [1, 2, 3]), ([3, 1, 2], [2, 2, 2]), ([1, 4, 2, 5], [1, 3, 3, 5]), ([2, 2, 1, 0], [1.25] * 4)],
)
def test_the_closest_sequence_that_never_falls(values: list[float], expected: list[float]) -> None:
    assert never_falling(np.array(values, float)) == pytest.approx(expected)


def test_the_closest_sequence_is_closer_than_others_that_never_fall() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        values = rng.normal(size=6)
        found = never_falling(values)
        assert (np.diff(found) >= -1e-12).all()
        for _ in range(100):
            other = np.sort(found + 0.3 * rng.normal(size=6))
            assert ((found - values) ** 2).sum() <= ((other - values) ** 2).sum() + 1e-12


def test_a_variance_has_an_interval_in_the_summary() -> None:
    line = next(line for line in dc.estimate(COUNTS, WIDE).sentences() if line.startswith("variance"))
    assert "(" in line and " to " in line
