"""Rounded totals that overlap in three or more ways, as in a cube of three columns, stay near their combined counts."""

from __future__ import annotations

import shutil
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, hstack, vstack

import discreet as dc
from discreet.exact.laws import GeometricTails
from discreet.questions.groups import Groups, groups_from
from discreet.questions.levels import with_totals
from discreet.release.levels import overlapping_rounding
from discreet.release.levels.combining import LevelCombination
from discreet.release.levels.rounding import rounded_leaves
from discreet.release.levels.shape import Shape
from discreet.release.tables.columns import LAYOUT
from support.oracles import linear_minimum
from support.paths import PUBLISHED
from support.tiers import examples

CUBE = ((0, 1, 2), (0, 1), (0, 2), (1, 2), (0,), (1,), (2,), ())
SMALL = groups_from({"a": range(3), "b": range(4), "c": range(2)}, ["a", "b", "c"])


def cube(*lengths: int) -> Shape:
    names = list("abcd"[: len(lengths)])
    groups = groups_from({name: range(length) for name, length in zip(names, lengths, strict=True)}, names)
    return Shape(groups, with_totals(names, names, str))


@cache
def sparse_table(seed: int, epsilon: float = 1.0) -> tuple[LevelCombination, np.ndarray, np.ndarray]:
    """A table of 5,500 people in few of many groups: its combination, its true counts, its combined leaves."""
    rng = np.random.default_rng(seed)
    shape = cube(*(int(length) for length in rng.integers(4, 9, 3)))
    shares = rng.gamma(0.1, size=shape.groups.size)
    truth = rng.multinomial(5500, shares / shares.sum())
    alpha = Fraction(float(np.exp(-epsilon / len(shape.levels)))).limit_denominator(1000)
    both = LevelCombination(shape, (GeometricTails((1 - alpha) / (1 + alpha), alpha),) * len(shape.levels))

    def noise(size: int) -> np.ndarray:
        return rng.geometric(float(1 - alpha), size) - rng.geometric(float(1 - alpha), size)

    return both, truth, both.leaves([(sums + noise(len(sums)))[:, None] for sums in shape.sums(truth)])


@cache
def rounded(seed: int, near_totals: bool = True) -> np.ndarray:
    """The rounded groups of such a table, as they are today or were in earlier layouts."""
    both, _, leaves = sparse_table(seed)
    return rounded_leaves(both.shape, leaves, 10**both.digits, both.standard_errors if near_totals else None)


def furthest(both: LevelCombination, whole: np.ndarray, leaves: np.ndarray) -> float:
    """The largest distance of a total from its combined count, in standard errors."""
    shape, unit = both.shape, 10**both.digits
    levels = zip(shape.sums(whole), shape.sums(leaves), both.standard_errors, strict=True)
    return max(
        float((np.abs(one[:, 0] - np.maximum(combined[:, 0] / unit, 0)) / errors).max())
        for one, combined, errors in list(levels)[1:]
    )


def least_furthest(both: LevelCombination, leaves: np.ndarray) -> float:
    """The least value of ``furthest`` over all non-negative numbers, also fractions: a linear program."""
    shape, unit, size = both.shape, 10**both.digits, len(leaves)
    rows, right, errors = [], [], []
    for level in range(1, len(shape.levels)):
        ends = (np.ones(size), (shape.node_of_leaf[level], np.arange(size)))
        rows.append(csr_array(ends, shape=(shape.sizes[level], size)))
        right.append(np.maximum(shape.level_sums(leaves, level)[:, 0] / unit, 0))
        errors.append(both.standard_errors[level])
    sums, combined, spread = vstack(rows), np.concatenate(right), np.concatenate(errors)[:, None]
    upper = vstack([hstack([sums, -spread]), hstack([-sums, -spread])])
    return linear_minimum(np.append(np.zeros(size), 1), A_ub=upper, b_ub=np.append(combined, -combined))


@pytest.mark.parametrize("seed", range(12))
def test_totals_move_less_than_their_standard_errors_where_that_is_possible(seed: int) -> None:
    both, _, leaves = sparse_table(seed)
    whole = rounded(seed)
    assert (whole >= 0).all()
    possible = least_furthest(both, leaves)
    assert furthest(both, whole, leaves) < (1 if possible < 0.85 else 1.8 * possible)


def test_the_former_rounding_moved_them_further() -> None:
    """A negative control: the same tables are rounded otherwise in bundles of earlier layouts."""
    distances = []
    for seed in range(12):
        both, _, leaves = sparse_table(seed)
        distances.append(furthest(both, rounded(seed, near_totals=False), leaves))
    assert min(distances) > 1.5 and max(distances) > 5


def test_rounded_totals_are_nearer_to_the_true_ones_too() -> None:
    """The sum of squares of the errors of all totals, and of all groups, is smaller than by the former rounding."""
    for level in (0, 1, 2, 4, 6):
        squares = np.zeros(2)
        for seed in range(12):
            both, truth, _ = sparse_table(seed)
            for k in (0, 1):
                deviations = rounded(seed, near_totals=k == 1)[:, 0] - truth
                squares[k] += (both.shape.level_sums(deviations, level) ** 2).sum()
        assert squares[1] < (0.95 if level == 0 else 0.7) * squares[0]


