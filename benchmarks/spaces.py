"""How long optimal mechanisms on maps take, proof and bound included, beside a plain build of the same program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import discreet as dc
import measure
from measure import FULL, Line, Scale


def towns(number: int) -> dc.MetricSpace:
    """Return points of a square of ten kilometres, in metres."""
    places = np.random.default_rng(7).choice(100 * 100, number, replace=False)
    return dc.MetricSpace.from_points({f"p{k}": (100 * int(k) // 100, 100 * int(k % 100)) for k in places.tolist()})


def plain(space: dc.MetricSpace, epsilon: float) -> Any:
    """Solve the program as one would write it first, in floats: a row for every report and ordered pair."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, kron

    size = space.size
    here = np.arange(size)
    far = np.sqrt(space.squared_distance(here[:, None], here[None, :]).astype(float)) * float(space.unit)
    tail, head = np.nonzero(far > 0)
    row = np.arange(len(tail))
    values = np.r_[np.ones(len(tail)), -np.exp(epsilon * far[tail, head])]
    pairs = coo_array((values, (np.r_[row, row], np.r_[tail, head])), shape=(len(tail), size))
    above = kron(pairs, np.eye(size)).tocsr()
    sums = kron(np.eye(size), np.ones((1, size))).tocsr()
    return linprog(
        far.ravel() / size, A_ub=above, b_ub=np.zeros(above.shape[0]), A_eq=sums, b_eq=np.ones(size), method="highs-ipm"
    )


def lines(scale: Scale = FULL) -> Iterator[Line]:
    number, side = scale.pick((50, 20), (6, 3))
    space, epsilon = towns(number), 0.0008
    ours = measure.seconds(lambda: dc.design(space, epsilon=epsilon, loss="L1"))
    smaller = towns(scale.pick(25, 5))
    theirs = measure.seconds(lambda: plain(smaller, epsilon))
    name = f"optimal mechanism for a map of {number} points, every pair, certified"
    peer = f"10 s (plain linprog of {smaller.size} points, floats, not proved: {theirs:.3g} s)"
    yield measure.at_most(name, f"{ours:.3g} s", peer, ours / 10, 1)
    grid, prior = dc.Grid(side, side, cell=1), np.random.default_rng(0).integers(1, 50, side * side)
    ours = measure.seconds(lambda: dc.design(grid, epsilon=1, loss="L1", prior=prior, dilation="1.1"))
    name = f"design for a map of {side * side} cells with a spanner of dilation 1.1, certified"
    yield measure.at_most(name, f"{ours:.3g} s", "60 s", ours / 60, 1)
