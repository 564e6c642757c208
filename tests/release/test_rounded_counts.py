"""Counts made whole: every one next to the combined count where that is possible, sums exact, none negative."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.questions.groups import Groups, groups_from
from discreet.release.levels.controlled import controlled_rounding
from discreet.release.levels.rounding import rounded_leaves
from discreet.release.levels.shape import Shape
from support.tiers import examples

WHOLE = groups_from({"a": range(3), "b": range(4), "c": range(2)}, ["a", "b", "c"])
RAGGED = groups_from([(0, 0, 0), (0, 1, 1), (0, 2, 0), (1, 0, 1), (2, 0, 0), (2, 3, 1), (2, 3, 0)], ["a", "b", "c"])
ZEROS = Groups(WHOLE.columns, WHOLE.kinds, WHOLE.values, None, frozenset({0, 5, 8, 9, 10, 11, 20}))

#: Trees, and tables in which two levels overlap: also where several groups are in the same two totals.
LEVELS = {
    "total": ((0, 1, 2), ()),
    "rollup": ((0, 1, 2), (0, 1), (0,), ()),
    "no grand total": ((0, 1, 2), (1, 2), (2,)),
    "two margins": ((0, 1, 2), (0, 1), (2,), ()),
    "two margins of a column each": ((0, 1, 2), (0,), (2,), ()),
    "two margins that share a column": ((0, 1, 2), (0, 1), (1, 2)),
}
SHAPES = {
    f"{name}, {kind}": Shape(groups, levels)
    for name, levels in LEVELS.items()
    for kind, groups in (("all groups", WHOLE), ("a list of groups", RAGGED), ("zeros", ZEROS))
}


def distances(shape: Shape, whole: np.ndarray, leaves: np.ndarray, unit: int) -> list[float]:
    """How far the counts of each level are from the combined ones, at most."""
    return [
        float(np.abs(own * unit - combined).max()) / unit
        for own, combined in zip(shape.sums(whole), shape.sums(leaves), strict=True)
    ]


@examples(150)
@given(st.data())
def test_entries_and_totals_are_next_to_what_they_were(data: st.DataObject) -> None:
    """Whatever their sign, and with several entries in one place or none."""
    unit = data.draw(st.sampled_from([1, 2, 7, 100]))
    place = st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(-9 * unit, 9 * unit))
    drawn = np.array(data.draw(st.lists(place, min_size=1, max_size=40)))
    rows, columns, values = drawn.T
    whole = np.array(controlled_rounding(values, rows, columns, unit))
    for nodes in (np.arange(len(values)), rows, columns, np.zeros(len(values), int)):
        before, after = np.bincount(nodes, values), np.bincount(nodes, whole)
        assert (np.floor(before / unit) <= after).all() and (after <= np.ceil(before / unit)).all()
    assert whole.sum() == (2 * values.sum() + unit) // (2 * unit)


@pytest.mark.parametrize("name", SHAPES)
@examples(12)
@given(st.data())
def test_every_count_is_next_to_the_combined_one(name: str, data: st.DataObject) -> None:
    shape = SHAPES[name]
    size = shape.groups.size
    values = data.draw(st.lists(st.integers(0, 3000), min_size=size, max_size=size))
    leaves = np.where(shape.live, np.array(values), 0)
    whole = rounded_leaves(shape, leaves[:, None], 100)[:, 0]
    assert whole.dtype == np.int64 and (whole >= 0).all() and not whole[~shape.live].any()
    assert max(distances(shape, whole, leaves, 100)) < 1


@pytest.mark.parametrize("seed", range(12))
def test_negative_counts_are_raised_and_totals_stay(seed: int) -> None:
    """Where the totals themselves are not negative, only the counts of groups move."""
    rng = np.random.default_rng(seed)
    down, across = (int(one) for one in rng.integers(4, 15, 2))
    shape = Shape(groups_from({"a": range(down), "b": range(across)}, ["a", "b"]), ((0, 1), (0,), (1,), ()))
    leaves = np.round(1e4 * (rng.geometric(0.05, down * across) + 12 * rng.normal(size=down * across))).astype(int)
    totals = [shape.level_sums(leaves, level) for level in (1, 2)]
    assert (leaves < 0).any() and all((one >= 0).all() for one in totals)
    whole = rounded_leaves(shape, leaves[:, None], 10**4)[:, 0]
    assert (whole >= 0).all()
    assert max(distances(shape, whole, leaves, 10**4)[1:]) < 1.01


def test_negative_totals_are_raised_too() -> None:
    shape = Shape(groups_from({"a": range(2), "b": range(2)}, ["a", "b"]), ((0, 1), (0,), (1,), ()))
    leaves = np.array([-34, -12, 86, 73])[:, None]  # the first row has -4.6
    assert rounded_leaves(shape, leaves, 10)[:, 0].tolist() == [0, 0, 5, 6]
    assert rounded_leaves(shape, -leaves, 10)[:, 0].tolist() == [0, 0, 0, 0]


def test_counts_beyond_64_bits_of_units() -> None:
    for levels in (((0, 1, 2), (0, 1), (0,), ()), ((0, 1, 2), (0, 1), (2,), ())):
        shape = Shape(WHOLE, levels)
        leaves = np.array([3 * 10**17 + 1237 * k for k in range(shape.groups.size)])
        whole = rounded_leaves(shape, leaves[:, None], 10**4)[:, 0].astype(object)
        assert max(distances(shape, whole, leaves.astype(object), 10**4)) < 1


def test_a_cube_of_three_columns_keeps_its_grand_total() -> None:
    """There a rounding next to every count need not exist; sums are exact all the same."""
    rng = np.random.default_rng(1)
    levels = ((0, 1, 2), (0, 1), (0, 2), (1, 2), (0,), (1,), (2,), ())
    shape = Shape(WHOLE, levels)
    leaves = rng.integers(-500, 3000, shape.groups.size)
    whole = rounded_leaves(shape, leaves[:, None], 100)[:, 0]
    assert (whole >= 0).all() and distances(shape, whole, leaves, 100)[-1] <= 0.5
