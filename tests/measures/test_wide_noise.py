"""Geometric noise in any range: the closed forms are those of the table, and need none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet import losses
from discreet.channels import Channel
from discreet.errors import Unsupported
from discreet.properties import PATHOLOGIES, PROPERTIES
from discreet.wide_noise import WideNoise
from support.grids import every_case
from support.refusals import refused

WIDE = 25_000
LOSSES = ["L0", "L1", "L2", "L3", "L0_1", "L0_2"]

alphas = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)


def noise_of(mechanism: dc.Mechanism) -> WideNoise:
    noise = WideNoise.of(Channel.of(mechanism))
    assert noise is not None
    return noise


@given(n=st.integers(2, 12), alpha=alphas, name=st.sampled_from(LOSSES), data=st.data())
def test_exact_costs_are_those_of_the_table(n: int, alpha: Fraction, name: str, data: st.DataObject) -> None:
    mechanism, loss = dc.geometric(n, alpha=alpha), losses.resolve(name)
    weights = data.draw(st.lists(st.integers(0, 5), min_size=n + 1, max_size=n + 1).filter(any))
    prior = [Fraction(weight, sum(weights)) for weight in weights]
    noise = noise_of(mechanism)
    assert noise.mean_loss(loss) == dc.cost(mechanism, loss, exact=True)
    assert noise.mean_loss(loss, prior) == dc.cost(mechanism, loss, prior, exact=True)
    assert noise.worst_loss(loss) == dc.cost(mechanism, loss, worst_case=True, exact=True)
    assert np.allclose(noise.losses_by_truth(loss), dc.expected_loss(mechanism, loss), rtol=1e-12, atol=1e-15)


@given(n=st.integers(2, 12), alpha=alphas | st.sampled_from([Fraction(1, 2), Fraction(2, 3)]))
def test_checks_are_those_of_the_table_to_the_last_word(n: int, alpha: Fraction) -> None:
    mechanism = dc.geometric(n, alpha=alpha)
    channel, noise = Channel.of(mechanism), noise_of(mechanism)
    for prop in (*PROPERTIES.values(), *PATHOLOGIES.values()):
        table, closed = prop.examine(channel), noise.examine(prop, channel)
        assert (closed, closed.violation, closed.where) == (table, table.violation, table.where)


@every_case("name", ["L0", "L1", "L2", "L0_3"])
def test_a_range_whose_table_cannot_be_written_out_has_costs_and_properties(name: str) -> None:
    mechanism = dc.geometric(WIDE, alpha="1/2")
    exact = dc.cost(mechanism, name, exact=True)
    assert isinstance(exact, Fraction) and float(exact) == pytest.approx(dc.cost(mechanism, name), rel=1e-10)
    assert float(dc.cost(mechanism, name, worst_case=True, exact=True)) == pytest.approx(
        dc.cost(mechanism, name, worst_case=True), rel=1e-10
    )
    assert dc.expected_loss(mechanism, name).shape == (WIDE + 1,)


def test_the_properties_of_a_wide_range_are_decided_exactly() -> None:
    narrow, wide = dc.check(dc.geometric(WIDE, alpha="1/2")), dc.check(dc.geometric(WIDE, alpha="10/11"))
    assert [code for code, result in narrow.items() if not result.holds] == ["F"]
    assert [code for code, result in wide.items() if not result.holds] == ["CH", "CM", "F"]
    assert wide["CM"].violation == Fraction(9, 21) and wide["CM"].places == ((1, 1), (1, 0))
    assert dc.cost(dc.geometric(WIDE, alpha="1/2"), exact=True) == Fraction(2 * WIDE, 3 * (WIDE + 1))
    assert not dc.pathologies(dc.geometric(WIDE, alpha="10/11"))["no spikes"].holds


def test_what_needs_the_table_of_a_wide_range_is_refused() -> None:
    mechanism = dc.geometric(WIDE, alpha="1/2")
    with refused(Unsupported, "properties"):
        dc.check(mechanism, "bias<=1")
    with refused(Unsupported, "loss"):
        dc.cost(mechanism, lambda truth, report: 1)
    with pytest.raises(Unsupported):
        dc.cost(mechanism, "L1/2", exact=True)
    with pytest.raises(Unsupported):
        dc.expected_loss(mechanism, "L1", exact=True)
    for other in (dc.rounded_laplace(WIDE, epsilon=1), dc.uniform(WIDE)):
        with pytest.raises(Unsupported):
            dc.check(other)


def test_only_geometric_noise_clamped_to_its_own_range_has_these_forms() -> None:
    others = [
        dc.rounded_laplace(4, epsilon=1),
        dc.uniform(4),
        dc.geometric(1, epsilon=1),
        dc.randomized_response(["a", "b", "c"], epsilon=1),
        dc.explicit_fair(4, epsilon=1),
    ]
    assert [WideNoise.of(Channel.of(one)) for one in others] == [None] * len(others)
    assert noise_of(dc.geometric(4, alpha="1/2")) == WideNoise(4, Fraction(1, 2))
