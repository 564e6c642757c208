"""Random problems of every kind: sparse and smooth truths, tiny and huge epsilons, few people and many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import discreet as dc


class Case(NamedTuple):
    """A problem, and what it is called when it fails."""

    name: str
    counts: NDArray[np.int64]
    mechanism: Any


def truth(rng: np.random.Generator, size: int, kind: int) -> NDArray[np.float64]:
    """Rough, sparse, smooth and nearly sparse distributions."""
    if kind == 0:
        p = rng.dirichlet(np.ones(size))
    elif kind == 1:
        p = np.zeros(size)
        points = min(size, 4)
        p[rng.choice(size, points, replace=False)] = rng.dirichlet(np.ones(points))
    elif kind == 2:
        x = np.arange(size)
        p = np.exp(-0.5 * ((x - rng.uniform(0, size)) / rng.uniform(0.5, size / 3 + 0.6)) ** 2) + 1e-12
    else:
        p = rng.dirichlet(np.full(size, 0.05)) + 1e-12
    return np.asarray(p / p.sum())


def case(rng: np.random.Generator, largest: int) -> Case:
    size = max(2, round(float(np.exp(rng.uniform(np.log(2), np.log(largest))))))
    epsilon = float(np.exp(rng.uniform(np.log(1e-3), np.log(20))))
    people = round(10 ** rng.uniform(0, 7))
    kind, family = int(rng.integers(4)), int(rng.integers(3))
    mechanism: Any
    if family == 0:
        mechanism = dc.geometric(size - 1, epsilon=epsilon)
        matrix = mechanism.matrix
    elif family == 1:
        mechanism = dc.randomized_response(size, epsilon=epsilon)
        matrix = mechanism.matrix
    else:
        width = int(rng.integers(2, 2 * size + 2))
        mechanism = matrix = rng.dirichlet(np.full(width, np.exp(rng.uniform(-3, 2))), size)
    chances = truth(rng, size, kind) @ matrix
    counts = rng.multinomial(people, chances / chances.sum())
    names = ("geometric", "response", "matrix")
    return Case(f"{names[family]} size={size} epsilon={epsilon:.3g} people={people} kind={kind}", counts, mechanism)


def cases(count: int, seed: int, largest: int = 300) -> Iterator[Case]:
    rng = np.random.default_rng(seed)
    return (case(rng, largest) for _ in range(count))


class Structured(NamedTuple):
    """A problem of another kind, as the arguments of ``dc.estimate``."""

    name: str
    arguments: dict[str, Any]


def _with_noise(rng: np.random.Generator, size: int, epsilon: float, people: int, kind: int) -> dict[str, Any]:
    """Counts without end: reports lie outside the range of the truths too."""
    choices = [
        lambda: dc.two_sided_geometric(epsilon=epsilon),
        lambda: dc.discrete_gaussian(sigma2=1 / epsilon**2),
        lambda: dc.bounded_noise(min(epsilon, 3), 0.5, 1 + int(rng.integers(8))),
    ]
    m = choices[int(rng.integers(3))]()
    truths = rng.choice(size, people, p=truth(rng, size, kind))
    return {"reports": m.simulate(truths, seed=int(rng.integers(2**32))), "mechanism": m, "over": dc.Counts(size - 1)}


def _on_a_map(rng: np.random.Generator, epsilon: float, people: int, kind: int) -> dict[str, Any]:
    grid = dc.Grid(int(rng.integers(1, 21)), int(rng.integers(2, 21)), cell=1.0)
    m = dc.planar_geometric(grid, epsilon=min(epsilon, 5), border=("remap", "normalise")[int(rng.integers(2))])
    chances = m.forward(truth(rng, grid.size, kind))
    return {"counts": rng.multinomial(people, chances / chances.sum()), "mechanism": m}


def _of_several(rng: np.random.Generator, size: int, epsilon: float, people: int, kind: int) -> dict[str, Any]:
    """People who chose between two epsilons and a third mechanism."""
    p = truth(rng, size, kind)
    mechanisms = [
        dc.geometric(size - 1, epsilon=epsilon),
        dc.geometric(size - 1, epsilon=3 * epsilon),
        dc.explicit_fair(size - 1, epsilon=epsilon),
    ]
    shares = rng.multinomial(people, rng.dirichlet(np.ones(3)))
    pairs = []
    for share, m in zip(shares, mechanisms, strict=True):
        if share:
            chances = m.forward(p)
            pairs.append((rng.multinomial(share, chances / chances.sum()), m))
    return {"counts": pairs}


def structured_cases(count: int, seed: int, largest: int = 150) -> Iterator[Structured]:
    """Counts without end, maps, and several mechanisms at once."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        size = max(2, round(float(np.exp(rng.uniform(np.log(2), np.log(largest))))))
        epsilon = float(np.exp(rng.uniform(np.log(1e-2), np.log(10))))
        people = round(10 ** rng.uniform(0, 6))
        kind, family = int(rng.integers(4)), int(rng.integers(3))
        names = ("noise", "map", "several")
        name = f"{names[family]} size={size} epsilon={epsilon:.3g} people={people} kind={kind}"
        if family == 0:
            yield Structured(name, _with_noise(rng, size, epsilon, people, kind))
        elif family == 1:
            yield Structured(name, _on_a_map(rng, epsilon, people, kind))
        else:
            yield Structured(name, _of_several(rng, size, epsilon, people, kind))
