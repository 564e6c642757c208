"""The split of the budget among levels that a request names: as good as any of a grid, within its stated gap."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import discreet as dc
from discreet.errors import InvalidInput
from discreet.questions.groups import read_domain
from discreet.release.levels.least_sum import least_sum, sum_and_gap
from discreet.release.levels.product import ProductLeastSquares
from discreet.release.levels.shape import Shape
from discreet.release.levels.splitting import convex_split
from discreet.release.plan.plan import plan_from_request
from support.refusals import refused


def largest_and_sum(shape: Shape, shares: Sequence[float]) -> tuple[float, float]:
    """The largest variance of a count, and the sum of all, of Gaussian noise: by the combination itself."""
    each = ProductLeastSquares(shape, tuple(1 / Fraction(share) for share in shares)).level_variances()
    return float(max(each)), float(sum(one * size for one, size in zip(each, shape.sizes, strict=True)))


@pytest.mark.parametrize(("domain", "levels"), [
    (["a=1..3", "b=1..2"], ((0, 1), (0,), ())), (["a=1..7"], ((0,), ())), (["a=1..2", "b=1..5"], ((0, 1), (1,), (0,))),
])  # fmt: skip
def test_no_split_on_a_grid_is_better_by_more_than_the_stated_gap(domain: list[str], levels: Any) -> None:
    shape = Shape(read_domain(domain, [one[0] for one in domain]), levels)
    splits = {name: convex_split(shape, [1] * len(levels), name) for name in ("largest", "sum")}
    parts = range(1, 30)
    grid = [one for one in itertools.product(parts, repeat=len(levels)) if sum(one) == 30]
    figures = np.array([largest_and_sum(shape, [part / 30 for part in one]) for one in grid]).min(axis=0)
    for column, (name, split) in enumerate(splits.items()):
        reached = largest_and_sum(shape, [float(share) for share in split.shares])[column]
        assert sum(split.shares) == 1 and split.gap is not None and split.gap < 0.01
        assert reached <= figures[column] * (1 + split.gap), name
        other = splits["sum" if name == "largest" else "largest"]
        assert largest_and_sum(shape, [float(share) for share in other.shares])[column] > reached  # they differ


def test_the_gap_of_a_bad_split_is_large() -> None:
    """A control: had the search ended at the even split, its gap would say how far off that is."""
    matrix, values = csr_array(np.array([[1.0, 0.0], [1.0, 10.0]])), np.array([9.0, 1.0])
    best = least_sum(matrix, values)
    assert sum_and_gap(matrix, values, best)[1] < 1e-6
    even = np.array([0.5, 0.5])
    gap, better = sum_and_gap(matrix, values, even)[1], float((values / (matrix @ best)).sum())
    assert 0.3 < 1 - better / float((values / (matrix @ even)).sum()) <= gap


def test_structural_zeros_are_in_no_sum() -> None:
    groups = read_domain(["a=1..4", "b=1..5"], ["a", "b"])
    levels = ((0, 1), (0,), ())
    with_zeros = Shape(replace(groups, zeros=frozenset(range(12))), levels)
    plain, fewer = (convex_split(shape, [1, 1, 1], "sum").shares for shape in (Shape(groups, levels), with_zeros))
    assert fewer[0] < plain[0] and fewer[2] > plain[2]  # fewer counts of the finest level matter


def test_a_request_names_what_its_split_makes_small(tmp_path: Path) -> None:
    ask: dict[str, Any] = {
        "data": tmp_path / "t.csv", "unit": "row", "domain": ["site=1..6", "age=1..9"], "totals": "all", "epsilon": 1,
        "mechanism": "discrete-gaussian", "delta": "1e-6",
    }  # fmt: skip
    sql = "SELECT site, age, COUNT(*) FROM t GROUP BY site, age"
    plans = {split: dc.plan_release(sql, **ask, split=split) for split in (None, "largest", "sum")}
    assert len({plan.key for plan in plans.values()}) == 3
    assert plans[None].notes == () and "0.054%" in " ".join(plans["largest"].notes)
    shares = {split: [level.share for level in plan.tables[0].levels] for split, plan in plans.items()}
    assert shares["sum"][0] > Fraction(1, 2) > shares["largest"][0]
    again = plan_from_request(json.loads(json.dumps(plans["sum"].request)))
    assert again.request == plans["sum"].request and again.cost == plans["sum"].cost
    geometric = {**ask, "mechanism": "geometric", "delta": 0}
    assert "better split may" in " ".join(dc.plan_release(sql, **geometric, split="sum").notes)
    for changes in ({"split": "best"}, {"split": "sum", "totals": None}):
        with refused(InvalidInput, "split"):
            dc.plan_release(sql, **{**ask, **changes})
    with refused(InvalidInput, "split"):
        dc.plan_release([sql, sql], **{**ask, "split": "sum"})
