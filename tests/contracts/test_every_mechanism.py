"""Every public mechanism keeps every promise: a registry of examples, and one test for each promise."""

from __future__ import annotations

import copy
import inspect
import pickle
from fractions import Fraction
from typing import get_type_hints

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import InvalidInput, Unsupported
from discreet.exact.kernels import Noise
from support.grids import every_case
from support.refusals import refused

GRID = dc.Grid(4, 5, cell=100.0)
DISTANCE = np.abs(np.subtract.outer(range(6), range(6)))

#: name of the example -> (name of the public constructor, how to build it)
REGISTRY = {
    "geometric": ("geometric", lambda: dc.geometric(8, epsilon=0.7)),
    "geometric, two values": ("geometric", lambda: dc.geometric(1, alpha="1/3")),
    "geometric, unclamped": ("geometric", lambda: dc.geometric(8, epsilon=0.7).on(dc.Counts(5), clamp=False)),
    "two_sided_geometric": ("two_sided_geometric", lambda: dc.two_sided_geometric(epsilon=0.5)),
    "two_sided_geometric from zero": (
        "two_sided_geometric",
        lambda: dc.two_sided_geometric(epsilon=0.5).on(dc.Integers(low=0)),
    ),
    "two_sided_geometric on a range": (
        "two_sided_geometric",
        lambda: dc.two_sided_geometric(epsilon=0.5).on(dc.Counts(7)),
    ),
    "randomized_response": ("randomized_response", lambda: dc.randomized_response(6, epsilon=1)),
    "randomized_response, labels": ("randomized_response", lambda: dc.randomized_response(["a", "b", 3], epsilon=1)),
    "randomized_response, map": ("randomized_response", lambda: dc.randomized_response(GRID, epsilon=2)),
    "projective_response": ("projective_response", lambda: dc.projective_response(9, epsilon=1)),
    "projective_response, labels": (
        "projective_response",
        lambda: dc.projective_response(["a", "b", "c", "d", "e"], epsilon=2, q=3),
    ),
    "response, of many": ("response", lambda: dc.response(20, epsilon=1)),
    "projective_response, Hadamard": ("projective_response", lambda: dc.projective_response(15, epsilon="1/2", q=2)),
    "uniform": ("uniform", lambda: dc.uniform(5)),
    "explicit_fair": ("explicit_fair", lambda: dc.explicit_fair(7, alpha="10/11")),
    "explicit_fair, even": ("explicit_fair", lambda: dc.explicit_fair(6, epsilon=1.5)),
    "discrete_gaussian": ("discrete_gaussian", lambda: dc.discrete_gaussian(sigma2=2.5)),
    "discrete_gaussian on a range": ("discrete_gaussian", lambda: dc.discrete_gaussian(sigma2=2.5).on(dc.Counts(6))),
    "rounded_laplace": ("rounded_laplace", lambda: dc.rounded_laplace(9, epsilon=0.8)),
    "planar_geometric": ("planar_geometric", lambda: dc.planar_geometric(GRID, epsilon=0.01)),
    "planar_geometric, normalised": (
        "planar_geometric",
        lambda: dc.planar_geometric(GRID, epsilon=0.01, border="normalise"),
    ),
    "planar_laplace": ("planar_laplace", lambda: dc.planar_laplace(GRID, epsilon=0.01)),
    "planar_laplace, normalised": (
        "planar_laplace",
        lambda: dc.planar_laplace(GRID, epsilon=0.01, border="normalise"),
    ),
    "exponential": ("exponential", lambda: dc.exponential(-DISTANCE, epsilon=1)),
    "exponential, labels": (
        "exponential",
        lambda: dc.exponential(-DISTANCE, epsilon=1, inputs=dc.Labels(list("abcdef"))),
    ),
    "from_matrix": ("from_matrix", lambda: dc.from_matrix([["1/2", "1/3", "1/6"], ["1/4", "1/4", "1/2"]])),
    "from_matrix, private": ("from_matrix", lambda: dc.from_matrix(dc.geometric(5, epsilon=1).matrix, privacy=1)),
    "from_matrix, delta": (
        "from_matrix",
        lambda: dc.from_matrix([[0.6, 0.4, 0.0], [0.0, 0.4, 0.6]], privacy=dc.Privacy("0.3", "0.7")),
    ),
}

