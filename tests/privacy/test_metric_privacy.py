"""The metric notion on any space: all pairs, or the edges of a graph that is proved to generate the distance."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.exact.rationals import exp_bounds, log_bounds
from discreet.exact.tables import Table
from discreet.privacy.all_pairs import AllPairs
from discreet.privacy.user_spaces import evaluate_distances, generate
from discreet.privacy.verify import evidence_for
from support.tiers import batches

#: Spaces of one batch: a few hundred in the fast tier, ten thousand in the long one.
PER_BATCH = 100


def random_lengths(rng: np.random.Generator, size: int) -> np.ndarray:
    """Shortest paths over random whole lengths: a metric on a complete graph, by Floyd and Warshall."""
    far = np.triu(rng.integers(1, 12, (size, size)), 1)
    far = far + far.T
    for k in range(size):
        far = np.minimum(far, far[:, k, None] + far[None, k, :])
    return far


def random_space(rng: np.random.Generator) -> tuple[dc.MetricSpace, np.ndarray, Fraction, bool]:
    """A space, its distances in a unit, that unit, and whether it states edges (which generate it)."""
    size = int(rng.integers(2, 7))
    far, unit = random_lengths(rng, size), Fraction(int(rng.integers(1, 5)), int(rng.integers(1, 5)))
    matrix = [[unit * int(k) for k in row] for row in far]
    edges = None
    if rng.random() < 0.5:  # all pairs but those with a value strictly between
        between = [[[k for k in range(size) if k not in (i, j) and far[i, k] + far[k, j] == far[i, j]]
                    for j in range(size)] for i in range(size)]  # fmt: skip
        edges = [(i, j) for i in range(size) for j in range(i) if not between[i][j]]
    return dc.MetricSpace(range(size), matrix, edges=edges), far, unit, edges is not None


def random_table(rng: np.random.Generator, far: np.ndarray) -> Table:
    """Random weights; half the time near the limits that a distance sets, so that many pairs are close."""
    size, columns = len(far), int(rng.integers(2, 5))
    if rng.random() < 0.5:
        weights = rng.integers(1, 40, (size, columns))
        if rng.random() < 0.3:  # some reports are impossible
            weights[rng.random(weights.shape) < 0.3] = 0
            weights[weights.sum(axis=1) == 0] = 1
        return Table.from_array(weights)
    return Table.from_array(2 ** (far.max() - far[:, rng.integers(0, size, columns)]))


def worst_pair(table: Table, far: np.ndarray) -> tuple[Fraction, int] | None:
    """The ratio and the steps of the pair with the largest ratio^(1/steps), by comparing powers in fractions."""
    best: tuple[Fraction, int] | None = (Fraction(1), 1)
    rows, columns = table.shape
    for i in range(rows):
        for j in range(rows):
            for y in range(columns):
                p, q = table.probability(i, y), table.probability(j, y)
                if i == j or p <= q:
                    continue
                if not q:
                    return None
                steps = int(far[i, j])
                if (p / q) ** best[1] > best[0] ** steps:
                    best = p / q, steps
    return best


def least_delta(table: Table, far: np.ndarray, unit: Fraction, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of the largest divergence over all pairs, in fractions."""
    low_best = high_best = Fraction(0)
    rows, columns = table.shape
    for i in range(rows):
        for j in range(rows):
            if i != j:
                low, high = exp_bounds(epsilon * unit * int(far[i, j]))
                terms = [(table.probability(i, y), table.probability(j, y)) for y in range(columns)]
                low_best = max(low_best, sum((max(p - high * q, Fraction(0)) for p, q in terms), Fraction(0)))
                high_best = max(high_best, sum((max(p - low * q, Fraction(0)) for p, q in terms), Fraction(0)))
    return low_best, high_best


