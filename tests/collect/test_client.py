"""What each person's device does, and what it warns of."""

from __future__ import annotations

import warnings

import pytest

import discreet as dc
from discreet.errors import WeakLocalPrivacy


def test_a_count_mechanism_on_peoples_own_values_warns_with_its_epsilon_between_any_two() -> None:
    with pytest.warns(WeakLocalPrivacy, match=r"\b100, not 1\b"):
        reports = dc.perturb(dc.geometric(100, epsilon=1), [3, 50])
    assert reports.shape == (2,)


@pytest.mark.parametrize(
    "mechanism",
    [
        dc.randomized_response(["a", "b"], epsilon=1),
        dc.planar_geometric(dc.Grid(2, 2, cell=100.0), epsilon=0.01),
    ],
    ids=["local", "metric"],
)
def test_a_mechanism_made_for_it_does_not_warn(mechanism: dc.Mechanism) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = dc.perturb(mechanism, mechanism.inputs.value(0))
    assert mechanism.outputs.index(report) in range(mechanism.outputs.size)
