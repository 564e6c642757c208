"""Current practice under the judge: random rounding and suppression have no finite epsilon."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.mechanisms.practice import random_rounding, suppression
from support.grids import every_case
from support.refusals import refused


@every_case("base", [2, 3, 5])
@every_case("n", [3, 9, 11])
def test_random_rounding_is_unbiased_and_reports_multiples(base: int, n: int) -> None:
    m = random_rounding(n, base=base)
    for x in range(n + 1):
        row = [m.probability(x, y) for y in range(m.outputs.size)]
        assert sum(y * p for y, p in enumerate(row)) == x
        assert all(y % base == 0 for y, p in enumerate(row) if p)
        assert sum(row) == 1


@pytest.mark.parametrize("base", [3, 5])
def test_random_rounding_has_delta_one_over_the_base_at_every_epsilon(base: int) -> None:
    """A true 1 is published as the base with probability 1/base, a true 0 never is."""
    v = dc.verify(random_rounding(4 * base, base=base))
    assert v.epsilon == float("inf")
    for epsilon in (1, 5, 50):
        assert v.delta(epsilon) == pytest.approx(1 / base, abs=1e-15)
        assert Fraction(v.delta(epsilon)) >= Fraction(1, base)
    assert not v.holds(epsilon=50, delta=Fraction(1, base) - Fraction(1, 10**9))


def test_suppression_gives_everything_away_at_its_limit() -> None:
    m = suppression(9, below=5)
    v = dc.verify(m)
    assert v.epsilon == float("inf")
    assert v.delta(50) == 1.0
    assert m.release([0, 1, 4, 5, 9]).tolist() == [0, "suppressed", "suppressed", 5, 9]


def test_the_witness_is_told_in_published_values() -> None:
    assert "suppressed" in str(dc.verify(suppression(9, below=5)).witness) + str(
        dc.verify(suppression(9, below=5)).delta_witness(1)
    )


@pytest.mark.parametrize("bad", [{"base": 1}, {"base": 2.0}, {"base": True}])
def test_impossible_bases_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        random_rounding(9, **bad)  # type: ignore[arg-type]


def test_a_limit_beyond_the_counts_is_refused() -> None:
    with refused(InvalidInput, "below", given="below=5, n=4"):
        suppression(4, below=5)
