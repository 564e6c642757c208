"""Small views of noise give away exactly as much as the noise does: compared with wide brute-force tables.

The tables are written out report by report from the law's formula, with windows so wide that what is left out of
them (a geometric tail) is one more report of its own; no view code is used.
"""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import Unsupported
from discreet.exact.kernels import Noise, Response
from discreet.exact.laws import Finite, GeometricTails
from discreet.exact.rationals import exp_bounds
from discreet.privacy import pairs
from support.grids import every_case
from support.tiers import examples

EPSILONS = [Fraction(0), Fraction(1, 10), Fraction(3, 2), Fraction(6)]
WIDE = 25


def judge(kernel: Noise, notion: str = "central"):
    low, high = kernel.truths
    space = dc.Integers(low) if high is None else dc.Counts(high)
    return dc.verify(SimpleNamespace(kernel=kernel, inputs=space), notion)


def mass(law, z: int) -> Fraction:
    """P(Z = z) from the definition of the law."""
    if isinstance(law, Finite):
        k = z - law.low
        return Fraction(law.weights[k], sum(law.weights)) if 0 <= k < len(law.weights) else Fraction(0)
    if z == 0:
        return law.atom
    return (1 - law.atom) / 2 * (1 - law.ratio) * law.ratio ** (abs(z) - 1)


def below(law, z: int) -> Fraction:
    """P(Z <= z)."""
    if isinstance(law, Finite):
        return sum((mass(law, k) for k in range(law.low, z + 1)), Fraction(0))
    if z < 0:
        return (1 - law.atom) / 2 * law.ratio ** (-z - 1)
    return 1 - below(law, -z - 1)


def written_out(kernel: Noise, first: int, last: int) -> list[list[Fraction]]:
    """Truths first..last in full: every report of a wide window, and the two tails beyond it as one report each."""
    low, high = kernel.clamp
    bottom = first - WIDE if low is None else low
    top = last + WIDE if high is None else high
    rows = []
    for x in range(first, last + 1):
        own = x - kernel.truths[0] if kernel.first_laws else len(kernel.first_laws)
        law = kernel.first_laws[own] if own < len(kernel.first_laws) else kernel.law
        middle = [mass(law, y - x) for y in range(bottom + 1, top)]
        rows.append([below(law, bottom - x), *middle, 1 - below(law, top - 1 - x)])
        assert sum(rows[-1]) == 1
    return rows