REGISTRY |= {
    "random_rounding": ("random_rounding", lambda: dc.random_rounding(8, base=3)),
    "suppression": ("suppression", lambda: dc.suppression(9, below=4)),
    "bounded_noise": ("bounded_noise", lambda: dc.bounded_noise(1.5, 0.5, 3)),
    "bounded_noise, on a range": ("bounded_noise", lambda: dc.bounded_noise(1.5, 0.5, 3).on(dc.Counts(7))),
    "bounded_noise, optimal": ("bounded_noise", lambda: dc.bounded_noise(1.5, 0.5, 3, "optimal")),
    "bounded_noise, sadeghi": ("bounded_noise", lambda: dc.bounded_noise(1.5, 0.5, 3, "sadeghi")),
    "bounded_noise, single-event": (
        "bounded_noise",
        lambda: dc.bounded_noise(1.5, 0.5, 3, "single-event", largest=6, overshoot=False),
    ),
    "bounded_noise, variance and js": ("bounded_noise", lambda: dc.bounded_noise(2, reach=3, variance=1, js=1)),
    "symmetrise": ("symmetrise", lambda: dc.symmetrise(dc.from_matrix([["3/4", "1/4"], ["1/3", "2/3"]]))),
    "design": ("design", lambda: dc.design(6, alpha="9/10", loss="L1", properties="WH+CM")),
    "design, closed form": ("design", lambda: dc.design(9, alpha="2/3", properties="RM")),
    "design, delta": ("design", lambda: dc.design(5, epsilon=1, delta="1/50", loss="L1", properties="support<=3")),
    "remap": ("remap", lambda: dc.remap(dc.geometric(6, alpha="1/3"), "L2")),
}

REGISTRY |= {
    "geometric, ring": ("geometric", lambda: dc.geometric(dc.Ring(7), epsilon=0.7)),
    "geometric, tree": ("geometric", lambda: dc.geometric(dc.Tree({"a": None, "b": "a", "c": "a"}), alpha="1/3")),
    "geometric, range": ("geometric", lambda: dc.geometric(dc.Range(20, 40, 5), epsilon="0.1")),
    "geometric, map": ("geometric", lambda: dc.geometric(GRID, epsilon=0.02)),
    "exponential, graph": ("exponential", lambda: dc.exponential(dc.Graph([("a", "b"), ("b", 3, 2)]), epsilon=1)),
    "randomized_response, points": (
        "randomized_response",
        lambda: dc.randomized_response(dc.MetricSpace.from_points({"a": (0, 0), "b": (1, 2), 3: (4, 0)}), epsilon=1),
    ),
}

#: Mechanisms that may give the same reports every time.
HARDLY_RANDOM = ("suppression",)


MADE = {name: make() for name, (_, make) in REGISTRY.items()}
FINITE = {name: m for name, m in MADE.items() if m.inputs.size is not None and m.outputs.size is not None}
UNBOUNDED = {name: m for name, m in MADE.items() if name not in FINITE}


all_mechanisms = every_case("m", MADE.values(), ids=list(MADE))
finite_mechanisms = every_case("finite", FINITE.values(), ids=list(FINITE))
unbounded_mechanisms = every_case("unbounded", UNBOUNDED.values(), ids=list(UNBOUNDED))


def test_the_registry_knows_every_public_constructor():
    """A family that is not here keeps no promise; one that makes mechanisms by another name would escape."""
    covered = {constructor for constructor, _ in REGISTRY.values()}
    returning = set()
    for name in dc.__all__:
        value = getattr(dc, name)
        if inspect.isfunction(value) and name not in ("load", "verify"):  # one reads what others made, one judges it
            made = get_type_hints(value).get("return")
            if isinstance(made, type) and issubclass(made, dc.Mechanism):
                returning.add(name)
    assert covered == returning
    assert "geometric" in returning  # the reading of signatures works


