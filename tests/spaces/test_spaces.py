"""Spaces: which values are read, which are refused, and where each one is."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import ForeignValue, InvalidInput, Unsupported, WrongType
from discreet.exact.integers import read_integers
from discreet.spaces import LARGEST_INTEGER, Counts, Grid, Integers, Labels, space_from
from support.grids import every_case
from support.refusals import Parts, refused

SPACES = {"counts": Counts(200), "integers": Integers(), "from zero": Integers(low=0), "grid": Grid(20, 20)}
spaces = every_case("space", SPACES.values(), ids=list(SPACES))


# ------------------------------------------------------------------------------------------------ what is read


INTEGERS = [
    [3, 1, 4],
    (3, 1, 4),
    np.array([3, 1, 4]),
    *(np.array([3, 1, 4], dtype) for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i8", ">u2", ">i4")),
    np.array([3, 0, 1, 0, 4])[::2],
    np.array([4, 1, 3])[::-1],
    np.array([3, 1, 4], dtype=object),
    [np.int8(3), 1, np.uint64(4)],
    pd.Series([3, 1, 4]),
    pd.Series([3, 1, 4], index=[9, 8, 7]),
    pd.Series([3, 1, 4], dtype="uint8"),
    pd.Series([3, 1, 4], dtype="Int64"),
    pd.Series([3, 1, 4], dtype="UInt8"),
    pd.Series([3, 1, 4], dtype="int64[pyarrow]"),
    pd.array([3, 1, 4], dtype="Int32"),
    pd.Index([3, 1, 4]),
    pl.Series([3, 1, 4]),
    pl.Series([3, 1, 4], dtype=pl.UInt16),
    pa.array([3, 1, 4]),
    pa.array([3, 1, 4], pa.uint8()),
    pa.chunked_array([[3], [1, 4]]),
    iter([3, 1, 4]),
]


@every_case("values", INTEGERS, ids=lambda v: f"{type(v).__module__}.{type(v).__name__}")
def test_integers_of_every_make_are_read(values):
    found = Counts(10).indices(values)
    assert found.dtype.kind in "iu"
    assert found.tolist() == [3, 1, 4]


@spaces
@every_case("value", [7, np.int8(7), np.uint64(7), np.array(7), np.array(7, dtype=object)])
def test_one_integer_is_read(space, value):
    assert space.index(value) == 7
    assert space.indices(value).shape == ()
    assert space.value(7) == 7 and type(space.value(np.int64(7))) is int


@spaces
def test_shapes_are_kept(space):
    assert space.indices([[1, 2, 3], [4, 5, 6]]).shape == (2, 3)
    assert space.indices([(1, 2), [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert space.indices([np.array([1, 2]), range(2)]).tolist() == [[1, 2], [0, 1]]
    assert space.indices(np.zeros((2, 0, 3), int)).shape == (2, 0, 3)
    assert space.indices(range(5)).tolist() == [0, 1, 2, 3, 4]
    assert space.indices(np.array([[1, 2]], dtype=object)).shape == (1, 2)


@spaces
@every_case("empty", [[], (), np.array([]), np.array([], int), pd.Series([], dtype="int64"), [[], []]])
def test_nothing_is_read_as_nothing(space, empty):
    assert space.indices(empty).size == 0


# ------------------------------------------------------------------------------------------------ what is refused


NOT_INTEGERS = {
    "float": 3.0,
    "numpy float": np.float32(3),
    "nan": math.nan,
    "boolean": True,
    "numpy boolean": np.True_,
    "none": None,
    "text": "3",
    "bytes": b"3",
    "bytearray": bytearray(b"3"),
    "complex": 3 + 0j,
    "fraction": Fraction(3),
    "decimal": Decimal(3),
    "dict": {1: 2},
    "set": {1, 2},
    "date": np.datetime64("2020-01-01"),
    "object": object(),
    "floats": [1.0, 2.0],
    "one float": [1, 2.0],
    "one boolean": [1, True],
    "boolean first": [True, 1],
    "one none": [1, None],
    "one nan": [1, math.nan],
    "one text": [1, "2"],
    "nested float": [[1, 2], [3, 4.0]],
    "nested boolean": [[1, 2], [3, True]],
    "float array": np.array([1.0, 2.0]),
    "nan array": np.array([1.0, np.nan]),
    "boolean array": np.array([True, False]),
    "text array": np.array(["1", "2"]),
    "date array": np.array(["2020-01-01"], dtype="M8[D]"),
    "complex array": np.array([1j]),
    "objects with a float": np.array([1, 2.0], dtype=object),
    "objects with none": np.array([1, None], dtype=object),
    "objects with a boolean": np.array([1, True], dtype=object),
    "structured": np.array([(1, 2)], dtype=[("a", int), ("b", int)]),
    "masked": np.ma.array([1, 2], mask=[False, True]),
    "masked, nothing hidden": np.ma.array([1, 2]),
    "masked value": np.ma.masked,
    "pandas float": pd.Series([1.0, 2.0]),
    "pandas missing": pd.Series([1, None]),
    "pandas Int64 missing": pd.Series([1, None], dtype="Int64"),
    "pandas Float64": pd.Series([1.0, 2.0], dtype="Float64"),
    "pandas arrow missing": pd.Series([1, None], dtype="int64[pyarrow]"),
    "pandas boolean": pd.Series([True, False]),
    "pandas nullable boolean": pd.Series([True, False], dtype="boolean"),
    "pandas text": pd.Series(["1", "2"]),
    "pandas objects": pd.Series([1, "2"], dtype=object),
    "pandas NA": pd.NA,
    "pandas NaT": pd.NaT,
    "polars float": pl.Series([1.0, 2.0]),
    "polars missing": pl.Series([1, None]),
    "polars boolean": pl.Series([True]),
    "polars text": pl.Series(["1"]),
    "polars table": pl.DataFrame({"a": [1, 2]}),
    "arrow float": pa.array([1.0]),
    "arrow missing": pa.array([1, None]),
    "arrow chunks missing": pa.chunked_array([[1], [None, 2]]),
    "arrow boolean": pa.array([True]),
    "arrow text": pa.array(["1"]),
}


@spaces
@every_case("bad", NOT_INTEGERS.values(), ids=list(NOT_INTEGERS))
def test_what_is_not_an_integer_is_refused(space, bad):
    with refused(WrongType, token="must"):
        space.indices(bad)
    with refused(WrongType, token="must"):
        space.index(bad)


@spaces
@every_case("ragged", [[[1, 2], [3]], [1, [2, 3]], np.array([[1, 2], [3]], dtype=object)])
def test_ragged_lists_are_refused(space, ragged):
    with refused(InvalidInput, token="different lengths"):
        space.indices(ragged)


@spaces
@every_case("many", [[3], np.array([3]), [1, 2], []])
def test_an_index_is_of_one_value(space, many):
    with refused(WrongType, token="one value"):
        space.index(many)


@spaces
@every_case("huge", [2**63, 2**64, 10**30, -(2**63) - 1, [1, 2**64], np.uint64(2**64 - 5), 2**62 + 1])
def test_integers_beyond_64_bits_are_refused_and_never_wrapped(space, huge):
    with pytest.raises(ForeignValue):
        space.indices(huge)
    with pytest.raises((ForeignValue, WrongType)):
        space.index(huge)


@spaces
@every_case("value", [2**63, 2**64 - 1, 2**64 - 5])
def test_unsigned_columns_beyond_63_bits_are_refused(space, value):
    for column in (
        np.array([value], np.uint64),
        pd.Series([value], dtype="UInt64"),
        pl.Series([value], dtype=pl.UInt64),
    ):
        with refused(ForeignValue, token="position 0"):
            space.indices(column)


@every_case("dtype", ["i1", "i2", "i4", "i8", ">i2", ">i8"])
@every_case("n", [1, 100, 127, 128, 254, 255, 1000, 65_535, 10**6, 2**31, 2**62])
def test_negative_counts_are_refused_in_every_width(dtype, n):
    """-1 in one byte is 255 without its sign: a count like any other when n is 1000."""
    space = Counts(n)
    low = np.iinfo(dtype).min
    for bad in (-1, low, low + 1, -n - 1 if -n - 1 >= low else -1):
        column = np.array([0, 1, bad, 1], dtype)
        with refused(ForeignValue, token="position 2"):
            space.indices(column)
    top = min(n, np.iinfo(dtype).max)
    assert space.indices(np.array([0, top], dtype)).tolist() == [0, top]


@every_case("dtype", ["i1", "u1", "i2", "u4", "u8", "i8"])
def test_counts_above_n_are_refused_in_every_width(dtype):
    with refused(ForeignValue, token="0..100"):
        Counts(100).indices(np.array([5, 101], dtype))
    assert Counts(100).indices(np.array([100], dtype)).tolist() == [100]


@every_case("space", [Counts(10), Integers(low=0), Grid(2, 5), Labels(["a", "b"])], ids=repr)
def test_errors_quote_no_true_value(space):
    """Messages end up in logs; a true value must not."""
    for values in ([3, -98765, 12], -98765):
        with pytest.raises(ForeignValue) as caught:
            space.indices(values)
        assert "98765" not in str(caught.value)


@pytest.mark.parametrize("bad", [0, -1, 2**62 + 1])
def test_counts_need_a_sensible_largest_count(bad):
    with pytest.raises(InvalidInput):
        Counts(bad)


@every_case("bad", [3.0, True, None, "3"])
def test_counts_need_an_integer(bad):
    with pytest.raises(WrongType):
        Counts(bad)


@pytest.mark.parametrize("bad", [0.0, True, "0"])
def test_integers_need_an_integer_to_start_from(bad):
    with refused(WrongType, "low"):
        Integers(low=bad)
    with refused(InvalidInput, "low", given=4611686018427387904):
        Integers(low=2**62)


def test_integers_stay_within_what_noise_may_be_added_to():
    for value in (LARGEST_INTEGER, -LARGEST_INTEGER):
        assert Integers().index(value) == value
        with pytest.raises(ForeignValue):
            Integers().index(value + (1 if value > 0 else -1))
    with refused(ForeignValue, token="this space"):
        Integers(low=5).indices([6, 4])


# ------------------------------------------------------------------------------------------------ distances


@given(st.integers(0, 100), st.integers(0, 100))
def test_distances_on_the_line(a, b):
    for space in (Counts(100), Integers(), Integers(low=0)):
        assert space.distance(a, b) == abs(a - b)
        assert space.squared_distance(np.array([a]), np.array([b])).tolist() == [(a - b) ** 2]
        for dtype in ("i1", "u1", "u8", ">i4"):
            found = space.distance(np.array([a, b], dtype), np.array([b, a], dtype))
            assert found.tolist() == [abs(a - b)] * 2


def test_distances_between_far_integers_do_not_wrap():
    space = Integers()
    assert space.distance(-(2**62), 2**62) == 2.0**63
    assert space.distance(np.array([100], np.int8), np.array([-100], np.int8)).tolist() == [200.0]
    with refused(Unsupported, token="64 bits"):
        space.squared_distance(np.array([0]), np.array([2**32]))
    assert space.squared_distance(np.array([0]), np.array([2**31 - 1])).tolist() == [(2**31 - 1) ** 2]


def test_distances_are_between_values_of_the_space():
    with pytest.raises(ForeignValue):
        Counts(5).distance(1, 6)


def test_adjacent_values():
    lower, upper = Counts(3).neighbours()
    assert lower.tolist() == [0, 1, 2] and upper.tolist() == [1, 2, 3]
    i, j = Labels(["a", "b", "c"]).neighbours()
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert Integers().neighbours() is None and Grid(2, 2).neighbours() is None


# ------------------------------------------------------------------------------------------------ grid


@given(st.integers(1, 9), st.integers(2, 9), st.sampled_from([1.0, 150.0, 0.1, Fraction(1, 3)]))
def test_the_centre_of_every_cell_lies_in_it(rows, cols, cell):
    grid = Grid(rows, cols, cell)
    cells = np.arange(grid.size)
    x, y = grid.centre(cells)
    assert np.array_equal(grid.locate(x, y), cells)
    assert grid.centre(1) == (pytest.approx(1.5 * float(cell)), pytest.approx(0.5 * float(cell)))


def test_cells_are_numbered_from_the_south_west():
    grid = Grid(2, 3, cell=10)
    assert grid.locate(0, 0) == 0 and grid.locate(29.9, 0) == 2 and grid.locate(0, 10) == 3
    assert grid.locate([5, 25], [5, 15]).tolist() == [0, 5]
    assert type(grid.locate(5, 5)) is int
    assert grid.centre(np.array([5], np.uint8))[1].tolist() == [15.0]


@every_case("place", [(-1, 0), (30, 0), (0, 20), (0, -1e-9), (math.nan, 0), (math.inf, 0)])
def test_places_outside_the_grid_are_refused(place):
    with refused(ForeignValue, token="the grid"):
        Grid(2, 3, cell=10).locate(*place)


def test_masked_places_are_refused():
    hidden = np.ma.array([1.0, 2.0], mask=[True, False])
    with refused(WrongType, token="masked"):
        Grid(2, 3, cell=10).locate(hidden, [1.0, 2.0])
    with refused(WrongType, token="masked"):
        Grid(2, 3, cell=10).locate([1.0, 2.0], hidden)


def test_distances_on_the_grid_are_between_centres():
    grid = Grid(4, 5, cell=150.0)
    x, y = grid.centre(np.arange(20))
    for a in range(20):
        expected = np.hypot(x - x[a], y - y[a])
        assert np.allclose(grid.distance(np.full(20, a, np.uint8), np.arange(20, dtype=np.uint8)), expected)
    assert grid.distance(0, 1) == 150.0
    assert grid.squared_distance(np.array(0), np.array(6)) == 2


@pytest.mark.parametrize("bad", [20, -1])
def test_cells_outside_the_grid_are_refused(bad):
    with refused(ForeignValue, token="0..19"):
        Grid(4, 5).indices([1, bad])


@every_case("bad", [(1, 1), (0, 5), (2, 2, 0), (2, 2, -1.0), (2, 2, math.nan), (2**20, 2**20)])
def test_impossible_grids_are_refused(bad):
    with pytest.raises(InvalidInput):
        Grid(*bad)


# ------------------------------------------------------------------------------------------------ labels


LABEL_COLUMNS = [
    ["b", "a"],
    ("b", "a"),
    np.array(["b", "a"]),
    np.array(["b", "a"], dtype=object),
    pd.Series(["b", "a"]),
    pd.Series(["b", "a"], dtype="category"),
    pd.Series(["b", "a"], dtype="string"),
    pl.Series(["b", "a"]),
    pa.array(["b", "a"]),
    pa.chunked_array([["b"], ["a"]]),
]


@every_case("values", LABEL_COLUMNS, ids=lambda v: f"{type(v).__module__}.{type(v).__name__}")
def test_labels_of_every_make_are_read(values):
    space = Labels(["a", "b"])
    found = space.indices(values)
    assert found.tolist() == [1, 0]
    assert space.values(found).tolist() == ["b", "a"]


def test_labels_are_text_or_integers():
    space = Labels(["a", 7, np.str_("c"), np.int64(9)])
    assert space.labels == ("a", 7, "c", 9) and [type(v) for v in space.labels] == [str, int, str, int]
    for k, label in enumerate(space.labels):
        assert space.index(label) == k and space.value(k) == label
    assert space.index(np.int8(7)) == 1 and space.index(np.str_("a")) == 0
    assert space.indices([["a", 7], ["c", 9]]).tolist() == [[0, 1], [2, 3]]
    assert space.indices(np.array([7, 9])).tolist() == [1, 3]
    assert space.indices("a").shape == () and space.indices(np.array("a")).shape == ()


@every_case("bad", [1.0, True, np.float64(1), np.True_, "1", None, math.nan, "d", [1], {1}, pd.NA])
def test_what_is_not_a_label_is_refused_even_if_python_calls_it_equal(bad):
    with refused(ForeignValue, token="3 labels"):
        Labels([0, 1, 2]).index(bad)


@every_case(
    "bad",
    [np.array([1.0, 2.0]), [1, True], np.array([True]), pd.Series([1.0]), pd.Series([1, None]), pa.array([1, None])],
)
def test_columns_with_what_is_not_a_label_are_refused(bad):
    with pytest.raises(ForeignValue):
        Labels([0, 1, 2]).indices(bad)


def test_masked_labels_are_refused():
    with refused(WrongType, token="masked"):
        Labels(["a", "b"]).indices(np.ma.array(["a", "b"], mask=[True, False]))


def test_yes_and_no_may_be_booleans():
    space = Labels([True, False])
    assert space.indices([False, True]).tolist() == [1, 0]
    with pytest.raises(ForeignValue):
        space.index(1)


@every_case("bad", ["ab", b"ab", [1.5, 2.5], ["a", None], [("a",), ("b",)]])
def test_labels_of_other_kinds_are_refused(bad):
    with pytest.raises(WrongType):
        Labels(bad)


@every_case("bad", [[], ["a"], ["a", "a"], [1, True], [0, "a", False]])
def test_labels_must_be_two_or_more_and_differ(bad):
    with pytest.raises(InvalidInput):
        Labels(bad)


def test_labels_are_all_equally_far_apart():
    space = Labels(["a", "b", "c"])
    assert space.distance("a", "a") == 0.0 and space.distance("a", "c") == 1.0
    assert space.distance(["a", "b"], ["b", "b"]).tolist() == [1.0, 0.0]


def test_a_message_does_not_quote_a_whole_column():
    with pytest.raises(ForeignValue) as caught:
        Labels(["a", "b"]).index(tuple(range(1000)))
    assert len(str(caught.value)) < 200


# ------------------------------------------------------------------------------------------------ files


@every_case(
    "space",
    [
        Counts(7),
        Integers(),
        Integers(low=-3),
        Integers(low=np.int64(4)),
        Grid(3, 4, 150.0),
        Grid(3, 4, 0.1),
        Labels([True, False]),
        Labels(["a", 7]),
    ],
    ids=str,
)
def test_a_space_survives_its_description(space):
    again = space_from(json.loads(json.dumps(space.to_json())))
    assert again == space and hash(again) == hash(space)
    assert again.to_json() == space.to_json()


@every_case(
    "bad",
    [
        {},
        {"kind": "moon"},
        {"kind": "counts"},
        {"kind": "counts", "n": 3.0},
        {"kind": "grid", "rows": 2, "cols": 2, "cell": "x"},
        None,
        [],
    ],
)
def test_what_does_not_describe_a_space_is_refused(bad):
    with pytest.raises(InvalidInput):
        space_from(bad)


def test_reading_copies_nothing_it_need_not():
    array = np.arange(10, dtype=np.int16)
    assert np.shares_memory(read_integers(array), array)
    assert np.shares_memory(Counts(10).indices(array), array)


# ------------------------------------------------------------------------------------------------ boxes of degrees

PARIS = (48.80, 2.25, 48.92, 2.45)
BOXES = [
    PARIS, (-0.5, 36.5, 0.4, 37.3), (-34.2, 18.2, -33.6, 19.0), (59.7, 10.4, 60.1, 11.1), (-8.0, -60.0, 8.0, -50.0),
    (69.5, 18.5, 69.8, 20.0), (40.0, -75.0, 40.9, -73.0),
]  # fmt: skip


def geodesic(one: tuple[float, float], two: tuple[float, float]) -> float:
    """The length of the shortest way between two places on WGS84, in metres: Vincenty's inverse formula (1975)."""
    a, f = 6378137.0, 1 / 298.257223563
    b = a * (1 - f)
    (phi1, lam1), (phi2, lam2) = (tuple(map(math.radians, place)) for place in (one, two))
    u1, u2, difference = math.atan((1 - f) * math.tan(phi1)), math.atan((1 - f) * math.tan(phi2)), lam2 - lam1
    lam = difference
    for _ in range(200):
        sin_sigma = math.hypot(
            math.cos(u2) * math.sin(lam),
            math.cos(u1) * math.sin(u2) - math.sin(u1) * math.cos(u2) * math.cos(lam),
        )
        if sin_sigma == 0:
            return 0.0
        cos_sigma = math.sin(u1) * math.sin(u2) + math.cos(u1) * math.cos(u2) * math.cos(lam)
        sigma = math.atan2(sin_sigma, cos_sigma)
        sin_alpha = math.cos(u1) * math.cos(u2) * math.sin(lam) / sin_sigma
        cos2 = 1 - sin_alpha**2
        middle = cos_sigma - 2 * math.sin(u1) * math.sin(u2) / cos2 if cos2 else 0.0
        c = f / 16 * cos2 * (4 + f * (4 - 3 * cos2))
        before, lam = (
            lam,
            difference
            + (1 - c) * f * sin_alpha * (sigma + c * sin_sigma * (middle + c * cos_sigma * (2 * middle**2 - 1))),
        )
        if abs(lam - before) < 1e-14:
            break
    else:
        raise AssertionError("Vincenty's iteration did not converge")
    square = cos2 * (a * a - b * b) / (b * b)
    big = 1 + square / 16384 * (4096 + square * (-768 + square * (320 - 175 * square)))
    small = square / 1024 * (256 + square * (-128 + square * (74 - 47 * square)))
    inner = cos_sigma * (2 * middle**2 - 1) - small / 6 * middle * (4 * sin_sigma**2 - 3) * (4 * middle**2 - 3)
    return b * big * (sigma - small * sin_sigma * (middle + small / 4 * inner))


