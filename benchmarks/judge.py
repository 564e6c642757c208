"""Speed of the judge, against a plain loop over fractions on a smaller problem of the same kind."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import discreet as dc
import measure
from discreet.privacy.lattice import metric_table
from measure import FULL, Line, Scale


def _plain_loop(mechanism: dc.Mechanism, rows: int) -> Fraction:
    """Return the largest ratio between adjacent rows with fractions, as one would write it first."""
    worst = Fraction(1)
    size = mechanism.outputs.size
    for x in range(rows):
        for y in range(size):
            p, q = mechanism.probability(x, y), mechanism.probability(x + 1, y)
            worst = max(worst, p / q, q / p)
    return worst


def lines(scale: Scale = FULL) -> Iterator[Line]:
    n, side = scale.pick((1000, 30), (20, 5))
    fair = dc.explicit_fair(n, epsilon="0.1")
    floats, exact = measure.in_turn(
        lambda: dc.verify(fair, exact=False).epsilon, lambda: dc.verify(fair).ratio, rounds=3
    )
    rows = 2  # of n: the plain loop is slow
    plain = measure.seconds(lambda: _plain_loop(fair, rows)) * n / rows
    peer = f"plain fractions {plain:.3g} s"
    yield measure.at_most(f"verify explicit fair n={n}, floats", f"{floats:.3g} s", peer, floats / plain, 1 / plain)
    yield measure.at_most(f"verify explicit fair n={n}, exactly", f"{exact:.3g} s", peer, exact / plain, 30 / plain)
    grid = dc.Grid(side, side, cell=150.0)
    for make in (dc.planar_geometric, dc.planar_laplace):
        for border in ("remap", "normalise"):
            planar = make(grid, epsilon="0.004", border=border)
            took = measure.seconds(lambda planar=planar: dc.verify(planar, "metric").epsilon)
            plain = measure.seconds(lambda planar=planar: metric_table(planar.kernel.table(), grid))
            name, peer = f"verify {make.__name__} {side} x {side}, {border}", f"all pairs of its table {plain:.3g} s"
            yield measure.at_most(name, f"{took:.3g} s", peer, took / plain, 30 / plain)
    yield _start(scale)


def _start(scale: Scale) -> Line:
    """Import the package, and NumPy, each in a process of its own."""

    def imports(name: str) -> float:
        code = f"import time; t = time.perf_counter(); import {name}; result = time.perf_counter() - t"
        return min(measure.apart(code)[0] for _ in range(scale.pick(5, 1)))

    ours, numpy = imports("discreet"), imports("numpy")
    return measure.at_most("import discreet", f"{ours:.3g} s", f"import numpy {numpy:.3g} s", ours / numpy, 0.3 / numpy)