@examples(40)
@given(st.data())
def test_counts_are_whole_not_negative_and_have_the_nearest_grand_total(data: st.DataObject) -> None:
    """Whatever their sign and size, with structural zeros and without, also beyond 64 bits."""
    zeros = data.draw(st.frozensets(st.integers(0, SMALL.size - 1), max_size=12))
    groups = Groups(SMALL.columns, SMALL.kinds, SMALL.values, None, zeros)
    shape = Shape(groups, data.draw(st.sampled_from([CUBE, CUBE[:-1], CUBE[:4]])))
    largest = data.draw(st.sampled_from([30, 3000, 10**9, 10**17]))
    values = data.draw(st.lists(st.integers(-largest // 3, largest), min_size=24, max_size=24))
    leaves = np.where(shape.live, np.array(values), 0)
    errors = [np.full(size, data.draw(st.floats(0.01, 20))) for size in shape.sizes]
    whole = rounded_leaves(shape, leaves[:, None], 100, errors)[:, 0]
    assert whole.dtype == np.int64 and (whole >= 0).all() and not whole[~shape.live].any()
    if () in shape.levels:
        total = max(int(leaves.astype(object).sum()), 0)
        assert abs(int(whole.astype(object).sum()) * 100 - total) <= 50


def test_counts_that_are_whole_already_stay() -> None:
    shape = Shape(SMALL, CUBE)
    leaves = np.arange(24)[:, None] * 100
    whole = rounded_leaves(shape, leaves, 100, [np.ones(size) for size in shape.sizes])
    assert whole[:, 0].tolist() == list(range(24))


def test_counts_that_are_not_negative_are_rounded_to_a_number_next_to_them() -> None:
    both, truth, _ = sparse_table(3)
    unit = 10**both.digits
    leaves = (truth * unit + np.random.default_rng(0).integers(0, unit, len(truth)))[:, None]
    whole = rounded_leaves(both.shape, leaves, unit, both.standard_errors)
    assert (abs(whole * unit - leaves) < unit).all()
    sums = zip(both.shape.sums(whole), both.shape.sums(leaves), strict=True)
    assert max(float(np.abs(one * unit - combined).max() / unit) for one, combined in sums) < 3


def test_a_standard_error_that_another_machine_computes_changes_nothing() -> None:
    both, _, leaves = sparse_table(5)
    unit = 10**both.digits
    expected = rounded_leaves(both.shape, leaves, unit, both.standard_errors)
    for factor in (1 - 3e-16, 1 + 3e-16, 1 + 1e-14):
        errors = [one * factor for one in both.standard_errors]
        np.testing.assert_array_equal(rounded_leaves(both.shape, leaves, unit, errors), expected)


def test_a_table_too_large_to_round_in_turn_keeps_its_totals_too(monkeypatch: pytest.MonkeyPatch) -> None:
    both, _, leaves = sparse_table(1)
    monkeypatch.setattr(overlapping_rounding, "MAX_ROUNDED_IN_TURN", 10)
    whole = rounded_leaves(both.shape, leaves, 10**both.digits, both.standard_errors)
    assert (whole >= 0).all() and furthest(both, whole, leaves) < 1.5
    assert abs(whole.sum() - leaves.sum() / 10**both.digits) <= 0.5


def test_a_bundle_of_layout_4_verifies_and_keeps_its_rounded_counts(tmp_path: Path) -> None:
    """Its page is of another layout; people see the counts that it publishes."""
    ledger = shutil.copy(PUBLISHED / "format_4" / "ledger.sqlite", tmp_path / "ledger.sqlite")
    folder = PUBLISHED / "format_4" / "cube_of_three"
    report = dc.verify_bundle(folder, ledger)
    findings = {check.name: check.holds for check in report.checks}
    assert {name for name, holds in findings.items() if not holds} <= {"words", "page", "pictures"}
    assert findings["errors"] and findings["ledger"] and report.release is not None and LAYOUT > 4
    published = [line.rpartition(",")[2] for line in (folder / "counts_rounded.csv").read_text().splitlines()[1:]]
    assert [str(row["count"]) for row in report.release.tables[0].rows_for_people()] == published


def test_the_page_says_how_far_totals_moved() -> None:
    """Those of layout 4 moved by more than a standard deviation; the same answer in layout 5 has none that did."""
    release = dc.verify_bundle(PUBLISHED / "format_4" / "cube_of_three").release
    assert release is not None
    before = release.tables[0]
    after = replace(before, layout=5)
    distances = zip(before.rows(), before.rows_for_people(), strict=True)
    far = sum(abs(max(one["count"], 0) - other["count"]) > one["sd"] for one, other in distances if one["grouping"])
    assert f"{far} of the 145" in before.rounding_in_words("counts.csv")
    assert "of the 145" not in after.rounding_in_words("counts.csv")