def test_the_oracle_of_geodesics_knows_published_distances() -> None:
    """A quarter of the equator, and from the equator to the pole (10,001,965.729 m)."""
    assert geodesic((0.0, 0.0), (0.0, 90.0)) == pytest.approx(math.pi / 2 * 6378137, abs=1e-3)
    assert geodesic((0.0, 10.0), (90.0, 10.0)) == pytest.approx(10_001_965.729, abs=2e-3)


@every_case("sides", BOXES)
def test_distances_in_a_box_are_as_wrong_as_it_states_and_no_more(sides: tuple[float, ...]) -> None:
    box = dc.Grid.from_box(*sides, cell=500).box
    assert box is not None
    south, west, north, east = sides
    rng = np.random.default_rng(1)
    corners = [((a, west), (a, east)) for a in (south, north)] + [((south, west), (north, east))]
    random = [tuple((rng.uniform(south, north), rng.uniform(west, east)) for _ in (0, 1)) for _ in range(300)]
    short = [((a, west), (a, west + 0.01)) for a in (south, north)]
    off = []
    for one, two in corners + random + short:
        (x1, y1), (x2, y2) = (box.metres(*np.array(place)) for place in (one, two))
        off.append(math.hypot(x2 - x1, y2 - y1) / geodesic(one, two) - 1)
    assert 0.5 * box.error <= np.abs(off).max() <= box.error + 1e-9