def integers(P) -> tuple[list[list[int]], int]:
    """The same rows as integers over one total: exact still, and quick to compare."""
    total = math.lcm(*(p.denominator for row in P for p in row))
    return [[p.numerator * (total // p.denominator) for p in row] for row in P], total


def brute_ratio(P, chosen):
    rows, _ = integers(P)
    top, bottom = 1, 1
    for i, j in chosen:
        for p, q in zip(rows[i], rows[j], strict=True):
            if p != q and 0 in (p, q):
                return math.inf
            p, q = max(p, q), min(p, q)
            if p * bottom > top * q:
                top, bottom = p, q
    return Fraction(top, bottom)


def brute_excess(P, chosen, E: Fraction, gather) -> Fraction:
    """max over pairs, both ways, of sum (or max) over reports of (p - E q)+."""
    rows, total = integers(P)
    up, down = E.numerator, E.denominator
    return Fraction(
        max(
            gather(max(p * down - up * q, 0) for p, q in zip(rows[a], rows[b], strict=True))
            for i, j in chosen
            for a, b in ((i, j), (j, i))
        ),
        total * down,
    )


def assert_same(verdict, P, chosen, single=None):
    assert verdict.ratio == brute_ratio(P, chosen)
    for epsilon in EPSILONS:
        low, high = exp_bounds(epsilon, 128)
        (least, most), _ = verdict.evidence.delta_bounds(epsilon)
        assert most == brute_excess(P, chosen, low, sum)
        assert least <= brute_excess(P, chosen, high, sum)
        if single is not None:
            reports = [row[single] for row in P]
            assert verdict.evidence.single_event_bounds(epsilon)[1] == brute_excess(reports, chosen, low, max)


def single_reports(kernel: Noise) -> slice:
    """The columns of ``written_out`` that are one report each: not a tail beyond the window."""
    return slice(kernel.clamp[0] is None, -1 if kernel.clamp[1] is None else None)


def steps(P) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(len(P) - 1)]


def every(P) -> list[tuple[int, int]]:
    return [(i, j) for i in range(len(P)) for j in range(i)]


ratios = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20)
atoms = st.one_of(st.fractions(0, Fraction(9, 10), max_denominator=10), st.sampled_from([0, Fraction(1, 10**6)]))
geometric_tails = st.builds(GeometricTails, atoms.map(Fraction), ratios)
named_tails = st.one_of(st.builds(GeometricTails.two_sided, ratios), st.builds(GeometricTails.laplace, ratios))
finite = st.builds(
    Finite, st.integers(-4, 2), st.lists(st.integers(0, 4), min_size=1, max_size=6).filter(lambda w: any(w))
)
own_laws = st.lists(finite, max_size=12).map(tuple)
CLAMPS = ["both", "neither", "low", "high"]


def clamped(law, n: int, clamp: str, own=()) -> Noise:
    ends = {"both": (0, n), "neither": (None, None), "low": (0, None), "high": (None, n)}[clamp]
    return Noise(law, (0, n), ends, own)


@given(law=st.one_of(geometric_tails, named_tails, finite), n=st.integers(1, 25), clamp=st.sampled_from(CLAMPS))
@examples(50)
def test_noise_on_a_range_is_judged_as_if_written_out(law, n, clamp):
    kernel = clamped(law, n, clamp)
    P = written_out(kernel, 0, n)
    assert_same(judge(kernel), P, steps(P), single_reports(kernel))


@given(law=st.one_of(named_tails, finite), own=own_laws, n=st.integers(1, 30), clamp=st.sampled_from(CLAMPS))
@examples(50)
def test_laws_of_their_own_are_all_looked_at(law, own, n, clamp):
    kernel = clamped(law, n, clamp, own)
    P = written_out(kernel, 0, n)
    assert_same(judge(kernel), P, steps(P), single_reports(kernel))


def test_a_law_of_its_own_far_from_both_ends_of_the_own_laws_is_looked_at():
    """Twenty narrow laws, one of them odd, in the middle: no end of a range is near."""
    usual, odd = Finite(-1, [1, 2, 1]), Finite(-1, [1, 50, 1])
    own = tuple(odd if k == 10 else usual for k in range(20))
    kernel = Noise(usual, (0, None), (None, None), own)
    plain = Noise(usual, (0, None), (None, None), (usual,) * 20)
    P = written_out(kernel, 0, 60)
    assert judge(kernel).delta(0) == pytest.approx(float(brute_excess(P, steps(P), Fraction(1), sum)))
    assert judge(kernel).delta(0) > judge(plain).delta(0)


@given(law=st.one_of(geometric_tails, named_tails, finite), low=st.sampled_from([None, 0]), own=own_laws)
@examples(16)
def test_unbounded_noise_is_judged_as_its_first_truths(law, low, own):
    kernel = Noise(law, (low, None), (low, None), own if low is not None else ())
    first = 0 if low is not None else -10
    P = written_out(kernel, first, first + 40)
    assert_same(judge(kernel), P, steps(P), single_reports(kernel))


@given(law=st.one_of(named_tails, finite), n=st.integers(41, 60))
@examples(8)
def test_the_middle_of_a_wide_range_adds_nothing(law, n):
    kernel = clamped(law, n, "both")
    P = written_out(kernel, 0, n)
    verdict = judge(kernel)
    assert sum(rows.view.table.shape[0] for rows in verdict.evidence.parts) < n or n < 45
    assert_same(verdict, P, steps(P), single_reports(kernel))


@given(law=st.one_of(named_tails, finite), n=st.integers(1, 8), low=st.integers(-12, 12), width=st.integers(1, 12))
@examples(50)
def test_a_clamp_elsewhere_than_the_range_is_judged_as_if_written_out(law, n, low, width):
    kernel = Noise(law, (0, n), (low, low + width))
    P, verdict = written_out(kernel, 0, n), judge(kernel)
    assert_same(verdict, P, steps(P))
    assert verdict.evidence.single_event_bounds(Fraction(0))[1] >= brute_excess(P, steps(P), Fraction(1), max)


# ------------------------------------------------------------------------------------------------ any two truths


@given(law=st.one_of(geometric_tails, named_tails), n=st.integers(1, 9), clamp=st.sampled_from(CLAMPS))
@examples(50)
def test_local_privacy_of_geometric_noise_in_closed_form_is_that_of_the_table(law, n, clamp):
    kernel = clamped(law, n, clamp)
    P = written_out(kernel, 0, n)
    assert_same(judge(kernel, "local"), P, every(P), single_reports(kernel))


@given(law=st.one_of(geometric_tails, named_tails), n=st.integers(2, 12), clamp=st.sampled_from(CLAMPS))
def test_far_ends_without_a_table_have_the_same_epsilon(law, n, clamp):
    kernel = clamped(law, n, clamp)
    expected = brute_ratio(P := written_out(kernel, 0, n), every(P))
    patch = pytest.MonkeyPatch()
    with patch.context() as m:
        m.setattr(pairs, "MAX_TRUTHS", 1)
        verdict = judge(kernel, "local")
        assert str(verdict)
        if expected == math.inf:
            assert verdict.epsilon == math.inf
            assert verdict.witness.other_probability == 0
            return
        low, high = verdict.evidence.epsilon_bounds()
        assert exp_bounds(low, 256)[0] <= expected <= exp_bounds(high, 256)[1]
        assert high - low < Fraction(1, 2**100)
        assert verdict.holds(high + Fraction(1, 2**99)) and not verdict.holds(low - Fraction(1, 2**99))
        with pytest.raises(Unsupported):
            _ = verdict.ratio
        with pytest.raises(Unsupported):
            verdict.delta(0)


@given(law=finite, own=own_laws, n=st.integers(1, 12), clamp=st.sampled_from(CLAMPS))
@examples(50)
def test_local_privacy_of_finite_noise_is_that_of_the_table(law, own, n, clamp):
    kernel = clamped(law, n, clamp, own)
    P = written_out(kernel, 0, n)
    assert_same(judge(kernel, "local"), P, every(P), single_reports(kernel))


@given(law=st.one_of(named_tails, finite), own=own_laws, n=st.integers(13, 30))
@examples(40)
def test_bounded_noise_on_a_wide_range_is_infinite_with_a_real_witness(law, own, n):
    assume(own or isinstance(law, Finite))
    kernel = clamped(law, n, "both", own)
    P = written_out(kernel, 0, n)
    patch = pytest.MonkeyPatch()
    with patch.context() as m:
        m.setattr(pairs, "MAX_TRUTHS", 1)
        verdict = judge(kernel, "local")
        w = verdict.witness
        assert verdict.epsilon == math.inf == brute_ratio(P, every(P))
        assert w.probability == P[w.truth][w.report] > 0 == P[w.other][w.report]
        with pytest.raises(Unsupported):
            verdict.delta(1)


def test_geometric_on_a_hundred_counts_separates_the_ends_at_epsilon_a_hundred():
    m = dc.geometric(100, epsilon=1)
    assert 99.9 < m.local_epsilon <= 100
    assert m.local_epsilon > 99 * m.certificate.epsilon


@pytest.mark.parametrize("n", [1200, 10**6, 2**40])
def test_wide_ranges_have_a_local_epsilon_at_once(n):
    m = dc.geometric(n, epsilon=1)
    assert m.local_epsilon == pytest.approx(n, rel=1e-6)
    verdict = dc.verify(m, "local")
    assert verdict.holds(n) and not verdict.holds(Fraction(99, 100) * n)
    assert "a true count of 0" in str(verdict)


def test_ranges_without_end_have_no_local_epsilon():
    for m in (dc.two_sided_geometric(epsilon=1), dc.two_sided_geometric(epsilon=1).on(dc.Integers(low=0))):
        verdict = dc.verify(m, "local")
        assert verdict.epsilon == math.inf and verdict.delta(3) == 1.0
        w = verdict.witness  # an example, with the probabilities it really has
        assert (m.probability(w.truth, w.report), m.probability(w.other, w.report)) == (
            w.probability,
            w.other_probability,
        )
        assert w.ratio > 10**9 and "grow without bound" in str(verdict)
        with pytest.raises(Unsupported):
            verdict.single_event_delta(1)


def test_metric_privacy_of_noise_is_per_step_and_its_delta_that_of_the_table():
    m = dc.geometric(8, alpha="1/2")
    verdict = dc.verify(m, "metric")
    assert verdict.ratio == 2
    table = dc.verify(m.kernel.table(), "metric")
    for epsilon in EPSILONS:
        assert verdict.delta(epsilon) == table.delta(epsilon)
        assert verdict.single_event_delta(epsilon) == table.single_event_delta(epsilon)


# ------------------------------------------------------------------------------------------------ response


@given(size=st.integers(2, 7), other=st.integers(0, 4), more=st.integers(0, 9))
def test_response_is_judged_as_its_table(size, other, more):
    if other + more == 0:
        return
    kernel = Response(size, other + more, other)
    P = [[Fraction(other + more if i == j else other, kernel.total) for j in range(size)] for i in range(size)]
    for notion, chosen in (("central", steps(P)), ("local", every(P))):
        verdict = dc.verify(SimpleNamespace(kernel=kernel, inputs=dc.Counts(size - 1)), notion)
        assert_same(verdict, P, chosen, slice(None))


def test_response_on_a_map_is_limited_by_the_nearest_cells():
    grid = dc.Grid(2, 3, cell="7.5")
    m = dc.randomized_response(grid, alpha="1/3")
    direct = dc.verify(m.kernel.table(), "metric", inputs=grid)
    verdict = dc.verify(m, "metric")
    assert verdict.epsilon == pytest.approx(math.log(3) / 7.5, rel=1e-12)
    assert verdict.epsilon == pytest.approx(direct.epsilon, rel=1e-12)
    assert verdict.delta(0.05) == pytest.approx(direct.delta(0.05), rel=1e-12)


# ------------------------------------------------------------------------------------------------ p-tables


@every_case("reach", [1, 2, 5])
@every_case("stay", [Fraction(1, 2), Fraction(4, 5)])
def test_a_table_that_leaves_zeros_alone_is_not_private(reach, stay):
    """[S]: zero stays zero, so a report of zero (or of anything else) gives the truth away."""
    side = [Fraction(1, 2**k) for k in range(1, reach + 1)]
    scale = (1 - stay) / 2 / sum(side)
    law = [*(p * scale for p in reversed(side)), stay, *(p * scale for p in side)]
    unit = math.lcm(*(p.denominator for p in law))
    shared = Finite(-reach, [int(p * unit) for p in law])
    # small counts: mean zero, support from -n, the atom kept; here simply the mass below zero moved to zero
    own = [Finite(0, [1])]
    for n in range(1, reach):
        kept = law[reach - n :]
        own.append(Finite(-n, [int((kept[0] + sum(law[: reach - n])) * unit), *(int(p * unit) for p in kept[1:])]))
    verdict = judge(Noise(shared, (0, None), (None, None), tuple(own)))
    assert verdict.epsilon == math.inf
    assert verdict.delta(50) >= float(stay)
    assert {verdict.witness.truth, verdict.witness.other} == {0, 1}


@pytest.mark.parametrize(("reach", "stay"), [(1, Fraction(1, 2)), (3, Fraction(1, 2)), (6, Fraction(4, 5))])
def test_the_best_unbiased_law_beside_an_unperturbed_zero_still_has_the_delta_of_the_bound(reach, stay):
    """ALGORITHMS 3: delta >= (1 + D eta)/(D + 1) at every epsilon, reached when 1 moves to 0 or to 1 + D only."""
    up = (1 - stay) / (reach + 1)  # zero bias: P(-1) = D P(+D)
    one = [(1 - stay) - up, stay, *([Fraction(0)] * (reach - 1)), up]
    unit = math.lcm(*(p.denominator for p in one))
    law = Finite(-1, [int(p * unit) for p in one])
    verdict = judge(Noise(law, (0, None), (None, None), (Finite(0, [1]), law)))
    bound = (1 + reach * stay) / (reach + 1)
    for epsilon in (1, 20):
        assert verdict.delta(epsilon) >= float(bound)
        assert not verdict.holds(epsilon, bound - Fraction(1, 10**9))
    assert verdict.epsilon == math.inf
