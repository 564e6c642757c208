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
