"""A wide set of the product's results on this processor, as JSON: run by test_core_types.py under several core types.

Each has the tolerance that the product states for it: 0 for what is decided in integers, the certified gap for a
likelihood, a share of the length for the end of an interval. Run: ``python core_type_results.py``.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_info

import discreet as dc
from discreet.estimation.intervals import intervals, moments
from discreet.estimation.methods import Method
from discreet.privacy.lattice import TOLERANCE as MAP_TOLERANCE

#: A sum of so many products of doubles is good to this share (n u with n = 10^4, u = 2^-53).
SUMS = 1e-12

#: What calibrations state: an epsilon that is worse by this share misses the target.
CALIBRATED = 2.0**-20

#: What docs/howto_studies.md states.
STUDIED = 1e-7

#: Name, numbers or text, and by how much each number may differ from one processor to another.
Result = tuple[str, Any, float]


def exactly(name: str, value: object) -> Result:
    return name, str(value), 0.0


def close(name: str, values: object, share: float) -> Result:
    """Numbers that may differ by this share of the largest of them."""
    found = np.atleast_1d(np.asarray(values, float))
    return name, found.tolist(), share * max(1e-300, float(np.abs(found).max()))


# ------------------------------------------------------------------------------------------------ what is estimated


def problems() -> Iterator[tuple[str, Any, Any]]:
    """Reports and their mechanism, drawn by a generator of integers: the same on every machine."""
    hump = np.exp(-0.5 * ((np.arange(31) - 12) / 4) ** 2)
    hump /= hump.sum()
    for name, m in (
        ("geometric", dc.geometric(30, epsilon="0.5")),
        ("wide geometric", dc.geometric(30, epsilon="0.1")),
        ("randomised response", dc.randomized_response(31, epsilon=2)),
        ("explicit fair", dc.explicit_fair(30, epsilon="0.5")),
        ("gaussian", dc.discrete_gaussian(sigma2=9)),
        ("matrix", dc.geometric(30, epsilon="0.5").matrix),
    ):
        rng = np.random.default_rng(11)
        truths = rng.choice(31, 4000, p=hump)
        if isinstance(m, dc.Mechanism):
            drawn = m.simulate(truths, seed=5)
        else:
            drawn = np.array([rng.choice(31, p=m[t] / m[t].sum()) for t in truths])
        values, counts = np.unique(drawn, return_counts=True)
        yield name, dict(zip(values.tolist(), counts.tolist(), strict=True)), m


def estimates() -> Iterator[Result]:
    """Every method: the likelihood within the certified gap, closed forms and fixed numbers of updates closely."""
    for name, counts, m in problems():
        over = dc.Counts(30) if name == "gaussian" else None
        data = counts if isinstance(m, dc.Mechanism) else [counts.get(k, 0) for k in range(31)]
        for method in get_args(Method):
            if name == "gaussian" and method in ("inverse", "wavelet"):
                continue  # has no inverse
            if name == "wide geometric" and method == "inverse":
                continue  # it magnifies rounding a million times: not for single values
            options: dict[str, Any] = {"iterations": 100} if method == "ibu" else {}
            e = dc.estimate(data, m, over=over, method=method, **options)
            what = f"{name}, {method}"
            if method == "mle":
                assert e.converged, what
                yield f"{what}: log-likelihood per report", [e.log_likelihood / e.people], 2 * e.tolerance
                yield exactly(f"{what}: converged", e.converged)
                yield from asked(what, e)
            else:
                yield close(f"{what}: distribution", e.distribution, 1e-9)
                yield exactly(f"{what}: notes", e.notes)
                yield exactly(f"{what}: iterations", e.iterations)


def asked(what: str, e: dc.Estimate) -> Iterator[Result]:
    """Ends of intervals: to the stated share of their distance from the estimate."""
    for statistic in ("mean", "variance", ("cdf", 12), ("cell", 12), ("range", 8, 16)):
        i = e.interval(statistic)
        yield exactly(f"{what}: interval of {i.statistic} by", i.by)
        # each of the two is off by this share at most, of the distance on the scale of the root of the deviance
        share = 4 * intervals.DEVIANCE_TOLERANCE if "profile" in i.by else 1e-6
        yield f"{what}: interval of {i.statistic}", [i.low, i.high], share * (i.high - i.low) + e.tolerance
    yield exactly(f"{what}: interval of the median", tuple(e.interval(("quantile", 0.5))))
    yield exactly(f"{what}: fit, spiky", (e.fit.plausible, bool(e.spikes)))
    yield close(f"{what}: fit, p", e.fit.p_value, 1e-3)


def other_estimates() -> Iterator[Result]:
    """Groups, maps, and what is simulated from a seed."""
    careful, bold = dc.randomized_response(4, epsilon=1), dc.geometric(3, epsilon=1)
    e = dc.estimate([([40, 30, 20, 10], careful), ([10, 20, 30, 40], bold)])
    yield "groups: log-likelihood per report", [e.log_likelihood / e.people], 2 * e.tolerance
    yield exactly("groups: homogeneity", e.homogeneity(99).p_value)
    yield "groups: stratified", e.stratified.distribution.tolist(), 1e-6
    grid = dc.Grid(12, 12, cell=150.0)
    places = dc.planar_geometric(grid, epsilon=0.01)
    truths = np.random.default_rng(3).choice(grid.size, 2000, p=np.arange(1, 145) / np.arange(1, 145).sum())
    e = dc.estimate(reports=places.simulate(truths, seed=4), mechanism=places)
    yield "map: log-likelihood per report", [e.log_likelihood / e.people], 2 * e.tolerance
    p = np.arange(1.0, 12) / 66
    loss = dc.reconstruction_loss(dc.geometric(10, epsilon=1), p, people=500, repeats=5, seed=1)
    yield "reconstruction loss", [loss.mean], 1e-4 * loss.mean


# ------------------------------------------------------------------------------------------------ what is designed


def designs() -> Iterator[Result]:
    for n, alpha, loss, wanted in (
        (8, "10/11", "L1", ("WH", "CM")),
        (6, "1/2", "L0", ("S", "F")),
        (12, "2/3", "L2", ("RM",)),
        (20, "3/4", "L0_1", ("S", "CM")),
    ):
        m = dc.design(n, alpha=alpha, loss=loss, properties=list(wanted))
        name, told = f"design({n}, {alpha}, {loss}, {wanted})", m.certificate.details
        yield exactly(f"{name}: cost", told["cost"])
        yield exactly(f"{name}: certified", told["certified"])
        yield exactly(f"{name}: ratio", m.certificate.ratio)
        yield exactly(f"{name}: table", [[m.probability(i, j) for j in range(n + 1)] for i in range(n + 1)])
    worst = dc.design(6, alpha="1/2", loss="L1", worst_case=True)
    yield exactly("design, worst case: cost", worst.certificate.details["cost"])
    noise = dc.bounded_noise("5/2", "4/5", 6)
    yield exactly("bounded noise: delta", noise.certificate.delta.hex())
    yield exactly("bounded noise: law", [noise.probability(9, j) for j in range(3, 16)])
    table = dc.design_ptable(1.5, 3, stay=0.5, keys=256)
    yield exactly("p-table: delta", table.about["delta"])
    yield exactly("choose", dc.choose(20, alpha="1/2", properties=["CM"]).name)
    for row in dc.compare(8, alpha="10/11").rows:
        yield close(f"compare: costs of {row.name}", [row.costs[loss] for loss in sorted(row.costs)], SUMS)
    for prior in (None, ["1/8", "3/8", "3/8", "1/8"]):
        m = dc.remap(dc.geometric(3, alpha="1/2"), "L1", prior=prior)
        yield exactly(f"remap, prior {prior}", (m.guesses, m.cost, m.optimal))


def calibrations() -> Iterator[Result]:
    for family, space, target in (
        ("geometric", 100, {"likelihood_ratio": 2, "within": 10}),
        ("geometric", 50, {"mean_error": 3}),
        ("randomized_response", 101, {"truth": 0.5}),
        ("explicit_fair", 40, {"within": (2, 0.5)}),
        ("planar_laplace", dc.Grid(6, 6, cell=150.0), {"distance": 300}),
    ):
        found = dc.calibrate(family, space, **target)
        yield close(f"calibrate {family} for {target}", float(found.epsilon), CALIBRATED)


# ------------------------------------------------------------------------------------------------ what is judged


def judgements() -> Iterator[Result]:
    v = dc.verify([["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]])
    yield exactly("verify: ratio, epsilon, witness", (v.ratio, v.epsilon.hex(), v.witness))
    yield exactly("verify: delta", v.delta(0.5).hex())
    m = dc.geometric(8, alpha="10/11")
    yield exactly("check", {code: bool(result) for code, result in dc.check(m).items()})
    yield exactly("cost", dc.cost(m, "L1", exact=True))
    yield close("costs in floats", [dc.cost(m, loss) for loss in ("L0", "L1", "L2")], SUMS)
    for family in (dc.planar_geometric, dc.planar_laplace):
        place = family(dc.Grid(8, 8, cell=100.0), epsilon=0.01)
        yield close(f"{family.__name__}: epsilon", place.certificate.epsilon, MAP_TOLERANCE)
        yield exactly(f"{family.__name__}: claim", place.certificate.epsilon <= 0.01)
    plan = dc.compose([dc.geometric(100, epsilon=1), (dc.Privacy(epsilon="0.1", delta=1e-9), 20)])
    yield close("compose: epsilon", plan.epsilon(1e-6), 1e-9)
    rng = np.random.default_rng(9)
    for space in (dc.Counts(63), dc.Grid(8, 8, cell=150.0), dc.Labels(map(str, range(64)))):
        p, q = rng.dirichlet(np.ones(64), 2)
        yield close(f"distance on {space.name}", dc.kantorovich(p, q, space), 1e-9)
    yield close("quantile of a mean", [moments.quantile(0.95, r) for r in (5, 50, 500)], SUMS)


# ------------------------------------------------------------------------------------------------ the papers


def studies() -> Iterator[Result]:
    """Within what the documentation states for all studies, default estimates apart."""
    for study, figure in (("bounded", "1"), ("constrained", "12"), ("reconstruction", "1")):
        found = dc.study(study, figure, quick=True)
        yield exactly(f"study {study} {figure}: verdicts", [claim.verdict.value for claim in found.claims])
        for name, rows in found.results[figure].tables.items():
            numbers = [value for row in rows for value in row.values() if isinstance(value, int | float)]
            yield close(f"study {study} {figure}: {name or 'data'}", [float(value) for value in numbers], STUDIED)


def results() -> Iterator[Result]:
    for part in (estimates, other_estimates, designs, calibrations, judgements, studies):
        yield from part()


def kernels() -> dict[str, str]:
    """The core type that each OpenBLAS of this process chose, by whose it is."""
    scipy.linalg.cholesky(np.eye(3))  # both are loaded
    blas = [one for one in threadpool_info() if one["internal_api"] == "openblas"]
    return {one["filepath"]: one["architecture"] for one in blas}


if __name__ == "__main__":
    found = [(name, value, within) for name, value, within in results()]
    assert all(math.isfinite(within) for _, _, within in found)
    json.dump({"kernels": kernels(), "results": found}, sys.stdout)