def test_a_place_in_degrees_is_in_the_cell_whose_centre_is_nearest() -> None:
    grid = dc.Grid.from_box(*PARIS, cell=150)
    latitude, longitude = grid.centre(np.arange(grid.size))
    assert np.array_equal(grid.locate(latitude, longitude), np.arange(grid.size))
    rng = np.random.default_rng(2)
    for place in zip(rng.uniform(48.80, 48.92, 20), rng.uniform(2.25, 2.45, 20), strict=True):
        cell = grid.locate(*place)
        assert geodesic(place, grid.centre(cell)) < 150 / math.sqrt(2) * (1 + grid.box.error)
        assert isinstance(cell, int)
    assert grid.locate(48.80, 2.25) == 0 and grid.distance(0, 1) == 150.0


@every_case("place", [(48.79, 2.3), (48.85, 2.46), (2.3, 48.85), (math.nan, 2.3)])
def test_a_place_outside_the_box_is_refused_without_being_quoted(place: tuple[float, float]) -> None:
    grid = dc.Grid.from_box(*PARIS, cell=150)
    with refused(ForeignValue, token="48.8 to 48.92 ... 2.25 to 2.45") as failure:
        grid.locate(*place)
    assert str(place[0]) not in str(failure.value)


@every_case(
    ("sides", "words"),
    [
        ((48.92, 2.25, 48.80, 2.45), Parts(argument="south", given=48.92)),
        ((48.8, 2.45, 48.9, 2.25), Parts(argument="west", given=2.45)),
        ((-17.0, 179.0, -16.0, -179.0), Parts(argument="west", given=179.0)),
        ((48.8, 48.92, 2.25, 2.45), Parts(argument="south", given=48.8)),
        ((116.2, 39.7, 116.6, 40.1), Parts(argument="south", given=116.2)),
        ((40.0, -200.0, 41.0, -190.0), Parts(argument="west", given=-200.0)),
        ((45.0, 2.0, 48.0, 5.0), Parts(argument="north", given="an error of 2.9% between latitudes 45 and 48")),
        ((89.0, 0.0, 90.0, 10.0), Parts(argument="north")),
        ((-1.0, -179.0, 1.0, 179.0), Parts(argument="north")),
        ((math.nan, 2.25, 48.9, 2.45), Parts(argument="south")),
        ((True, 2.25, 48.9, 2.45), Parts(argument="south")),
    ],
)
def test_boxes_that_make_no_map_are_refused(sides: tuple[float, ...], words: Parts) -> None:
    with refused(InvalidInput, **words):
        dc.Grid.from_box(*sides, cell=150)


