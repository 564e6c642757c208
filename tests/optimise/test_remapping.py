"""Remapping: the best guess for every report, and when that is the best mechanism."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput, Unsupported
from discreet.optimise.improve.remapping import Remapped, remap
from discreet.optimise.improve.structure import derivable
from discreet.privacy.certificate import Privacy
from support.grids import every_case
from support.oracles import linear_minimum
from support.refusals import refused
from support.tiers import examples


def best_cost(n, alpha, losses, prior):
    """The least expected loss of any alpha-private mechanism on 0..n, by a linear program written from scratch."""
    size = n + 1
    objective = (np.asarray(prior, float)[:, None] * np.asarray(losses, float)).ravel()
    private = []
    for i in range(n):
        for j in range(size):
            for one, two in ((i, i + 1), (i + 1, i)):
                row = np.zeros((size, size))
                row[one, j], row[two, j] = float(alpha), -1.0
                private.append(row.ravel())
    sums = np.kron(np.eye(size), np.ones(size))
    return linear_minimum(objective, A_ub=np.array(private), b_ub=np.zeros(len(private)), A_eq=sums, b_eq=np.ones(size))


def brute_force(mechanism, losses, prior):
    """The guesses by the definition, with the stated tie-break."""
    size, reports = mechanism.inputs.size, mechanism.outputs.size

    def expected(y, g):
        return sum(prior[x] * mechanism.probability(x, y) * losses[x][g] for x in range(size))

    return tuple(min(range(size), key=lambda g: (expected(y, g), abs(g - y), g)) for y in range(reports))


@st.composite
def priors(draw, size):
    weights = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any))
    return [Fraction(w, sum(weights)) for w in weights]


@st.composite
def monotone_losses(draw, n):
    """For each truth a loss that never falls with the distance, different for different truths."""
    steps = [draw(st.lists(st.integers(0, 4), min_size=n + 1, max_size=n + 1)) for _ in range(n + 1)]
    by_distance = np.cumsum(steps, axis=1)
    return [[int(by_distance[i][abs(i - j)]) for j in range(n + 1)] for i in range(n + 1)]


# ------------------------------------------------------------------------------------------------ the definition


@examples(80)
@given(st.data(), st.integers(1, 5), st.sampled_from(["geometric", "explicit_fair", "rounded_laplace"]))
def test_guesses_are_the_bayes_estimates_with_the_stated_tie_break(data, n, family):
    source = getattr(dc, family)(n, epsilon=data.draw(st.sampled_from(["0.1", "0.7", "2"])))
    prior = data.draw(priors(n + 1))
    values = data.draw(
        st.lists(st.lists(st.integers(0, 5), min_size=n + 1, max_size=n + 1), min_size=n + 1, max_size=n + 1)
    )
    found = remap(source, values, prior)
    assert found.exact
    assert found.guesses == brute_force(source, values, prior)
    for x in range(n + 1):
        for g in range(n + 1):
            moved = sum(source.probability(x, y) for y in range(n + 1) if found.guesses[y] == g)
            assert found.probability(x, g) == moved
    cost = dc.cost(source, values, prior=prior, exact=True)
    assert found.cost == dc.cost(found, values, prior=prior, exact=True) <= cost
    assert found.certificate.epsilon <= source.certificate.epsilon
    assert remap(found, values, prior).cost == found.cost  # nothing is left to gain


def test_ties_go_to_the_guess_nearest_the_report_and_then_to_the_smaller():
    silent = dc.uniform(4)
    assert remap(silent, "L0").guesses == (0, 1, 2, 3, 4)  # every guess is as good as any other: reports stay
    assert remap(silent, "L1").guesses == (2, 2, 2, 2, 2)
    assert remap(dc.uniform(3), "L1").guesses == (1, 1, 2, 2)  # 1 and 2 are equally good
    assert remap(dc.uniform(2), [[1, 0, 0]] * 3).guesses == (1, 1, 2)
    assert remap(dc.uniform(2), [[0, 1, 0]] * 3).guesses == (0, 0, 2)  # 0 and 2 are equally near to 1


def test_reports_that_cannot_happen_stay():
    certain = dc.from_matrix([["1/2", "1/2", 0, 0], ["1/2", "1/2", 0, 0], ["1/2", "1/2", 0, 0], ["1/2", "1/2", 0, 0]])
    assert remap(certain, "L1", [0, 0, 0, 1]).guesses == (3, 3, 2, 3)


def test_rare_reports_are_decided_as_carefully_as_common_ones():
    """Far reports have probabilities far below the smallest float; the posterior does not care."""
    source = dc.geometric(60, epsilon=30)
    spike = [Fraction(1, 2), *[Fraction(0)] * 59, Fraction(1, 2)]
    assert remap(source, "L0", spike).guesses == (0,) * 30 + (0,) + (60,) * 30


def test_more_reports_than_truths():
    source = dc.from_matrix([["1/2", "1/4", "1/8", "1/8"], ["1/8", "1/8", "1/4", "1/2"]])
    found = remap(source)
    assert found.guesses == (0, 0, 1, 1)
    assert found.outputs == dc.Counts(1)
    assert found.probability(0, 0) == Fraction(3, 4)


def test_labels_and_maps_can_be_remapped():
    prior = ["1/10", "8/10", "1/10"]
    labels = remap(dc.randomized_response(["a", "b", "c"], epsilon=1), "L0", prior)
    assert labels.guesses == ("b", "b", "b") and labels.certificate.notion == "local"
    grid = dc.Grid(3, 3, cell=100.0)
    source = dc.planar_geometric(grid, epsilon=0.005)
    prior = [Fraction(1 + 8 * (cell == 4), 17) for cell in range(9)]
    found = remap(source, "L1", prior)
    assert not found.exact and not found.optimal
    assert found.certificate.notion == "metric" and found.certificate.epsilon <= source.certificate.epsilon
    assert found.cost == pytest.approx(dc.cost(found, "L1", prior=prior)) and found.cost < dc.cost(source, "L1", prior)
    for corner in (0, 8):  # other guesses, other witnesses, and the judge agrees
        remap(source, "L2", [Fraction(1 + 30 * (cell == corner), 39) for cell in range(9)])
    costs = np.array(prior, float)[:, None] * source.matrix
    best = (costs.T @ dc.losses.L1.of(grid, grid)).min(axis=1).sum()
    assert found.cost == pytest.approx(best, rel=1e-12)


# ------------------------------------------------------------------------------------------------ optimality


@examples(60)
@given(st.data(), st.integers(1, 6), st.sampled_from(["1/4", "1/2", "4/5", "19/20"]))
def test_the_remapped_geometric_is_optimal_for_losses_that_grow_with_the_error(data, n, alpha):
    prior, losses = data.draw(priors(n + 1)), data.draw(monotone_losses(n))
    found = remap(dc.geometric(n, alpha=alpha), losses, prior)
    assert found.optimal and found.sentence.startswith("Optimal")
    assert float(found.cost) == pytest.approx(best_cost(n, Fraction(alpha), losses, prior), abs=1e-7)
    assert derivable(found, alpha=alpha)


@every_case("loss", ["L0", "L1", "L2", "L0_1"])
def test_the_usual_losses_with_the_uniform_prior(loss):
    resolved = dc.losses.resolve(loss)
    for n in (1, 3, 6):
        found = remap(dc.geometric(n, alpha="3/4"), loss)
        matrix = resolved.of(dc.Counts(n), dc.Counts(n))
        assert found.optimal
        assert float(found.cost) == pytest.approx(best_cost(n, 0.75, matrix, [1 / (n + 1)] * (n + 1)), abs=1e-8)


def test_a_loss_that_another_mechanism_serves_better():
    """Is the truth 1, or one of the others? The size of the error does not matter here."""
    losses = [[0, 1, 0], [2, 0, 2], [0, 1, 0]]
    found = remap(dc.geometric(2, alpha="1/2"), losses)
    better = dc.from_matrix([["2/3", "1/3", 0], ["1/3", "2/3", 0], ["2/3", "1/3", 0]])
    assert better.certificate.ratio == dc.geometric(2, alpha="1/2").certificate.ratio == 2
    assert found.cost == Fraction(5, 9) > dc.cost(better, losses, exact=True) == Fraction(4, 9)
    assert best_cost(2, 0.5, losses, [1 / 3] * 3) == pytest.approx(4 / 9)
    assert not found.optimal and "another mechanism with the same epsilon may do better" in found.sentence


def test_arbitrary_losses_are_often_served_better_by_another_mechanism():
    random = np.random.default_rng(1)
    failures = 0
    for _ in range(400):
        n = int(random.integers(2, 5))
        losses = random.integers(0, 10, (n + 1, n + 1))
        found = remap(dc.geometric(n, alpha="1/2"), losses)
        best = best_cost(n, 0.5, losses, [1 / (n + 1)] * (n + 1))
        assert float(found.cost) >= best - 1e-8
        worse = float(found.cost) > best + 1e-6
        assert not (worse and found.optimal)
        failures += worse
    assert failures == 102


def test_other_sources_are_not_called_optimal():
    fair = remap(dc.explicit_fair(4, alpha="1/2"), "L1")
    assert not fair.optimal and "explicit_fair" in fair.sentence
    uneven = remap(dc.geometric(2, alpha="1/2"), [[0, 1, 2], [0, 0, 1], [2, 1, 0]])
    assert not uneven.optimal and "does not grow with the error alone" in uneven.sentence
    assert remap(dc.two_sided_geometric(alpha="1/2").on(dc.Counts(4)), "L1").optimal
    assert not remap(dc.rounded_laplace(4, epsilon=1), "L1").optimal


# ------------------------------------------------------------------------------------------------ keeping


def test_remapped_mechanisms_are_mechanisms(tmp_path):
    prior = [Fraction(1, 8), Fraction(3, 8), Fraction(3, 8), Fraction(1, 8)]
    found = remap(dc.geometric(3, alpha="1/2"), "L1", prior)
    assert isinstance(found, Remapped) and isinstance(found, dc.Mechanism)
    assert found.family == "remapped" and "remapped" in repr(found)
    assert found.guesses == (1, 1, 2, 2) and found.cost == Fraction(13, 24)
    assert set(found.simulate(np.full(200, 1), seed=1).tolist()) == {1, 2}
    found.save(tmp_path / "m.json")
    again = dc.load(tmp_path / "m.json")
    assert again.family == "remapped"
    assert np.array_equal(again.matrix, found.matrix)
    stated = again.certificate.to_json()
    assert stated.pop("unproved") == ["family", "source", "loss", "prior"]  # a file only says them
    assert stated == found.certificate.to_json()


def test_remapping_keeps_an_epsilon_delta_guarantee():
    source = dc.from_matrix([[0.5, 0.5, 0.0], [0.3, 0.4, 0.3], [0.0, 0.6, 0.4]], Privacy(1, "0.4"))
    found = remap(source, "L1", [0.2, 0.3, 0.5])
    assert found.certificate.delta == source.certificate.delta and dc.verify(found).holds(1, "0.4")


def test_a_hundred_counts_take_a_moment():
    prior = np.array([0.5**k for k in range(1, 101)] + [0.5**100])
    found = remap(dc.geometric(100, epsilon=0.1), "L2", prior)
    assert found.exact and found.optimal


def test_what_cannot_be_remapped_is_explained():
    with refused(InvalidInput, "mechanism"):
        remap(np.eye(2), "L0")
    with refused(Unsupported, "mechanism"):
        remap(dc.discrete_gaussian(sigma2=4).on(dc.Counts(5)), "L0")
    with refused(Unsupported, token="m.on(Counts(n), clamp=True)"):
        remap(dc.two_sided_geometric(epsilon=1), "L0")
    with refused(InvalidInput, token="shape"):
        remap(dc.geometric(3, epsilon=1), [[0, 1], [1, 0]])
    with refused(InvalidInput, "prior"):
        remap(dc.geometric(1, epsilon=1), "L0", [0.5, 0.6])
