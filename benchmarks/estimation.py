"""Speed of maximum likelihood estimates, against 5,000 dense updates in NumPy on the same reports, and peers.

The default method, which smooths on purpose and has no small gap to reach, is measured by ``battery.py``.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import discreet as dc
import measure
import peers
from measure import FULL, Line, Scale

#: [F]: a likelihood ratio of 2 within a radius of 10.
EPSILON = math.log(2) / 10
UPDATES = 5000


def updates(matrix: np.ndarray, q: np.ndarray, times: int) -> np.ndarray:
    """Make iterative Bayesian updates as one would write them; on one core, as estimates of these sizes are."""
    p = np.full(len(matrix), 1 / len(matrix))
    with threadpool_limits(1):
        for _ in range(times):
            p = p * (matrix @ (q / (p @ matrix)))
    return p


def _population(size: int) -> np.ndarray:
    x = np.arange(size)
    p = np.exp(-0.5 * ((x - 0.4 * size) / (0.08 * size)) ** 2)
    return p / p.sum()


def _reports(mechanism: dc.Mechanism, p: np.ndarray, people: int = 100_000) -> np.ndarray:
    chances = mechanism.forward(p)
    return np.random.default_rng(1).multinomial(people, chances / chances.sum())


def _maximum(counts: np.ndarray, mechanism: dc.Mechanism, **options: Any) -> dc.Estimate:
    return dc.estimate(counts, mechanism, method="mle", **options)


def lines(scale: Scale = FULL) -> Iterator[Line]:
    n, large, side = scale.pick((100, 1000, 30), (20, 40, 6))
    few, many = scale.pick((100, UPDATES), (5, 20))
    planar = dc.planar_geometric(dc.Grid(side, side, cell=150.0), epsilon="0.004")
    problems = [
        (f"geometric n={n}", dc.geometric(n, epsilon=EPSILON), many, 0.07),
        (f"k-RR k={large + 1}", dc.randomized_response(large + 1, epsilon=math.log(2)), few, 0.001),
        (f"explicit fair n={n} (dense)", dc.explicit_fair(n, epsilon=EPSILON), many, 0.08),
        (f"planar {side} x {side}", planar, few, 0.03),
        (f"geometric n={large}", dc.geometric(large, epsilon=EPSILON), few, 0.006),
    ]
    for name, mechanism, times, target in problems:
        yield _against_updates(name, mechanism, times, target, scale)
    yield _closed_form(scale)
    yield _wide_range(scale)
    yield from _many_values(scale)
    yield _limited_reach(scale)
    yield from _large(scale)
    yield from _against_peers(scale)


def _against_updates(name: str, mechanism: dc.Mechanism, times: int, target: float, scale: Scale) -> Line:
    counts = _reports(mechanism, _population(mechanism.inputs.size))
    matrix, q = np.array(mechanism.matrix), counts / counts.sum()
    assert _maximum(counts, mechanism, tolerance=1e-8).gap <= 1e-8
    # as the updates are a loop, so is this: the first call after other work takes a third longer
    often = scale.pick(10, 1)
    ours, plain = measure.in_turn(
        lambda: [_maximum(counts, mechanism, tolerance=1e-8) for _ in range(often)],
        lambda: updates(matrix, q, times),
        rounds=scale.pick(5, 1),
    )
    ours, plain = ours / often, plain * UPDATES / times
    peer = f"{UPDATES} updates {plain:.3g} s"
    return measure.at_most(f"estimate {name} to gap 1e-8", f"{ours:.3g} s", peer, ours / plain, target)


def _closed_form(scale: Scale) -> Line:
    """Time the answer alone, with its certificate: at k = 101 reading the arguments takes longer.

    The closed form is also that of Pinzón, Palamidessi et al. (AAAI 2026, arXiv 2601.08603).
    """
    mechanism = dc.randomized_response(101, epsilon=math.log(2))
    counts = _reports(mechanism, _population(101))
    likelihood = _maximum(counts, mechanism)._likelihood
    matrix, q = np.array(mechanism.matrix), counts / counts.sum()
    times = scale.pick(200, 2)  # of microseconds each

    def often(function: Callable[[], object]) -> Callable[[], None]:
        return lambda: [function() for _ in range(times)] and None

    ours, whole, plain = measure.in_turn(
        often(likelihood.maximum),
        often(lambda: _maximum(counts, mechanism)),
        lambda: updates(matrix, q, UPDATES),
        rounds=scale.pick(5, 1),
    )
    ours, whole = ours / times, whole / times
    text = f"{ours:.3g} s ({whole:.3g} s with reading)"
    peer = f"{UPDATES} updates {plain:.3g} s"
    return measure.at_most("k-RR k=101 in closed form, with its gap", text, peer, ours / plain, 0.001)


def _wide_range(scale: Scale) -> Line:
    """Time n = 10^4; the matrix of 10^8 entries is made by hand, and a few updates stand for all."""
    n = scale.pick(10_000, 100)
    mechanism = dc.geometric(n, epsilon=EPSILON)
    counts = _reports(mechanism, _population(n + 1))
    a, x = float(mechanism.kernel.law.ratio), np.arange(n + 1)
    matrix = (1 - a) / (1 + a) * a ** np.abs(np.subtract.outer(x, x)).astype(float)
    matrix[:, [0, -1]] /= 1 - a
    ours = min(measure.seconds(lambda: _maximum(counts, mechanism, tolerance=1e-8)) for _ in range(scale.pick(3, 1)))
    plain = measure.seconds(lambda: updates(matrix, counts / counts.sum(), 2)) * UPDATES / 2
    peer = f"{UPDATES} updates {plain:.3g} s"
    return measure.at_most(f"estimate geometric n={n} to gap 1e-8", f"{ours:.3g} s", peer, ours / plain, 2e-4)


def _many_values(scale: Scale) -> Iterator[Line]:
    """Time projective response for a million values: made and proved, and 10^7 reports with all error bars."""
    size, people = scale.pick((10**6, 10**7), (100, 1000))
    duration = min(measure.seconds(lambda: dc.projective_response(size, epsilon=1)) for _ in range(scale.pick(3, 1)))
    yield measure.at_most(
        f"projective response k={size:.0e}, made and proved", f"{duration:.3g} s", "2 s", duration / 2, 1
    )
    mechanism = dc.projective_response(size, epsilon=1)
    shares = 1 / np.arange(1, size + 1)
    counts = _reports(mechanism, shares / shares.sum(), people)

    def estimate() -> None:
        maximum = _maximum(counts, mechanism)
        maximum.band(of="cells")
        assert maximum.converged

    took = measure.seconds(estimate)
    yield measure.at_most(
        f"projective response k={size:.0e}, {people:.0e} reports", f"{took:.3g} s", "30 s", took / 30, 1
    )


def _limited_reach(scale: Scale) -> Line:
    """Time Gaussian noise without end on 2,001 true values: reports reach 110 truths either way."""
    n, people = scale.pick((2000, 100_000), (100, 1000))
    mechanism = dc.discrete_gaussian(sigma2=100)
    truths = np.random.default_rng(1).choice(n + 1, people, p=_population(n + 1))
    reports = mechanism.simulate(truths, seed=2)

    def maximum() -> dc.Estimate:
        return dc.estimate(reports=reports, mechanism=mechanism, over=dc.Counts(n), method="mle", tolerance=1e-8)

    problem = maximum()._likelihood.problem
    matrix, q = problem.block(), problem.counts / problem.people
    ours, plain = measure.in_turn(maximum, lambda: updates(matrix, q, 20), rounds=scale.pick(3, 1))
    plain *= UPDATES / 20
    peer = f"{UPDATES} updates {plain:.3g} s"
    return measure.at_most(f"estimate Gaussian noise n={n} to gap 1e-8", f"{ours:.3g} s", peer, ours / plain, 0.05)


_ESTIMATE = """
import time, numpy as np, discreet as dc
size = {size}
{make}
start = time.perf_counter()
e = dc.estimate(counts, m, method="mle", tolerance={tolerance})
result = time.perf_counter() - start
assert e.gap <= {tolerance}, e.gap
"""

#: Names -> size, size in a smoke run, reports of that size, tolerance, seconds allowed.
_LARGE = {
    "geometric n={0}": (
        10**6,
        50,
        """