def test_a_grid_remembers_its_box(tmp_path: Path) -> None:
    grid = dc.Grid.from_box(*PARIS, cell=150)
    assert space_from(json.loads(json.dumps(grid.to_json()))) == grid
    assert grid != dc.Grid(grid.rows, grid.cols, cell=150) and grid != dc.Grid.from_box(48.80, 2.25, 48.92, 2.4501, 150)
    assert eval(repr(grid), {"Grid": dc.Grid}) == grid and hash(grid) == hash(space_from(grid.to_json()))
    m = dc.planar_geometric(grid, epsilon="0.004")
    m.save(tmp_path / "map.json")
    again = dc.load(tmp_path / "map.json")
    assert again.inputs == grid == again.outputs and again.inputs.centre(5) == grid.centre(5)


def test_grids_without_a_box_are_written_as_before_and_a_box_that_does_not_fit_is_refused() -> None:
    assert dc.Grid(3, 4, cell=100.0).to_json() == {"kind": "grid", "rows": 3, "cols": 4, "cell": "100"}
    assert repr(dc.Grid(3, 4, cell=100.0)) == "Grid(rows=3, cols=4, cell=100.0)"
    damaged = {**dc.Grid.from_box(*PARIS, cell=150).to_json(), "rows": 7}
    with refused(InvalidInput, "rows"):
        space_from(damaged)
    with refused(InvalidInput, "description"):
        space_from({**damaged, "box": {"south": 1}})
