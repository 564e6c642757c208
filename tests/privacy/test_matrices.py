"""Somebody else's matrix: read as its decimals, refused with advice, or made into a proved mechanism."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput, NotPrivate, WrongType
from discreet.privacy.matrices import read_matrix
from support.grids import every_case
from support.refusals import Parts, refused
from support.tiers import examples

GOOD = [[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]]


def rows_of(matrix) -> list[list[Fraction]]:
    table, _ = read_matrix(matrix)
    return [[table.probability(i, j) for j in range(table.shape[1])] for i in range(table.shape[0])]


EXACT = [[Fraction(7, 10), Fraction(2, 10), Fraction(1, 10)], [Fraction(6, 10), Fraction(3, 10), Fraction(1, 10)]]


@every_case(
    "matrix",
    [
        GOOD,
        np.array(GOOD),
        np.array(GOOD, dtype=np.float32),
        np.array(GOOD, dtype=object),
        np.array([[np.float64(x) for x in row] for row in GOOD], dtype=object),
        np.array(GOOD).astype("U5"),
        np.array(GOOD).astype("S5"),
        [["0.7", "1/5", 0.1], [Fraction(3, 5), Decimal("0.3"), "1e-1"]],
        tuple(map(tuple, GOOD)),
        pd.DataFrame(GOOD),
        pd.DataFrame(GOOD).astype(object),
        pl.DataFrame(GOOD, orient="row"),
        np.asfortranarray(GOOD),
    ],
    ids=lambda m: f"{type(m).__name__}-{getattr(m, 'dtype', '')}",
)
def test_every_spelling_of_a_matrix_is_the_same_decimals(matrix):
    assert rows_of(matrix) == EXACT
    assert dc.verify(matrix).ratio == Fraction(3, 2)


@given(st.lists(st.floats(0, 1, exclude_min=True), min_size=2, max_size=5))
def test_a_float_stands_for_its_shortest_decimal(values):
    row = [v / sum(values) for v in values]
    table, _ = read_matrix([row, row])
    exact = [Fraction(repr(p)) for p in row]
    assert [table.probability(0, j) for j in range(len(row))] == [p / sum(exact) for p in exact]


def test_integers_are_probabilities_too():
    assert rows_of([[1, 0], [0, 1]]) == [[1, 0], [0, 1]]


def test_rows_nearly_one_are_divided_by_their_sum_with_a_note():
    verdict = dc.verify([[0.5000004, 0.5], [0.25, 0.75]])
    assert len(verdict.notes) == 1
    assert "1 of 2 rows" in verdict.notes[0] and "4e-07" in verdict.notes[0] and verdict.notes[0] in str(verdict)
    assert verdict.ratio == Fraction(5000004, 10000004) / Fraction(1, 4)
    assert dc.verify(GOOD).notes == ()
    assert dc.from_matrix([[0.5000004, 0.5], [0.25, 0.75]]).certificate.details["rows_normalised"] is True


@pytest.mark.parametrize("off", [2e-6, 0.01, -0.3])
def test_rows_further_off_are_refused_with_the_transposition_hint(off):
    with refused(InvalidInput, token="row 1 ... transpose"):
        dc.verify([[0.5, 0.5], [0.5, 0.5 + off]])


def test_a_matrix_whose_columns_are_the_truths_is_refused_with_a_hint():
    m = dc.geometric(3, alpha="1/2")
    assert not np.allclose(m.matrix.sum(axis=0), 1)
    with refused(InvalidInput, token="transpose"):
        dc.verify(m.matrix.T)
    assert dc.verify(m.matrix).epsilon == pytest.approx(math.log(2), rel=1e-9)


@every_case(
    ("matrix", "error", "words"),
    [
        ([[0.5, 0.5]], InvalidInput, Parts(token="two truths ... one")),
        ([0.5, 0.5], InvalidInput, Parts(token="shape (2,)")),
        ([], InvalidInput, Parts(token="shape (0,)")),
        ([[], []], InvalidInput, Parts(token="shape (2, 0)")),
        (np.full((2, 2, 2), 0.5), InvalidInput, Parts(token="shape (2")),
        (0.5, InvalidInput, Parts(token="shape ()")),
        ([[0.5, 0.5], [1.0]], InvalidInput, Parts(token="same number")),
        ([[0.5, 0.5], [math.nan, 0.5]], InvalidInput, Parts(token="0 is nan")),
        ([[0.5, 0.5], [math.inf, 0.5]], InvalidInput, Parts(token="0 is inf")),
        (
            np.array([[0.5, 0.5], [math.nan, 0.5]], dtype=object),
            InvalidInput,
            Parts(given="nan", token="column 0 ... 'nan'"),
        ),
        ([[0.5, 0.5], [1.25, -0.25]], InvalidInput, Parts(token="-0.25")),
        ([[0.5, 0.5], [0.0, 0.0]], InvalidInput, Parts(token="1 is all")),
        ([[True, False], [False, True]], WrongType, Parts(token="bool")),
        (
            np.array([[0.5, 0.5], [True, 0.0]], dtype=object),
            WrongType,
            Parts(given="the boolean True", token="boolean True"),
        ),
        ([[0.5, 0.5], [None, 1.0]], WrongType, Parts(given="NoneType", token="NoneType")),
        ([["a half", "0.5"], ["1", "0"]], InvalidInput, Parts(given="a half", token="'a half'")),
        ([["1/0", "0.5"], ["1", "0"]], InvalidInput, Parts(given="1/0", token="'1/0'")),
        (np.array([[1, 0], [0, 1]], dtype=complex), WrongType, Parts(token="complex")),
        (np.ma.masked_array(GOOD, mask=[[0, 1, 0], [0, 0, 0]]), WrongType, Parts(token="masked")),
        (pl.DataFrame({"a": [0.5, None], "b": [0.5, 0.5]}), InvalidInput, Parts(token="nan")),
        (pd.DataFrame({"a": [0.5, pd.NA], "b": [0.5, 0.5]}), WrongType, Parts(given="NAType", token="NAType")),
    ],
)
def test_what_is_no_matrix_of_probabilities_is_refused_with_what_was_given(matrix, error, words):
    for use in (dc.verify, dc.from_matrix):
        with refused(error, **words):
            use(matrix)


# ------------------------------------------------------------------------------------------------ from_matrix


@st.composite
def private_matrices(draw):
    """Float matrices that are nearly epsilon-private: products of private steps, with solver-like dust."""
    n, columns = draw(st.integers(1, 8)), draw(st.integers(2, 9))
    epsilon = draw(st.sampled_from([0.01, 0.3, 1.0, 4.0]))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    logs = np.cumsum(rng.uniform(-epsilon / 2, epsilon / 2, (n + 1, columns)), axis=0)
    weights = np.exp(logs + rng.normal(0, 3, columns))
    P = weights / weights.sum(axis=1, keepdims=True)
    return P * (1 + rng.uniform(-1e-12, 1e-12, P.shape)), epsilon


@given(private_matrices())
def test_a_float_matrix_becomes_a_mechanism_that_keeps_its_epsilon_exactly(case):
    P, epsilon = case
    m = dc.from_matrix(P / P.sum(axis=1, keepdims=True), privacy=epsilon)
    again = dc.verify(m)
    assert again.holds(epsilon) and again.epsilon == m.certificate.epsilon <= epsilon
    assert set(m.kernel.totals) == {2**62}
    moved = np.abs(m.matrix - P / P.sum(axis=1, keepdims=True)).sum(axis=1).max() / 2
    assert moved <= m.certificate.details["largest_total_variation"] + 1e-15 <= m.certificate.details["mixing"] + 1e-12


def test_a_solver_that_rounds_tails_to_zero_is_repaired_or_refused():
    m = dc.geometric(60, epsilon=1)
    cut = np.where(m.matrix < 1e-9, 0.0, m.matrix)
    cut /= cut.sum(axis=1, keepdims=True)
    assert dc.verify(cut).epsilon == math.inf
    repaired = dc.from_matrix(cut, privacy=1.0)
    assert repaired.certificate.epsilon <= 1 and repaired.certificate.details["mixing"] < 1e-6
    with refused(NotPrivate, "most_mixing"):
        dc.from_matrix(cut, privacy=1.0, most_mixing=1e-12)


def test_a_matrix_far_from_private_is_refused_with_its_witness():
    with refused(NotPrivate, "most_mixing"):
        dc.from_matrix([[1.0, 0.0], [0.0, 1.0]], privacy=1)
    allowed = dc.from_matrix([[1.0, 0.0], [0.0, 1.0]], privacy=2, most_mixing=0.5)
    assert allowed.certificate.epsilon <= 2 and 0.2 < allowed.certificate.details["mixing"] < 0.5


@given(private_matrices(), st.sampled_from([1e-3, 1e-6, 0.1]))
@examples(40)
def test_epsilon_and_delta_are_kept_for_what_is_sampled(case, delta):
    P, epsilon = case
    P = P / P.sum(axis=1, keepdims=True)
    smaller = epsilon * 0.999
    wanted = dc.Privacy(smaller, dc.verify(P).delta(smaller) + delta)
    m = dc.from_matrix(P, privacy=wanted)
    assert dc.verify(m).holds(smaller, wanted.delta)
    assert m.certificate.delta >= wanted.delta and m.certificate.epsilon >= smaller and not m.certificate.tight


@pytest.mark.parametrize("notion", ["central", "local", "metric"])
def test_every_notion_is_kept(notion):
    P = dc.explicit_fair(6, alpha="1/2").matrix
    epsilon = dc.verify(P, notion).epsilon * (1 + 1e-12)
    m = dc.from_matrix(P, privacy=dc.Privacy(epsilon, notion=notion))
    assert m.certificate.notion == notion and m.certificate.epsilon <= epsilon


def test_a_map_keeps_metric_privacy():
    grid = dc.Grid(2, 3, cell=100.0)
    source = dc.planar_geometric(grid, epsilon=0.01)
    m = dc.from_matrix(source.matrix, privacy=0.01, inputs=grid)
    assert m.certificate.notion == "metric" and m.certificate.epsilon <= 0.01
    assert m.outputs == grid


def test_without_a_guarantee_the_decimals_are_sampled_as_they_stand():
    m = dc.from_matrix(GOOD)
    assert m.certificate.ratio == Fraction(3, 2)
    assert m.probability(0, 0) == Fraction(7, 10)
    assert m.outputs == dc.Counts(2) and m.inputs == dc.Counts(1)


def test_labels_are_judged_between_any_two():
    space = dc.Labels(["a", "b", "c"])
    m = dc.from_matrix([["3/5", "1/5", "1/5"], ["1/5", "3/5", "1/5"], ["1/6", "1/6", "2/3"]], inputs=space)
    assert m.certificate.notion == "local" and m.certificate.ratio == Fraction(18, 5)
    assert m.outputs == space


@every_case(
    ("arguments", "error", "words"),
    [
        ({"privacy": 0}, InvalidInput, Parts(argument="epsilon", given=0)),
        ({"privacy": -1}, InvalidInput, Parts(argument="epsilon", given=-1)),
        ({"privacy": math.nan}, InvalidInput, Parts(argument="epsilon", token="finite ... nan")),
        ({"privacy": True}, WrongType, Parts(argument="epsilon", given="the boolean True")),
        ({"privacy": "much"}, InvalidInput, Parts(argument="epsilon", given="much")),
        ({"privacy": 1, "most_mixing": -0.5}, InvalidInput, Parts(argument="most_mixing", given=-0.5)),
        ({"privacy": 1, "most_mixing": 1}, InvalidInput, Parts(argument="most_mixing", given=1)),
        ({"inputs": dc.Counts(5)}, InvalidInput, Parts(argument="matrix", token="2 x 3 ... 6 truths")),
        ({"inputs": dc.Integers()}, InvalidInput, Parts(argument="matrix", token="2 x 3")),
        ({"outputs": dc.Counts(5)}, InvalidInput, Parts(argument="matrix", token="2 x 3 ... 6 reports")),
    ],
)
def test_bad_requests_are_refused(arguments, error, words):
    with refused(error, **words):
        dc.from_matrix(GOOD, **arguments)


@every_case(
    ("arguments", "words"),
    [
        ({"epsilon": -1}, Parts(argument="epsilon", given=-1)),
        ({"epsilon": 1, "delta": 1}, Parts(argument="delta", given=1)),
        ({"epsilon": 1, "delta": -0.1}, Parts(argument="delta", given=-0.1)),
        ({"epsilon": 1, "notion": "global"}, Parts(argument="notion", given="global")),
    ],
)
def test_impossible_guarantees_cannot_be_asked_for(arguments, words):
    with refused(InvalidInput, **words):
        dc.Privacy(**arguments)
