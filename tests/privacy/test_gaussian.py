"""The judge for the discrete Gaussian against sums in fifty-digit decimals."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import Unsupported
from support.golden import golden_rows
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def weights(sigma2: Fraction, reach: int) -> dict[int, Decimal]:
    """P(Z = z) for |z| <= reach, in the current decimal context, normalised over a much wider range."""
    rate = -1 / (2 * decimal(sigma2))
    one_side = [(rate * z * z).exp() for z in range(reach + 1)]
    whole = one_side[0] + 2 * sum(one_side[1:])
    return {z: one_side[abs(z)] / whole for z in range(-reach, reach + 1)}


def reach_of(sigma2: Fraction, more: int = 0) -> int:
    return math.isqrt(int(sigma2 * 400)) + 20 + more  # beyond it less than e^-200 is left


@given(
    sigma2=st.fractions(Fraction(1, 9), 30, max_denominator=9),
    epsilon=st.fractions(0, 4, max_denominator=9),
)
@examples(40)
def test_delta_is_the_sum_over_all_reports(sigma2, epsilon):
    verdict = dc.verify(dc.discrete_gaussian(sigma2=sigma2))
    with localcontext(prec=90):
        p, reach = weights(sigma2, reach_of(sigma2, 40)), reach_of(sigma2)
        E = decimal(epsilon).exp()
        terms = [p[z] - E * p[z - 1] for z in range(-reach, reach + 1)]
        hockey, single = sum(t for t in terms if t > 0), max(terms)
        for found, expected in ((verdict.delta(epsilon), hockey), (verdict.single_event_delta(epsilon), single)):
            assert Decimal(found) >= expected * (1 - Decimal(10) ** -60)  # rounded up
            assert Decimal(found) <= expected * (1 + Decimal(2) ** -50)
    witness = verdict.delta_witness(epsilon)
    assert float(witness.probability) - math.exp(epsilon) * float(witness.other_probability) == pytest.approx(
        verdict.delta(epsilon), rel=1e-6, abs=1e-12
    )


@given(
    sigma2=st.fractions(Fraction(1, 5), 12, max_denominator=5),
    epsilon=st.fractions(0, 4, max_denominator=5),
    n=st.integers(1, 9),
)
@examples(40)
def test_on_a_range_ratio_and_delta_are_those_of_the_table(sigma2, epsilon, n):
    verdict = dc.verify(dc.discrete_gaussian(sigma2=sigma2).on(dc.Counts(n)))
    with localcontext(prec=90):
        reach = reach_of(sigma2, 2 * n + 40)
        p = weights(sigma2, reach)
        tail = {reach: p[reach]}
        for z in range(reach - 1, -n - 2, -1):
            tail[z] = tail[z + 1] + p[z]
        table = [[tail[x], *(p[y - x] for y in range(1, n)), tail[n - x]] for x in range(n + 1)]
        E = decimal(epsilon).exp()
        ratio = hockey = single = Decimal(0)
        for x in range(n):
            for a, b in ((table[x], table[x + 1]), (table[x + 1], table[x])):
                ratio = max(ratio, *(s / t for s, t in zip(a, b, strict=True)))
                terms = [s - E * t for s, t in zip(a, b, strict=True)]
                hockey = max(hockey, sum(t for t in terms if t > 0))
                single = max(single, *terms)
        tight = ratio.ln()
        tolerance = Decimal(10) ** -35
        low, high = (decimal(bound) for bound in verdict.evidence.epsilon_bounds())
        assert low <= tight * (1 + tolerance) and tight * (1 - tolerance) <= high and high - low < Decimal(10) ** -30
        assert Decimal(verdict.epsilon) >= tight * (1 - tolerance)
        low, high = (decimal(bound) for bound in verdict.evidence.ratio_bounds())
        assert low <= ratio * (1 + tolerance) and ratio * (1 - tolerance) <= high
        low, high = (decimal(bound) for bound in verdict.evidence.delta_bounds(epsilon)[0])
        assert low <= hockey + tolerance and hockey - tolerance <= high <= hockey + tolerance
        for found, expected in ((verdict.delta(epsilon), hockey), (verdict.single_event_delta(epsilon), single)):
            if verdict.holds(epsilon):
                assert found == 0 and expected <= tolerance
            else:
                assert Decimal(found) >= expected * (1 - tolerance)
                assert Decimal(found) <= expected * (1 + Decimal(2) ** -50) + Decimal(10) ** -60


def test_no_finite_epsilon_holds_on_all_integers():
    for m in (
        dc.discrete_gaussian(sigma2=4),
        dc.discrete_gaussian(sigma2=4).on(dc.Integers(low=0)),
        dc.discrete_gaussian(sigma2=4).on(dc.Counts(5), clamp=False),
    ):
        verdict = dc.verify(m)
        assert verdict.ratio == math.inf and verdict.epsilon == math.inf
        assert not verdict.holds(500)
        assert verdict.holds(1, 0.2) and not verdict.holds(1, 1e-6)
        assert str(verdict)


def test_the_worst_half_line_of_the_paper_is_the_best_of_all_half_lines():
    """Canonne, Kamath, Steinke, theorem 7: floor(sigma2 eps + 1/2) where that is an integer too."""
    for sigma2, epsilon in (
        (Fraction(2), Fraction(3, 4)),
        (Fraction(3), Fraction(1, 2)),
        (Fraction(1), Fraction(3, 2)),
    ):
        law = dc.discrete_gaussian(sigma2=sigma2).kernel.law
        tails = [law.tail(m, 200)[0] / 2**200 for m in range(-5, 12)]
        best = max(a - math.exp(epsilon) * b for a, b in pairwise(tails))
        assert dc.verify(dc.discrete_gaussian(sigma2=sigma2)).delta(epsilon) == pytest.approx(best, rel=1e-12)


@every_case(("sigma2", "n"), [(1, 200), (1, 10**6), ("1/4", 2**40), (10_000, 30_000)])
def test_wide_ranges_are_judged_at_once(sigma2, n):
    m = dc.discrete_gaussian(sigma2=sigma2).on(dc.Counts(n))
    assert m.certificate.epsilon == pytest.approx((2 * n - 1) / (2 * float(Fraction(sigma2))), rel=0.02)
    verdict = dc.verify(m)
    assert verdict.holds(m.certificate.epsilon)
    assert not verdict.holds(Fraction(m.certificate.epsilon) * (1 - Fraction(1, 2**40)))
    assert "a true count of" in str(verdict)
    if n > 10**5:
        with refused(Unsupported, token="epsilon"):
            _ = verdict.ratio
    assert m.certificate.ratio is None  # irrational: no exact number


def test_very_small_deltas_keep_their_digits():
    verdict = dc.verify(dc.discrete_gaussian(sigma2=1))
    with localcontext(prec=200):
        p = weights(Fraction(1), 60)
        E = Decimal(20).exp()
        exact = sum(max(p[z] - E * p[z - 1], Decimal(0)) for z in range(-50, 55))
        assert Decimal(verdict.delta(20)) == pytest.approx(exact, rel=Decimal(10) ** -14)
    assert 0 < verdict.delta(400) < 1e-70  # far below: an upper bound is enough


def test_golden_deltas_of_the_discrete_gaussian():
    for row in golden_rows("golden_002_fig4.csv"):
        verdict = dc.verify(dc.discrete_gaussian(sigma2=row["variance"]))
        assert verdict.delta(row["eps"]) == pytest.approx(float(row["dG_exact_hs"]), rel=1e-9)


def test_other_notions_are_refused_rather_than_guessed():
    m = dc.discrete_gaussian(sigma2=4)
    for notion in ("local", "metric"):
        with refused(Unsupported, "notion"):
            dc.verify(m, notion)
