"""Speed of combining levels so that they add up: exact fractions against SciPy's conjugate gradients in doubles."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg

import measure
from discreet.exact.laws import GeometricTails
from discreet.questions.groups import groups_from
from discreet.questions.levels import with_totals
from discreet.release.levels.combining import LevelCombination
from discreet.release.levels.rounding import rounded_leaves
from discreet.release.levels.shape import Shape
from measure import FULL, Line, Scale

LEVELS = ((0, 1, 2, 3), (0, 1, 2), (0, 1), ())


def lines(scale: Scale = FULL) -> Iterator[Line]:
    lengths = scale.pick((10, 10, 100, 100), (2, 3, 4, 5))
    columns = ["a", "b", "c", "d"]
    groups = groups_from({name: range(length) for name, length in zip(columns, lengths, strict=True)}, columns)
    shape = Shape(groups, LEVELS)
    law = GeometricTails(Fraction(1, 9), Fraction(4, 5))
    both = LevelCombination(shape, (law,) * len(LEVELS))
    rng = np.random.default_rng(0)
    measured = [rng.integers(0, 100, size=(size, 1)) for size in shape.sizes]
    variance = float(both.solver.variances[0])
    ones, leaves = np.ones(groups.size), np.arange(groups.size)
    sums = [
        csr_array((ones, (nodes, leaves)), shape=(size, groups.size))
        for nodes, size in zip(shape.node_of_leaf, shape.sizes, strict=True)
    ]

    def gradients() -> np.ndarray:
        """Solve the same least squares in doubles, without forming the dense blocks of the normal matrix."""
        normal = LinearOperator(
            (groups.size, groups.size), matvec=lambda x: sum(one.T @ (one @ x) for one in sums) / variance, dtype=float
        )
        right = sum(one.T @ y[:, 0] for one, y in zip(sums, measured, strict=True)) / variance
        solution, code = cg(normal, right, rtol=1e-8, maxiter=200)
        assert code == 0
        return solution

    exact, theirs = measure.in_turn(lambda: both.leaves(measured), gradients, rounds=3)
    combined = both.leaves(measured)
    np.testing.assert_allclose(combined[:, 0] / 10**both.digits, gradients(), atol=1e-4)
    peer = f"SciPy's gradients, doubles {theirs:.2f} s"
    yield measure.at_least(f"{groups.size:,} leaves in 4 levels, exactly", f"{exact:.2f} s", peer, theirs / exact, 0.1)
    yield measure.at_most("the same, in seconds", f"{exact:.2f} s", "3 s", exact / 3, 1)
    (whole,) = measure.in_turn(lambda: rounded_leaves(shape, combined, 10**both.digits), rounds=2)
    yield measure.at_most("made whole so that they add up", f"{whole:.2f} s", "5 s", whole / 5, 1)
    yield _cube(scale)


def _cube(scale: Scale) -> Line:
    """Make a sparse cube of three columns whole, whose totals overlap."""
    length = scale.pick(40, 4)
    names = ["a", "b", "c"]
    shape = Shape(groups_from({name: range(length) for name in names}, names), with_totals(names, names, str))
    both = LevelCombination(shape, (GeometricTails(Fraction(1, 9), Fraction(4, 5)),) * len(shape.levels))
    rng = np.random.default_rng(0)
    truth = rng.geometric(0.9, size=(shape.groups.size, 1)) - 1
    leaves = both.leaves([sums + rng.integers(-8, 9, size=sums.shape) for sums in shape.sums(truth)])
    unit, errors = 10**both.digits, both.standard_errors
    (seconds,) = measure.in_turn(lambda: rounded_leaves(shape, leaves, unit, errors), rounds=2)
    what = f"a cube of {shape.groups.size:,} groups made whole, totals near their combined counts"
    return measure.at_most(what, f"{seconds:.2f} s", "5 s", seconds / 5, 1)
