"""What a kernel answers for itself is what its probabilities say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.exact.base import Kernel
from discreet.exact.tables import Table

MECHANISMS = {
    "geometric": dc.geometric(6, epsilon=1),
    "laplace": dc.rounded_laplace(6, epsilon="0.7"),
    "gaussian": dc.discrete_gaussian(sigma2=4).on(dc.Counts(6), clamp=True),
    "bounded": dc.bounded_noise(epsilon=1, stay="1/5", reach=4).on(dc.Counts(6), clamp=True),
    "response": dc.randomized_response(7, epsilon=1),
    "blind response": dc.uniform(6),
    "projective": dc.projective_response(7, epsilon=1),
    "fair": dc.explicit_fair(6, epsilon=1),
    "map": dc.planar_geometric(dc.Grid(2, 3, cell=100.0), epsilon="0.01"),
    "normalised map": dc.planar_geometric(dc.Grid(2, 3, cell=100.0), epsilon="0.01", border="normalise"),
    "product": dc.randomized_response(2, epsilon=1) * dc.geometric(3, epsilon=1),
    "blind product": dc.randomized_response(2, epsilon=1) * dc.uniform(3),
}


@pytest.fixture(params=list(MECHANISMS))
def mechanism(request: pytest.FixtureRequest) -> dc.Mechanism:
    return MECHANISMS[request.param]


def rows(mechanism: dc.Mechanism) -> np.ndarray:
    return np.asarray(mechanism.matrix)


def test_a_constant_kernel_has_equal_rows(mechanism: dc.Mechanism) -> None:
    parts = [np.asarray(part.matrix()) for part in mechanism.kernel.factors]
    assert mechanism.kernel.is_constant is any(bool(np.allclose(part, part[0], atol=1e-15)) for part in parts)


def test_what_reaches_everything_has_no_zero(mechanism: dc.Mechanism) -> None:
    assert not mechanism.kernel.reaches_everything or rows(mechanism).min() > 0


def test_blocks_are_parts_of_the_matrix(mechanism: dc.Mechanism) -> None:
    matrix = rows(mechanism)
    truths, reports = np.array([0, 2, 5]), np.array([1, matrix.shape[1] - 1])
    assert mechanism.kernel.block(truths, reports) == pytest.approx(matrix[np.ix_(truths, reports)], rel=1e-12)


def test_unbiased_weights_give_the_values_back(mechanism: dc.Mechanism) -> None:
    values = np.arange(float(len(rows(mechanism)))) ** 2
    weights = mechanism.kernel.unbiased_weights(values)
    assert (weights is not None) == (mechanism.kernel.scatters and not mechanism.kernel.is_constant)
    if weights is not None:
        assert rows(mechanism) @ weights == pytest.approx(values, abs=1e-9)


def test_hits_are_expected_as_often_as_is_stated(mechanism: dc.Mechanism) -> None:
    chances = mechanism.kernel.hit_chances
    assert mechanism.kernel.reports_are_sets is (chances is not None) is (mechanism.family == "projective_response")
    if chances is not None:
        own, other = chances
        hits = np.array([mechanism.kernel.hit_shares(row) for row in rows(mechanism)])
        expected = np.where(np.eye(len(hits), dtype=bool), own, other)
        assert hits == pytest.approx(expected, rel=1e-9)


def test_the_variance_of_a_share_is_that_of_its_event(mechanism: dc.Mechanism) -> None:
    """Q (1 - Q) / (P - Q)^2, with the chances of the truth's own report, or of a report in its set."""
    kernel = mechanism.kernel
    chances = kernel.hit_chances
    if chances is None and kernel.response is not None and not kernel.is_constant:
        other, more = kernel.response
        chances = other + more, other
    assert (kernel.share_variance is None) is (chances is None)
    if chances is not None and kernel.share_variance is not None:
        own, other = chances
        assert float(kernel.share_variance) == pytest.approx(other * (1 - other) / (own - other) ** 2)


def test_only_two_sided_geometric_noise_has_a_ratio(mechanism: dc.Mechanism) -> None:
    ratio = mechanism.kernel.geometric_ratio
    assert (ratio is not None) is (mechanism.family == "geometric")
    assert ratio is None or mechanism.probability(3, 4) / mechanism.probability(3, 3) == ratio


def test_noise_is_the_kernel_itself(mechanism: dc.Mechanism) -> None:
    noisy = mechanism.family in ("geometric", "rounded_laplace", "discrete_gaussian", "bounded_noise")
    assert mechanism.kernel.noise is (mechanism.kernel if noisy else None)


def test_reports_fill_the_space_of_the_mechanism_and_no_other(mechanism: dc.Mechanism) -> None:
    outputs, kernel = mechanism.outputs, mechanism.kernel
    assert outputs.size is not None
    assert kernel.reports_fill(outputs.size, outputs.ends) is (not kernel.factor_sizes)  # a file has a product's parts
    assert not kernel.reports_fill(outputs.size + 1, (0, outputs.size))
    assert not kernel.reports_fill(None, (None, None))


def test_reports_without_an_end_fill_the_integers() -> None:
    kernel = dc.two_sided_geometric(epsilon=1).kernel
    assert kernel.reports_fill(None, dc.Integers().ends) and not kernel.reports_fill(None, dc.Integers(low=0).ends)
    assert not kernel.reports_fill(7, None)


def test_irrational_probabilities_are_approximated() -> None:
    kernel = MECHANISMS["gaussian"].kernel
    assert not kernel.rational and MECHANISMS["geometric"].kernel.rational
    assert kernel.approximate(3, 3) == pytest.approx(MECHANISMS["gaussian"].matrix[3, 3])


def test_a_kind_that_knows_nothing_special_is_complete() -> None:
    """A new kernel has matrix, products, table, samples and files; every other question has an answer."""

    class Copy(Kernel):
        def __init__(self, table: Table) -> None:
            self._table = table

        probability = lambda self, i, j: self._table.probability(i, j)  # noqa: E731
        table = lambda self: self._table  # noqa: E731
        matrix = lambda self: self._table.matrix()  # noqa: E731
        forward = lambda self, p: self._table.forward(p)  # noqa: E731
        backward = lambda self, v: self._table.backward(v)  # noqa: E731
        sampler = lambda self: self._table.sampler()  # noqa: E731
        to_json = lambda self: self._table.to_json()  # noqa: E731
        reports_fill = lambda self, size, ends: size == 3  # noqa: E731

    copy = Copy(Table.from_rows([[1, 2, 3], [3, 2, 1]]))
    assert copy.approximate(0, 1) == pytest.approx(1 / 3) and copy.factors == (copy,)
    assert copy.block(np.array([1]), np.array([0, 2])).tolist() == [[0.5, 1 / 6]]
    answers = [copy.noise, copy.geometric_ratio, copy.response, copy.hit_chances, copy.share_variance]
    assert answers == [None] * 5 and copy.unbiased_weights(np.ones(2)) is None
    flags = (copy.is_constant, copy.reaches_everything, copy.reports_are_sets, copy.has_structure, copy.stays_near)
    assert not any(flags) and copy.rational and copy.probability(0, 0) == Fraction(1, 6)