def some_truths(m, size: int = 40) -> list:
    if isinstance(m.inputs, dc.Integers):
        return [k % 9 for k in range(size)]
    return [m.inputs.value(k % m.inputs.size) for k in range(size)]


# ------------------------------------------------------------------------------------------------ equality


@every_case("name", REGISTRY)
def test_made_twice_or_kept_in_a_file_it_is_the_same_mechanism(name, tmp_path):
    first, again = MADE[name], REGISTRY[name][1]()
    again.save(tmp_path / "m.json")
    for other in (again, dc.load(tmp_path / "m.json"), pickle.loads(pickle.dumps(first))):
        assert other == first and hash(other) == hash(first) and len({first, other}) == 1


def test_different_mechanisms_are_different():
    names = list(MADE)
    assert all(MADE[a] != MADE[b] for k, a in enumerate(names) for b in names[k + 1 :])
    assert dc.geometric(10, epsilon=1) != dc.geometric(10, epsilon="1.0000001") != "geometric"
    assert dc.geometric(10, epsilon=1) != dc.geometric(11, epsilon=1)
    one, other = [["1/2", "1/2"], ["1/4", "3/4"]], [["3/4", "1/4"], ["1/2", "1/2"]]  # one epsilon, other numbers
    assert dc.verify(one).ratio == dc.verify(other).ratio and dc.from_matrix(one) != dc.from_matrix(other)


def test_how_it_was_made_does_not_matter():
    assert dc.geometric(5, epsilon=1).on(dc.Counts(9)) == dc.geometric(9, epsilon=1)


# ------------------------------------------------------------------------------------------------ probabilities


@finite_mechanisms
def test_rows_add_up_to_one_exactly(finite):
    if isinstance(finite.kernel, Noise) and not finite.kernel.rational:
        assert np.allclose(finite.matrix.sum(axis=1), 1, rtol=0, atol=1e-14)
        return
    for i in range(finite.inputs.size):
        x = finite.inputs.value(i)
        total = sum(finite.probability(x, finite.outputs.value(j)) for j in range(finite.outputs.size))
        assert isinstance(total, Fraction) and total == 1


@unbounded_mechanisms
def test_unbounded_mechanisms_refuse_a_matrix_and_name_the_way_out(unbounded):
    m = unbounded
    p = np.full(m.inputs.size or 1, 1 / (m.inputs.size or 1))
    for ask in (lambda: m.matrix, lambda: m.forward(p), lambda: m.backward(p)):
        with refused(Unsupported, token="m.on(Counts(n), clamp=True)"):
            ask()
    assert m.on(dc.Counts(4)).matrix.shape == (5, 5)
    assert 0 < m.probability(3, 2) < 1


@finite_mechanisms
def test_matrix_is_read_only_and_equals_the_probabilities(finite):
    matrix = finite.matrix
    assert matrix.dtype == np.float64 and matrix.shape == (finite.inputs.size, finite.outputs.size)
    assert finite.matrix is matrix
    with pytest.raises(ValueError, match="read-only"):
        matrix[0, 0] = 0.5
    for i in range(finite.inputs.size):
        for j in range(finite.outputs.size):
            p = finite.probability(finite.inputs.value(i), finite.outputs.value(j))
            assert matrix[i, j] == pytest.approx(float(p), rel=1e-13, abs=1e-300)


@finite_mechanisms
def test_forward_and_backward_are_the_products_with_the_matrix(finite):
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(finite.inputs.size))
    v = rng.normal(size=finite.outputs.size)
    assert np.allclose(finite.forward(p), p @ finite.matrix, rtol=1e-11, atol=1e-15)
    assert np.allclose(finite.backward(v), finite.matrix @ v, rtol=1e-11, atol=1e-13)
    assert finite.forward(p).sum() == pytest.approx(1, abs=1e-12)
    assert np.allclose(finite.backward(np.ones(finite.outputs.size)), 1, rtol=0, atol=1e-12)
    assert np.allclose(finite.forward(p.tolist()), finite.forward(p))


# ------------------------------------------------------------------------------------------------ drawing


