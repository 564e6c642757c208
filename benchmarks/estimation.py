"""How fast reconstructions are, beside 5,000 dense updates in plain NumPy on the same reports, and beside peers."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import discreet as dc
import measure
import peers
from measure import Line

#: [F]: a likelihood ratio of 2 within a radius of 10.
EPSILON = math.log(2) / 10
UPDATES = 5000


def updates(matrix: np.ndarray, q: np.ndarray, times: int) -> np.ndarray:
    """Iterative Bayesian updates as one would write them; on one core, as estimates of these sizes are."""
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


def lines() -> Iterator[Line]:
    grid = dc.Grid(30, 30, cell=150.0)
    general = dc.explicit_fair(100, epsilon=EPSILON)
    problems = [
        ("geometric n=100", dc.geometric(100, epsilon=EPSILON), UPDATES, 0.07),
        ("k-RR k=1001", dc.randomized_response(1001, epsilon=math.log(2)), 100, 0.001),
        ("explicit fair n=100 (dense)", general, UPDATES, 0.08),
        ("planar 30 x 30", dc.planar_geometric(grid, epsilon="0.004"), 100, 0.03),
        ("geometric n=1000", dc.geometric(1000, epsilon=EPSILON), 100, 0.006),
    ]
    for name, mechanism, times, wanted in problems:
        yield _beside_updates(name, mechanism, times, wanted)
    yield _closed_form()
    yield _ten_thousand()
    yield from _million_values()
    yield _limited_reach()
    yield from _apart()
    yield from _beside_peers()


def _beside_updates(name: str, mechanism: dc.Mechanism, times: int, wanted: float) -> Line:
    counts = _reports(mechanism, _population(mechanism.inputs.size))
    matrix, q = np.array(mechanism.matrix), counts / counts.sum()
    found = dc.estimate(counts, mechanism, tolerance=1e-8)
    assert found.gap <= 1e-8
    often = 10  # as the updates are a loop, so is this: the first call after other work takes a third longer
    ours, plain = measure.in_turn(
        lambda: [dc.estimate(counts, mechanism, tolerance=1e-8) for _ in range(often)],
        lambda: updates(matrix, q, times),
        rounds=5,
    )
    ours, plain = ours / often, plain * UPDATES / times
    peer = f"{UPDATES} updates {plain:.3g} s"
    return measure.at_most(f"estimate {name} to gap 1e-8", f"{ours:.3g} s", peer, ours / plain, wanted)


def _closed_form() -> Line:
    """At k = 101 reading the arguments takes longer than the answer: the answer alone, with its certificate.

    The closed form is also that of Pinzón, Palamidessi et al. (AAAI 2026, arXiv 2601.08603).
    """
    mechanism = dc.randomized_response(101, epsilon=math.log(2))
    counts = _reports(mechanism, _population(101))
    likelihood = dc.estimate(counts, mechanism)._likelihood
    matrix, q = np.array(mechanism.matrix), counts / counts.sum()
    times = 200  # of microseconds each

    def often(function: Callable[[], object]) -> Callable[[], None]:
        return lambda: [function() for _ in range(times)] and None

    ours, whole, plain = measure.in_turn(
        often(likelihood.maximum),
        often(lambda: dc.estimate(counts, mechanism)),
        lambda: updates(matrix, q, UPDATES),
        rounds=5,
    )
    ours, whole = ours / times, whole / times
    text = f"{ours:.3g} s ({whole:.3g} s with reading)"
    peer = f"{UPDATES} updates {plain:.3g} s"
    return measure.at_most("k-RR k=101 in closed form, with its gap", text, peer, ours / plain, 0.001)


def _ten_thousand() -> Line:
    """The matrix of 10^8 places is made by hand; a few updates stand for all."""
    mechanism = dc.geometric(10_000, epsilon=EPSILON)
    counts = _reports(mechanism, _population(10_001))
    a, x = float(mechanism.kernel.law.ratio), np.arange(10_001)
    matrix = (1 - a) / (1 + a) * a ** np.abs(np.subtract.outer(x, x)).astype(float)
    matrix[:, [0, -1]] /= 1 - a
    ours = min(measure.seconds(lambda: dc.estimate(counts, mechanism, tolerance=1e-8)) for _ in range(3))
    plain = measure.seconds(lambda: updates(matrix, counts / counts.sum(), 2)) * UPDATES / 2
    peer = f"{UPDATES} updates {plain:.3g} s"
    return measure.at_most("estimate geometric n=10^4 to gap 1e-8", f"{ours:.3g} s", peer, ours / plain, 2e-4)


def _million_values() -> Iterator[Line]:
    """Projective response for a million values: made and proved, and 10^7 reports with all error bars."""
    size, people = 10**6, 10**7
    made = min(measure.seconds(lambda: dc.projective_response(size, epsilon=1)) for _ in range(3))
    yield measure.at_most("projective response k=10^6, made and proved", f"{made:.3g} s", "2 s", made / 2, 1)
    mechanism = dc.projective_response(size, epsilon=1)
    shares = 1 / np.arange(1, size + 1)
    counts = _reports(mechanism, shares / shares.sum(), people)

    def estimate() -> None:
        found = dc.estimate(counts, mechanism)
        found.band(of="cells")
        assert found.converged

    took = measure.seconds(estimate)
    yield measure.at_most("projective response k=10^6, 10^7 reports", f"{took:.3g} s", "30 s", took / 30, 1)


def _limited_reach() -> Line:
    """Gaussian noise without end on 2,001 true values: reports reach 110 truths either way."""
    mechanism, over = dc.discrete_gaussian(sigma2=100), dc.Counts(2000)
    truths = np.random.default_rng(1).choice(2001, 100_000, p=_population(2001))
    reports = mechanism.simulate(truths, seed=2)
    problem = dc.estimate(reports=reports, mechanism=mechanism, over=over)._likelihood.problem
    matrix, q = problem.block(), problem.counts / problem.people
    ours, plain = measure.in_turn(
        lambda: dc.estimate(reports=reports, mechanism=mechanism, over=over, tolerance=1e-8),
        lambda: updates(matrix, q, 20),
        rounds=3,
    )
    plain *= UPDATES / 20
    peer = f"{UPDATES} updates {plain:.3g} s"
    return measure.at_most("estimate Gaussian noise n=2000 to gap 1e-8", f"{ours:.3g} s", peer, ours / plain, 0.05)


_APART = """
import json, time, numpy as np, discreet as dc
{make}
start = time.perf_counter()
e = dc.estimate(counts, m, tolerance={tolerance})
took = time.perf_counter() - start
assert e.gap <= {tolerance}, e.gap
status = open("/proc/self/status").read()  # getrusage would count what the parent held before this process began
print(json.dumps([took, int(status.split("VmHWM:")[1].split()[0]) / 1e6]))
"""

_LARGE = {
    "geometric n=10^6": (
        """
