"""Combined counts: intervals that hold, splits that are best, and whole counts that add up."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact.laws import Gaussian, GeometricTails
from discreet.questions.groups import Groups, groups_from
from discreet.release.levels import combining, overlapping
from discreet.release.levels.combining import MAX_ROUNDING_ERROR, LevelCombination
from discreet.release.levels.product import ProductLeastSquares
from discreet.release.levels.rounding import rounded_leaves
from discreet.release.levels.shape import Shape
from discreet.release.levels.splitting import BUDGET_PARTS, best_split
from discreet.release.noise.weighted import (
    WeightedTerms,
    characteristic,
    chernoff,
    chernoff_of_variance,
    half_width,
    law_variance,
    log_moment,
)
from support.tiers import examples


def geometric(ratio: Fraction) -> GeometricTails:
    return GeometricTails((1 - ratio) / (1 + ratio), ratio)


LAWS = [geometric(Fraction(1, 2)), geometric(Fraction(9, 10)), geometric(Fraction(1, 50)), Gaussian(Fraction(7, 2)),
        Gaussian(Fraction(1, 4))]  # fmt: skip
REACH = 400


def chances(law) -> np.ndarray:
    return law.floats(-REACH, REACH)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_variances_and_transforms_are_those_of_the_law(law) -> None:
    values, p = np.arange(-REACH, REACH + 1), chances(law)
    close = 1e-12 if not isinstance(law, Gaussian) else 0.05
    exact = float(p @ values**2)
    assert exact <= float(law_variance(law)) * (1 + 1e-9)
    assert isinstance(law, Gaussian) or math.isclose(exact, float(law_variance(law)), rel_tol=max(close, 1e-9))
    s = np.linspace(0, 7, 50)
    np.testing.assert_allclose(characteristic(law, s), np.cos(np.outer(s, values)) @ p, atol=1e-9)
    s = np.linspace(-0.05, 0.05, 21)
    moments = np.log(np.exp(np.outer(s, values)) @ p)
    assert (log_moment(law, s) >= moments - 1e-9).all()
    if not isinstance(law, Gaussian):
        np.testing.assert_allclose(log_moment(law, s), moments, atol=1e-9)


def tail(terms, steps: int):
    """The exact law of |W| where all weights are multiples of 1/steps: its values and P(|W| > value)."""
    total = np.ones(1)
    for term in terms:
        factor = round(term.weight * steps)
        own = np.zeros(2 * REACH * factor + 1)
        own[::factor] = chances(term.law)
        for _ in range(term.count):
            size = 1 << (len(total) + len(own)).bit_length()
            total = np.fft.irfft(np.fft.rfft(total, size) * np.fft.rfft(own, size), size)[: len(total) + len(own) - 1]
    half = len(total) // 2
    sides = np.concatenate([total[half : half + 1], total[half + 1 :] + total[:half][::-1]])
    return np.arange(half + 1) / steps, np.maximum(1 - np.cumsum(sides), 0)


SUMS = [((1, 1), (0.5, 2)), ((0.25, 9),), ((0.75, 1), (0.25, 3), (0.5, 1)), ((1, 3),)]


@pytest.mark.parametrize(
    ("weights", "share"), [*((one, Fraction(1, 20)) for one in SUMS), (SUMS[0], Fraction(1, 1000))]
)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_half_widths_hold_and_are_hardly_too_wide(law, weights, share) -> None:
    terms = tuple(WeightedTerms(law, float(weight), count) for weight, count in weights)
    found = half_width(terms, share)
    values, beyond = tail(terms, 4)
    assert beyond[values <= found + 1e-9][-1] <= share  # it holds, by exact convolution
    least = values[np.flatnonzero(beyond <= share)[0]]
    spread = math.sqrt(sum(t.count * t.weight**2 * float(law_variance(t.law)) for t in terms))
    assert found <= least + 0.03 * spread + 1e-3 * least + 1e-3
    assert chernoff(terms, float(share)) >= least
    variance = spread**2
    assert (
        chernoff_of_variance((law,), variance, float(share)) >= least * (1 - 1e-9) or law_variance(law) < variance / 4
    )


def shapes() -> dict[str, Shape]:
    whole = groups_from({"a": range(3), "b": range(4)}, ["a", "b"])
    ragged = groups_from([(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (2, 3)], ["a", "b"])
    zeros = Groups(whole.columns, whole.kinds, whole.values, None, frozenset({0, 5, 8, 9, 10, 11}))
    return {
        "rollup": Shape(whole, ((0, 1), (0,), ())),
        "cube": Shape(whole, ((0, 1), (0,), (1,), ())),
        "ragged tree": Shape(ragged, ((0, 1), (0,), ())),
        "ragged cube": Shape(zeros, ((0, 1), (0,), (1,), ())),
    }


@pytest.mark.parametrize("name", shapes())
def test_intervals_cover_and_standard_errors_are_right(name: str) -> None:
    """Twenty thousand drawn tables at once, as measures of one."""
    shape, runs = shapes()[name], {"ragged tree": 5_000, "ragged cube": 500}.get(name, 20_000)
    laws = tuple(geometric(Fraction(*pair)) for pair in [(9, 10), (4, 5), (7, 10), (1, 2)][: len(shape.levels)])
    both = LevelCombination(shape, laws)
    drawn = np.random.default_rng(17)
    truths = shape.sums(np.where(shape.live[:, None], drawn.integers(0, 40, size=(shape.groups.size, 1)), 0))
    measured = []
    for truth, law, live in zip(truths, laws, shape.live_nodes, strict=True):
        p = 1 - float(law.ratio)
        noise = drawn.geometric(p, (len(truth), runs)) - drawn.geometric(p, (len(truth), runs))
        measured.append((truth + noise) * live[:, None])
    found = shape.sums(both.leaves(measured) / 10**both.digits)
    level = Fraction(9, 10)
    for own, truth, widths, errors, live in zip(
        found, truths, both.half_widths(level), both.standard_errors, shape.live_nodes, strict=True
    ):
        gaps = (own - truth)[live]
        covered = (np.abs(gaps) <= widths[live][:, None] + float(MAX_ROUNDING_ERROR)).mean(axis=1)
        assert (covered > 0.9 - 4 * math.sqrt(0.09 / runs)).all()
        assert name == "ragged cube" or (covered < 0.93).all()  # and they are not much too wide
        np.testing.assert_allclose(gaps.std(axis=1), errors[live], rtol=0.15 if runs < 1000 else 0.06)
        assert (np.abs(gaps.mean(axis=1)) < 5 * errors[live] / math.sqrt(runs) + 0.005).all()  # unbiased


@pytest.mark.parametrize("kinds", [400, 2], ids=["by their noises", "by their variances"])
def test_a_wide_tree_is_enclosed(kinds: int, monkeypatch) -> None:
    """Many kinds of nodes: worked out quickly, or by Chernoff's inequality, which is wider and holds."""
    monkeypatch.setattr(combining, "MAX_EXACT_VARIANCES", kinds)
    drawn = np.random.default_rng(2)
    groups = groups_from([(a, b) for a in range(40) for b in range(a + 1)], ["a", "b"])
    both = LevelCombination(Shape(groups, ((0, 1), (0,), ())), (geometric(Fraction(1, 2)),) * 3)
    noises = [drawn.geometric(0.5, (n, 200)) - drawn.geometric(0.5, (n, 200)) for n in both.shape.sizes]
    found = both.shape.sums(both.leaves(noises) / 10**both.digits)
    for own, widths, errors in zip(found, both.half_widths(Fraction(19, 20)), both.standard_errors, strict=True):
        assert (np.abs(own) <= widths[:, None]).mean() > (0.94 if len(own) == 1 else 0.945)
        assert (widths >= 1.9 * errors).all() and (widths <= (2.4 if kinds > 2 else 5) * errors).all()


