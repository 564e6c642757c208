"""Designs on any space: optimal against a linear program, proved by the judge, with a bound that holds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput, Unsupported
from discreet.optimise.design.protected import direct_pairs, protected_pairs, shortest_paths, spanner
from discreet.optimise.design.weights import read_weights
from discreet.optimise.lp.blocks import BlockProgram, lower_bound, solve_blocks
from support.oracles import linear_minimum
from support.refusals import refused
from support.tiers import examples


def distances(space) -> np.ndarray:
    here = np.arange(space.size)
    return np.sqrt(space.squared_distance(here[:, None], here[None, :]).astype(float)) * float(space.unit)


def least_loss(costs: np.ndarray, exponents: np.ndarray) -> float:
    """The least cost of a mechanism with P(y|x) <= e^exponent(x, x') P(y|x'), by a general solver."""
    truths, reports = costs.shape
    rows = []
    for i in range(truths):
        for j in range(truths):
            if i != j and exponents[i, j] < 1e9:
                for y in range(reports):
                    row = np.zeros((truths, reports))
                    row[i, y], row[j, y] = 1, -math.exp(exponents[i, j])
                    rows.append(row.ravel())
    sums = np.kron(np.eye(truths), np.ones(reports))
    return linear_minimum(costs.ravel(), A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(truths))


SPACES = [
    dc.Ring(6), dc.Grid(2, 3, cell=100), dc.Tree({"a": None, "b": "a", "c": "a", "d": "b"}), dc.Range(0, 2, "0.5"),
    dc.MetricSpace.from_points({"a": (0, 0), "b": (3, 1), "c": (1, 4), "d": (5, 5)}), dc.Labels(list("abcd")),
    dc.Graph([("c", k) for k in range(4)]), dc.ProductSpace((dc.Ring(3), dc.Counts(1)), norm="l1"),
]  # fmt: skip


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("notion", ["metric", "local"])
def test_a_design_is_the_least_of_a_general_solver(space, notion):
    rng = np.random.default_rng(space.size)
    weights = rng.integers(0, 9, space.size) + np.eye(1, space.size, 1, dtype=int)[0]
    far = distances(space)
    epsilon = 1.5 / float(far.max() if notion == "metric" else 1)
    exponents = epsilon * far if notion == "metric" else np.full(far.shape, epsilon)
    m = dc.design(space, epsilon=epsilon, loss="L1", prior=weights, notion=notion)
    details = m.certificate.details
    expected = least_loss(weights[:, None] / weights.sum() * far, exponents)
    assert details["cost_about"] == pytest.approx(expected, rel=1e-5)
    assert details["least"] <= expected * (1 + 1e-9) and details["gap"] <= 1e-5 * expected
    assert m.certificate.notion == notion and m.certificate.epsilon <= epsilon and m.certificate.delta == 0
    assert dc.cost(m, "L1", weights / weights.sum()) == pytest.approx(details["cost_about"], rel=1e-9)


@examples(15)
@given(st.integers(2, 5), st.integers(2, 5), st.integers(0, 10**6))
def test_bounds_hold_for_any_dual_values(truths, reports, seed):
    """Also bad ones: half-way and negative. The bound is never above the least cost."""
    rng = np.random.default_rng(seed)
    tail, head = (np.r_[a, b] for a, b in (np.triu_indices(truths, 1), np.triu_indices(truths, 1)[::-1]))
    costs, logs = rng.random((truths, reports)), rng.uniform(0.1, 2, len(tail))
    program = BlockProgram(costs, tail, head, logs)
    exponents = np.full((truths, truths), 1e10)
    exponents[tail, head] = logs
    least = least_loss(costs, exponents)
    point = solve_blocks(program, 1e-8)
    assert least - 1e-6 <= lower_bound(program, point.lam, point.z) <= least + 1e-9
    for _ in range(5):
        lam = point.lam * rng.uniform(0.5, 1.5, truths) + rng.normal(size=truths) * 0.1
        z = point.z * rng.uniform(0.5, 1.5, point.z.shape) + rng.normal(size=point.z.shape) * 0.01
        assert lower_bound(program, lam, z) <= least + 1e-9


def test_it_is_never_dearer_than_the_geometric_mechanism_and_reaches_it_on_a_line():
    for space in (dc.Ring(8), dc.Range(0, 6), dc.Graph([("c", k) for k in range(4)])):
        designed = dc.design(space, epsilon=2, loss="L1")
        assert dc.cost(designed, "L1") <= dc.cost(dc.geometric(space, epsilon=2), "L1") * (1 + 1e-6)
    line = dc.design(8, epsilon=1, loss="L1", notion="metric")
    assert line.certificate.notion == "metric" and line.certificate.details["certified"] == "closed form"
    about = dc.design(dc.Range(0, 8), epsilon=1, loss="L1").certificate.details["cost_about"]
    assert about == pytest.approx(line.certificate.details["cost_about"], rel=1e-6)


def test_labels_under_the_local_notion_are_randomised_response():
    """The optimum for L0 and a uniform prior (Kairouz and others 2016); a skewed prior names only the likely ones."""
    m = dc.design(dc.Labels(list("abcde")), epsilon=1)
    assert m.certificate.notion == "local"
    assert np.allclose(m.matrix, dc.randomized_response(list("abcde"), epsilon=1).matrix, atol=1e-5)
    skewed = dc.design(dc.Labels(list("abcde")), epsilon="0.1", prior={"a": 0.9, "b": 0.1})
    assert skewed.certificate.details["cost_about"] == pytest.approx(0.1, abs=1e-5)
    assert skewed.matrix[:, 0].min() > 0.999


def test_outputs_may_differ_from_inputs():
    ring = dc.Ring(12)
    m = dc.design(ring, epsilon=1, loss="L1", outputs=[0, 3, 6, 9])
    assert m.outputs.size == 4 and m.matrix.shape == (12, 4) and m.probability(3, 3) > m.probability(3, 9)
    every = dc.design(ring, epsilon=1, loss="L1")
    assert m.certificate.details["cost_about"] > every.certificate.details["cost_about"]
    losses = [[0, 1], [1, 0], [1, 1]]
    coarse = dc.design(dc.Labels(list("abc")), epsilon=1, loss=losses, outputs=dc.Labels(["low", "high"]))
    assert coarse.release("a") in ("low", "high") and coarse.certificate.notion == "local"
    counts = dc.design(5, epsilon=1, loss="L1", outputs=[0, 5])
    assert counts.matrix.shape == (6, 2) and counts.certificate.notion == "central"
    for wrong in ("ab", 3, [0], [0, 0], [0, 99], dc.Integers()):
        with pytest.raises(InvalidInput):
            dc.design(ring, epsilon=1, outputs=wrong)
    with refused(Unsupported):
        dc.design(ring, epsilon=1, loss="L1", outputs=dc.Labels(["x", "y"]))


def test_priors_are_mappings_arrays_or_counts():
    space = dc.Ring(4)
    forms = [{0: 2, 1: 1, 3: 1}, [2, 1, 0, 1], np.array([2, 1, 0, 1]), [0.5, 0.25, 0, 0.25], ["1/2", "1/4", 0, "1/4"]]
    assert {read_weights(form, space) for form in forms} == {
        (Fraction(1, 2), Fraction(1, 4), Fraction(0), Fraction(1, 4))
    }
    costs = {dc.design(space, epsilon=1, loss="L1", prior=form).certificate.details["cost"] for form in forms}
    assert len(costs) == 1
    on_counts = {dc.design(3, epsilon=1, loss="L1", prior=form).certificate.details["cost"] for form in forms}
    assert len(on_counts) == 1
    for wrong in ({}, {0: -1}, {9: 1}, [1, 2], [0.5, 0.6, 0, 0], "bell"):
        with pytest.raises(InvalidInput):
            dc.design(space, epsilon=1, prior=wrong)


@pytest.mark.parametrize("codes", ["F", "WH+CH", "RH+CH+F+WH"])
def test_properties_that_make_sense_are_kept_exactly(codes):
    for space in (dc.Ring(5), dc.Graph([("c", k) for k in range(3)]), dc.Labels(list("abc"))):
        m = dc.design(space, epsilon="0.4", loss="L1", properties=codes)
        assert dc.check(m, codes).holds
        free = dc.design(space, epsilon="0.4", loss="L1").certificate.details["least"]
        assert m.certificate.details["gap"] < 1e-6 and m.certificate.details["cost_about"] >= free - 1e-9
    for code in ("S", "RM", "CM", "bias<=1"):
        with refused(Unsupported, "properties"):
            dc.design(dc.Ring(5), epsilon=1, properties=code)
    with refused(Unsupported, "properties"):
        dc.design(dc.Ring(5), epsilon=1, properties="F", outputs=[0, 1])


def test_the_worst_case_is_minimised():
    tree = dc.Tree({"a": None, "b": "a", "c": "a", "d": "b"})
    m = dc.design(tree, epsilon=1, loss="L1", worst_case=True)
    mean = dc.design(tree, epsilon=1, loss="L1")
    assert dc.cost(m, "L1", worst_case=True) < dc.cost(mean, "L1", worst_case=True)
    assert m.certificate.details["gap"] < 1e-6 and m.parameters["prior"] == "worst case"


def test_central_designs_on_graphs_protect_adjacent_values():
    m = dc.design(dc.Ring(6), epsilon=1, loss="L1", notion="central")
    assert m.certificate.notion == "central" and dc.verify(m, "central").epsilon <= 1
    with refused(Unsupported):
        dc.design(dc.Grid(2, 2), epsilon=1, notion="central")


@examples(20)
@given(st.integers(3, 14), st.integers(0, 10**6), st.sampled_from([1.05, 1.2, 1.5]))
def test_spanners_keep_their_dilation_and_direct_pairs_the_distance(size, seed, dilation):
    rng = np.random.default_rng(seed)
    places = rng.choice(400, size, replace=False)
    space = dc.MetricSpace.from_points({int(k): (int(k) % 20, int(k) // 20) for k in places})
    far = distances(space)
    paths = shortest_paths(far, *spanner(far, dilation))
    assert (paths <= far * dilation * (1 + 1e-9)).all()
    assert np.allclose(shortest_paths(far, *direct_pairs(far)), far)
    pairs = protected_pairs(space, "metric", Fraction(1), Fraction(str(dilation)))
    assert 1 <= pairs.dilation <= dilation * (1 + 1e-9) and (pairs.log_factor <= pairs.loose).all()


def test_a_spanner_costs_what_is_stated():
    """The same map with every pair and with a spanner: private either way, and the optimum lies in the gap."""
    grid = dc.Grid(5, 5)
    every, some = (dc.design(grid, epsilon=1, loss="L1", dilation=s) for s in (1, "1.2"))
    optimum = every.certificate.details["cost_about"]
    details = some.certificate.details
    assert 1 < details["dilation"] <= 1.2 and details["protected_pairs"] < every.certificate.details["protected_pairs"]
    assert details["least"] <= optimum <= details["cost_about"]
    assert details["cost_about"] - details["least"] == pytest.approx(details["gap"], rel=1e-6)
    assert details["gap"] < 0.25 * optimum
    for m in (every, some):
        assert dc.verify(m).epsilon <= 1 and dc.verify(m).epsilon == m.certificate.epsilon
    for wrong in ("0.5", 11, "x"):
        with pytest.raises(InvalidInput):
            dc.design(grid, epsilon=1, dilation=wrong)
    with refused(InvalidInput, "dilation"):
        dc.design(dc.Labels(list("abc")), epsilon=1, dilation=2)


def least_loss_with_delta(costs: np.ndarray, exponents: np.ndarray, delta: float) -> float:
    """The same with excesses t(x, x', y) >= P(y|x) - e^exponent P(y|x') whose sum over y is at most delta."""
    truths, reports = costs.shape
    pairs = [(i, j) for i in range(truths) for j in range(truths) if i != j]
    count = truths * reports
    rows, right = [], []
    for number, (i, j) in enumerate(pairs):
        total = np.zeros(count + len(pairs) * reports)
        for y in range(reports):
            row, place = np.zeros_like(total), count + number * reports + y
            row[i * reports + y], row[j * reports + y], row[place] = 1, -math.exp(exponents[i, j]), -1
            rows.append(row)
            right.append(0.0)
            total[place] = 1
        rows.append(total)
        right.append(delta)
    sums = np.hstack([np.kron(np.eye(truths), np.ones(reports)), np.zeros((truths, len(pairs) * reports))])
    cost = np.r_[costs.ravel(), np.zeros(len(pairs) * reports)]
    return linear_minimum(cost, A_ub=np.array(rows), b_ub=np.array(right), A_eq=sums, b_eq=np.ones(truths))


@pytest.mark.parametrize("space", [dc.Ring(5), SPACES[2], SPACES[4], dc.Counts(3)], ids=repr)
@pytest.mark.parametrize("notion", ["metric", "local"])
def test_a_delta_holds_for_every_pair_and_costs_what_a_general_solver_says(space, notion):
    far = distances(space)
    epsilon = 1 / float(far.max() if notion == "metric" else 1)
    exponents = epsilon * far if notion == "metric" else np.full(far.shape, epsilon)
    m = dc.design(space, epsilon=epsilon, delta="0.05", loss="L1", notion=notion)
    details = m.certificate.details
    assert details["cost_about"] == pytest.approx(least_loss_with_delta(far / space.size, exponents, 0.05), abs=1e-7)
    assert details["gap"] < 1e-6 and m.certificate.notion == notion and m.certificate.delta == pytest.approx(0.05)
    excess = np.maximum(m.matrix[:, None] - np.exp(exponents)[:, :, None] * m.matrix[None, :], 0).sum(axis=2)
    assert excess.max() <= 0.05 * (1 + 1e-9) and dc.verify(m, notion).delta(epsilon) <= 0.05
    pure = dc.design(space, epsilon=epsilon, loss="L1", notion=notion).certificate.details["cost_about"]
    assert details["cost_about"] < pure


def test_with_a_delta_steps_do_not_protect_their_ends():
    """The control: adjacent counts at delta .1 leave the ends of the range apart, so every pair has rows of its own."""
    steps = dc.design(5, epsilon=1, delta="0.1", loss="L1")
    every = dc.design(5, epsilon=1, delta="0.1", loss="L1", notion="metric")
    assert dc.verify(steps, "metric").delta(1) > 0.1 >= dc.verify(every, "metric").delta(1)
    assert every.certificate.details["cost_about"] > steps.certificate.details["cost_about"]
    assert every.parameters["delta"] == "1/10" and every.certificate.notion == "metric"


def test_a_delta_goes_with_properties_the_worst_case_and_outputs():
    ring = dc.Ring(5)
    fair = dc.design(ring, epsilon=1, delta="0.1", loss="L1", properties="F")
    worst = dc.design(ring, epsilon=1, delta="0.1", loss="L1", worst_case=True)
    some = dc.design(ring, epsilon=1, delta="0.1", loss="L1", outputs=[0, 2])
    central = dc.design(ring, epsilon=1, delta="0.1", loss="L1", notion="central")
    assert dc.check(fair, "F").holds and worst.certificate.details["gap"] < 1e-6 and some.matrix.shape == (5, 2)
    assert dc.verify(central, "central").delta(1) <= 0.1 and central.certificate.notion == "central"


def test_several_epsilons_on_a_space_are_the_designs_of_each():
    tree = SPACES[2]
    each = list(dc.design_each(tree, epsilons=["0.5", 1], loss="L1", prior={"a": 2, "d": 1}, progress=False))
    alone = [dc.design(tree, epsilon=e, loss="L1", prior={"a": 2, "d": 1}) for e in ("0.5", 1)]
    assert each == alone
    on_counts = list(dc.design_each(4, epsilons=[1], loss="L1", notion="local", progress=False))
    assert on_counts == [dc.design(4, epsilon=1, loss="L1", notion="local")]
    counts = next(iter(dc.design_each(3, epsilons=[1], loss="L1", prior={0: 1, 3: 1}, progress=False)))
    assert (
        counts.certificate.details["cost"]
        == dc.design(3, epsilon=1, loss="L1", prior=[1, 0, 0, 1]).certificate.details["cost"]
    )


def test_costs_and_remaps_take_the_priors_that_designs_take():
    star = dc.Graph([("c", k) for k in range(4)])
    m = dc.exponential(star, epsilon=2)
    forms = [{"c": 4, 0: 1}, [4, 1, 0, 0, 0], np.array([4, 1, 0, 0, 0]), [0.8, 0.2, 0, 0, 0]]
    assert len({round(dc.cost(m, "L1", form), 12) for form in forms}) == 1
    assert len({dc.remap(m, "L1", form).guesses for form in forms}) == 1
    for wrong in ({}, {"c": -1}, {"nobody": 1}, [1, 2]):
        with pytest.raises(InvalidInput):
            dc.cost(m, "L1", wrong)


def test_designs_of_spaces_are_kept_in_files(tmp_path):
    spaces = (dc.Ring(5), dc.MetricSpace.from_points({"a": (0, 0), "b": (3, 1), "c": (1, 4)}))
    for space, delta in ((spaces[0], 0), (spaces[1], 0), (spaces[0], "0.01")):
        m = dc.design(space, epsilon=1, delta=delta, loss="L1", properties="WH")
        m.save(tmp_path / "m.json")
        again = dc.load(tmp_path / "m.json")
        assert again == m and again.certificate.epsilon == m.certificate.epsilon and again.inputs == space
        assert "least expected L1" in again.report().text() or again.describe()


def test_what_is_too_large_or_makes_no_sense_is_refused():
    with refused(Unsupported, "n"):
        dc.design(dc.Ring(600), epsilon=1)
    with refused(Unsupported, "n"):
        dc.design(dc.Ring(60), epsilon=1, worst_case=True)
    with refused(Unsupported, "delta"):
        dc.design(dc.Ring(40), epsilon=1, delta="0.1")
    with refused(Unsupported, "dilation"):
        dc.design(dc.Ring(5), epsilon=1, delta="0.1", dilation=2)
    with refused(InvalidInput, "delta"):
        dc.design(dc.Ring(5), epsilon=1, delta=1)
    with refused(InvalidInput):
        dc.design(dc.Integers(), epsilon=1, notion="local")
    with refused(InvalidInput):
        dc.design(dc.Ring(5), epsilon=1, worst_case=True, prior=[1, 1, 1, 1, 1])
    with refused(InvalidInput):
        dc.design(dc.Ring(5))
    with refused(InvalidInput, "notion"):
        dc.design(dc.Ring(5), epsilon=1, notion="global")