n = 10**6
m = dc.geometric(n - 1, epsilon=np.log(2) / 10)
values = np.clip(np.random.default_rng(1).normal(n / 2, n / 8, 10**6).astype(int), 0, n - 1)
counts = np.bincount(m.simulate(values, seed=2), minlength=n)
""",
        1e-8,
        15.0,
    ),
    "planar 300 x 300, N=1e5": (
        """
grid = dc.Grid(300, 300, cell=15.0)
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


def _apart() -> Iterator[Line]:
    """The largest problems in processes of their own: seconds and gigabytes, beside what is allowed."""
    for name, (make, tolerance, allowed) in _LARGE.items():
        code = _APART.format(make=make, tolerance=tolerance)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        took, memory = json.loads(done.stdout)
        what = f"estimate {name} to gap {tolerance:g}"
        yield measure.at_most(f"{what}, time", f"{took:.3g} s", f"allowed {allowed:g} s", took / allowed, 1)
        yield measure.at_most(f"{what}, memory", f"{memory:.2f} GB", "allowed 2 GB", memory / 2, 1)


#: How peers estimate, and the packages that takes. (qif has mechanisms and measures, and no estimator.)
_PEERS = {
    "IBU": {"multi-freq-ldpy": "multi_freq_ldpy", "scipy": "scipy"},
    "inversion": {"multi-freq-ldpy": "multi_freq_ldpy", "scipy": "scipy"},
    "pure-ldp": {"pure-ldp": "pure_ldp", "scikit-learn": "sklearn", "statsmodels": "statsmodels"},
}


def _beside_peers() -> Iterator[Line]:
    """The same randomised reports estimated by libraries for local privacy: time, and distance from the truth."""
    k, epsilon, people = 101, 4.0, 20_000
    m, p = dc.randomized_response(k, epsilon=epsilon), _population(k)
    truths = np.random.default_rng(2).choice(k, people, p=p)
    reports = m.simulate(truths, seed=3)
    counts = np.bincount(reports, minlength=k)
    ours = measure.in_turn(lambda: dc.estimate(counts, m), rounds=5)[0]
    loss = dc.kantorovich(dc.estimate(counts, m).distribution, p, dc.Counts(k - 1))
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "reports.json"
        content = {"k": k, "epsilon": epsilon, "reports": reports.tolist()}
        data.write_text(json.dumps(content), encoding="utf-8")
        for method, packages in _PEERS.items():
            if not all(peers.available(package, module) for package, module in packages.items()):
                continue
            found = peers.run("peer_estimation.py", method, str(data))
            theirs = np.maximum(np.array(found["estimate"]), 0)
            away = dc.kantorovich(theirs / theirs.sum(), p, dc.Counts(k - 1))
            name = " ".join(dict.fromkeys([next(iter(packages)), method]))
            peer = f"{name} {found['seconds']:.3g} s"
            yield measure.at_most(f"estimate k-RR k={k}, N={people}", f"{ours:.3g} s", peer, ours / found["seconds"], 1)
            peer = f"{name} {away:.3g}"
            yield measure.at_most(f"Kantorovich error, k-RR k={k}, N={people}", f"{loss:.3g}", peer, loss / away, 1.05)
