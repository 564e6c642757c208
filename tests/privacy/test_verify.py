"""The judge against loops that follow the definitions word by word, over random mechanisms."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput, Unsupported
from discreet.exact.rationals import exp_bounds, log_bounds
from discreet.exact.tables import Table
from discreet.privacy import evidence, views
from support.grids import every_case
from support.refusals import Parts, refused
from support.tiers import examples

INFINITE = math.inf

weights = st.one_of(st.integers(0, 6), st.sampled_from([0, 1, 10**30, 10**30 + 1, 10**30 - 1, 2**1100]))


@st.composite
def tables(draw, most_rows=5, most_columns=5):
    """Small exact tables with ties, zeros, near-ties beyond double precision, and a different total for each row."""
    columns = draw(st.integers(1, most_columns))
    row = st.lists(weights, min_size=columns, max_size=columns).filter(any)
    return Table.from_rows(draw(st.lists(row, min_size=2, max_size=most_rows)))


def fractions_of(table: Table) -> list[list[Fraction]]:
    return [[Fraction(w, sum(table.row(i))) for w in table.row(i)] for i in range(table.shape[0])]


def pairs(notion: str, rows: int) -> list[tuple[int, int]]:
    """Ordered pairs of truths, both directions."""
    near = [(i, j) for i in range(rows) for j in range(rows) if i != j]
    return near if notion == "local" else [(i, j) for i, j in near if abs(i - j) == 1]


def largest_ratio(P, notion: str):
    best = Fraction(1)
    for i, j in pairs(notion, len(P)):
        for p, q in zip(P[i], P[j], strict=True):
            if p and not q:
                return INFINITE
            if p:
                best = max(best, p / q)
    return best


def excess(p, q, columns, E: Fraction) -> Fraction:
    return sum((p[y] for y in columns), Fraction(0)) - E * sum((q[y] for y in columns), Fraction(0))


def divergence(p, q, E: Fraction) -> Fraction:
    return sum((max(a - E * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


def divergence_over_all_subsets(P, chosen, E: Fraction) -> Fraction:
    columns = range(len(P[0]))
    events = [event for size in range(len(P[0]) + 1) for event in combinations(columns, size)]
    return max(excess(P[i], P[j], event, E) for i, j in chosen for event in events)


# ------------------------------------------------------------------------------------------------ the largest ratio


@given(table=tables(), notion=st.sampled_from(["central", "local"]))
@example(table=Table.from_rows([[10**30, 10**30], [10**30 + 1, 10**30 - 1]]), notion="central")
@example(table=Table.from_rows([[5, 5, 0], [9, 1, 0], [1, 9, 0]]), notion="local")
def test_ratio_is_the_definition(table, notion):
    v = dc.verify(table, notion)
    expected = largest_ratio(fractions_of(table), notion)
    assert v.ratio == expected
    if expected == INFINITE:
        assert v.epsilon == INFINITE
    else:
        assert exp_bounds(Fraction(v.epsilon), 200)[1] >= expected  # rounded up
        below = Fraction(math.nextafter(v.epsilon, 0)) * (1 - Fraction(1, 2**53)) - Fraction(1, 2**120)
        assert expected == 1 or below <= 0 or exp_bounds(below, 200)[0] < expected  # and not by more than that


@st.composite
def near_ties(draw):
    """Every ratio is 2 up to 1e-25, and rows are scaled: rounding decides which one looks largest in doubles."""
    rows = []
    for k in range(draw(st.integers(3, 7))):
        tilt = draw(st.integers(0, 9))
        row = [2 * 10**25 + tilt, 10**25, 10**25 - tilt] if k % 2 else [10**25, 2 * 10**25, 10**25]
        rows.append([w * draw(st.shared(st.integers(1, 10**9), key=f"scale {k}")) for w in row])
    return Table.from_rows(rows)


@given(table=near_ties(), notion=st.sampled_from(["central", "local"]))
def test_near_ties_beyond_double_precision_are_decided_in_integers(table, notion):
    P, v = fractions_of(table), dc.verify(table, notion)
    assert v.ratio == largest_ratio(P, notion)
    for epsilon in (Fraction(0), Fraction(1, 2)):
        E = exp_bounds(epsilon)[0]
        assert v.evidence.delta_bounds(epsilon)[0][1] == divergence_over_all_subsets(P, pairs(notion, len(P)), E)
        singles = [p - E * q for i, j in pairs(notion, len(P)) for p, q in zip(P[i], P[j], strict=True)]
        assert v.evidence.single_event_bounds(epsilon)[1] == max(singles)


@given(table=tables(), notion=st.sampled_from(["central", "local"]))
def test_witness_is_a_place_that_attains_the_ratio(table, notion):
    v = dc.verify(table, notion)
    w, P = v.witness, fractions_of(table)
    assert (w.truth, w.other) in pairs(notion, len(P))
    (report,) = w.reports
    assert report == w.report
    assert (w.probability, w.other_probability) == (P[w.truth][report], P[w.other][report])
    assert w.ratio == v.ratio


@given(table=tables())
def test_metric_on_counts_is_the_largest_log_ratio_per_step(table):
    v, P = dc.verify(table, "metric"), fractions_of(table)
    for i, j in pairs("local", len(P)):
        for p, q in zip(P[i], P[j], strict=True):
            if p and v.ratio != INFINITE:
                assert p <= v.ratio ** abs(i - j) * q
    assert v.ratio == largest_ratio(P, "central")  # attained by a step
    if largest_ratio(P, "local") == INFINITE:
        assert v.ratio == INFINITE


@given(table=tables(), scale=st.integers(1, 5))
def test_labels_are_all_adjacent_and_a_distance_of_one_apart(table, scale):
    space = dc.Labels([f"label {k}" for k in range(table.shape[0])])
    expected = largest_ratio(fractions_of(table), "local")
    for notion in (None, "central", "local", "metric"):
        assert dc.verify(table, notion, inputs=space).ratio == expected
    w = dc.verify(table, inputs=space).witness
    assert w.truth in space.labels and w.other in space.labels and w.truth != w.other


# ------------------------------------------------------------------------------------------------ holds


@given(table=tables(), notion=st.sampled_from(["central", "local", "metric"]))
def test_holds_is_decided_exactly_around_the_tight_epsilon(table, notion):
    v = dc.verify(table, notion)
    if v.ratio == INFINITE:
        assert not v.holds(500)
        return
    if v.ratio == 1:
        assert v.holds(0)
        return
    assert v.holds(v.epsilon)  # rounded up, so it holds
    low, high = v.evidence.epsilon_bounds()
    gap = high - low
    assert gap > 0
    assert v.holds(high) and not v.holds(low)  # e^rational is irrational: never equal
    assert not v.holds(max(Fraction(v.epsilon) * (1 - Fraction(1, 2**51)) - 2 * gap, Fraction(0)))


def test_a_ratio_of_e_to_thirty_digits_is_told_from_e():
    low, high = exp_bounds(Fraction(1), 100)
    for ratio, holds in ((low, True), (high, False)):
        row = [ratio / (1 + ratio), 1 / (1 + ratio)]
        assert dc.verify([row, row[::-1]]).holds(1) is holds


# ------------------------------------------------------------------------------------------------ delta

epsilons = st.sampled_from(["0", "1/1000", "1/10", "0.5", "1", "2", "7", "69", "800"])


def rational_bounds(epsilon: str) -> tuple[Fraction, Fraction]:
    return exp_bounds(Fraction(epsilon), 400)


@given(table=tables(4, 4), notion=st.sampled_from(["central", "local"]), epsilon=epsilons)
@examples(60)
def test_delta_is_the_largest_excess_over_all_sets_of_reports(table, notion, epsilon):
    P, v = fractions_of(table), dc.verify(table, notion)
    low, high = rational_bounds(epsilon)
    least = max(divergence_over_all_subsets(P, pairs(notion, len(P)), high), Fraction(0))
    most = max(divergence_over_all_subsets(P, pairs(notion, len(P)), low), Fraction(0))
    delta = Fraction(v.delta(epsilon))
    assert least <= delta  # never below the exact one
    assert delta <= most * (1 + Fraction(1, 2**50)) + Fraction(1, 2**120)
    if v.holds(epsilon):
        assert delta == 0 and v.delta_witness(epsilon) is None
    elif least:
        w = v.delta_witness(epsilon)
        assert excess(P[w.truth], P[w.other], w.reports, high) == pytest.approx(float(least), rel=1e-12, abs=1e-100)
        assert w.probability == sum(P[w.truth][y] for y in w.reports)
        assert w.other_probability == sum(P[w.other][y] for y in w.reports)


@given(seed=st.integers(0, 10**6))
def test_divergences_that_doubles_cannot_tell_apart_are_compared_exactly(seed):
    """The same pair of rows, its columns in another order each time, and one of them tilted by 1e-25."""
    rng = np.random.default_rng(seed)
    p, q = ([int(w) * 10**25 for w in rng.integers(1, 10**6, 15)] for _ in range(2))
    best = int(np.argmax(p))
    rows, tilts = [], rng.permutation(8).tolist()
    for tilt in tilts:
        order = rng.permutation(15)
        tilted = [w + tilt * (k == best) for k, w in enumerate(p)]
        rows += [[tilted[k] for k in order], [q[k] for k in order]]
    view = views.whole(Table.from_rows(rows))
    piece = evidence.RowPairs(view, np.arange(0, 16, 2), np.arange(1, 16, 2)).worst_piece(Fraction(1))
    P = fractions_of(view.table)
    exact = [divergence(P[i], P[j], Fraction(1)) for k in range(8) for i, j in ((2 * k, 2 * k + 1), (2 * k + 1, 2 * k))]
    assert piece.divergence(Fraction(1)) == max(exact)


@given(table=tables(4, 4), notion=st.sampled_from(["central", "local"]), epsilon=epsilons)
def test_single_event_delta_is_the_largest_excess_of_one_report(table, notion, epsilon):
    P, v = fractions_of(table), dc.verify(table, notion)
    low, high = rational_bounds(epsilon)
    most, least = (
        max(Fraction(0), *(p - E * q for i, j in pairs(notion, len(P)) for p, q in zip(P[i], P[j], strict=True)))
        for E in (low, high)
    )
    delta = Fraction(v.single_event_delta(epsilon))
    assert least <= delta <= most * (1 + Fraction(1, 2**50)) + Fraction(1, 2**120)
    assert delta <= v.delta(epsilon)


@given(table=tables(4, 3), epsilon=st.sampled_from(["0", "1/10", "1/2", "2"]))
@example(table=Table.from_rows([[6, 1, 1], [3, 3, 2], [1, 6, 1]]), epsilon="1/10")
def test_metric_delta_compares_far_truths_at_a_larger_epsilon(table, epsilon):
    P, v = fractions_of(table), dc.verify(table, "metric")
    bounds = []
    for k in (1, 0):  # the larger E for the lower bound
        values = [Fraction(0)]
        for i, j in pairs("local", len(P)):
            E = exp_bounds(Fraction(epsilon) * abs(i - j), 400)[k]
            values.append(divergence_over_all_subsets(P, [(i, j)], E))
        bounds.append(max(values))
    assert bounds[0] <= Fraction(v.delta(epsilon)) <= bounds[1] * (1 + Fraction(1, 2**50)) + Fraction(1, 2**120)


@given(table=tables(4, 4), notion=st.sampled_from(["central", "local", "metric"]), epsilon=epsilons)
def test_holds_with_delta_agrees_with_delta(table, notion, epsilon):
    v = dc.verify(table, notion)
    (low, high), _ = v.evidence.delta_bounds(Fraction(epsilon))
    assert low <= high
    if 0 < high < 1:
        assert v.holds(epsilon, min(high + Fraction(1, 2**100), Fraction(1)))
    if Fraction(1, 2**90) < low:
        assert not v.holds(epsilon, low - Fraction(1, 2**100))
    assert v.holds(epsilon, 1)


@given(table=tables(4, 4))
def test_the_curve_falls_and_is_convex_in_e_to_the_epsilon(table):
    v = dc.verify(table)
    ratios = [Fraction(k, 4) for k in range(4, 20)]
    curve = [
        max((r.worst_piece(E).divergence(E) if r.worst_piece(E) else Fraction(0)) for r in v.evidence.parts)
        for E in ratios
    ]
    for left, middle, right in zip(curve, curve[1:], curve[2:], strict=False):
        assert left >= middle >= right >= 0
        assert left + right >= 2 * middle
    grid = np.linspace(0, 5, 12)
    assert (np.diff(v.curve(grid)) <= 0).all()


@given(numerator=st.integers(1, 9), epsilon=st.sampled_from(["0", "1", "20", "700"]))
def test_a_rational_delta_of_disjoint_supports_holds_at_equality(numerator, epsilon):
    p = Fraction(numerator, 10)
    v = dc.verify([[p, 1 - p, 0], [0, 1 - p, p]])
    assert v.ratio == INFINITE
    if epsilon != "0":
        assert v.holds(epsilon, p)
        assert not v.holds(epsilon, p - Fraction(1, 10**40))
    assert dc.verify([[1, 0], [0, 1]]).delta(epsilon) == 1.0


def test_delta_at_epsilon_zero_is_the_total_variation_exactly():
    v = dc.verify([["1/3", "2/3"], ["1/2", "1/2"]])
    assert v.holds(0, Fraction(1, 6)) and not v.holds(0, Fraction(1, 6) - Fraction(1, 10**30))


def test_a_ratio_between_the_bounds_of_e_is_not_left_out_of_delta():
    """A column whose ratio lies between the rational bounds of e^eps still counts for the upper bound."""
    low, high = exp_bounds(Fraction(1), 128)
    ratio = (low + high) / 2
    rows = [[ratio / 4, 1 - ratio / 4], [Fraction(1, 4), Fraction(3, 4)]]
    (_, upper), _ = dc.verify(rows).evidence.delta_bounds(Fraction(1))
    assert upper >= ratio / 4 - low / 4 > 0


# ------------------------------------------------------------------------------------------------ both directions


def test_both_directions_are_looked_at():
    rows = [["1/2", "1/2", "0"], ["1/4", "1/4", "1/2"]]
    P = [[Fraction(x) for x in row] for row in rows]
    one_way = divergence_over_all_subsets(P, [(0, 1)], Fraction(2))
    other_way = divergence_over_all_subsets(P, [(1, 0)], Fraction(2))
    assert one_way == 0 and other_way == Fraction(1, 2)  # from the first truth alone it looks private
    for order in (rows, rows[::-1]):
        v = dc.verify(order)
        assert v.delta("0.6931471805599454") == pytest.approx(0.5)
        assert v.ratio == INFINITE


@given(table=tables())
def test_the_verdict_does_not_depend_on_the_order_of_truths_or_reports(table):
    reversed_rows = Table.from_rows([table.row(i)[::-1] for i in reversed(range(table.shape[0]))])
    for notion in ("central", "local", "metric"):
        first, second = dc.verify(table, notion), dc.verify(reversed_rows, notion)
        assert first.ratio == second.ratio
        assert first.delta(1) == second.delta(1)


# ------------------------------------------------------------------------------------------------ what it must catch


def test_dust_beside_an_exact_zero_is_infinite():
    v = dc.verify([[0.5, 0.5 - 1e-16, 1e-16], [0.5, 0.5, 0.0]])
    assert v.epsilon == INFINITE and v.ratio == INFINITE
    assert not v.holds(epsilon=500)
    assert "never gives" in str(v.witness)
    assert 0 < v.delta(10) <= 1.0000001e-16


def test_zeros_below_the_smallest_double_are_not_zeros():
    tiny = Fraction(1, 10**400)
    v = dc.verify([[1 - tiny, tiny], [1 - 3 * tiny, 3 * tiny]])
    assert v.ratio == 3
    infinite = dc.verify([[1 - tiny, tiny], [Fraction(1), Fraction(0)]])
    assert infinite.ratio == INFINITE and infinite.delta(1) > 0


@pytest.mark.parametrize("reach", [1, 3, 10])
def test_a_cut_tail_is_found(reach):
    """The two-sided geometric, cut at +-reach around the truth and divided by what is left."""
    a, n = Fraction(1, 2), 12
    law = {z: a ** abs(z) for z in range(-reach, reach + 1)}
    whole = sum(law.values())
    rows = [[law.get(y - x, Fraction(0)) / whole for y in range(-reach, n + reach + 1)] for x in range(n + 1)]
    v = dc.verify(rows)
    assert v.epsilon == INFINITE
    assert v.delta(1) >= float(law[reach] / whole)
    assert abs(v.witness.report - reach - v.witness.truth) == reach  # the first column is the report -reach


def test_a_tail_cut_at_the_ends_of_the_range_and_renormalised_is_not_as_private_as_it_looks():
    a, n = Fraction(1, 2), 6
    rows = []
    for x in range(n + 1):
        row = [a ** abs(x - y) for y in range(n + 1)]
        rows.append([p / sum(row) for p in row])
    v = dc.verify(rows)
    assert not v.holds(math.log(2) + 1e-9)  # the nominal epsilon
    assert v.ratio == largest_ratio(rows, "central")


def test_rounding_a_geometric_to_62_bits_is_not_private():
    m = dc.geometric(100, epsilon=1)
    rounded = [[round(m.probability(x, y) * 2**62) for y in range(101)] for x in range(101)]
    v = dc.verify(Table.from_rows(rounded))
    assert v.epsilon == INFINITE


# ------------------------------------------------------------------------------------------------ floats only


@given(table=tables(), notion=st.sampled_from(["central", "local"]), epsilon=st.sampled_from(["0", "1/2", "3", "40"]))
def test_without_integers_the_verdict_errs_on_the_safe_side(table, notion, epsilon):
    exact, quick = dc.verify(table, notion), dc.verify(table, notion, exact=False)
    assert quick.epsilon >= exact.epsilon
    assert quick.delta(epsilon) >= exact.delta(epsilon)
    if exact.ratio != INFINITE:
        assert quick.epsilon <= exact.epsilon + 1e-10
        assert quick.ratio >= exact.ratio
    else:
        assert quick.epsilon == INFINITE
    assert quick.delta(epsilon) <= exact.delta(epsilon) + 1e-12
    assert "floats" in str(quick) and "exactly" in str(exact)
    if quick.holds(epsilon):
        assert exact.holds(epsilon)


def test_without_integers_distances_on_a_map_count():
    grid = dc.Grid(2, 3, cell=150.0)
    m = dc.randomized_response(grid, epsilon=3)
    exact, quick = dc.verify(m, "metric"), dc.verify(m, "metric", exact=False)
    assert exact.epsilon == pytest.approx(3 / 150, rel=1e-9)
    assert quick.epsilon == pytest.approx(exact.epsilon, rel=1e-9)
    assert quick.ratio == pytest.approx(float(exact.ratio), rel=1e-9)


matrices = st.integers(2, 6).flatmap(
    lambda columns: st.lists(
        st.lists(st.floats(0, 1), min_size=columns, max_size=columns).filter(lambda row: sum(row) > 1e-3),
        min_size=2,
        max_size=6,
    )
)


@given(rows=matrices, notion=st.sampled_from(["central", "local"]))
def test_float_matrices_are_judged_by_their_decimals(rows, notion):
    P = np.array([np.array(row) / sum(row) for row in rows])
    decimals = [[Fraction(repr(p)) for p in row] for row in P.tolist()]
    exact = [[p / sum(row) for p in row] for row in decimals]
    v = dc.verify(P, notion)
    assert v.ratio == largest_ratio(exact, notion)
    for epsilon in ("0", "1/3", "5"):
        low, high = rational_bounds(epsilon)
        chosen = pairs(notion, len(exact))
        hockey = [
            max(sum(max(p - E * q, Fraction(0)) for p, q in zip(exact[i], exact[j], strict=True)) for i, j in chosen)
            for E in (high, low)
        ]
        assert hockey[0] <= Fraction(v.delta(epsilon)) <= hockey[1] * (1 + Fraction(1, 2**50)) + Fraction(1, 2**120)


# ------------------------------------------------------------------------------------------------ the screen


@given(table=tables(), epsilon=st.sampled_from(["0", "1/10", "1", "30"]))
def test_the_screens_stay_within_their_stated_errors(table, epsilon):
    """Every float screen is compared with the exact number it stands for."""
    P = fractions_of(table)
    rows = dc.verify(table, "local").evidence.divergence[0]
    i, j = rows._first, rows._second
    logs = rows._log_ratios(i, j)
    for k, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        for y in range(table.shape[1]):
            if P[a][y] and P[b][y]:
                exact = log_bounds(P[a][y] / P[b][y], 100)[0]
                assert abs(Fraction(logs[k, y]) - exact) <= Fraction(rows._log_error)
    E = exp_bounds(Fraction(epsilon))[0]
    best, error = rows.divergence_screen(E)
    exact = max(
        sum(max(p - E * q, Fraction(0)) for p, q in zip(P[a], P[b], strict=True)) for a, b in pairs("local", len(P))
    )
    assert abs(Fraction(best) - exact) <= Fraction(error)


def test_chunks_do_not_change_anything(monkeypatch):
    rng = np.random.default_rng(5)
    table = Table.from_array(rng.integers(0, 50, (9, 7)) + 1)
    whole = [dc.verify(table, notion) for notion in ("central", "local")]
    expected = [(v.ratio, v.delta(0.3), v.single_event_delta(0.3)) for v in whole]
    monkeypatch.setattr(evidence, "_ENTRIES_PER_BLOCK", 8)
    again = [dc.verify(table, notion) for notion in ("central", "local")]
    assert [(v.ratio, v.delta(0.3), v.single_event_delta(0.3)) for v in again] == expected


def test_a_large_table_is_judged_in_seconds():
    """A thousand counts: the palette makes it possible."""
    v = dc.verify(dc.explicit_fair(400, alpha="9/10"))
    assert v.ratio == Fraction(10, 9)
    assert 0 < v.delta(0.05) < 1


# ------------------------------------------------------------------------------------------------ words and refusals


def test_verdicts_and_witnesses_read_as_sentences():
    v = dc.verify([["3/4", "1/4"], ["1/4", "3/4"]])
    assert "central privacy: epsilon = 1.09862" in str(v)
    assert "a true count of" in str(v.witness) and "probability 0.75" in str(v.witness)
    assert repr(v.witness).startswith("<Witness: ")
    labels = dc.verify(dc.randomized_response(["yes", "no"], alpha="1/3"))
    assert {labels.witness.truth, labels.witness.other} == {"yes", "no"}
    assert labels.witness.report in ("yes", "no")
    huge = dc.verify(Table.from_rows([[1, 10**5000], [10**5000, 1]]))
    assert "about 1e-" in str(huge.witness) and len(repr(huge.witness)) < 300


@every_case(
    ("call", "error", "words"),
    [
        (lambda: dc.verify([[0.5, 0.5], [0.5, 0.5]], "global"), InvalidInput, Parts(argument="notion", given="global")),
        (
            lambda: dc.verify(dc.randomized_response(dc.Grid(2, 2), epsilon=1), "central"),
            Unsupported,
            Parts(argument="notion", token="metric"),
        ),
        (
            lambda: dc.verify([[0.5, 0.5], [0.5, 0.5]], inputs=dc.Counts(4)),
            InvalidInput,
            Parts(argument="inputs", token="2 rows ... 5 values"),
        ),
        (
            lambda: dc.verify(Table.from_rows([[1], [1]]), inputs=dc.Counts(4)),
            InvalidInput,
            Parts(argument="inputs", token="2 rows ... 5 values"),
        ),
        (
            lambda: dc.verify(dc.uniform(3), inputs=dc.Counts(4)),
            InvalidInput,
            Parts(argument="inputs", token="own space"),
        ),
        (lambda: dc.verify([[0.5, 0.5], [0.5, 0.5]]).holds(-1), InvalidInput, Parts(argument="epsilon", given=-1)),
        (lambda: dc.verify([[0.5, 0.5], [0.5, 0.5]]).holds(1, 2), InvalidInput, Parts(argument="delta", given=2)),
        (
            lambda: dc.verify([[0.5, 0.5], [0.5, 0.5]]).delta(math.nan),
            InvalidInput,
            Parts(argument="epsilon", token="finite ... nan"),
        ),
        (
            lambda: dc.verify([[0.5, 0.5], [0.5, 0.5]]).delta(True),
            InvalidInput,
            Parts(argument="epsilon", given="the boolean True"),
        ),
    ],
)
def test_questions_that_make_no_sense_are_refused(call, error, words):
    with refused(error, **words):
        call()


def test_a_kernel_is_not_judged_for_other_truths_than_its_own():
    from types import SimpleNamespace

    kernel = dc.geometric(10, epsilon=1).kernel
    with refused(InvalidInput, "inputs"):
        dc.verify(SimpleNamespace(kernel=kernel, inputs=dc.Integers()))


def test_delta_between_too_many_pairs_is_refused_not_guessed():
    m = dc.two_sided_geometric(epsilon=1)
    v = dc.verify(m, "metric")
    assert v.epsilon <= 1
    for ask in (v.delta, v.single_event_delta):
        with pytest.raises(Unsupported):
            ask(0.5)
