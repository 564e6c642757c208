"""Products under the judge: from the structure what brute force finds in the written-out table."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import Unsupported
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples

weights = st.integers(0, 5)


@st.composite
def tables(draw: st.DrawFn) -> dc.Mechanism:
    """Any small table, zeros included."""
    rows, columns = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    row = st.lists(weights, min_size=columns, max_size=columns).filter(any)
    found = draw(st.lists(row, min_size=rows, max_size=rows))
    return dc.from_matrix([[Fraction(w, sum(one)) for w in one] for one in found])


def largest_ratio(m: dc.Mechanism) -> Fraction | float:
    """Over all pairs of tuples and all reports, as the definition has it."""
    columns = range(m.outputs.size)
    rows = [[m.kernel.probability(i, j) for j in columns] for i in range(m.inputs.size)]
    ratios = [
        float("inf") if not q else p / q for one in rows for other in rows for p, q in zip(one, other, strict=True) if p
    ]
    return max(ratios)


@examples(60)
@given(first=tables(), second=tables())
def test_the_largest_ratio_is_that_of_brute_force(first: dc.Mechanism, second: dc.Mechanism) -> None:
    both = first * second
    found = dc.verify(both, "local")
    expected = largest_ratio(both)
    assert found.ratio == expected
    witness = found.witness
    assert witness.ratio == expected
    assert both.probability(witness.truth, witness.report) == witness.probability
    assert both.probability(witness.other, witness.report) == witness.other_probability


@examples(30)
@given(first=tables(), second=tables(), epsilon=st.fractions(0, 2, max_denominator=8))
def test_deltas_are_those_of_the_written_out_table(
    first: dc.Mechanism, second: dc.Mechanism, epsilon: Fraction
) -> None:
    both = first * second
    plain = dc.verify(both.kernel.table(), "local", inputs=dc.Counts(both.inputs.size - 1))
    assert dc.verify(both).delta(epsilon) == plain.delta(epsilon)
    assert dc.verify(both).single_event_delta(epsilon) == plain.single_event_delta(epsilon)
    assert dc.verify(both).holds(epsilon) == plain.holds(epsilon)


@every_case(
    "parts",
    [
        (dc.geometric(4, alpha="1/2"), dc.randomized_response(3, alpha="1/3")),
        (dc.projective_response(7, alpha="1/2"), dc.explicit_fair(4, alpha="2/3")),
        (dc.randomized_response(2, alpha="1/2"), dc.geometric(2, alpha="3/4"), dc.uniform(2)),
        (dc.planar_geometric(dc.Grid(2, 2, cell=100.0), epsilon=0.01), dc.rounded_laplace(3, epsilon=1)),
    ],
    ids=["noise", "points", "three", "map"],
)
def test_epsilons_add_up_exactly(parts: tuple[dc.Mechanism, ...]) -> None:
    product, expected = parts[0], dc.verify(parts[0], "local").ratio
    for one in parts[1:]:
        product, expected = product * one, expected * dc.verify(one, "local").ratio
    assert product.certificate.notion == "local" and product.certificate.ratio == expected
    assert product.certificate.ratio == largest_ratio(product)
    assert product.certificate.epsilon == pytest.approx(sum(one.local_epsilon for one in parts), rel=1e-12)
    assert product.local_epsilon == product.certificate.epsilon
    assert "multiply" in product.certificate.how


def test_a_large_product_is_proved_without_its_table() -> None:
    m = dc.geometric(1000, epsilon="1/100") * dc.projective_response(100_000, epsilon=1)
    assert m.certificate.epsilon == pytest.approx(11, rel=1e-6)
    assert m.inputs.size == 100_100_000 and m.release((7, 99_999))[0] in range(1001)
    with refused(Unsupported, token="16,000,000"):
        dc.verify(m).delta(1)


def test_a_part_without_privacy_leaves_none() -> None:
    m = dc.from_matrix([["1", "0"], ["1/2", "1/2"]]) * dc.randomized_response(2, epsilon=1)
    assert m.certificate.epsilon == float("inf") and not dc.verify(m).holds(100)


def test_a_product_is_judged_for_its_own_tuples_only() -> None:
    m = dc.randomized_response(2, epsilon=1) * dc.randomized_response(3, epsilon=1)
    with refused(dc.errors.InvalidInput, "inputs"):
        dc.verify(m, inputs=dc.Counts(5))
    assert np.isclose(m.matrix.sum(), 6)
