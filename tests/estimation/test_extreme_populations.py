"""Extreme populations: every family and every method answers, or refuses in words, whatever was reported.

One value, two values, nobody at the ends, one report, a thousand million reports. Warnings are errors in tests, so that
a division by zero or an overflow fails here as a crash does. Every answer is a distribution, and what is asked of it
next (means, quantiles, intervals, the report, the picture) has an answer too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import discreet as dc
from discreet.errors import InvalidInput, Unsupported
from discreet.estimation.algebra import NumericalFailure
from discreet.estimation.method_table import METHODS
from discreet.estimation.solvers import evidence
from support.tiers import full, long

N = 11
COUNTS = dc.Counts(N)
MAP = dc.Grid(3, 4)
DISTANCES = -np.abs(np.subtract.outer(np.arange(N + 1), np.arange(N + 1)))

#: Every family, by epsilon, and the true values of those without an end.
FAMILIES: dict[str, Callable[[float], Any]] = {
    "geometric": lambda e: dc.geometric(N, epsilon=e),
    "rounded Laplace": lambda e: dc.rounded_laplace(N, epsilon=e),
    "randomised response": lambda e: dc.randomized_response(COUNTS, epsilon=e),
    "labels": lambda e: dc.randomized_response([f"label {k}" for k in range(N + 1)], epsilon=e),
    "explicit fair": lambda e: dc.explicit_fair(N, epsilon=e),
    "exponential": lambda e: dc.exponential(DISTANCES, epsilon=e),
    "projective": lambda e: dc.projective_response(N + 1, epsilon=e),
    "two-sided geometric": lambda e: dc.two_sided_geometric(epsilon=e),
    "discrete Gaussian": lambda e: dc.discrete_gaussian(sigma2=4 / e),
    "bounded noise": lambda e: dc.bounded_noise(epsilon=e, stay="1/2", reach=4),
    "matrix": lambda e: dc.from_matrix([[0.6, 0.4, 0.0], [0.2, 0.5, 0.3], [0.0, 0.1, 0.9]]),
    "planar geometric": lambda e: dc.planar_geometric(MAP, epsilon=e),
    "planar Laplace": lambda e: dc.planar_laplace(MAP, epsilon=e),
    "map response": lambda e: dc.randomized_response(MAP, epsilon=e),
    "product": lambda e: dc.geometric(3, epsilon=e) * dc.randomized_response(["a", "b", "c"], epsilon=e),
}

#: Which values people have, as shares of the range.
POPULATIONS = {
    "the lowest": (0.0,),
    "one in the middle": (0.5,),
    "two": (0.1, 0.8),
    "both ends": (0.0, 1.0),
    "empty ends": (0.4, 0.5, 0.6),
}
PEOPLE = (1, 5, 500_000, 10**9)
EPSILONS = (0.1, 1.0, 6.0)


def reports(mechanism: Any, population: str, people: int, seed: int = 0) -> tuple[dict[Any, int], dc.Counts | None]:
    """Draw the counts of the reports of so many people, and name the true values where the mechanism has no end."""
    over = COUNTS if mechanism.inputs.size is None else None
    finite = mechanism if over is None else mechanism.on(over, clamp=True)
    size = finite.inputs.size
    p = np.zeros(size)
    p[[round(share * (size - 1)) for share in POPULATIONS[population]]] = 1
    q = np.clip(finite.forward(p / p.sum()), 0, None)
    counts = np.random.default_rng(seed).multinomial(people, q / q.sum())
    return {finite.outputs.value(j): int(counts[j]) for j in np.flatnonzero(counts)}, over


def questions(estimate: dc.Estimate) -> Iterator[Callable[[], object]]:
    """What people ask of an estimate."""
    size = len(estimate.distribution)
    yield lambda: estimate.interval(np.arange(size) % 2)
    if isinstance(estimate.space, dc.Counts):
        n = estimate.space.n
        for question in ("mean", ("cdf", n // 2), ("quantile", 0.5), ("range", 0, n // 3)):
            yield lambda question=question: estimate.interval(question)  # type: ignore[misc]
        yield from (estimate.mean, lambda: estimate.quantile(0.9), estimate.cdf)
    yield from (estimate.describe, estimate.to_json, estimate.plot, lambda: estimate.report().html())


def examine(family: str, epsilon: float, population: str, people: int, method: str) -> None:
    mechanism = FAMILIES[family](epsilon)
    counts, over = reports(mechanism, population, people)
    options: dict[str, Any] = {"iterations": 50} if method == "ibu" else {}
    try:
        estimate = dc.estimate(counts, mechanism, over=over, method=method, **options)
    except (InvalidInput, Unsupported):
        assert method not in ("auto", "mle")  # others may need more reports, an order, an inverse
        return
    p = estimate.distribution
    assert np.isfinite(p).all()
    if method != "inverse":  # which estimates each share without bias, and not together
        assert p.sum() == pytest.approx(1, abs=1e-6) and p.min() >= 0
    for question in questions(estimate):
        question()


def rotated(number: int) -> tuple[float, str, int]:
    """Return an epsilon, a population and a number of people; consecutive numbers go through all of them."""
    return EPSILONS[number % 3], list(POPULATIONS)[number % 5], PEOPLE[number % 4]


FAST = [(family, list(METHODS)[k % len(METHODS)], *rotated(k)) for k, family in enumerate(FAMILIES)]


@pytest.mark.parametrize(("family", "method", "epsilon", "population", "people"), FAST)
def test_every_family_and_every_method_answers(
    family: str, method: str, epsilon: float, population: str, people: int
) -> None:
    examine(family, epsilon, population, people, method)


@full
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_by_every_method_answers(family: str, method: str) -> None:
    start = list(FAMILIES).index(family) + 7 * list(METHODS).index(method)
    for number in range(start, start + 4):
        examine(family, *rotated(number), method)


@long
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_population_answers(family: str, method: str) -> None:
    for case in product(EPSILONS, POPULATIONS, PEOPLE):
        examine(family, *case, method)


# ------------------------------------------------------------------------------------------------ where rounding stops


def two_points(mechanism: Any, seed: int) -> NDArray[np.int64]:
    """Half of 500,000 people at 10 and half at 80."""
    p = np.zeros(101)
    p[[10, 80]] = 0.5
    q = mechanism.forward(p)
    return np.random.default_rng(seed).multinomial(500_000, q / q.sum())


LARGE = {
    "geometric 1": lambda: dc.geometric(100, epsilon=1),
    "geometric 0.3": lambda: dc.geometric(100, epsilon=0.3),
    "rounded Laplace": lambda: dc.rounded_laplace(100, epsilon=1),
    "randomised response": lambda: dc.randomized_response(dc.Counts(100), epsilon=4),
}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=full), pytest.param(2, marks=full)])
@pytest.mark.parametrize("name", LARGE)
def test_two_points_are_found_where_a_factorisation_fails(name: str, seed: int) -> None:
    estimate = dc.estimate(two_points(LARGE[name](), seed), LARGE[name]())
    assert estimate.distribution[[10, 80]] == pytest.approx([0.5, 0.5], abs=0.05)
    assert estimate.interval("mean").low < 45 < estimate.interval("mean").high


def test_a_map_of_a_few_reports_is_drawn() -> None:
    """Dealt into two halves, as few reports as these are often all in one of them."""
    m = dc.planar_geometric(MAP, epsilon=1)
    estimate = dc.estimate(reports(m, "both ends", 5)[0], m, method="smoothed")
    errors = estimate.map_errors()
    assert errors is not None and np.isfinite(errors).all()
    estimate.plot()


def test_a_prior_that_fails_is_left_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every prior fails, the certified maximum is the answer, and the estimate says so."""

    def fail(*_: object) -> None:
        raise NumericalFailure

    m = dc.geometric(20, epsilon=1)
    counts = 50 * np.arange(21)
    monkeypatch.setattr(evidence, "cholesky_factor", fail)
    for method in ("auto", "empirical-bayes"):
        estimate = dc.estimate(counts, m, method=method)
        assert estimate.method == "mle" and estimate.gap <= estimate.tolerance
        assert "maximum likelihood" in estimate.notes[0]
        assert estimate.distribution == pytest.approx(dc.estimate(counts, m, method="mle").distribution)


@full
def test_groups_and_their_differences_of_extreme_populations_answer() -> None:
    m = dc.geometric(N, epsilon=1)
    everyone = {name: reports(m, name, people)[0] for name, people in zip(POPULATIONS, (*PEOPLE, 2), strict=True)}
    groups = dc.estimate_by(everyone, m)
    groups.describe()
    groups.to_json()
    assert all(np.isfinite(one.distribution).all() for one in groups.estimates.values())
    pairs = dc.estimate([(counts, m) for counts in everyone.values()])
    pairs.describe()
    pairs.homogeneity().describe()
