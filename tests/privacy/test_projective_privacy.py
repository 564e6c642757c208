"""The judge of projective response: from its structure, it finds what the whole table gives away."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dc
from discreet.exact.projective import Projective, points_of
from support.grids import every_case

#: Primes, coordinates and numbers of values: all points, and some of them.
CASES = [
    (q, t, k)
    for q, t in ((2, 2), (2, 3), (2, 6), (3, 2), (3, 3), (3, 4), (7, 2), (7, 3), (53, 2))
    for k in sorted({2, 3, points_of(q, t) // 2 + 1, points_of(q, t)})
]


@every_case(("q", "t", "k"), CASES)
@every_case("alpha", ["1/2", "19/20", "1/1000"])
def test_two_truths_give_away_what_the_whole_table_does(q: int, t: int, k: int, alpha: str) -> None:
    m = dc.projective_response(k, alpha=alpha, q=q)
    if m.kernel.t != t:  # fewer coordinates do for so few values: the kernel itself takes more
        a = Fraction(alpha)
        kernel = Projective(k, q, t, a.denominator, a.numerator)
        m = type("Subject", (), {"kernel": kernel, "inputs": dc.Counts(k - 1), "outputs": dc.Counts(kernel.points - 1)})
    found, plain = dc.verify(m, "local"), dc.verify(m.kernel.table(), "local")
    assert found.ratio == plain.ratio == 1 / Fraction(alpha)
    for epsilon in ("1/10", "1/2", "3"):
        assert found.delta(epsilon) == plain.delta(epsilon)
        assert found.single_event_delta(epsilon) == plain.single_event_delta(epsilon)
        assert found.holds(epsilon) == plain.holds(epsilon)


# all points of a space, one fewer, and about half of them
@every_case(("q", "k"), [(2, 511), (3, 363), (7, 400), (19, 200)])
def test_the_ratio_of_a_larger_table_is_the_one_that_is_proved(q: int, k: int) -> None:
    check_ratio(q, k)


@pytest.mark.full
@every_case(("q", "k"), [(2, 2000), (3, 1000), (7, 2800), (53, 2863)])
def test_the_ratio_of_a_table_of_thousands_is_the_one_that_is_proved(q: int, k: int) -> None:
    check_ratio(q, k)


def check_ratio(q: int, k: int) -> None:
    m = dc.projective_response(k, epsilon=1, q=q)
    assert dc.verify(m.kernel.table(), "local").ratio == m.certificate.ratio == dc.verify(m).ratio


@pytest.mark.parametrize("notion", ["central", "local"])
def test_a_witness_is_a_report_with_these_probabilities(notion: str) -> None:
    m = dc.projective_response(10**4, epsilon=1)
    w = dc.verify(m, notion).witness
    assert m.probability(w.truth, w.report) == w.probability
    assert m.probability(w.other, w.report) == w.other_probability
    event = dc.verify(m, notion).delta_witness("1/2")
    assert event is not None and len(event.reports) + event.alike == m.kernel.hyperplane - m.kernel.overlap
    for report in event.reports:
        assert m.probability(event.truth, report) / m.probability(event.other, report) == m.certificate.ratio
    share = (len(event.reports) + event.alike) * m.probability(event.truth, event.reports[0])
    assert event.probability == share and "like it" in str(event)


def test_a_million_values_are_proved_at_the_epsilon_that_is_asked_for() -> None:
    m = dc.projective_response(10**6, epsilon="1/2")
    assert dc.verify(m, "local").holds(epsilon="1/2") and m.certificate.notion == "local"
    assert not dc.verify(m, "local").holds(epsilon="0.499")
    assert 0 < dc.verify(m, "local").delta("0.4") < 0.1