@all_mechanisms
def test_release_of_one_value_is_one_plain_value(m):
    for x in some_truths(m, 10):
        report = m.release(x)
        if isinstance(m.outputs, dc.Labels):
            assert report in m.outputs.labels
        else:
            assert type(report) is int
            m.outputs.index(report)  # refuses what is not in the space


@all_mechanisms
def test_release_of_many_values_has_their_shape_and_stays_in_the_space(m):
    truths = some_truths(m)
    shapes = [truths, np.array(truths, dtype=object if isinstance(m.inputs, dc.Labels) else None)]
    shapes += [np.array(shapes[1]).reshape(8, 5), shapes[1][:0], [truths[:2], truths[2:4]]]
    for x in shapes:
        reports = m.release(x)
        assert isinstance(reports, np.ndarray) and reports.shape == np.shape(np.asarray(x, dtype=object))
        if not isinstance(m.outputs, dc.Labels):
            assert reports.dtype == np.int64
        if reports.size:
            assert m.outputs.indices(reports).shape == reports.shape


@all_mechanisms
def test_columns_of_pandas_polars_and_arrow_are_taken(m):
    truths = some_truths(m)
    if isinstance(m.inputs, dc.Labels) and len({type(x) for x in truths}) > 1:
        columns = [pd.Series(truths, dtype=object)]  # text and numbers in one column: pandas alone has such
    else:
        columns = [pd.Series(truths), pl.Series(truths), pa.array(truths), pa.chunked_array([truths[:7], truths[7:]])]
        if not isinstance(m.inputs, dc.Labels):
            columns += [pd.Series(truths, dtype="Int64"), pd.Index(truths), pd.Series(truths, dtype="int8")]
    expected = m.simulate(truths, seed=11)
    for column in columns:
        assert (m.simulate(column, seed=11) == expected).all()
        reports = m.release(column)
        assert reports.shape == (len(truths),)
        m.outputs.indices(reports)


@all_mechanisms
def test_release_never_takes_a_seed(m):
    x = some_truths(m, 1)[0]
    for extra in ({"seed": 1}, {"rng": np.random.default_rng(1)}, {"random_state": 1}):
        with pytest.raises(TypeError):
            m.release(x, **extra)
    with pytest.raises(TypeError):
        m.release(x, 1)


@all_mechanisms
def test_two_releases_differ(m):
    truths = some_truths(m, 400)
    assert (m.release(truths) != m.release(truths)).any() or m.family in HARDLY_RANDOM


@all_mechanisms
def test_simulation_is_reproducible_and_depends_on_the_seed(m):
    truths = some_truths(m, 300)
    first = m.simulate(truths, seed=7)
    assert (m.simulate(truths, seed=7) == first).all()
    assert m.family in HARDLY_RANDOM or (m.simulate(truths, seed=8) != first).any()
    assert m.simulate(truths[0], seed=7) == m.simulate(truths[0], seed=7)
    with pytest.raises(TypeError):
        m.simulate(truths)


@all_mechanisms
def test_what_is_drawn_is_possible(m):
    """Also for mechanisms with zeros: a report of probability zero never comes."""
    truths = some_truths(m, 200)
    for x, y in zip(truths, m.simulate(truths, seed=5).tolist(), strict=True):
        assert m.probability(x, y) > 0


@finite_mechanisms
def test_drawing_follows_the_probabilities(finite):
    """Each report of one truth within five standard deviations of its expectation, from a fixed seed."""
    size = 20_000
    for i in (0, finite.inputs.size - 1):
        x = finite.inputs.value(i)
        truths = np.full(size, x, dtype=object) if isinstance(finite.inputs, dc.Labels) else np.full(size, x)
        drawn = finite.outputs.indices(finite.simulate(truths, seed=17))
        counts = np.bincount(drawn, minlength=finite.outputs.size)
        expected = size * finite.matrix[i]
        assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 5).all()


# ------------------------------------------------------------------------------------------------ proof and files


