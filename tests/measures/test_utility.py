"""Costs, bias, variance, tails and Kantorovich distances: golden values, and loops over the definitions."""

from __future__ import annotations

import csv
import math
import sys
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import discreet as dc
from discreet import losses
from discreet.errors import InvalidInput, MissingExtra, Unsupported, WrongType
from discreet.exact.tables import Table
from discreet.mechanism import Mechanism
from discreet.spaces import Counts, Grid, Integers, Labels
from discreet.utility import bias, cost, expected_loss, kantorovich, probability_of_truth, tail, variance
from support.golden import golden_prior
from support.grids import every_case
from support.oracles import linear_minimum
from support.paths import GOLDEN
from support.refusals import Parts, refused


def geometric(n: int, a: Fraction) -> Table:
    """[C] definition 4: interior column (1-a)/(1+a) a^|i-j|, the two outer columns a^|i-j|/(1+a)."""
    rows = [[a ** abs(i - j) * (1 if j in (0, n) else 1 - a) / (1 + a) for j in range(n + 1)] for i in range(n + 1)]
    return from_fractions(rows)


def explicit_fair(n: int, a: Fraction) -> Table:
    """[C] (16), with y for even and for odd n (the printed one is for even n)."""
    odd = (1 - a) / ((1 + a) * (1 - a ** ((n + 1) // 2)))
    y = odd if n % 2 else (1 - a) / (1 + a - 2 * a ** (n // 2 + 1))

    def entry(truth: int, report: int) -> Fraction:
        d, m = abs(truth - report), min(truth, n - truth)
        return y * a ** (d if d <= m else -(-(d + m) // 2))

    return from_fractions([[entry(i, j) for j in range(n + 1)] for i in range(n + 1)])


def uniform(n: int) -> Table:
    return Table.from_rows([[1] * (n + 1)] * (n + 1))


def from_fractions(rows: list[list[Fraction]]) -> Table:
    assert all(sum(row) == 1 for row in rows)
    scale = math.lcm(*(x.denominator for row in rows for x in row))
    return Table.from_rows([[int(x * scale) for x in row] for row in rows])


def closed_form(row: dict[str, str]) -> Table | None:
    """The mechanism that attains a golden optimum, where one is known in closed form."""
    n, a = int(row["n"]), Fraction(row["alpha"])
    wanted = set(row["properties"].split("+"))
    if row["objective"] != "L0":
        return None
    if "F" in wanted or row["aggregate"] == "max":  # EM is optimal under F, and minimax for L0 whatever else is asked
        return explicit_fair(n, a)
    geometric_has = {"none", "S", "RH", "RM"}
    geometric_has |= {"WH"} if n >= 2 * a / (1 - a) else set()
    geometric_has |= {"CH", "CM", "WH"} if a <= Fraction(1, 2) or n == 1 else set()
    return geometric(n, a) if wanted <= geometric_has and row["prior"] == "uniform" else None


FIGURES = list(csv.DictReader((GOLDEN / "fig8_9.csv").read_text().splitlines()))
ROWS = [
    row for row in csv.DictReader((GOLDEN / "golden_004.csv").read_text().splitlines()) if closed_form(row) is not None
]


@every_case("row", ROWS, ids=lambda r: f"{r['n']}-{r['alpha']}-{r['properties']}-{r['aggregate']}-{r['prior']}")
def test_golden_costs_of_the_closed_forms(row):
    n, worst = int(row["n"]), row["aggregate"] == "max"
    table, prior = closed_form(row), golden_prior(row["prior"], n)
    assert cost(table, row["objective"], prior, worst, exact=True) == Fraction(row["raw_exact"])
    assert cost(table, row["objective"], prior, worst) == pytest.approx(float(row["raw_cost"]), abs=1e-11)
    assert cost(table, row["objective"], prior, worst, rescaled=True) == pytest.approx(
        float(row["rescaled_cost"]), abs=1e-11
    )


def test_there_are_enough_golden_rows():
    assert len(ROWS) >= 20


@every_case("row", FIGURES, ids=lambda r: f"{r['alpha']}-{r['n']}")
def test_golden_figures_eight_and_nine(row):
    n, a = int(row["n"]), Fraction(row["alpha"])
    for name, table in (("GM", geometric(n, a)), ("EM", explicit_fair(n, a)), ("UM", uniform(n))):
        assert cost(table, "L0", rescaled=True) == pytest.approx(float(row[name]), abs=1e-10)
    if n >= 2 * a / (1 - a):  # where GM is weakly honest, it is the WH optimum
        assert cost(geometric(n, a), rescaled=True) == pytest.approx(float(row["WH"]), abs=1e-10)
    assert cost(geometric(n, a), rescaled=True, exact=True) == 2 * a / (1 + a)  # [C] theorem: L0(GM) = 2a/(1+a)


def test_golden_costs_of_always_reporting_the_same():
    """Optima that ignore the truth ([C] figure 1): n = 4, L2: 2. With the binomial prior, n = 6: L2 3/2, L0 11/16."""
    assert cost(Table.from_rows([[0, 0, 1, 0, 0]] * 5), "L2", exact=True) == 2
    always_three, prior = Table.from_rows([[0, 0, 0, 1, 0, 0, 0]] * 7), golden_prior("binom", 6)
    assert cost(always_three, "L2", prior, exact=True) == Fraction(3, 2)
    assert cost(always_three, "L0", prior, exact=True) == Fraction(11, 16)


# ------------------------------------------------------------------------------------------------ brute force


@st.composite
def tables(draw) -> Table:
    truths, reports = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    rows = [draw(st.lists(st.integers(0, 9), min_size=reports, max_size=reports)) for _ in range(truths)]
    assume(all(map(any, rows)))
    return Table.from_rows(rows)


DEFINITIONS = {
    "L0": lambda i, j: int(i != j),
    "L1": lambda i, j: abs(i - j),
    "L2": lambda i, j: (i - j) ** 2,
    "L0_1": lambda i, j: int(abs(i - j) > 1),
    "L3": lambda i, j: abs(i - j) ** 3,
}


@given(tables(), st.sampled_from(sorted(DEFINITIONS)), st.data())
def test_costs_are_their_definitions(table, name, data):
    truths, reports = table.shape
    define = DEFINITIONS[name]
    weights = data.draw(st.lists(st.integers(0, 5), min_size=truths, max_size=truths).filter(any))
    prior = [Fraction(w, sum(weights)) for w in weights]
    each = [sum((define(i, j) * table.probability(i, j) for j in range(reports)), Fraction(0)) for i in range(truths)]
    assert expected_loss(table, name, exact=True) == tuple(each)
    assert cost(table, name, exact=True) == sum(each) / truths
    assert cost(table, name, prior, exact=True) == sum(w * e for w, e in zip(prior, each, strict=True))
    assert cost(table, name, worst_case=True, exact=True) == max(each)
    np.testing.assert_allclose(expected_loss(table.matrix(), name), [float(e) for e in each], atol=1e-12)
    assert cost(table.matrix(), name, prior) == pytest.approx(float(cost(table, name, prior, exact=True)))
    assert cost(table, name, worst_case=True) == pytest.approx(float(max(each)))
    given_losses = [[define(i, j) for j in range(reports)] for i in range(truths)]
    assert cost(table, losses.matrix(given_losses), prior, exact=True) == cost(table, name, prior, exact=True)
    assert cost(table, np.array(given_losses)) == pytest.approx(cost(table, name))


@given(tables())
def test_moments_are_their_definitions(table):
    truths, reports = table.shape
    for i in range(truths):
        p = [table.probability(i, j) for j in range(reports)]
        mean = sum(j * p[j] for j in range(reports))
        assert bias(table, exact=True)[i] == mean - i
        assert variance(table, exact=True)[i] == sum((j - mean) ** 2 * p[j] for j in range(reports))
        assert tail(table, 1, exact=True)[i] == sum(p[j] for j in range(reports) if abs(i - j) > 1)
        assert probability_of_truth(table, exact=True)[i] == (p[i] if i < reports else 0)
    for question in (bias, variance, probability_of_truth):
        exact = [float(x) for x in question(table, exact=True)]
        np.testing.assert_allclose(question(table.matrix()), exact, atol=1e-12)


def test_costs_on_a_grid_and_on_labels():
    space = Grid(1, 3, cell=10)
    table = Table.from_rows([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    m = SimpleNamespace(inputs=space, outputs=space, kernel=table, matrix=table.matrix())
    assert cost(m, "L1", exact=True) == Fraction(5 + 5 + 10, 3)
    assert cost(m, "L1") == pytest.approx(20 / 3)
    assert tail(m, 10).tolist() == [0, 0, 0.5]
    with refused(Unsupported, token="expected_loss"):
        bias(m)
    labels = Labels(["x", "y", "z"])
    m.inputs = m.outputs = labels
    assert cost(m, "L1") == cost(m, "L0") == 0.5


def test_exact_cost_of_a_large_mechanism():
    n, a = 300, Fraction(9, 10)
    d = np.abs(np.arange(n + 1)[:, None] - np.arange(n + 1)[None, :])
    inner = np.ones(n + 1, dtype=np.int64) * (n + 1)
    inner[[0, n]] = 0
    powers = [a.numerator**k * a.denominator ** (n - k) for k in range(n + 1)]
    table = Table.from_codes([10 * p for p in powers] + powers, d + inner[None, :])
    assert cost(table, rescaled=True, exact=True) == 2 * a / (1 + a)


# ------------------------------------------------------------------------------------------------ bad input


@every_case(
    ("prior", "words"),
    [
        ([0.5, 0.6, -0.1], Parts(token="number 2")),
        ([0.5, np.nan, 0.5], Parts(token="1 is nan")),
        ([0.5, 0.5], Parts(given="shape (2,)", token="3 values")),
        ([0.5, 0.5, 0.1], Parts(argument="prior", token="up to 1.1")),
        ("triangular", Parts(given="str", token="list of numbers")),
        ([[1, 0, 0]], Parts(given="shape (1, 3)", token="shape")),
    ],
)
def test_bad_priors_are_refused(prior, words):
    for exact in (False, True):
        with refused(InvalidInput, **words):
            cost(uniform(2), prior=prior, exact=exact)


@pytest.mark.parametrize("prior", [["1/3", "1/3", "1/3"], ("1/3", 1 / 3, Fraction(1, 3)), np.array(["1/3"] * 3)])
def test_priors_may_be_fractions_in_text(prior):
    m = dc.geometric(2, alpha="1/2")
    assert cost(m, "L1", prior, exact=True) == cost(m, "L1", "uniform", exact=True) == Fraction(5, 9)
    assert cost(m, "L1", prior) == pytest.approx(5 / 9)
    assert dc.compare(2, alpha="1/2", families=["GM"], prior=prior)["GM"].costs["L1"] == pytest.approx(5 / 9)
    assert dc.kantorovich(["1/3", "2/3"], ["2/3", "1/3"], dc.Counts(1)) == pytest.approx(1 / 3)
    with refused(InvalidInput, given="one third"):
        cost(m, "L1", ["1/3", "one third", "1/3"])


def test_exact_priors_must_be_exact():
    assert cost(uniform(2), prior=[0.1, 0.2, 0.7], exact=True) == Fraction(2, 3)  # read as 1/10, 2/10, 7/10
    almost = [1 / 3 + 1e-12, 1 / 3, 1 / 3]
    assert cost(uniform(2), prior=almost) == pytest.approx(2 / 3)
    with refused(InvalidInput, "prior"):
        cost(uniform(2), prior=almost, exact=True)


def test_questions_without_an_answer_are_refused():
    with refused(InvalidInput, "prior"):
        cost(uniform(2), prior=[1, 0, 0], worst_case=True)
    with refused(InvalidInput, "rescaled"):
        cost(uniform(2), "L1", rescaled=True)
    with refused(Unsupported, token="float matrix"):
        cost(np.eye(3), exact=True)
    with refused(Unsupported, token="irrational"):
        cost(uniform(2), losses.power(0.5), exact=True)
    with refused(InvalidInput, "loss"):
        cost(uniform(2), "L∞")
    with refused(InvalidInput, "d", given=-1):
        tail(uniform(2), -1)
    with refused(Unsupported, token="m.on(Counts(n), clamp=True)"):
        cost(SimpleNamespace(inputs=Integers(), outputs=Integers(), kernel=None))


# ------------------------------------------------------------------------------------------------ Kantorovich


def transport(p, q, distances) -> float:
    """The definition, by a general linear program."""
    size = len(p)
    leave = np.kron(np.eye(size), np.ones(size))
    arrive = np.kron(np.ones(size), np.eye(size))
    return linear_minimum(distances.ravel(), A_eq=np.vstack([leave, arrive]), b_eq=np.concatenate([p, q]))


masses = st.lists(st.integers(0, 4), min_size=6, max_size=6).filter(any).map(lambda w: np.array(w) / sum(w))
SPACES = [Counts(5), Grid(2, 3, cell=150.0), Grid(1, 6), Labels("abcdef"[k] for k in range(6))]


@given(masses, masses, st.sampled_from(SPACES))
def test_kantorovich_is_the_optimal_transport(p, q, space):
    k = np.arange(6)
    distances = np.sqrt(space.squared_distance(k[:, None], k[None, :])) * float(space.unit)
    assert kantorovich(p, q, space) == pytest.approx(transport(p, q, distances), abs=1e-9 * distances.max())


@given(masses, masses, masses, st.sampled_from(SPACES))
def test_kantorovich_is_a_distance(p, q, r, space):
    pq, qp, qr, pr = (kantorovich(a, b, space) for a, b in ((p, q), (q, p), (q, r), (p, r)))
    assert kantorovich(p, p, space) == 0
    assert pq == pytest.approx(qp, abs=1e-9)
    assert pr <= pq + qr + 1e-9
    assert pq >= 0


def test_kantorovich_between_points_is_the_distance_between_them():
    grid = Grid(30, 30, cell=150.0)
    unit = np.eye(900)
    for a, b in pairwise([0, 29, 870, 899, 435]):
        assert kantorovich(unit[a], unit[b], grid) == pytest.approx(grid.distance(a, b))


def test_kantorovich_on_a_full_grid():
    """A uniform square moved one cell east: every cell's mass moves by one column, nothing cheaper exists."""
    grid = Grid(30, 30, cell=2)
    p, q = np.zeros((30, 30)), np.zeros((30, 30))
    p[:, :29], q[:, 1:] = 1 / 870, 1 / 870
    assert kantorovich(p.ravel(), q.ravel(), grid) == pytest.approx(2)
    rng = np.random.default_rng(1)
    a, b = rng.dirichlet(np.ones(900)), rng.dirichlet(np.ones(900))
    columns = kantorovich(a.reshape(30, 30).sum(0), b.reshape(30, 30).sum(0), Counts(29))
    assert kantorovich(a, b, grid) >= 2 * columns  # moving across columns alone is a lower bound


def test_kantorovich_takes_counts_and_tiny_differences():
    assert kantorovich([10, 0, 0], [0, 5, 5], Counts(2)) == 15
    p = np.full(4, 0.25)
    q = p + np.array([1e-17, 0, 0, 1e-16])
    assert 0 <= kantorovich(p, q, Grid(2, 2)) < 1e-15


@every_case(
    ("p", "q", "space", "error", "words"),
    [
        ([0.5, 0.5], [0.5, 0.4], Counts(1), InvalidInput, Parts(token="same mass")),
        ([0.5, 0.5], [1.0], Counts(1), InvalidInput, Parts(argument="q", given="shape (1,)")),
        ([0.5, 0.5, 0], [1, 0, 0], Counts(1), InvalidInput, Parts(argument="p", given="shape (3,)")),
        ([np.nan, 0.5], [0.5, 0.5], Counts(1), InvalidInput, Parts(token="p must hold")),
        ([1.5, -0.5], [0.5, 0.5], Grid(1, 2), InvalidInput, Parts(token="1 is -0.5")),
        ([1, 0], [0, 1], 1, WrongType, Parts(argument="space", given=1)),
        ([1, 0], [0, 1], Integers(), Unsupported, Parts(argument="space", token="Counts")),
    ],
)
def test_bad_distributions_are_refused(p, q, space, error, words):
    with refused(error, **words):
        kantorovich(p, q, space)


def test_without_the_extra_only_distances_on_maps_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a simulation that would need them says so before its surveys."""
    monkeypatch.setitem(sys.modules, "ot", None)
    assert kantorovich([1, 0, 0], [0, 0, 1], Counts(2)) == 2 and kantorovich([1, 0], [1, 0], Grid(1, 2)) == 0
    with refused(MissingExtra, token="discreet[transport]"):
        kantorovich([1, 0], [0, 1], Grid(1, 2))
    monkeypatch.setattr(Mechanism, "simulate", lambda *_, **__: pytest.fail("a survey was simulated"))
    with refused(MissingExtra, token="discreet[transport]"):
        dc.reconstruction_loss(dc.planar_geometric(Grid(2, 2), epsilon=1), [0.25] * 4, people=10, repeats=2)


@pytest.mark.parametrize("n", [10**4, 10**6])
def test_ranges_too_wide_for_a_table_are_refused_before_anything_is_made(n: int) -> None:
    m = dc.rounded_laplace(n, epsilon=1)  # of geometric noise they are known in closed form
    for ask in (lambda: dc.tail(m, 2), lambda: dc.cost(m, "L1"), lambda: dc.check(m), lambda: dc.bias(m)):
        with refused(Unsupported, token="16,000,000"):
            ask()
