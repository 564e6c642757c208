"""Odd but legal inputs: public functions answer or refuse in their own words, and end."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest

import discreet as dc
from discreet.errors import DiscreetError, InvalidInput, WrongType
from support.refusals import refused

M = dc.geometric(4, epsilon=1)
SPACE = dc.Counts(4)
ODD = [
    [], [1], [0] * 5, [1, 0, 0, 0, 0], [math.nan] * 5, [math.inf, 0, 0, 0, 0], [1e308] * 5, [1e-320] * 5,
    [-1, 2, 0, 0, 0], ["1/2", "1/2", 0, 0, 0], [[0.2] * 5], "abc", {0: 1}, [True] * 5, [1 + 0j, 0, 0, 0, 0],
]  # fmt: skip

CALLS = {
    "kantorovich": lambda odd: dc.kantorovich([0.2] * 5, odd, SPACE),
    "remap": lambda odd: dc.remap(M, "L1", odd),
    "cost": lambda odd: dc.cost(M, "L1", odd),
    "design": lambda odd: dc.design(4, epsilon=1, loss="L1", prior=odd),
    "compare": lambda odd: dc.compare(4, epsilon=1, families=["GM"], prior=odd),
    "calibrate": lambda odd: dc.calibrate("geometric", SPACE, distance=1, prior=odd),
    "forward": M.forward,
    "backward": M.backward,
    "estimate": lambda odd: dc.estimate(odd, M, method="mle"),
    "start": lambda odd: dc.estimate([1, 2, 3, 4, 9], M, method="ibu", start=odd, iterations=5),
    "release": M.release,
    "exponential": lambda odd: dc.exponential(odd, epsilon=1),
    "curve": dc.verify(M).curve,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:25])
def test_odd_numbers_are_used_or_refused_in_words(name, odd):
    """Warnings are errors here, so an overflow fails too."""
    with suppress(DiscreetError):
        CALLS[name](odd)


def test_texts_are_not_numbers_of_a_distribution():
    for call in (M.forward, M.backward):
        with refused(WrongType):
            call("abc")


def test_masses_add_up_to_a_double():
    with refused(InvalidInput):
        dc.kantorovich([1e308] * 5, [1e308] * 5, SPACE)


@pytest.mark.parametrize("huge", [1e6, 1e308])
def test_a_huge_epsilon_is_decided_at_once(huge):
    """e^epsilon is not written out where the ratio is far below it, or is infinite."""
    verdict = dc.verify(M)
    assert verdict.holds(epsilon=huge) and verdict.delta(huge) == 0
    apart = dc.verify([["1/2", "1/2"], ["1/4", "3/4"], [0, 1]])
    assert not apart.holds(epsilon=huge) and apart.holds(epsilon=huge, delta="1/2")
    assert apart.delta(huge) == pytest.approx(0.25) and not apart.holds(epsilon=huge, delta="1/5")
    with refused(InvalidInput, "p"):
        dc.losses.power(huge)