@all_mechanisms
def test_the_certificate_is_what_the_judge_finds_again(m):
    again = dc.verify(m, m.certificate.notion)
    if m.certificate.delta:
        assert again.holds(m.certificate.epsilon, m.certificate.delta)
        return
    assert m.certificate.epsilon == again.epsilon
    if m.certificate.ratio is not None:
        assert m.certificate.ratio == again.ratio


@finite_mechanisms
def test_the_certificate_is_what_the_plain_table_proves(finite):
    """The table goes another way through the judge: no views, no closed forms."""
    if isinstance(finite.kernel, Noise) and not finite.kernel.rational:
        with refused(Unsupported, token="not rational"):
            finite.kernel.table()
        return
    plain = dc.verify(finite.kernel.table(), finite.certificate.notion, inputs=finite.inputs)
    if finite.certificate.delta:
        assert plain.holds(finite.certificate.epsilon, finite.certificate.delta)
    else:
        assert finite.certificate.epsilon == pytest.approx(plain.epsilon, rel=1e-12)
        assert finite.certificate.epsilon >= plain.epsilon * (1 - 1e-15)


@all_mechanisms
def test_a_file_gives_back_the_identical_mechanism(m, tmp_path):
    path = tmp_path / "m.json"
    m.save(path)
    again = dc.load(path)
    assert again.kernel.to_json() == m.kernel.to_json()
    assert again.certificate == m.certificate
    assert (again.inputs, again.outputs, again.family) == (m.inputs, m.outputs, m.family)
    assert again.parameters == m.parameters
    truths = some_truths(m)
    assert (again.simulate(truths, seed=3) == m.simulate(truths, seed=3)).all()
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@all_mechanisms
def test_a_mechanism_cannot_be_changed(m):
    for name in ("inputs", "outputs", "kernel", "certificate", "family", "matrix"):
        with pytest.raises(AttributeError):
            setattr(m, name, None)
    with pytest.raises(AttributeError):
        m.certificate.epsilon = 0.0
    with pytest.raises(AttributeError):
        m.kernel.something = 1


@all_mechanisms
def test_a_mechanism_can_be_copied_and_sent_to_another_process(m):
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert other.kernel.to_json() == m.kernel.to_json() and other.certificate == m.certificate
        x = some_truths(m, 5)
        assert (other.simulate(x, seed=1) == m.simulate(x, seed=1)).all()


@all_mechanisms
def test_repr_is_short_and_names_the_family_and_epsilon(m):
    assert len(repr(m)) < 200 and m.family in repr(m) and "epsilon" in repr(m)
    assert "object at 0x" not in repr(m)


#: Mechanisms whose reports say nothing about the truth.
USELESS = ("uniform",)


def surveyed(m: dc.Mechanism, people: int) -> tuple[np.ndarray, dict[str, object]]:
    """The truths of a sparse population, as indices, and the arguments of an estimate from their reports."""
    over = {} if m.inputs.size is not None else {"over": dc.Counts(6)}
    size = m.inputs.size or 7
    truths = np.random.default_rng(3).choice([0, size // 2, size - 1], people, p=[0.5, 0.3, 0.2])
    values = truths if over else [m.inputs.value(int(i)) for i in truths]
    return truths, {"reports": m.simulate(values, seed=5), "mechanism": m, **over}


@every_case("name", [name for name in MADE if name not in USELESS])
def test_reports_lead_back_to_a_distribution_with_a_certificate(name: str) -> None:
    truths, arguments = surveyed(MADE[name], 3000)
    e = dc.estimate(**arguments, method="mle")
    assert e.converged and e.gap <= 1e-8 and e.iterations <= 30
    problem = e._likelihood.problem
    A, q = problem.block(), problem.counts / problem.people
    assert np.log((A @ (q / (e.distribution @ A))).max()) <= 1e-8
    # no likelihood is larger, that of the people's own values included
    own = np.bincount(truths, minlength=len(A)) / len(truths)
    assert q @ np.log(own @ A) <= q @ np.log(e.distribution @ A) + 1e-8


@pytest.mark.parametrize("name", USELESS)
def test_reports_that_say_nothing_are_refused(name: str) -> None:
    with refused(InvalidInput, "mechanism"):
        dc.estimate(**surveyed(MADE[name], 50)[1])