@pytest.mark.parametrize("batch", batches(fast=3, long=100))
def test_the_judge_agrees_with_all_pairs_in_fractions(batch: int) -> None:
    rng = np.random.default_rng(1000 + batch)
    seen = set()
    for _ in range(PER_BATCH):
        space, far, unit, with_edges = random_space(rng)
        table = random_table(rng, far)
        verdict = dc.verify(table, "metric", inputs=space)
        worst = worst_pair(table, far)
        seen.add((with_edges, worst is None))
        if worst is None:
            assert math.isinf(verdict.epsilon) and not verdict.holds(100)
            continue
        ratio, steps = worst
        low, high = log_bounds(ratio)
        per_unit = low / (steps * unit), high / (steps * unit)
        bounds = verdict.evidence.epsilon_bounds()
        assert bounds is not None and bounds[0] <= per_unit[1] and per_unit[0] <= bounds[1]
        assert bounds[1] - bounds[0] < Fraction(1, 2**100)
        if ratio > 1:  # the witness is one of the pairs with the largest ratio per distance, exactly
            witness = verdict.witness
            apart = int(far[witness.truth, witness.other])
            assert witness.ratio**steps == ratio**apart
            assert verdict.holds(verdict.epsilon) and not verdict.holds(per_unit[0] * Fraction(999, 1000))
        epsilon = per_unit[1] * Fraction(int(rng.integers(1, 10)), 10)
        least, largest = least_delta(table, far, unit, epsilon)
        assert least - Fraction(1, 10**9) <= Fraction(verdict.delta(epsilon)) <= largest + Fraction(1, 10**9)
        assert Fraction(verdict.delta(epsilon)) >= least
    assert len(seen) >= 3


@pytest.mark.parametrize("batch", batches(fast=2, long=20))
def test_edges_are_enough_only_if_their_paths_are_the_distance(batch: int) -> None:
    """Planted graphs, with an edge left out or a distance made shorter, are not taken for the distance."""
    rng = np.random.default_rng(2000 + batch)
    refused = 0
    for _ in range(PER_BATCH):
        size = int(rng.integers(2, 9))
        far = random_lengths(rng, size)
        first, second = np.triu_indices(size, 1)
        chosen = rng.random(len(first)) < rng.uniform(0.3, 1)
        paths = np.full((size, size), 10**6)
        np.fill_diagonal(paths, 0)
        paths[first[chosen], second[chosen]] = paths[second[chosen], first[chosen]] = far[first[chosen], second[chosen]]
        for k in range(size):
            paths = np.minimum(paths, paths[:, k, None] + paths[None, k, :])
        generated = bool((paths == far).all())
        assert generate(far, first[chosen], second[chosen]) is generated
        refused += not generated
    assert PER_BATCH / 10 < refused < PER_BATCH


class Planted(dc.Ring):
    """A ring that says of itself that its distances come from a path, whose ends are far apart."""

    def neighbours(self):
        return np.arange(self.size - 1), np.arange(1, self.size)


def test_a_planted_graph_changes_nothing_about_the_verdict():
    table = dc.geometric(8, alpha="1/2").kernel.table()  # private by the path, not by the ring
    honest, planted = (dc.verify(table, "metric", inputs=space) for space in (dc.Ring(9), Planted(9)))
    assert honest.epsilon == planted.epsilon == pytest.approx(8 * math.log(2))
    assert "every pair" in " ".join(planted.notes) and "edges" in " ".join(honest.notes)
    path = dc.verify(table, "metric", inputs=dc.Range(0, 8))
    assert path.epsilon == pytest.approx(math.log(2)) and dc.verify(table, "central", inputs=dc.Range(0, 8)).ratio == 2


def test_with_a_delta_every_pair_is_compared_even_where_edges_generate_the_distance():
    table = Table.from_rows([[9, 1, 0], [8, 1, 1], [7, 1, 2]])
    verdict = dc.verify(table, "metric", inputs=dc.Range(0, 2))
    assert isinstance(verdict.evidence, AllPairs) and verdict.evidence.edges is not None
    assert verdict.delta(1) == pytest.approx(0.2) and verdict.delta(0) == pytest.approx(0.2)


def test_large_rings_are_judged_by_their_edges():
    """Two thousand values: all pairs would be four thousand million comparisons."""
    ring = dc.Ring(2000)
    verdict = dc.verify(dc.randomized_response(ring, alpha="1/3"), "metric")
    assert verdict.epsilon == pytest.approx(math.log(3))


def test_distances_are_evaluated_once():
    calls = []

    class Counting(dc.Range):
        def squared_distance(self, i, j):
            calls.append(np.size(i))
            return super().squared_distance(i, j)

    space = Counting(0, 5)
    evidence = evidence_for(dc.randomized_response(6, alpha="1/2").kernel.table(), space, "metric")
    before = len(calls)
    assert before == 1 and evidence.epsilon_bounds() is not None
    evidence.delta_bounds(Fraction(1, 10))
    assert len(calls) == before
    assert evaluate_distances(dc.Range(0, 5), 6).squares.max() == 25
