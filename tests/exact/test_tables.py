"""Tables: exact weights in, exact probabilities out."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput, WrongType
from discreet.exact.kernels import kernel_from
from discreet.exact.tables import Table
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples

weights = st.one_of(st.integers(0, 9), st.integers(0, 2**70), st.integers(0, 10**400))
tables = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: st.lists(
        st.lists(weights, min_size=shape[1], max_size=shape[1]).filter(any), min_size=shape[0], max_size=shape[0]
    )
)


@examples(100)
@given(tables)
def test_a_table_is_its_rows_divided_by_their_sums(rows):
    table = Table.from_rows(rows)
    assert table.shape == (len(rows), len(rows[0]))
    assert table.totals == tuple(map(sum, rows))
    matrix = table.matrix()
    for i, row in enumerate(rows):
        assert table.row(i) == row
        for j, w in enumerate(row):
            exact = Fraction(w, sum(row))
            assert table.weight(i, j) == w and table.probability(i, j) == exact
            assert abs(Fraction(matrix[i, j]) - exact) <= exact / 2**51 + Fraction(1, 10**300)


@examples(60)
@given(tables)
def test_a_table_survives_its_description_and_reduction(rows):
    table = Table.from_rows(rows)
    for other in (kernel_from(json.loads(json.dumps(table.to_json()))), table.reduced()):
        assert isinstance(other, Table)
        for i in range(len(rows)):
            assert [other.probability(i, j) for j in range(len(rows[0]))] == [
                table.probability(i, j) for j in range(len(rows[0]))
            ]
    assert math.gcd(*table.reduced().palette) == 1


def test_weights_too_long_for_decimal_text_survive_a_file():
    table = Table.from_rows([[3**20000, 1], [1, 3**20000]])
    again = kernel_from(json.loads(json.dumps(table.to_json())))
    assert isinstance(again, Table) and again.row(0) == [3**20000, 1]


def test_integer_arrays_make_the_same_table_as_rows():
    array = np.random.default_rng(1).integers(0, 2**62, (7, 5))
    a, b = Table.from_array(array), Table.from_rows(array.tolist())
    assert [a.row(i) for i in range(7)] == [b.row(i) for i in range(7)] == array.tolist()
    assert a.common_total is None
    assert Table.from_rows([[1, 3], [2, 2]]).common_total == 4


def test_products_are_those_of_the_matrix():
    rng = np.random.default_rng(2)
    table = Table.from_array(rng.integers(0, 100, (4, 6)) + 1)
    p, v = rng.dirichlet(np.ones(4)), rng.normal(size=6)
    assert np.allclose(table.forward(p), p @ table.matrix(), rtol=1e-15)
    assert np.allclose(table.backward(v), table.matrix() @ v, rtol=1e-14)


def test_log_weights_are_logarithms_of_the_palette():
    table = Table.from_rows([[0, 1, 10**500]])
    assert table.log_weights().tolist() == [-math.inf, 0.0, pytest.approx(500 * math.log(10), rel=1e-15)]


def test_a_table_cannot_be_changed_from_outside():
    codes = np.array([[0, 1], [1, 0]], np.int32)
    table = Table.from_codes([1, 2], codes)
    codes[0, 0] = 1  # the caller's array is still the caller's
    assert table.row(0) == [1, 2] and table.totals == (3, 3)
    with pytest.raises(ValueError, match="read-only"):
        table.codes[0, 0] = 1


@every_case("bad", [[], [[]], [[1, 2], [1]], [[0, 0]], [[1, -1, 3]]])
def test_what_is_not_a_table_is_refused(bad):
    with pytest.raises(InvalidInput):
        Table.from_rows(bad)


@every_case("bad", [[[0.5, 0.5]], [[1.0, 2.0]], [["1", "2"]], [[None, 1]]])
def test_floats_are_refused_instead_of_being_cut(bad):
    with refused(WrongType, "weights"):
        Table.from_rows(bad)
    with refused(WrongType, "weights"):
        Table.from_array(np.array(bad, dtype=float if isinstance(bad[0][0], float) else object)[:, :1])


@every_case("codes", [[[0, 2]], [[-1, 0]], [0, 1], [[0.5, 1]], [[]], [["0"]]])
def test_codes_that_do_not_point_into_the_palette_are_refused(codes):
    with refused(InvalidInput, "codes"):
        kernel_from({"kernel": "table", "palette": ["1", "2"], "codes": codes})


@given(st.lists(st.integers(1, 2**70), min_size=1, max_size=30), st.integers(1, 5), st.integers(1, 9), st.data())
def test_totals_are_the_sums_of_the_rows_however_often_weights_are_shared(
    palette: list[int], rows: int, columns: int, data: st.DataObject
) -> None:
    places = st.lists(st.integers(0, len(palette) - 1), min_size=columns, max_size=columns)
    codes = data.draw(st.lists(places, min_size=rows, max_size=rows))
    table = Table.from_codes(palette, np.array(codes))
    assert table.totals == tuple(sum(palette[c] for c in row) for row in codes)
