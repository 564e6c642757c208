"""Losses: one definition each, against loops written from [C] definition 3."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet import losses
from discreet.errors import InvalidInput, Unsupported, WrongType
from discreet.spaces import Counts, Grid, Integers, Labels
from support.grids import every_case
from support.refusals import Parts, refused

DEFINITIONS = {  # |i - j|^p and "more than d steps off", as [C] writes them
    "L0": lambda i, j: 0 if i == j else 1,
    "L1": lambda i, j: abs(i - j),
    "L2": lambda i, j: (i - j) * (i - j),
    "L3": lambda i, j: abs(i - j) ** 3,
    "L0_1": lambda i, j: 1 if abs(i - j) > 1 else 0,
    "L0_2": lambda i, j: 1 if abs(i - j) > 2 else 0,
}


@given(st.sampled_from(sorted(DEFINITIONS)), st.integers(1, 12), st.integers(1, 12))
def test_every_loss_is_its_definition_on_counts(name, n, m):
    loss, define = losses.resolve(name), DEFINITIONS[name]
    expected = [[define(i, j) for j in range(m + 1)] for i in range(n + 1)]
    assert loss.of(Counts(n), Counts(m)).tolist() == expected
    assert [[loss.exact(i, j) for j in range(m + 1)] for i in range(n + 1)] == expected
    values, codes = loss.exact_levels(Counts(n), Counts(m))
    assert [[values[c] for c in row] for row in codes] == expected
    assert losses.resolve(loss.name) == loss


def test_names_and_objects_are_the_same_losses():
    assert losses.resolve("L0") == losses.power(0) == losses.L0
    assert losses.resolve("L1") == losses.power(1) == losses.L1 != losses.L0
    assert losses.resolve("L0_1") == losses.beyond(1) != losses.beyond(2)
    assert losses.resolve("L3/2") == losses.resolve("L1.5") == losses.power(1.5)
    assert str(losses.beyond("1/2")) == "L0_1/2"
    for loss in (losses.L0, losses.L1, losses.L2, losses.power(3), losses.beyond(2)):
        assert loss.symmetric
        assert loss.nondecreasing
        assert loss.sentence


def test_fractional_powers_are_floats_and_say_so():
    loss = losses.power("1/2")
    assert loss.of(Counts(4), Counts(4))[0].tolist() == [0, 1, 2**0.5, 3**0.5, 2]
    assert loss.exact(0, 1) == 1
    with refused(Unsupported, token="irrational"):
        loss.exact(0, 2)
    with refused(Unsupported, token="irrational"):
        loss.exact_levels(Counts(4), Counts(4))


@given(st.integers(1, 4), st.integers(2, 4), st.sampled_from([1, 150.0, Fraction(1, 3)]))
def test_on_a_grid_distance_is_between_centres(rows, cols, cell):
    grid = Grid(rows, cols, cell)
    centre = [(Fraction(cell) * (k // cols), Fraction(cell) * (k % cols)) for k in range(grid.size)]
    squares = [[(a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 for b in centre] for a in centre]
    floats = np.array([[float(s) for s in row] for row in squares])
    np.testing.assert_allclose(losses.L2.of(grid, grid), floats, rtol=1e-12)
    np.testing.assert_allclose(losses.L1.of(grid, grid), np.sqrt(floats), rtol=1e-12)
    np.testing.assert_allclose(losses.power(3).of(grid, grid), floats**1.5, rtol=1e-12)
    d = Fraction(cell) * Fraction(3, 2)
    values, codes = losses.beyond(d).exact_levels(grid, grid)
    assert [[values[c] for c in row] for row in codes] == [[int(s > d * d) for s in row] for row in squares]
    values, codes = losses.L2.exact_levels(grid, grid)
    assert [[values[c] for c in row] for row in codes] == squares


def test_grid_distances_are_exact_where_they_are_rational():
    grid = Grid(5, 5, cell=10)
    assert losses.L1.exact(0, 3 * 5 + 4, grid) == 50  # 3-4-5
    assert losses.L2.exact(0, 6, grid) == 200
    with refused(Unsupported, token="L0, L2"):
        losses.L1.exact(0, 6, grid)


def test_on_labels_every_error_is_the_same():
    labels = Labels(["a", "b", "c"])
    for loss in (losses.L0, losses.L1, losses.L2, losses.power(1.5)):
        assert loss.of(labels, labels).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert losses.L1.exact(0, 2, labels) == 1


def test_exact_losses_do_not_overflow():
    assert losses.L2.exact(-(2**62), 2**62) == 2**126


@given(st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=4, max_size=4))
def test_matrix_flags_are_their_definitions(rows):
    loss = losses.matrix(rows)
    n = len(rows) - 1
    symmetric = all(rows[i][j] == rows[n - i][n - j] for i in range(n + 1) for j in range(n + 1))
    grows = all(
        rows[i][j] <= rows[i][k]
        for i in range(n + 1)
        for j in range(n + 1)
        for k in range(n + 1)
        if abs(i - j) <= abs(i - k)
    )
    assert loss.symmetric == symmetric
    assert loss.nondecreasing == grows
    assert loss.of(Counts(3), Counts(3)).tolist() == rows
    assert loss.exact(1, 2) == rows[1][2]


def test_matrix_flags_can_be_true():
    distances = losses.L1.of(Counts(5), Counts(5))
    assert losses.matrix(distances).symmetric and losses.matrix(distances).nondecreasing
    weighted = distances * np.arange(1, 7)[:, None]  # some truths matter more: not symmetric, still nondecreasing
    assert not losses.matrix(weighted).symmetric
    assert losses.matrix(weighted).nondecreasing


def test_a_float_loss_means_the_simplest_rational():
    assert losses.matrix([[0, 0.1], [1 / 3, 0]]).exact(0, 1) == Fraction(1, 10)
    mixed = losses.matrix([[Fraction(1, 7), 0], [0.5, 2]])
    values, codes = mixed.exact_levels(Counts(1), Counts(1))
    assert [[values[c] for c in row] for row in codes] == [[Fraction(1, 7), 0], [Fraction(1, 2), 2]]


def test_a_loss_matrix_is_a_copy():
    given_losses = np.zeros((2, 2))
    loss = losses.matrix(given_losses)
    given_losses[0, 0] = 7
    assert loss.of(Counts(1), Counts(1))[0, 0] == 0


@every_case(
    ("bad", "error", "words"),
    [
        ("L", InvalidInput, Parts(argument="loss", token="'L0' ... dc.losses")),
        ("ell1", InvalidInput, Parts(argument="loss")),
        ("L-1", InvalidInput, Parts(argument="loss")),
        (3, InvalidInput, Parts(argument="loss")),
        (None, InvalidInput, Parts(argument="loss")),
        ([[0, np.nan], [1, 0]], InvalidInput, Parts(argument="losses", token="truth 0")),
        ([[0, np.inf], [1, 0]], InvalidInput, Parts(argument="losses", token="finite")),
        ([0, 1], InvalidInput, Parts(argument="losses", token="shape")),
        ([[0, 1], [1]], InvalidInput, Parts(argument="losses", token="one length")),
        ([[True, False], [False, True]], WrongType, Parts(argument="losses", token="bool")),
        ([["a", "b"]], WrongType, Parts(argument="losses", token="numbers")),
        ([[None, 1]], WrongType, Parts(given="NoneType", token="number")),
        (
            np.ma.masked_array([[0, 1], [1, 0]], mask=[[0, 1], [0, 0]]),
            WrongType,
            Parts(argument="losses", token="masked"),
        ),
    ],
)
def test_bad_losses_are_refused_with_advice(bad, error, words):
    with refused(error, **words):
        losses.resolve(bad)


@every_case("bad", [-1, float("nan"), "x", True, None])
def test_bad_parameters_are_refused(bad):
    with refused(InvalidInput, "p"):
        losses.power(bad)
    with refused(InvalidInput, "d"):
        losses.beyond(bad)


def test_losses_refuse_spaces_they_do_not_fit():
    with refused(Unsupported, token="m.on(Counts(n), clamp=True)"):
        losses.L1.of(Integers(), Integers())
    with refused(Unsupported, token="losses.matrix"):
        losses.L1.of(Labels(["a", "b"]), Counts(1))
    with refused(InvalidInput, token="(2, 2) ... 3 true"):
        losses.matrix([[0, 1], [1, 0]]).of(Counts(2), Counts(1))
    with refused(InvalidInput, token="L400"):
        losses.power(400).of(Counts(1000), Counts(1000))
    with refused(InvalidInput, token="L801/2"):
        losses.power("801/2").of(Counts(1000), Counts(1000))


def test_importing_these_rooms_does_not_import_scipy_or_pot():
    code = "import sys, discreet.utility; print([m for m in ('scipy', 'ot') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# ------------------------------------------------------------------------------------------------ functions


def too_low(truth, report):
    return 5 * (truth - report) if report < truth else report - truth


def test_a_function_is_the_matrix_of_its_values():
    m = dc.explicit_fair(6, alpha="2/3")
    table = [[too_low(i, j) for j in range(7)] for i in range(7)]
    for exact in (False, True):
        assert dc.cost(m, too_low, exact=exact) == dc.cost(m, losses.matrix(table), exact=exact)
    assert dc.design(6, alpha="2/3", loss=too_low) == dc.design(6, alpha="2/3", loss=table)
    assert dc.remap(m, too_low).guesses == dc.remap(m, table).guesses
    compared = dc.compare(6, epsilon=1, families=["GM"], loss=[too_low, "L1"])["GM"]
    assert list(compared.costs) == ["too_low", "L1"]


def test_a_function_is_asked_about_values_not_places():
    m = dc.randomized_response(["never", "often"], alpha="1/3")
    missed = losses.function(lambda truth, report: truth == "often" and report == "never", "missed")
    assert dc.cost(m, missed, exact=True) == Fraction(1, 8) and missed.name == "missed"
    assert losses.resolve(lambda truth, report: 0).name == "loss"
    counts = dc.from_matrix([[1, 0], [0, 1]])
    assert dc.cost(counts, lambda truth, report: np.float64(truth + report)) == 1.0


def test_the_shape_of_a_function_shows_on_values():
    distance = losses.function(lambda truth, report: abs(truth - report))
    assert distance.on(dc.Counts(3), dc.Counts(3)).nondecreasing and distance.on(dc.Counts(3), dc.Counts(3)).symmetric
    assert not losses.function(too_low).on(dc.Counts(3), dc.Counts(3)).symmetric
    assert dc.design(4, alpha="1/2", loss=lambda x, y: abs(x - y)) == dc.design(4, alpha="1/2", loss="L1")


def test_a_function_that_returns_no_number_is_refused():
    for wrong in ("far", None, float("nan"), float("inf"), [1]):
        with refused(WrongType, "loss"):
            dc.cost(dc.geometric(3, epsilon=1), lambda truth, report, wrong=wrong: wrong)
    with pytest.raises(Unsupported):
        losses.function(too_low).on(dc.Integers(), dc.Integers())
