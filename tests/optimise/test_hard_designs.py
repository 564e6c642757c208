"""Designs at the edges have their answer: losses below zero, equal steps, small alphas, odd requirements."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet import requirements
from discreet.errors import InvalidInput
from support.grids import every_case
from support.refusals import refused


def _details(mechanism):
    return mechanism.certificate.details


# ------------------------------------------------------------------------------------------------ the answer


@pytest.mark.parametrize("delta", [0, "1/10"])
def test_the_worst_loss_may_be_below_zero(delta):
    """Shifting every loss by a constant shifts the least worst case by it, and changes nothing else."""
    losses = np.array([[-2, 1, 0], [0, -3, -1], [1, 2, -2]])
    options = {"alpha": "3/4", "delta": delta, "worst_case": True}
    low, high = (dc.design(3 - 1, loss=losses + shift, **options) for shift in (-4, 3))
    assert Fraction(_details(high)["cost"]) - Fraction(_details(low)["cost"]) == 7
    assert _details(low)["least"] == pytest.approx(_details(high)["least"] - 7, abs=1e-9)
    assert _details(low)["gap"] < 1e-9


@pytest.mark.parametrize(("alpha", "n"), [("1/100", 6), ("1/20", 10), ("1/10", 20)])
def test_probabilities_that_may_not_fall_are_no_conflict(alpha, n):
    """Only the uniform mechanism has equal steps; it is private at every alpha."""
    m = dc.design(n, alpha=alpha, loss="L1", properties=["RM", "steps>=1"])
    assert {m.probability(i, j) for i in range(n + 1) for j in range(n + 1)} == {Fraction(1, n + 1)}


def test_tied_tails_are_let_go_where_they_cost():
    m = dc.design(20, alpha="1/1000", loss="L1", properties=["RM", "CM", "steps>=9/10"])
    assert _details(m)["gap"] < 1e-9


def test_losses_that_favour_far_reports_are_met_at_small_alpha():
    """In scaled numbers these are out of the solver's range: 11% dearer, and a bound of minus 10^14 without it."""
    rows = "43024031 20125313 30553001 52334502 25212242 12550242 31243240 42552355"
    losses = np.array([[int(c) for c in row] for row in rows.split()])
    m = dc.design(7, alpha="1/1000", loss=losses, properties="support<=5")
    assert _details(m)["cost_about"] == pytest.approx(1.1274983756, abs=1e-9) and _details(m)["gap"] < 1e-9
    free = dc.design(7, alpha="1/1000", loss=losses)
    assert 0 <= _details(free)["gap"] < 0.01


# ------------------------------------------------------------------------------------------------ requirements


@every_case("properties", ["support<=1", "support<=5", ["F", "RM", "support<=3"]])
@every_case("delta", [0, "1/100"])
def test_a_support_that_excludes_nothing_is_met(properties, delta):
    m = dc.design(1, alpha="3/4", delta=delta, loss="L1", properties=properties)
    assert all(dc.check(m, requirements.resolve(properties)).values())


@pytest.mark.parametrize(
    ("n", "zeros", "worst"), [(2, "zeros[1-1]", True), (1, "zeros[0-0]", False), (1, "zeros[1-0]", False)]
)
def test_structural_zeros_on_and_beside_the_diagonal_have_a_bound(n, zeros, worst):
    m = dc.design(n, alpha="199/200", delta="1/100", properties=[zeros], worst_case=worst)
    assert dc.check(m, requirements.resolve(zeros))[zeros].holds
    assert 0 <= _details(m)["gap"] < 1e-9


def test_a_support_must_be_whole():
    with refused(InvalidInput, "properties"):
        dc.design(4, alpha="1/2", properties="support<=1.5")
