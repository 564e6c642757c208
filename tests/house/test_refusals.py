"""Bad input is refused before anything random happens, with what was given and what is allowed."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import DiscreetError, ForeignValue, InvalidInput, UnreadableFile, Unsupported, WrongType
from discreet.exact import bits
from support.grids import every_case
from support.refusals import Parts, refused

GRID = dc.Grid(3, 4, cell=100.0)


@pytest.fixture(autouse=True)
def no_randomness(monkeypatch):
    """Any request for random bits, secure or seeded, is a failure of the test."""

    def refuse(*_):
        raise AssertionError("randomness was asked for before the input was checked")

    monkeypatch.setattr(bits, "_random_bytes", refuse)
    for source in (bits.SecureBits, bits.SeededBits):
        for name in ("main", "extra", "deep"):
            monkeypatch.setattr(source, name, refuse)
    monkeypatch.setattr(bits.SecureBits, "integer", staticmethod(refuse))


def test_the_guard_against_randomness_works():
    with pytest.raises(AssertionError, match=r"randomness"):
        dc.geometric(5, epsilon=1).release(3)
    with pytest.raises(AssertionError, match=r"randomness"):
        dc.geometric(5, epsilon=1).release([1, 2])
    with pytest.raises(AssertionError, match=r"randomness"):
        dc.randomized_response(5, epsilon=1).simulate([1, 2], seed=1)


# ------------------------------------------------------------------------------------------------ epsilon and alpha

BY_EPSILON = {
    "geometric": lambda **k: dc.geometric(5, **k),
    "two_sided_geometric": lambda **k: dc.two_sided_geometric(**k),
    "randomized_response": lambda **k: dc.randomized_response(5, **k),
    "explicit_fair": lambda **k: dc.explicit_fair(5, **k),
    "rounded_laplace": lambda **k: dc.rounded_laplace(5, **k),
    "exponential": lambda **k: dc.exponential([[0, 1], [1, 0]], **k),
    "planar_geometric": lambda **k: dc.planar_geometric(GRID, **k),
    "planar_laplace": lambda **k: dc.planar_laplace(GRID, **k),
}
BY_ALPHA = {name: BY_EPSILON[name] for name in list(BY_EPSILON)[:4]}

BAD_EPSILONS = [
    (0, InvalidInput, Parts(argument="epsilon", given=0)),
    (-1, InvalidInput, Parts(argument="epsilon", given=-1)),
    ("1e-12", InvalidInput, Parts(argument="epsilon", given="1e-12")),
    (501, InvalidInput, Parts(argument="epsilon", given=501)),
    (math.nan, InvalidInput, Parts(argument="epsilon", token="epsilon ... finite ... nan")),
    (math.inf, InvalidInput, Parts(argument="epsilon", token="epsilon ... finite ... inf")),
    (True, WrongType, Parts(argument="epsilon", given="the boolean True")),
    (np.True_, WrongType, Parts(argument="epsilon", given="the boolean np.True_")),
    ("one", InvalidInput, Parts(argument="epsilon", given="one")),
    ("1/0", InvalidInput, Parts(argument="epsilon", given="1/0")),
    (Decimal("NaN"), InvalidInput, Parts(argument="epsilon", token="epsilon ... NaN")),
    ([1], WrongType, Parts(argument="epsilon", given="list")),
    (1j, WrongType, Parts(argument="epsilon", given="complex")),
    (np.array([1.0]), WrongType, Parts(argument="epsilon", given="ndarray")),
]


@every_case("family", BY_EPSILON)
@every_case(("epsilon", "error", "words"), BAD_EPSILONS, ids=lambda x: repr(x)[:25])
def test_epsilons_that_are_none_are_refused(family, epsilon, error, words):
    with refused(error, **words):
        BY_EPSILON[family](epsilon=epsilon)


@every_case("family", BY_ALPHA)
@every_case(
    ("alpha", "error", "words"),
    [
        (0, InvalidInput, Parts(argument="alpha", given=0)),
        (1, InvalidInput, Parts(argument="alpha", given=1)),
        (1.5, InvalidInput, Parts(argument="alpha", given=1.5)),
        (-0.5, InvalidInput, Parts(argument="alpha", given=-0.5)),
        (math.nan, InvalidInput, Parts(argument="alpha", token="alpha ... nan")),
        (False, WrongType, Parts(argument="alpha", given="the boolean False")),
        ("half", InvalidInput, Parts(argument="alpha", given="half")),
        ({}, WrongType, Parts(argument="alpha", given="dict")),
    ],
)
def test_alphas_that_are_none_are_refused(family, alpha, error, words):
    with refused(error, **words):
        BY_ALPHA[family](alpha=alpha)


@every_case("family", BY_ALPHA)
def test_exactly_one_of_epsilon_and_alpha_is_taken(family):
    with refused(InvalidInput, "epsilon"):
        BY_ALPHA[family](epsilon=1, alpha=0.5)
    with refused(InvalidInput, "epsilon"):
        BY_ALPHA[family]()


def test_parameters_are_named():
    """dc.geometric(5, 1) could mean either: it means neither."""
    for call in (
        lambda: dc.geometric(5, 1),
        lambda: dc.explicit_fair(5, 0.9),
        lambda: dc.randomized_response(5, 1),
        lambda: dc.two_sided_geometric(1),
        lambda: dc.discrete_gaussian(1),
        lambda: dc.rounded_laplace(5, 1),
    ):
        with pytest.raises(TypeError):
            call()


# ------------------------------------------------------------------------------------------------ n and spaces

BY_N = {
    "geometric": lambda n: dc.geometric(n, epsilon=1),
    "explicit_fair": lambda n: dc.explicit_fair(n, epsilon=1),
    "rounded_laplace": lambda n: dc.rounded_laplace(n, epsilon=1),
    "uniform": dc.uniform,
}


@every_case("family", BY_N)
@every_case("n", [0, -3, 3.0, 2.5, math.nan, True, "5", None, [5], np.float64(3), 2**63, dc.Integers(), GRID], ids=repr)
def test_largest_counts_that_are_none_are_refused(family, n):
    if family == "geometric" and n is GRID:  # a space with a distance has a geometric mechanism too
        return
    with refused(InvalidInput, "n") as caught:
        BY_N[family](n)
    shown = str(int(n)) if type(n) in (int, float) and n == n and n == int(n) else ""
    assert shown in str(caught.value)


@every_case("k", [1, 0, -2, 2.0, True, "ab", None, dc.Integers(), {"a": 1}, math.nan], ids=repr)
def test_response_needs_a_finite_space(k):
    with refused(InvalidInput, "space"):
        dc.randomized_response(k, epsilon=1)


@every_case(
    ("sigma2", "error", "words"),
    [
        (0, InvalidInput, Parts(argument="sigma2", given=0)),
        (-1, InvalidInput, Parts(argument="sigma2", given=-1)),
        (1e-9, InvalidInput, Parts(argument="sigma2", token="sigma2 ... 1e10")),
        (1e12, InvalidInput, Parts(argument="sigma2", token="sigma2 ... 1e10")),
        (math.nan, InvalidInput, Parts(argument="sigma2", token="sigma2 ... nan")),
        (True, WrongType, Parts(argument="sigma2", given="the boolean True")),
        (None, WrongType, Parts(argument="sigma2", token="sigma2 ... got neither")),
    ],
)
def test_variances_that_are_none_are_refused(sigma2, error, words):
    with refused(error, **words):
        dc.discrete_gaussian(sigma2=sigma2)


@pytest.mark.parametrize("make", [dc.planar_geometric, dc.planar_laplace])
def test_maps_need_a_grid_and_a_border(make):
    for space in (dc.Counts(5), 5, None, "grid"):
        with refused(InvalidInput, "grid"):
            make(space, epsilon=0.01)
    with refused(InvalidInput, "border", given="cut"):
        make(GRID, epsilon=0.01, border="cut")


@pytest.mark.parametrize(
    ("space", "error", "words"),
    [
        (GRID, InvalidInput, Parts(argument="space", token="Counts ... got Grid")),
        (5, InvalidInput, Parts(argument="space", given=5)),
        (None, InvalidInput, Parts(argument="space", token="Counts ... got None")),
    ],
)
def test_another_range_must_be_a_range(space, error, words):
    with refused(error, **words):
        dc.two_sided_geometric(epsilon=1).on(space)


def test_only_noise_can_change_its_range():
    for m in (dc.explicit_fair(4, epsilon=1), dc.uniform(4), dc.randomized_response(4, epsilon=1)):
        with refused(Unsupported, token=f"{m.family} ... same noise"):
            m.on(dc.Counts(3))


# ------------------------------------------------------------------------------------------------ values to release

ON_COUNTS = {
    "geometric": lambda: dc.geometric(5, epsilon=1),
    "two_sided_geometric": lambda: dc.two_sided_geometric(epsilon=1),
    "two_sided_geometric from 0": lambda: dc.two_sided_geometric(epsilon=1).on(dc.Integers(low=0)),
    "randomized_response": lambda: dc.randomized_response(6, epsilon=1),
    "explicit_fair": lambda: dc.explicit_fair(5, epsilon=1),
    "uniform": lambda: dc.uniform(5),
    "discrete_gaussian": lambda: dc.discrete_gaussian(sigma2=2),
    "rounded_laplace": lambda: dc.rounded_laplace(5, epsilon=1),
    "exponential": lambda: dc.exponential(np.eye(6), epsilon=1),
    "from_matrix": lambda: dc.from_matrix(np.full((6, 6), 1 / 6), privacy=1),
    "planar_geometric": lambda: dc.planar_geometric(GRID, epsilon=0.01),
    "planar_laplace": lambda: dc.planar_laplace(GRID, epsilon=0.01),
    "map response": lambda: dc.randomized_response(GRID, epsilon=1),
}

NEVER_COUNTS = [
    3.0,
    2.5,
    math.nan,
    math.inf,
    True,
    "3",
    b"3",
    None,
    1j,
    {3},
    {"a": 3},
    Fraction(3),
    Decimal(3),
    [3.0],
    [1, 2.0],
    [1, None],
    [1, True],
    [True],
    ["1"],
    [[1, 2], [3]],
    np.array([1.0, 2.0]),
    np.array([True, False]),
    np.array(["1"]),
    np.array([1, None], dtype=object),
    np.array([1, 2.0], dtype=object),
    np.ma.masked_array([1, 2], mask=[0, 1]),
    np.ma.masked_array([1, 2], mask=[0, 0]),
    np.array(["2020-01-01"], dtype="datetime64[D]"),
    pd.Series([1.0, 2.0]),
    pd.Series([1, None]),
    pd.Series([1, None], dtype="Int64"),
    pd.Series([True, False]),
    pd.Series(["1"]),
    pl.Series([1.0]),
    pl.Series([1, None]),
    pl.Series([True]),
    pa.array([1.0]),
    pa.array([1, None]),
    pa.array([True]),
]


def describe(value) -> str:
    return f"{type(value).__module__.split('.')[0]}-{value!r}"[:40].replace("\n", " ")


@every_case("name", ON_COUNTS)
def test_what_is_no_whole_number_is_refused(name):
    m = ON_COUNTS[name]()
    for value in NEVER_COUNTS:
        for draw in (m.release, lambda x: m.simulate(x, seed=1)):
            with pytest.raises(InvalidInput) as caught:
                draw(value)
            assert "must" in str(caught.value) or "integers" in str(caught.value), describe(value)


@every_case("value", NEVER_COUNTS, ids=describe)
def test_the_refusal_says_what_was_given_and_what_to_do(value):
    with pytest.raises(InvalidInput) as caught:
        dc.geometric(5, epsilon=1).release(value)
    message = str(caught.value)
    assert message.startswith("counts must")
    given = ("float", "boolean", "missing", "text", "masked", "complex", "set", "dict", "Fraction", "Decimal", "date")
    assert any(word in message for word in given) or "different lengths" in message


OUT_OF_RANGE = {
    "geometric": [-1, 6, 2**40, -(2**63)],
    "two_sided_geometric": [2**62 + 1, -(2**62) - 1],
    "two_sided_geometric from 0": [-1, 2**62 + 1],
    "randomized_response": [-1, 6],
    "explicit_fair": [-1, 6],
    "uniform": [-1, 6],
    "discrete_gaussian": [2**62 + 1],
    "rounded_laplace": [-1, 6],
    "exponential": [-1, 6],
    "from_matrix": [-1, 6],
    "planar_geometric": [-1, 12],
    "planar_laplace": [-1, 12],
    "map response": [-1, 12],
}


@every_case("name", ON_COUNTS)
def test_values_out_of_range_are_refused_with_the_range(name):
    m = ON_COUNTS[name]()
    token = "integers from" if isinstance(m.inputs, dc.Integers) else f"0..{m.inputs.size - 1}"
    for value in OUT_OF_RANGE[name]:
        for x in (value, [1, value], np.array([value]), np.array([[1], [value]])):
            with refused(ForeignValue, token=token):
                m.release(x)
            with pytest.raises(ForeignValue):
                m.simulate(x, seed=1)
        with pytest.raises(ForeignValue):
            m.probability(value, 1)
    with refused(ForeignValue):
        m.release(2**64)
    with pytest.raises(InvalidInput):
        m.release(np.array([2**64 - 1], dtype=np.uint64))


def test_no_refusal_quotes_a_true_value():
    """It may be logged; the position tells as much to whoever holds the column."""
    column = list(range(6)) * 1000 + [99_999]
    with refused(ForeignValue, token="position 6000") as caught:
        dc.geometric(5, epsilon=1).release(column)
    assert len(str(caught.value)) < 200 and "99999" not in str(caught.value)


def test_labels_must_be_labels():
    m = dc.randomized_response(["yes", "no"], epsilon=1)
    for value in (
        "maybe",
        0,
        True,
        None,
        math.nan,
        ["yes", "maybe"],
        np.array(["no", None], dtype=object),
        [["yes"], ["?"]],
    ):
        with refused(ForeignValue, token="2 labels"):
            m.release(value)
    with pytest.raises(InvalidInput):
        m.release(np.ma.masked_array(["yes", "no"], mask=[0, 1]))
    with pytest.raises(InvalidInput):
        m.release(pd.Series(["yes", None]))


@every_case("name", ["geometric", "explicit_fair", "randomized_response", "planar_geometric"])
@every_case("seed", [-1, 1.5, True, None, "seed", [1]], ids=repr)
def test_seeds_are_whole_numbers(name, seed):
    with refused(InvalidInput, "seed"):
        ON_COUNTS[name]().simulate(1, seed=seed)


@every_case("name", ["geometric", "explicit_fair", "randomized_response", "planar_geometric"])
def test_vectors_of_another_length_or_kind_are_refused(name):
    m = ON_COUNTS[name]()
    size = m.inputs.size
    for product in (m.forward, m.backward):
        for bad in (np.ones(size + 1), np.ones((size, 1)), 1.0, []):
            shape = f"an array of shape {np.shape(bad)}"
            with refused(InvalidInput, given=shape, allowed=f"{size} numbers"):
                product(bad)
        with refused(InvalidInput, given="NaN or infinity", allowed="finite numbers"):
            product([math.nan] + [0.0] * (size - 1))


def test_every_refusal_is_one_of_ours():
    """So that `except DiscreetError` catches them all, and `except ValueError` the bad arguments."""
    assert issubclass(InvalidInput, DiscreetError) and issubclass(InvalidInput, ValueError)
    assert issubclass(WrongType, TypeError) and issubclass(ForeignValue, InvalidInput)


def test_a_file_refused_for_what_it_holds_keeps_the_advice_about_that(tmp_path):
    file = tmp_path / "matrix.csv"
    file.write_text("1.5,-0.5\n0.5,0.5\n")
    with pytest.raises(UnreadableFile) as caught:
        dc.verify(str(file))
    problem = caught.value
    assert str(problem).startswith(f"{file}: probabilities must not be negative")
    assert problem.advice is not None and str(problem).endswith(problem.advice)


def test_advice_is_a_part_of_the_message_and_stands_in_it_once():
    with pytest.raises(InvalidInput) as caught:
        dc.explain(dc.geometric(5, epsilon=1), distance=3)
    problem = caught.value
    assert problem.argument == "distance" and problem.advice == "Give people instead."
    assert str(problem).count(problem.advice) == 1