def test_where_variances_are_only_bounded_intervals_are_wider_and_hold(monkeypatch) -> None:
    """As for more leaves than a dense inverse is made of: nodes of a level that differ must not share an interval."""
    shape, laws = shapes()["ragged cube"], tuple(geometric(Fraction(k, 10)) for k in (9, 8, 7, 5))
    narrow = LevelCombination(shape, laws)
    expected, errors = narrow.half_widths(Fraction(9, 10)), narrow.standard_errors
    monkeypatch.setattr(overlapping, "MAX_DENSE_LEAVES", 1)
    wide = LevelCombination(shape, laws)
    for own, theirs, sd, bound in zip(
        wide.half_widths(Fraction(9, 10)), expected, errors, wide.standard_errors, strict=True
    ):
        assert (own >= theirs).all() and (bound >= sd * (1 - 1e-12)).all()


@examples(60)
@given(st.data())
def test_rounded_counts_are_whole_and_keep_the_grand_total(data) -> None:
    name = data.draw(st.sampled_from(sorted(shapes())))
    shape = shapes()[name]
    values = data.draw(st.lists(st.integers(-900, 4000), min_size=shape.groups.size, max_size=shape.groups.size))
    leaves = np.where(shape.live, np.array(values), 0)[:, None]
    whole = rounded_leaves(shape, leaves, 100)
    assert whole.dtype == np.int64 and (whole >= 0).all() and not whole[~shape.live].any()
    top = shape.level_sums(leaves, len(shape.levels) - 1)
    assert np.array_equal(shape.level_sums(whole, len(shape.levels) - 1), np.maximum((2 * top + 100) // 200, 0))


@pytest.mark.parametrize(("levels", "power"), list(product([((0, 1), (0,), ()), ((0, 1), (0,), (1,))], [1.0, 2.0])))
def test_the_split_is_as_good_as_any_of_a_grid(levels, power) -> None:
    shape = Shape(groups_from({"a": range(3), "b": range(2)}, ["a", "b"]), levels)
    found = best_split(shape, lambda level, part: 2.0 * (level + 1) / part**power)
    assert sum(found) == 1 and all((part * BUDGET_PARTS).denominator == 1 for part in found)

    def largest(parts) -> float:
        variances = tuple(Fraction(2.0 * (level + 1) / float(part) ** power) for level, part in enumerate(parts))
        return float(max(ProductLeastSquares(shape, variances).level_variances()))

    grid = [Fraction(k, 20) for k in range(1, 19)]
    others = [(a, b, 1 - a - b) for a in grid for b in grid if min(a, b, 1 - a - b) >= Fraction(1, 20)]
    assert largest(found) <= 1.03 * min(map(largest, others))


def test_a_split_for_public_sizes_favours_small_groups() -> None:
    shape = Shape(groups_from({"a": range(10)}, ["a"]), ((0,), ()))
    plain = best_split(shape, lambda level, part: 2 / part**2)
    relative = best_split(shape, lambda level, part: 2 / part**2, np.array([5] + [5000] * 9))
    assert relative[0] > plain[0]