n = size
m = dc.geometric(n - 1, epsilon=np.log(2) / 10)
values = np.clip(np.random.default_rng(1).normal(n / 2, n / 8, n).astype(int), 0, n - 1)
counts = np.bincount(m.simulate(values, seed=2), minlength=n)
""",
        1e-8,
        15.0,
    ),
    "planar {0} x {0}, N=1e5": (
        300,
        6,
        """
grid = dc.Grid(size, size, cell=4500 / size)
m = dc.planar_geometric(grid, epsilon="0.004")
rng = np.random.default_rng(3)
centres, shares = rng.uniform(0, 4500, (30, 2)), rng.dirichlet(np.ones(30))
places = centres[rng.choice(30, 100_000, p=shares)] + rng.normal(0, 150, (100_000, 2))
counts = np.bincount(m.simulate(grid.locate(*np.clip(places, 0, 4499).T), seed=4), minlength=grid.size)
""",
        1e-6,
        60.0,
    ),
}


def _large(scale: Scale) -> Iterator[Line]:
    """Compare the time and memory of the largest problems, in processes of their own, with what is allowed."""
    for name, (full, smoke, make, tolerance, allowed) in _LARGE.items():
        size = scale.pick(full, smoke)
        took, peak = measure.apart(_ESTIMATE.format(size=size, make=make, tolerance=tolerance))
        what = f"estimate {name.format(size)} to gap {tolerance:g}"
        yield measure.at_most(f"{what}, time", f"{took:.3g} s", f"allowed {allowed:g} s", took / allowed, 1)
        yield measure.at_most(f"{what}, memory", f"{peak / 1e9:.2f} GB", "allowed 2 GB", peak / 2e9, 1)


#: How peers estimate, and the packages that takes. (qif has mechanisms and measures, and no estimator.)
_PEERS = {
    "IBU": {"multi-freq-ldpy": "multi_freq_ldpy", "scipy": "scipy"},
    "inversion": {"multi-freq-ldpy": "multi_freq_ldpy", "scipy": "scipy"},
    "pure-ldp": {"pure-ldp": "pure_ldp", "scikit-learn": "sklearn", "statsmodels": "statsmodels"},
}


def _against_peers(scale: Scale) -> Iterator[Line]:
    """Compare with libraries for local privacy on the same reports: time, and distance from the truth."""
    k, epsilon, people = 101, 4.0, scale.pick(20_000, 1000)
    m, p = dc.randomized_response(k, epsilon=epsilon), _population(k)
    truths = np.random.default_rng(2).choice(k, people, p=p)
    reports = m.simulate(truths, seed=3)
    counts = np.bincount(reports, minlength=k)
    ours = measure.in_turn(lambda: _maximum(counts, m), rounds=scale.pick(5, 1))[0]
    loss = dc.kantorovich(_maximum(counts, m).distribution, p, dc.Counts(k - 1))
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "reports.json"
        content = {"k": k, "epsilon": epsilon, "reports": reports.tolist()}
        data.write_text(json.dumps(content), encoding="utf-8")
        for method, packages in _PEERS.items():
            if not all(peers.available(scale, package, module) for package, module in packages.items()):
                continue
            result = peers.run("peer_estimation.py", method, str(data))
            theirs = np.maximum(np.array(result["estimate"]), 0)
            away = dc.kantorovich(theirs / theirs.sum(), p, dc.Counts(k - 1))
            name = " ".join(dict.fromkeys([next(iter(packages)), method]))
            peer = f"{name} {result['seconds']:.3g} s"
            yield measure.at_most(
                f"estimate k-RR k={k}, N={people}", f"{ours:.3g} s", peer, ours / result["seconds"], 1
            )
            peer = f"{name} {away:.3g}"
            yield measure.at_most(f"Kantorovich error, k-RR k={k}, N={people}", f"{loss:.3g}", peer, loss / away, 1.05)
