"""Structural properties against loops written from the definitions of [C] section IV-A, on exact and float tables."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet import properties
from discreet.checking import check, pathologies
from discreet.errors import InvalidInput, Unsupported, WrongType
from discreet.exact.tables import Table
from discreet.properties import PATHOLOGIES, PROPERTIES, Property, Rows
from discreet.spaces import Counts, Grid, Integers, Labels
from support.grids import every_case
from support.refusals import Parts, refused

SEVEN = ["S", "RH", "RM", "CH", "CM", "F", "WH"]
ALPHAS = [Fraction(1, 10), Fraction(1, 2), Fraction(31, 50), Fraction(9, 10), Fraction(99, 100)]


# ------------------------------------------------------------------------------------------------ mechanisms


def geometric(n: int, a: Fraction) -> Table:
    """[C] definition 4: noise of the two-sided geometric law, clamped to 0..n."""
    p, q = a.numerator, a.denominator
    columns = [1 if j in (0, n) else Fraction(q - p, q) for j in range(n + 1)]
    rows = [[columns[j] * a ** abs(i - j) for j in range(n + 1)] for i in range(n + 1)]
    return Table.from_rows([[int(x * q ** (n + 1)) for x in row] for row in rows])


def explicit_fair(n: int, a: Fraction) -> Table:
    """[C] (16), with the exponents of the paper; dividing by the row sums gives y for even and odd n."""

    def exponent(truth: int, report: int) -> int:
        d, m = abs(truth - report), min(truth, n - truth)
        return d if d <= m else -(-(d + m) // 2)

    return Table.from_rows(
        [[a.numerator ** (e := exponent(i, j)) * a.denominator ** (n - e) for j in range(n + 1)] for i in range(n + 1)]
    )


def mechanism(table: Table, inputs, outputs) -> SimpleNamespace:
    return SimpleNamespace(inputs=inputs, outputs=outputs, kernel=table, matrix=table.matrix())


@st.composite
def tables(draw, low: int = 2, high: int = 6) -> Table:
    """Small tables full of ties and zeros, with totals of their own, some told apart only beyond double precision."""
    size = draw(st.integers(low, high))
    big = draw(st.sampled_from([1, 1, 10**40]))
    entry = st.sampled_from([0, 0, 1, 2, 3, 6])
    rows = [[draw(entry) * big for _ in range(size)] for _ in range(size)]
    if big > 1:
        rows = [[w + draw(st.integers(0, 1)) for w in row] for row in rows]
    if draw(st.booleans()):  # all rows alike, so that ties across rows are common
        rows = [rows[draw(st.integers(0, 1))] for _ in rows]
    times = [draw(st.sampled_from([1, 1, 2, 3])) for _ in rows]
    assume(all(any(row) for row in rows))
    return Table.from_rows([[w * t for w in row] for row, t in zip(rows, times, strict=True)])


# ------------------------------------------------------------------------------------------------ brute force


def shortfalls(code: str, pr, n: int) -> list:
    """By how much each inequality of the paper fails; ``pr(i, j)`` is its Pr[i|j], i the report and j the truth."""
    every = range(n + 1)
    if code == "RH":  # (7) Pr[i|i] >= Pr[i|j]
        return [pr(i, j) - pr(i, i) for i in every for j in every]
    if code == "RM":  # (8)
        up = [pr(i, j - 1) - pr(i, j) for i in every for j in range(1, i + 1)]
        return up + [pr(i, j + 1) - pr(i, j) for i in every for j in range(i, n)]
    if code == "CH":  # (9) Pr[j|j] >= Pr[i|j]
        return [pr(i, j) - pr(j, j) for i in every for j in every]
    if code == "CM":  # (10)
        up = [pr(i - 1, j) - pr(i, j) for j in every for i in range(1, j + 1)]
        return up + [pr(i + 1, j) - pr(i, j) for j in every for i in range(j, n)]
    if code == "F":  # (11), every one against the first
        return [abs(pr(i, i) - pr(0, 0)) for i in every]
    if code == "WH":  # (13)
        return [Fraction(1, n + 1) - pr(i, i) for i in every]
    if code == "S":  # (14)
        return [abs(pr(i, j) - pr(n - i, n - j)) for i in every for j in every]
    if code == "no spikes":  # twice the inner neighbour
        below = [pr(i - 1, j) - 2 * pr(i, j) for j in every for i in range(1, j + 1)]
        return below + [pr(i + 1, j) - 2 * pr(i, j) for j in every for i in range(j, n)]
    raise AssertionError(code)


@given(tables(), st.sampled_from([*SEVEN, "no spikes"]))
def test_exact_checks_agree_with_the_definitions(table, code):
    n = table.shape[0] - 1
    pr = lambda i, j: table.probability(j, i)  # noqa: E731
    worst = max(0, *shortfalls(code, pr, n))
    result = check(table, code)[code]
    assert result.violation == worst and isinstance(result.violation, Fraction)
    assert result.holds == (worst == 0) == bool(result)
    assert result.tolerance == 0
    if worst:
        rows = {**PROPERTIES, **PATHOLOGIES}[code].rows(n)
        side = sum(int(a) * table.probability(*p) for a, p in zip(rows.coefficients, result.places, strict=True))
        assert worst == (abs(side - rows.right) if rows.sense == "==" else rows.right - side)
        truth, report = result.places[0]
        assert f"P(report {report} | truth {truth})" in result.where
        assert "fails by" in str(result)
    else:
        assert result.where is None and result.places == ()
        assert "holds" in str(result)


@given(tables(), st.sampled_from([*SEVEN, "no spikes"]))
def test_float_checks_agree_with_the_definitions(table, code):
    matrix = table.matrix()
    worst = max(0.0, *shortfalls(code, lambda i, j: matrix[j, i], len(matrix) - 1))
    result = check(matrix, code)[code]
    assert result.violation == pytest.approx(worst, abs=1e-12)
    assert result.holds == (worst <= 1e-9)
    assert isinstance(result.violation, float) and result.tolerance == 1e-9


@given(tables(), st.sampled_from([*SEVEN, "no spikes"]))
def test_the_rows_of_the_linear_program_say_the_same_as_the_check(table, code):
    """One definition: the sparse rows, read the way a solver reads them, are the inequalities that are checked."""
    size = table.shape[0]
    rows = {**PROPERTIES, **PATHOLOGIES}[code].rows(size - 1)
    dense = np.zeros((len(rows), size * size))
    for r in range(len(rows)):
        part = slice(rows.starts[r], rows.starts[r + 1])
        np.add.at(dense[r], rows.places.ravel()[part], rows.values[part])
    slack = dense @ table.matrix().ravel() - float(rows.right)
    worst = max(0.0, np.abs(slack).max() if rows.sense == "==" else -slack.min())
    assert float(check(table, code)[code].violation) == pytest.approx(worst, abs=1e-12)


@given(tables())
def test_gaps_are_reports_that_never_come(table):
    size = table.shape[1]
    gaps = [j for j in range(size) if all(table.weight(i, j) == 0 for i in range(size))]
    result = check(table, ["no gaps"])["no gaps"]
    assert result.holds == (not gaps)
    assert result.violation == Fraction(len(gaps), size)
    assert [report for _, report in result.places] == gaps
    matrix = table.matrix()
    hardly = [j for j in range(size) if all(matrix[i, j] <= 1e-9 for i in range(size))]
    assert check(matrix, "no gaps")["no gaps"].violation == pytest.approx(len(hardly) / size)


def test_near_ties_beyond_double_precision_are_decided_exactly():
    big = 10**60
    table = Table.from_rows([[big, big + 1], [big, big + 1]])
    assert check(table.matrix())["CH"].holds  # floats cannot tell
    assert check(table)["CH"].violation == Fraction(1, 2 * big + 1)
    assert not check(table)["CH"]
    assert check(table, "CH", tolerance=1e-9)["CH"].holds


def test_probabilities_that_underflow_are_decided_exactly():
    huge = 10**400
    table = Table.from_rows([[huge, 1, 2], [huge, 1, 1], [huge, 1, 1]])
    assert table.matrix()[0, 2] == 0
    result = check(table, "CM")["CM"]
    assert result.violation > Fraction(1, 2)  # truth 1 and 2 report 0
    assert check(Table.from_rows([[huge, 1, 2], [1, huge, 1], [1, 2, huge]]), "CM")["CM"].violation == Fraction(
        1, huge + 3
    )


# ------------------------------------------------------------------------------------------------ implications


def _unimodal(draw, size: int, peak: int) -> list[int]:
    left = sorted(draw(st.lists(st.integers(0, 9), min_size=peak, max_size=peak)))
    right = sorted(draw(st.lists(st.integers(0, 9), min_size=size - peak - 1, max_size=size - peak - 1)), reverse=True)
    return [*left, max([1, *left, *right]), *right]


@given(st.data(), st.integers(2, 6))
def test_column_monotone_implies_column_honest_implies_weakly_honest(data, size):
    table = Table.from_rows([_unimodal(data.draw, size, i) for i in range(size)])
    results = check(table)
    assert results["CM"] and results["CH"] and results["WH"]
    assert pathologies(table)["no spikes"]


@given(st.data(), st.integers(2, 6))
def test_column_honest_implies_weakly_honest(data, size):
    rows = [data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)) for _ in range(size)]
    for i, row in enumerate(rows):
        row[i] = max([1, *row])
    results = check(Table.from_rows(rows), "CH+WH")
    assert results["CH"] and results["WH"]


@given(st.data(), st.integers(2, 6))
def test_row_monotone_implies_row_honest(data, size):
    # Mixtures of "report low up to a cut, and high beyond it", low on its own side and high on its own, are RM.
    rows = [[0] * size for _ in range(size)]
    for _ in range(data.draw(st.integers(1, 6))):
        cut = data.draw(st.integers(0, size - 2))
        low, high = data.draw(st.integers(0, cut)), data.draw(st.integers(cut + 1, size - 1))
        weight = data.draw(st.integers(1, 5))
        for i in range(size):
            rows[i][low if i <= cut else high] += weight
    results = check(Table.from_rows(rows), ["RM", "RH"])
    assert results["RM"] and results["RH"]


@given(tables())
def test_monotone_implies_honest_on_any_table(table):
    results = check(table)
    assert results["RH"] or not results["RM"]
    assert results["CH"] or not results["CM"]
    assert results["WH"] or not results["CH"]


@given(st.data(), st.integers(2, 6), st.integers(1, 6))
def test_fair_mechanisms_are_row_honest_exactly_when_column_honest(data, size, diagonal):
    """Rows that hold one set of false weights in different orders, around one true weight, are fair."""
    false = data.draw(st.lists(st.integers(0, 7), min_size=size - 1, max_size=size - 1))
    rows = [list(data.draw(st.permutations(false))) for _ in range(size)]
    for i, row in enumerate(rows):
        row.insert(i, diagonal)
    results = check(Table.from_rows(rows))
    assert results["F"]
    assert results["RH"].holds == results["CH"].holds == (max(false) <= diagonal)


# ------------------------------------------------------------------------------------------------ mechanisms of [C]


@every_case("n", range(1, 31))
def test_explicit_fair_has_all_seven_properties(n):
    for a in ALPHAS:
        results = check(explicit_fair(n, a))
        assert list(results) == SEVEN
        assert all(results.values()), [str(r) for r in results.values() if not r]
        assert all(pathologies(explicit_fair(n, a)).values())


@every_case("a", [Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(4, 5), Fraction(9, 10)])
def test_geometric_is_weakly_honest_for_large_n_and_column_monotone_for_small_alpha(a):
    """GM is WH iff n >= 2a/(1-a), and CM (and CH) iff a <= 1/2, for n >= 2; the thresholds themselves included."""
    for n in range(2, 24):
        results = check(geometric(n, a))
        assert results["WH"].holds == (n >= 2 * a / (1 - a))
        assert results["CM"].holds == results["CH"].holds == (a <= Fraction(1, 2))
        assert results["S"] and results["RM"] and results["RH"] and not results["F"]
        # At the ends the step is a/(1-a): a spike, more than a factor 2, from a = 2/3 on.
        assert pathologies(geometric(n, a))["no spikes"].holds == (a <= Fraction(2, 3))


def test_example_one_of_the_paper():
    """[C] example 1: n = 2, alpha = 9/10: truth 1 is reported as 0 with .47 and as 1 with .05 (9/19 and 1/19)."""
    results = check(geometric(2, Fraction(9, 10)))
    assert results["CH"].violation == Fraction(8, 19)
    assert results["CH"].where == "P(report 1 | truth 1) = 0.0526316 < P(report 0 | truth 1) = 0.473684"
    assert results["WH"].violation == Fraction(1, 3) - Fraction(1, 19)
    assert results["WH"].where.endswith("< 1/3")
    assert results["F"].violation == Fraction(10, 19) - Fraction(1, 19)
    assert not pathologies(geometric(2, Fraction(9, 10)))["no spikes"]


def test_figure_one_of_the_paper_always_report_two():
    """[C] figure 1: the L2 optimum for n = 4 ignores the truth and reports 2: four gaps, and spikes."""
    table = Table.from_rows([[0, 0, 1, 0, 0]] * 5)
    flaws = pathologies(table)
    assert flaws["no gaps"].violation == Fraction(4, 5)
    assert flaws["no gaps"].where == "never reported: 0, 1, 3, 4"
    assert flaws["no spikes"].violation == 1


def test_large_explicit_fair_takes_seconds():
    n, a = 400, Fraction(9, 10)
    i, j = np.arange(n + 1)[:, None], np.arange(n + 1)[None, :]
    d, m = np.abs(i - j), np.minimum(i, n - i)
    codes = np.where(d <= m, d, -(-(d + m) // 2))
    top = int(codes.max())
    palette = [a.numerator**k * a.denominator ** (top - k) for k in range(top + 1)]
    assert all(check(Table.from_codes(palette, codes)).values())


# ------------------------------------------------------------------------------------------------ shapes and spaces


def test_more_reports_than_truths():
    """Truths 0..2, reports 0..4: everything but symmetry can be asked; guessing is among all reports."""
    table = Table.from_rows([[4, 3, 2, 1, 0], [3, 4, 3, 2, 1], [2, 3, 4, 3, 2]])
    results = check(table)
    assert list(results) == ["RH", "RM", "CH", "CM", "F", "WH"]
    assert results["CH"] and results["CM"] and results["WH"]
    assert results["RH"] and results["RM"] and not results["F"]
    assert PROPERTIES["WH"].rows((3, 5)).right == Fraction(1, 5)
    # P[i, 4] must rise towards truth 2, the nearest to report 4
    falling = Table.from_rows([[1, 1, 1, 1, 4], [1, 4, 1, 1, 1], [1, 1, 4, 1, 1]])
    assert check(falling, "RM")["RM"].places == ((1, 4), (0, 4))
    with refused(Unsupported, "properties"):
        check(table, "S")
    with refused(Unsupported, "mechanism"):
        check(Table.from_rows([[1, 1], [1, 1], [1, 1]]))
    with refused(Unsupported, "properties"):
        PROPERTIES["CH"].rows((3, 2))


@pytest.mark.parametrize("space", [Labels(["a", "b", "c", "d"]), Grid(2, 2)])
def test_values_without_order_have_four_properties(space):
    table = Table.from_rows([[3, 1, 1, 1], [1, 3, 1, 1], [1, 1, 3, 1], [1, 1, 1, 3]])
    results = check(mechanism(table, space, space))
    assert list(results) == ["RH", "CH", "F", "WH"]
    assert all(results.values())
    with refused(Unsupported, "properties"):
        check(mechanism(table, space, space), ["CM"])
    assert list(pathologies(mechanism(table, space, space))) == ["no gaps"]
    with refused(Unsupported, "mechanism"):
        check(mechanism(table, space, Counts(3)))


def test_words_use_the_values_of_the_space():
    yes_no = Labels(["yes", "no"])
    result = check(mechanism(Table.from_rows([[1, 2], [1, 1]]), yes_no, yes_no))["CH"]
    assert result.where == "P(report yes | truth yes) = 0.333333 < P(report no | truth yes) = 0.666667"


def test_a_mechanism_is_judged_by_its_exact_table():
    table = explicit_fair(4, Fraction(9, 10))
    subject = mechanism(table, Counts(4), Counts(4))
    subject.matrix = np.eye(5)  # a wrong matrix changes nothing
    assert check(subject)["F"].violation == 0


def test_infinite_mechanisms_are_refused_with_the_way_out():
    endless = SimpleNamespace(inputs=Integers(), outputs=Integers(), kernel=None)
    with refused(Unsupported, token="m.on(Counts(n), clamp=True)"):
        check(endless)


@every_case("code", [*SEVEN, "no spikes"])
def test_rows_for_a_thousand_counts(code):
    rows = {**PROPERTIES, **PATHOLOGIES}[code].rows(1000)
    assert rows.places.min() >= 0 and rows.places.max() < 1001**2
    assert len(rows) in {1001 * 1000, 1001**2 // 2, 1000, 1001}
    assert set(np.unique(rows.coefficients)) <= {-1, 1, 2}


def test_a_new_property_is_one_object():
    """Unbiased: sum_j (j - i) P[i, j] = 0 for every truth i, as rows with coefficients of their own."""

    def unbiased(truths: int, reports: int) -> Rows:
        i, j = np.indices((truths, reports))
        return Rows(i * reports + j, j - i, "==")

    fresh = Property("U", "unbiased", "Reports are right on average.", "a test", unbiased)
    result = check(geometric(7, Fraction(9, 10)), [fresh, "WH"])["U"]
    expected = max(
        abs(sum((j - i) * geometric(7, Fraction(9, 10)).probability(i, j) for j in range(8))) for i in range(8)
    )
    assert result.violation == expected > 0
    assert "a sum of 7 probabilities" in result.where
    assert check(np.eye(8), fresh)["U"].holds
    assert properties.resolve([fresh, "WH"]) == (fresh, PROPERTIES["WH"])


# ------------------------------------------------------------------------------------------------ bad input


def test_codes_can_be_selected_in_several_spellings():
    table = explicit_fair(3, Fraction(1, 2))
    assert (
        list(check(table, ["WH", "CM"])) == list(check(table, "WH+CM")) == list(check(table, "WH, CM")) == ["WH", "CM"]
    )
    assert [p.code for p in properties.resolve("no spikes+F")] == ["no spikes", "F"]


def test_unknown_codes_list_the_known_ones():
    with refused(InvalidInput, "properties", given="XX"):
        check(np.eye(3), ["XX"])
    with refused(InvalidInput, "properties", given="no gaps"):
        properties.resolve(["no gaps"])
    with refused(WrongType, "properties", given="int"):
        check(np.eye(3), [3])
    with pytest.raises(WrongType):
        properties.resolve(PATHOLOGIES["no gaps"])


@every_case(
    ("bad", "words"),
    [
        ([[0.5, 0.5], [np.nan, 1.0]], Parts(argument="mechanism", token="NaN")),
        ([[0.5, 0.5], [1.5, -0.5]], Parts(argument="mechanism", token="1 is -0.5")),
        ([[0.5, 0.5], [0.5, 0.6]], Parts(argument="mechanism", token="sums")),
        ([[0.9, 0.9], [0.1, 0.1]], Parts(argument="mechanism", token="transpose")),
        ([[1.0], [1.0]], Parts(argument="mechanism", token="at least two")),
        ([0.5, 0.5], Parts(argument="mechanism", token="at least two")),
        ("matrix", Parts(argument="mechanism")),
        (None, Parts(argument="mechanism", given="shape ()")),
        ([[1, 0], [1]], Parts(argument="mechanism")),
    ],
)
def test_bad_matrices_are_refused(bad, words):
    with refused(InvalidInput, **words):
        check(bad)


@pytest.mark.parametrize("tolerance", [-1e-9, float("nan"), 2])
def test_bad_tolerances_are_refused(tolerance):
    with refused(InvalidInput, "tolerance"):
        check(np.eye(3), tolerance=tolerance)


@every_case("n", [0, -3, 2.0, "4"])
def test_bad_sizes_are_refused(n):
    with refused(InvalidInput, "n"):
        PROPERTIES["CM"].rows(n)
